/** The operators' tokens. A token identifies an operator and has rights. */

import { createHash, timingSafeEqual } from 'node:crypto';

/** `all`: may do everything. `credit`: may read and add money, for a shop. `read`: may read. */
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

/** Always compares with every token, so that the response time reveals nothing about them. */
export function findToken(
  tokens: readonly AdminToken[],
  presented: string | undefined,
): AdminToken | undefined {
  // No configured token is empty. Even if one were, an empty text must not match it.
  if (presented === undefined || presented === '') return undefined;
  const digest = digestOf(presented);
  let found: AdminToken | undefined;
  for (const known of tokens) {
    if (timingSafeEqual(digestOf(known.token), digest)) found ??= known;
  }
  return found;
}

/** All digests have the same length, which a comparison in constant time requires. */
function digestOf(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

export function bearerOf(authorization: string | undefined): string | undefined {
  return /^bearer +(\S+)$/i.exec(authorization ?? '')?.[1];
}

/** The right that a token must have: to read, to add money, or to do everything. */
export type Right = 'read' | 'credit' | 'change';
