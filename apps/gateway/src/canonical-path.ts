/**
 * The path that a client meant. A base address with or without `/v1`, with it twice, or with a slash too
 * many is the commonest mistake there is, and each of these has only one meaning.
 */

const V1_PATHS = /^\/(messages|chat\/completions|models)(\/|$)/;

/** @param url - path and query, as in the request line */
export function canonicalUrl(url: string): string {
  const at = url.indexOf('?');
  const path = at === -1 ? url : url.slice(0, at);
  const query = at === -1 ? '' : url.slice(at);
  const plain = path.replace(/\/{2,}/g, '/').replace(/(?<=.)\/$/, '');
  const once = plain.replace(/^(\/v1)+(?=\/v1(\/|$))/, '');
  return (V1_PATHS.test(once) ? `/v1${once}` : once) + query;
}
