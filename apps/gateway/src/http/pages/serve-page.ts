/** Serves the files of a page, with headers that restrict what the page may do in a browser. */

import type { RequestHandler } from 'express';
import { CODINGS } from './page-files.js';
import type { PageFile, PageFiles } from './page-files.js';

/**
 * Allows only files of this server, and images in `data:` addresses: no inline scripts or styles,
 * no text that becomes code or markup, no frames, and no forms that the browser itself submits.
 */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ');

const SAFETY_HEADERS = {
  'content-security-policy': POLICY,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
};

/**
 * Handles `GET` of the page at `prefix/` and of its files below. `prefix` itself redirects to the
 * page, because the page names its files relative to its own address. Any other path goes on to the
 * next handler.
 *
 * @param prefix - Such as `/dashboard`.
 */
export function servePage(prefix: string, files: PageFiles): RequestHandler {
  return function serveFileOfPage(req, res, next) {
    // Not `req.path`, because `useCanonicalPath` has removed the slash at its end.
    const path = req.originalUrl.split('?', 1)[0] ?? '';
    if (req.method !== 'GET' && req.method !== 'HEAD') {
      next();
      return;
    }
    if (path === prefix) {
      redirectToPage(res, prefix);
      return;
    }
    const file = path.startsWith(`${prefix}/`)
      ? files.get(path.slice(prefix.length + 1))
      : undefined;
    if (file === undefined) next();
    else sendFile(req, res, file);
  };
}

/**
 * Redirects a browser from `/` to the page; any other client goes on to the next handler. A browser
 * is a client that prefers HTML to JSON.
 */
export function redirectBrowsers(prefix: string): RequestHandler {
  return function redirectBrowser(req, res, next) {
    res.vary('accept');
    if (req.accepts(['json', 'html']) === 'html') redirectToPage(res, prefix);
    else next();
  };
}

/** Relative, so that it also works behind a proxy that removes the beginning of the path. */
function redirectToPage(res: Parameters<RequestHandler>[1], prefix: string): void {
  res.writeHead(302, { location: `${prefix.slice(1)}/`, 'content-length': 0 });
  res.end();
}

function sendFile(
  req: Parameters<RequestHandler>[0],
  res: Parameters<RequestHandler>[1],
  file: PageFile,
): void {
  res.vary('accept-encoding');
  const headers = { ...SAFETY_HEADERS, 'cache-control': file.cacheControl, etag: file.etag };
  if (isKnown(req.headers['if-none-match'], file.etag)) {
    res.writeHead(304, headers);
    res.end();
    return;
  }
  // The first coding makes the smallest files. The order in which browsers list codings has no
  // meaning.
  const coding = CODINGS.find(
    (known) => file.compressed[known] !== undefined && req.acceptsEncodings(known) !== false,
  );
  const bytes = (coding === undefined ? undefined : file.compressed[coding]) ?? file.bytes;
  res.writeHead(200, {
    ...headers,
    'content-type': file.contentType,
    'content-length': bytes.length,
    ...(coding === undefined ? {} : { 'content-encoding': coding }),
  });
  res.end(bytes);
}

function isKnown(ifNoneMatch: string | undefined, etag: string): boolean {
  return ifNoneMatch?.split(',').some((known) => known.trim() === etag) ?? false;
}
