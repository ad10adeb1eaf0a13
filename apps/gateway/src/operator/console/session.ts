/**
 * The session of an operator in a browser: an admin token, exchanged for a cookie.
 *
 * No process stores sessions. The value is signed with a key that is derived from the token itself,
 * so every replica that knows the token can check it, and it ends when the token is changed or
 * removed. A value that was stolen works until then, or until it expires: logging out only removes
 * it from the browser.
 */

import { createHmac, timingSafeEqual } from 'node:crypto';
import { HOUR_MS, MINUTE_MS } from '../../base/times.js';
import type { AdminToken } from '../../config/admin-tokens.js';

/** A session ends after this time without a request. */
export const IDLE_MS = 30 * MINUTE_MS;
/** A session ends after this time even if it is used. */
export const LIFETIME_MS = 12 * HOUR_MS;

export interface Session {
  readonly token: AdminToken;
  /** In milliseconds since the epoch, as is `seenAt`. */
  readonly startedAt: number;
  /** When the value was written; a later request writes it anew. */
  readonly seenAt: number;
}

const PURPOSE = 'gateway console session, version 1';
const FORM = /^([\w-]+)\.(\d{1,15})\.(\d{1,15})\.([\w-]{43})$/;

/** @returns the value of the cookie */
export function writeSession({ token, startedAt, seenAt }: Session): string {
  const name = Buffer.from(token.name).toString('base64url');
  const signed = `${name}.${String(startedAt)}.${String(seenAt)}`;
  return `${signed}.${signatureOf(signed, token)}`;
}

/** @returns `undefined` for a value that no known token has signed, or that has expired */
export function readSession(
  value: string,
  tokens: readonly AdminToken[],
  now: number,
): Session | undefined {
  const [, name = '', startedAt = '', seenAt = '', signature = ''] = FORM.exec(value) ?? [];
  const signed = `${name}.${startedAt}.${seenAt}`;
  // Two tokens may have one name while one replaces the other.
  const token = tokens.find((known) => isEqual(signatureOf(signed, known), signature));
  if (token === undefined || Buffer.from(name, 'base64url').toString() !== token.name) {
    return undefined;
  }
  const session = { token, startedAt: Number(startedAt), seenAt: Number(seenAt) };
  return now < endOf(session) ? session : undefined;
}

/** When the session ends unless a request renews it. */
export function endOf({ startedAt, seenAt }: Session): number {
  return Math.min(seenAt + IDLE_MS, startedAt + LIFETIME_MS);
}

function signatureOf(signed: string, { token }: AdminToken): string {
  const key = createHmac('sha256', token).update(PURPOSE).digest();
  return createHmac('sha256', key).update(signed).digest('base64url');
}

function isEqual(expected: string, presented: string): boolean {
  const [left, right] = [Buffer.from(expected), Buffer.from(presented)];
  return left.length === right.length && timingSafeEqual(left, right);
}
