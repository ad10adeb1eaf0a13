/** Where a request of a browser comes from. */

import { isIP } from 'node:net';
import type { Request } from 'express';
import ipaddr from 'ipaddr.js';

/**
 * Whether a page of this server sent the request. Browsers set `Sec-Fetch-Site` and `Origin`, and
 * pages cannot.
 *
 * `Sec-Fetch-Site` is preferred, because a proxy may change `Host`. Browsers send it over TLS, and
 * to a loopback address, and `Origin` with every request that is not a GET.
 *
 * @returns `unknown` if the request has neither header: it comes from a program that is not a
 * browser, or is a GET over plain HTTP.
 */
export function originOf({ headers }: Request): 'same' | 'other' | 'unknown' {
  const site = headers['sec-fetch-site'];
  if (site !== undefined) return site === 'same-origin' ? 'same' : 'other';
  if (headers.origin === undefined) return 'unknown';
  return urlOf(headers.origin)?.host === headers.host ? 'same' : 'other';
}

/**
 * How the browser reached this server. A proxy in front may have ended TLS, so only the browser
 * knows. It reports the scheme in `Origin`. Without that header, a host that is not this machine is
 * assumed to use TLS.
 */
export function transportOf({ headers }: Request): 'tls' | 'loopback' | 'plain' {
  const url = urlOf(headers.origin ?? '');
  if (url?.protocol === 'https:') return 'tls';
  const host = url ?? urlOf(`http://${headers.host ?? ''}`);
  if (host !== undefined && isLoopback(host.hostname)) return 'loopback';
  return url === undefined ? 'tls' : 'plain';
}

function urlOf(text: string): URL | undefined {
  return URL.canParse(text) ? new URL(text) : undefined;
}

/** @param hostname - As in a URL. */
export function isLoopback(hostname: string): boolean {
  const host = hostname.replace(/^\[(.*)\]$/, '$1');
  if (isIP(host) !== 0) return ipaddr.parse(host).range() === 'loopback';
  return host === 'localhost' || host.endsWith('.localhost');
}
