/**
 * Corrects paths. Many clients are configured with a base address in which `/v1` is missing or
 * repeated, or that has an extra slash. Each of these mistakes can only mean one endpoint.
 */

const V1_PATHS = /^\/(messages|chat\/completions|responses|models)(\/|$)/;

/** @param url - path and query, as in the request line */
export function canonicalUrl(url: string): string {
  const at = url.indexOf('?');
  const path = at === -1 ? url : url.slice(0, at);
  const query = at === -1 ? '' : url.slice(at);
  const plain = path.replace(/\/{2,}/g, '/').replace(/(?<=.)\/$/, '');
  const once = plain.replace(/^(\/v1)+(?=\/v1(\/|$))/, '');
  return (V1_PATHS.test(once) ? `/v1${once}` : once) + query;
}
