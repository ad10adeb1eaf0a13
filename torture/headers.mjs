/** The headers of a call. All formats accept them. */

export function callHeaders(credential) {
  return {
    authorization: `Bearer ${credential}`,
    'content-type': 'application/json',
    'anthropic-version': '2023-06-01',
  };
}
