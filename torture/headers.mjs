/** The headers of a call that either format accepts. */

export function callHeaders(credential) {
  return {
    authorization: `Bearer ${credential}`,
    'content-type': 'application/json',
    'anthropic-version': '2023-06-01',
  };
}
