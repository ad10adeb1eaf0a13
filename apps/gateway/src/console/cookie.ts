/** The cookie of the console's session. */

import type { Request, Response } from 'express';
import { transportOf } from './origin.js';
import { endOf, writeSession } from './session.js';
import type { Session } from './session.js';

/** A browser accepts this name only over TLS, for this host alone and for all of its paths. */
const SECURE_NAME = '__Host-console';
/** The name on this machine, where there is no TLS. */
const PLAIN_NAME = 'console';

/** @returns the value, `undefined` without the cookie */
export function readCookie({ headers }: Request): string | undefined {
  const cookies = (headers.cookie ?? '').split(';').map((cookie) => cookie.trim());
  for (const name of [SECURE_NAME, PLAIN_NAME]) {
    const found = cookies.find((cookie) => cookie.startsWith(`${name}=`));
    if (found !== undefined) return found.slice(name.length + 1);
  }
  return undefined;
}

export function setCookie(req: Request, res: Response, session: Session, now: number): void {
  appendCookie(req, res, writeSession(session), Math.ceil((endOf(session) - now) / 1000));
}

export function clearCookie(req: Request, res: Response): void {
  appendCookie(req, res, '', 0);
}

function appendCookie(req: Request, res: Response, value: string, maxAgeSeconds: number): void {
  const isPlain = transportOf(req) === 'loopback';
  const rest = `Path=/; Max-Age=${String(maxAgeSeconds)}; HttpOnly; SameSite=Strict`;
  res.append(
    'set-cookie',
    isPlain ? `${PLAIN_NAME}=${value}; ${rest}` : `${SECURE_NAME}=${value}; ${rest}; Secure`,
  );
}
