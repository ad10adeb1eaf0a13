/**
 * `/console/session`: logging in to the console, logging out, and who is logged in. The admin API
 * takes an admin token as a Bearer credential, or the cookie of such a session.
 */

import type { Request, RequestHandler, Response } from 'express';
import type { Limiter } from '@gateway/rate-limiter';
import { z } from 'zod';
import { newRefusal } from '../../base/errors/refusal.js';
import type { Refusal } from '../../base/errors/refusal.js';
import { MINUTE_MS } from '../../base/times.js';
import { bearerOf, findToken, rightsOf } from '../../config/admin-tokens.js';
import type { AdminToken } from '../../config/admin-tokens.js';
import { declare } from '../../endpoints/endpoint.js';
import * as schema from '../../endpoints/schemas.js';
import { originOf, transportOf } from '../../http/origin.js';
import { createSessionCookie } from '../../http/session-cookie.js';
import { refuse } from '../refuse.js';
import { limitTokenGuesses, refusalOfGuess } from '../token-guesses.js';
import type { Found } from '../token-guesses.js';
import { LIFETIME_MS, endOf, readSession, writeSession } from './session.js';
import type { Session } from './session.js';

export interface SessionParts {
  readonly adminTokens: readonly AdminToken[];
  /** Whether the bundled simulator answers in place of a model. */
  readonly isSimulated: boolean;
  /** The address of the port for clients; `undefined` if only other machines know it. */
  readonly clientUrl: string | undefined;
  /** Counts log-ins. */
  readonly limiter: Pick<Limiter, 'record'>;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

const cookie = createSessionCookie('console');

/** The cookie is written again at most this often. */
const RENEW_AFTER_MS = MINUTE_MS;

const sessionInput = z.strictObject({
  token: z.string('must be an admin token').min(1).max(1_000),
});

export const sessionEndpoints = [
  declare(
    {
      method: 'get',
      path: '/console/session',
      id: 'showSession',
      credential: 'session',
      summary: 'Who is logged in to the console',
      result: schema.consoleSession,
    },
    (parts: SessionParts) => (req, res) => {
      const session = sessionOf(req, parts);
      if (session === undefined) refuse(res, NO_SESSION);
      else res.json(sessionView(renewed(session, req, res, parts), parts));
    },
  ),
  declare(
    {
      method: 'post',
      path: '/console/session',
      id: 'logIn',
      credential: 'none',
      summary: 'Exchanges an admin token for a cookie',
      body: sessionInput,
      result: schema.consoleSession,
    },
    (parts: SessionParts) => async (req, res) => {
      const found = await logInOf(req, parts);
      if ('refusal' in found) refuse(res, found.refusal);
      else startSession(req, res, found.token, parts);
    },
  ),
  declare(
    {
      method: 'delete',
      path: '/console/session',
      id: 'logOut',
      credential: 'none',
      summary: 'Removes the cookie',
      result: undefined,
      status: 204,
    },
    () => (req, res) => {
      if (originOf(req) === 'other') {
        refuse(res, OTHER_ORIGIN);
        return;
      }
      res.append('set-cookie', [...cookie.removal]);
      res.status(204).end();
    },
  ),
] as const;

/** Requires an admin token or a session, and leaves the token in `res.locals`. */
export function requireAdmin(parts: SessionParts): RequestHandler {
  const findBearer = limitTokenGuesses({
    limiter: parts.limiter,
    name: 'admin token',
    wrong: WRONG_TOKEN,
    // Read for each request, because a reload changes them.
    tokens: () => parts.adminTokens,
  });
  return async function checkAdmin(req, res, next) {
    noStore(req, res, () => undefined);
    const { authorization } = req.headers;
    const found = authorization === undefined ? adminOf(req, res, parts) : await findBearer(req);
    if ('refusal' in found) {
      refuse(res, found.refusal);
      return;
    }
    res.locals['token'] = found.token;
    next();
  };
}

/** The token that {@link requireAdmin} found. */
export function adminTokenOf(res: Response): AdminToken {
  const { token } = res.locals as { readonly token: AdminToken };
  return token;
}

function adminOf(req: Request, res: Response, parts: SessionParts): Found {
  if (cookie.read(req) === undefined) return { refusal: WRONG_TOKEN };
  const session = sessionOf(req, parts);
  if (session === undefined) return { refusal: NO_SESSION };
  // A page of another origin can make a browser send the cookie, but cannot forge the headers that
  // name the origin.
  if (!isSafe(req) && originOf(req) !== 'same') return { refusal: OTHER_ORIGIN };
  return { token: renewed(session, req, res, parts).token };
}

async function logInOf(req: Request, parts: SessionParts): Promise<Found> {
  const refusal = refusalOfPlace(req);
  if (refusal !== undefined) return { refusal };
  const body = sessionInput.safeParse(req.body);
  const presented = bearerOf(req.headers.authorization) ?? (body.success ? body.data.token : '');
  const token = findToken(parts.adminTokens, presented);
  return token === undefined
    ? { refusal: await refusalOfWrongLogIn(req, WRONG_LOG_IN, parts) }
    : { token };
}

/** @returns the refusal, if nobody can log in from this page */
export function refusalOfPlace(req: Request): Refusal | undefined {
  if (originOf(req) === 'other') return OTHER_ORIGIN;
  return transportOf(req) === 'plain' ? PLAIN_HTTP : undefined;
}

/** Counts a log-in that failed. @returns `wrong`, or that there were too many of this address */
export function refusalOfWrongLogIn(
  req: Request,
  wrong: Refusal,
  { limiter }: Pick<SessionParts, 'limiter'>,
): Promise<Refusal> {
  return refusalOfGuess(req, { limiter, name: 'log-in', wrong });
}

/** Answers a log-in with the cookie of its session. */
export function startSession(
  req: Request,
  res: Response,
  token: AdminToken,
  parts: Pick<SessionParts, 'isSimulated' | 'clientUrl' | 'now'>,
): void {
  const startedAt = parts.now();
  const session = { token, startedAt, seenAt: startedAt };
  const value = writeSession(session);
  res.append('set-cookie', cookie.start(req, value, secondsLeft(session, startedAt)));
  res.json(sessionView(session, parts));
}

function sessionOf(req: Request, { adminTokens, now }: SessionParts): Session | undefined {
  return readSession(cookie.read(req) ?? '', adminTokens, now());
}

/**
 * Writes the cookie again, so that a session in use does not end for being idle. It still ends
 * `LIFETIME_MS` after its start.
 */
function renewed(session: Session, req: Request, res: Response, { now }: SessionParts): Session {
  const seenAt = now();
  if (seenAt - session.seenAt < RENEW_AFTER_MS) return session;
  const renewal = { ...session, seenAt };
  const again = cookie.renew(req, writeSession(renewal), secondsLeft(renewal, seenAt));
  if (again !== undefined) res.append('set-cookie', again);
  return renewal;
}

function secondsLeft(session: Session, now: number): number {
  return Math.ceil((endOf(session) - now) / 1000);
}

function sessionView(
  session: Session,
  { isSimulated, clientUrl }: Pick<SessionParts, 'isSimulated' | 'clientUrl'>,
) {
  const { token, startedAt } = session;
  return {
    object: 'console_session' as const,
    name: token.name,
    right: token.right,
    /** `read`; `credit`: to add money; `change`: everything else. */
    may: [...rightsOf(token)],
    idle_expires_at: new Date(endOf(session)).toISOString(),
    expires_at: new Date(startedAt + LIFETIME_MS).toISOString(),
    simulated: isSimulated,
    client_url: clientUrl ?? null,
  };
}

function isSafe({ method }: Request): boolean {
  return method === 'GET' || method === 'HEAD';
}

export const noStore: RequestHandler = (_req, res, next) => {
  res.setHeader('cache-control', 'no-store');
  next();
};

const WRONG_TOKEN = newRefusal('wrong_token', { variable: 'ADMIN_TOKEN' });
const WRONG_LOG_IN = newRefusal('wrong_log_in');
const NO_SESSION = newRefusal('console_session_ended');
const OTHER_ORIGIN = newRefusal('other_page');
const PLAIN_HTTP = newRefusal('console_needs_https');
