/**
 * Corrects paths. Many clients are configured with a base address in which `/v1` is missing or
 * repeated, or that has an extra slash. Each of these mistakes can only mean one endpoint.
 */

const V1_PATHS = /^\/(messages|chat\/completions|responses|models)(\/|$)/;

/** What a client writes in front of the path if it believes that it talks to a proxy. */
const ABSOLUTE_FORM = /^https?:\/\/[^/?#]*/i;

/**
 * @param target - As in the request line: path and query, or an absolute URL, which HTTP/1.1
 * obliges a server to accept (https://www.rfc-editor.org/rfc/rfc9112#section-3.2.2).
 */
export function canonicalUrl(target: string): string {
  const url = target.startsWith('/') ? target : target.replace(ABSOLUTE_FORM, '');
  const at = url.indexOf('?');
  const path = at === -1 ? url : url.slice(0, at);
  const query = at === -1 ? '' : url.slice(at);
  const plain = path.replace(/\/{2,}/g, '/').replace(/(?<=.)\/$/, '');
  const once = plain.replace(/^(\/v1)+(?=\/v1(\/|$))/, '');
  return (V1_PATHS.test(once) ? `/v1${once}` : once) + query;
}
