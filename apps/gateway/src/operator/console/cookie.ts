/** The cookie of the console's session. */

import type { Request, Response } from 'express';
import { transportOf } from './origin.js';
import { endOf, writeSession } from './session.js';
import type { Session } from './session.js';

/** A browser accepts this name only over TLS, for this host alone and for all of its paths. */
const SECURE_NAME = '__Host-console';
/** The name on this machine, where there is no TLS. */
const PLAIN_NAME = 'console';

type Name = typeof SECURE_NAME | typeof PLAIN_NAME;

/** @returns the value, `undefined` without the cookie */
export function readCookie(req: Request): string | undefined {
  return presented(req)?.value;
}

function presented({
  headers,
}: Request): { readonly name: Name; readonly value: string } | undefined {
  const cookies = (headers.cookie ?? '').split(';').map((cookie) => cookie.trim());
  for (const name of [SECURE_NAME, PLAIN_NAME] as const) {
    const found = cookies.find((cookie) => cookie.startsWith(`${name}=`));
    if (found !== undefined) return { name, value: found.slice(name.length + 1) };
  }
  return undefined;
}

/** Sets the cookie of a session that begins with this request. */
export function setCookie(req: Request, res: Response, session: Session, now: number): void {
  const name = transportOf(req) === 'loopback' ? PLAIN_NAME : SECURE_NAME;
  appendSession(res, name, session, now);
}

/**
 * Writes the cookie of this request again, under the same name: if a proxy changes `Host`, a GET
 * does not show whether the browser uses TLS.
 */
export function renewCookie(req: Request, res: Response, session: Session, now: number): void {
  const { name } = presented(req) ?? {};
  if (name !== undefined) appendSession(res, name, session, now);
}

export function clearCookies(res: Response): void {
  for (const name of [SECURE_NAME, PLAIN_NAME] as const) appendCookie(res, name, '', 0);
}

function appendSession(res: Response, name: Name, session: Session, now: number): void {
  appendCookie(res, name, writeSession(session), Math.ceil((endOf(session) - now) / 1000));
}

function appendCookie(res: Response, name: Name, value: string, maxAgeSeconds: number): void {
  const rest = `Path=/; Max-Age=${String(maxAgeSeconds)}; HttpOnly; SameSite=Strict`;
  res.append('set-cookie', `${name}=${value}; ${rest}${name === SECURE_NAME ? '; Secure' : ''}`);
}
