/** The headers of a call. Both formats accept them. */

export function callHeaders(credential) {
  return {
    authorization: `Bearer ${credential}`,
    'content-type': 'application/json',
    'anthropic-version': '2023-06-01',
  };
}
