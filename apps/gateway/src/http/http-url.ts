import { isIPv6 } from 'node:net';

/** The address of a server on a host name or an IP address. */
export function httpUrl(host: string, port: number): string {
  return `http://${isIPv6(host) ? `[${host}]` : host}:${String(port)}`;
}
