/** The cookie of a page's session, which no script can read and no other site can send. */

import type { Request } from 'express';
import { transportOf } from './origin.js';

export interface SessionCookie {
  /** @returns the value, `undefined` without the cookie */
  read(req: Request): string | undefined;
  /**
   * The header `set-cookie` for a session that begins with this request.
   *
   * @param maxAgeSeconds - Absent: the browser forgets the cookie when it is closed.
   */
  start(req: Request, value: string, maxAgeSeconds?: number): string;
  /**
   * The header that writes the cookie of this request again, under the same name: if a proxy
   * changes `Host`, a GET does not show whether the browser uses TLS.
   *
   * @returns `undefined` without the cookie
   */
  renew(req: Request, value: string, maxAgeSeconds: number): string | undefined;
  /** The headers that remove the cookie. */
  readonly removal: readonly string[];
}

/** @param name - The name without TLS. With TLS, `__Host-` is put before it. */
export function createSessionCookie(name: string): SessionCookie {
  /** A browser accepts this name only over TLS, for this host alone and for all of its paths. */
  const secureName = `__Host-${name}`;
  const names = [secureName, name];

  function presented({ headers }: Request): { name: string; value: string } | undefined {
    const cookies = (headers.cookie ?? '').split(';').map((cookie) => cookie.trim());
    for (const each of names) {
      const found = cookies.find((cookie) => cookie.startsWith(`${each}=`));
      if (found !== undefined) return { name: each, value: found.slice(each.length + 1) };
    }
    return undefined;
  }

  function write(as: string, value: string, maxAgeSeconds: number | undefined): string {
    const age = maxAgeSeconds === undefined ? '' : `; Max-Age=${String(maxAgeSeconds)}`;
    const secure = as === secureName ? '; Secure' : '';
    return `${as}=${value}; Path=/${age}; HttpOnly; SameSite=Strict${secure}`;
  }

  return {
    read: (req) => presented(req)?.value,
    start: (req, value, maxAgeSeconds) =>
      write(transportOf(req) === 'tls' ? secureName : name, value, maxAgeSeconds),
    renew(req, value, maxAgeSeconds) {
      const found = presented(req);
      return found && write(found.name, value, maxAgeSeconds);
    },
    removal: names.map((each) => write(each, '', 0)),
  };
}
