/**
 * Links that sign in to the console once (decision 0076). They are in the memory of this process
 * only, so they end with it.
 */

import { createHash, randomBytes } from 'node:crypto';
import { MINUTE_MS } from '../../base/times.js';
import type { AdminToken } from '../../config/admin-tokens.js';
import { CONSOLE_PAGE } from '../../http/pages/addresses.js';

export interface ConsoleLink {
  /** Page and fragment. Browsers send a fragment to no server, so it is in no log of a proxy. */
  readonly path: string;
  /** In milliseconds since the epoch. */
  readonly expiresAt: number;
}

export type Redemption =
  | { readonly outcome: 'redeemed'; readonly token: AdminToken }
  /** Somebody has used the link before. */
  | { readonly outcome: 'used' }
  /** The link has expired, or was made by another process, or its token is no longer known. */
  | { readonly outcome: 'unknown' };

export interface ConsoleLinks {
  /** @param token - The session of the link is one of this token. */
  make(token: AdminToken): ConsoleLink;
  /**
   * Of several calls with one code, also at once, one gets the token.
   *
   * @param tokens - The tokens that are known now.
   */
  redeem(code: string, tokens: readonly AdminToken[]): Redemption;
}

export const LINK_LIFETIME_MS = 10 * MINUTE_MS;
/** More links than these cannot wait to be used. The oldest then ends. */
const MAX_LINKS = 100;

interface Made {
  readonly token: AdminToken;
  readonly expiresAt: number;
  /** A used link is kept until it would have expired, so that its second use can be told. */
  isUsed: boolean;
}

/** @param now - Returns milliseconds since the epoch. */
export function createConsoleLinks(now: () => number): ConsoleLinks {
  /** By the digest of the code, in the order in which they expire. */
  const links = new Map<string, Made>();

  function forgetEnded(most: number): void {
    for (const [digest, { expiresAt }] of links) {
      if (expiresAt > now() && links.size <= most) break;
      links.delete(digest);
    }
  }

  return {
    make(token) {
      forgetEnded(MAX_LINKS - 1);
      const code = randomBytes(32).toString('base64url');
      const expiresAt = now() + LINK_LIFETIME_MS;
      links.set(digestOf(code), { token, expiresAt, isUsed: false });
      return { path: `${CONSOLE_PAGE}/#link=${code}`, expiresAt };
    },
    redeem(code, tokens) {
      forgetEnded(MAX_LINKS);
      const link = links.get(digestOf(code));
      if (link === undefined) return { outcome: 'unknown' };
      if (link.isUsed) return { outcome: 'used' };
      link.isUsed = true;
      const { name, token } = link.token;
      const known = tokens.find((each) => each.name === name && each.token === token);
      return known === undefined ? { outcome: 'unknown' } : { outcome: 'redeemed', token: known };
    },
  };
}

/** A digest is looked up in place of the code, so that the time of a look-up reveals nothing. */
function digestOf(code: string): string {
  return createHash('sha256').update(code).digest('base64url');
}
