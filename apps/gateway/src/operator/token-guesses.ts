/** Limits wrong tokens per address, for the admin API and for metrics. */

import type { Request } from 'express';
import type { Limiter } from '@gateway/rate-limiter';
import { MINUTE_MS } from '../base/times.js';
import { bearerOf, findToken } from '../config/admin-tokens.js';
import type { AdminToken } from '../config/admin-tokens.js';
import { addressGroup } from '../http/client-address.js';
import { rateLimited } from '../http/refusal.js';
import type { Refusal } from '../http/refusal.js';

/** What one address may guess. At a log-in to the console, each attempt counts, right or wrong. */
export const GUESSES = { limit: 10, windowMs: MINUTE_MS } as const;
/** The addresses of which this process remembers that they have no guess left. */
const MAX_REMEMBERED = 10_000;

export type Found = { readonly token: AdminToken } | { readonly refusal: Refusal };

/**
 * Finds the token of a request, and limits wrong ones per address as log-ins are limited. A right
 * token is not counted, because a shop sends it with each request. Once an address has no guess
 * left, its tokens are counted before they are compared, so that a right guess is not recognised
 * either. Other addresses are not affected.
 *
 * @param options.name - of this kind of token, for its counter and the refusal
 * @param options.tokens - returns the right ones
 * @param options.wrong - the answer to a wrong token
 */
export function limitTokenGuesses({
  limiter,
  name,
  tokens,
  wrong,
}: {
  readonly limiter: Pick<Limiter, 'record'>;
  readonly name: 'admin' | 'metrics';
  readonly tokens: () => readonly AdminToken[];
  readonly wrong: Refusal;
}): (req: Request) => Promise<Found> {
  const withoutGuesses = new Set<string>();

  async function count(address: string): Promise<Refusal | undefined> {
    const guess = await limiter.record(`${name}-token:${address}`, GUESSES);
    withoutGuesses.delete(address);
    if (guess.outcome === 'allowed' && guess.remaining > 0) return undefined;
    withoutGuesses.add(address);
    for (const oldest of withoutGuesses) {
      if (withoutGuesses.size <= MAX_REMEMBERED) break;
      withoutGuesses.delete(oldest);
    }
    if (guess.outcome === 'allowed') return undefined;
    const what = `one address may send ${String(GUESSES.limit)} wrong ${name} tokens a minute`;
    return rateLimited(what, guess.retryAfterMs);
  }

  return async (req) => {
    const presented = bearerOf(req.headers.authorization);
    // A header of another form guesses nothing.
    if (presented === undefined) return { refusal: wrong };
    const address = addressGroup(req.ip);
    const isCounted = withoutGuesses.has(address);
    const tooMany = isCounted ? await count(address) : undefined;
    if (tooMany !== undefined) return { refusal: tooMany };
    const token = findToken(tokens(), presented);
    if (token !== undefined) return { token };
    return { refusal: (isCounted ? undefined : await count(address)) ?? wrong };
  };
}
