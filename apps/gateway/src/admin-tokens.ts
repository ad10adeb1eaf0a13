/** The operators' tokens: who asks, and what they may do. */

import { createHash, timingSafeEqual } from 'node:crypto';
import type { Right } from './operations/operation.js';

/** `all`: everything. `credit`: to read and to add money, for a shop. `read`: to read. */
export const TOKEN_RIGHTS = ['all', 'credit', 'read'] as const;
export type TokenRight = (typeof TOKEN_RIGHTS)[number];

export interface AdminToken {
  /** For the trail. Not a secret. */
  readonly name: string;
  readonly right: TokenRight;
  readonly token: string;
}

const ALLOWED: Readonly<Record<TokenRight, readonly Right[]>> = {
  all: ['read', 'credit', 'change'],
  credit: ['read', 'credit'],
  read: ['read'],
};

export function rightsOf({ right }: AdminToken): readonly Right[] {
  return ALLOWED[right];
}

export function mayDo(token: AdminToken, needed: Right): boolean {
  return rightsOf(token).includes(needed);
}

/** Compares with every token, so that the time does not reveal which one was nearly right. */
export function findToken(
  tokens: readonly AdminToken[],
  presented: string | undefined,
): AdminToken | undefined {
  if (presented === undefined) return undefined;
  const digest = digestOf(presented);
  let found: AdminToken | undefined;
  for (const known of tokens) {
    if (timingSafeEqual(digestOf(known.token), digest)) found ??= known;
  }
  return found;
}

/** Digests all have one length, which comparing in constant time needs. */
function digestOf(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

export function bearerOf(authorization: string | undefined): string | undefined {
  return /^bearer +(\S+)$/i.exec(authorization ?? '')?.[1];
}
