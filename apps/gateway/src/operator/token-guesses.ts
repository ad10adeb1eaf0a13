/** Limits wrong tokens per address, for the admin API, for metrics and for the console. */

import type { Request } from 'express';
import type { Limiter } from '@gateway/rate-limiter';
import { newRefusal } from '../base/errors/refusal.js';
import type { Refusal } from '../base/errors/refusal.js';
import { MINUTE_MS } from '../base/times.js';
import { bearerOf, findToken } from '../config/admin-tokens.js';
import type { AdminToken } from '../config/admin-tokens.js';
import { addressGroup } from '../http/client-address.js';
import { waitOf } from '../http/refusal.js';

/** The wrong tokens that one address may send. */
const GUESSES = { limit: 10, windowMs: MINUTE_MS } as const;

export type Found = { readonly token: AdminToken } | { readonly refusal: Refusal };

export interface GuessLimit {
  readonly limiter: Pick<Limiter, 'record'>;
  /** What is guessed, for its counter and the refusal. */
  readonly name: 'admin token' | 'metrics token' | 'log-in';
  /** The answer to a wrong one. */
  readonly wrong: Refusal;
}

/**
 * Counts a wrong token of an address. Right ones are never counted nor refused: others behind the
 * same address could otherwise lock out an operator or a shop by guessing. Tokens are too long to
 * be guessed, so the limit only bounds the noise.
 */
export async function refusalOfGuess(
  req: Request,
  { limiter, name, wrong }: GuessLimit,
): Promise<Refusal> {
  const subject = `wrong ${name}:${addressGroup(req.ip)}`;
  const guess = await limiter.record(subject, GUESSES);
  if (guess.outcome === 'allowed') return wrong;
  const { limit } = GUESSES;
  return newRefusal('wrong_token_limit', { limit, what: name, ...waitOf(guess.retryAfterMs) });
}

/**
 * Finds the token of a request.
 *
 * @param options.tokens - returns the right ones
 */
export function limitTokenGuesses({
  tokens,
  ...limit
}: GuessLimit & { readonly tokens: () => readonly AdminToken[] }): (
  req: Request,
) => Promise<Found> {
  return async (req) => {
    const presented = bearerOf(req.headers.authorization);
    // A header of another form guesses nothing.
    if (presented === undefined) return { refusal: limit.wrong };
    const token = findToken(tokens(), presented);
    return token === undefined ? { refusal: await refusalOfGuess(req, limit) } : { token };
  };
}
