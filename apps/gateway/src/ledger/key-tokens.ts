/**
 * Signed texts that stand for a key: read-only links, and the sessions of the customer's page.
 *
 * A token is stored nowhere. It names the key and the time until which it is valid, and has a
 * fingerprint of the credential that the key had when the token was made. So it ends when the key
 * is revoked or rotated, even if the old credential still works for a grace period. What a token
 * may do depends on its kind.
 */

import { createHmac, timingSafeEqual } from 'node:crypto';
import type { KeyRecord } from '@gateway/balance-store';
import type { Peppers } from './open-store.js';

export interface KeyTokens {
  create(key: Pick<KeyRecord, 'id' | 'hint'>, expiresAt: Date): string;
  /**
   * Checks only the signature. It needs no database, so guesses cause no load there.
   *
   * @returns what the token says; `undefined` for a text that this gateway did not sign
   */
  read(token: string): KeyToken | undefined;
  /** Whether the token is still valid. `key` is the current record of the key that it names. */
  isGood(token: KeyToken, key: KeyRecord, now: number): boolean;
}

export interface KeyToken {
  readonly keyId: string;
  readonly expiresAt: Date;
  /** Of the credential that the key had when the token was made. */
  readonly fingerprint: string;
}

/** A token of one kind is never valid as one of another. */
export interface TokenKind {
  readonly prefix: string;
  readonly purpose: string;
}

const KEY_PREFIX = 'key_';
const FORM = /^([\w-]{1,64})\.(\d{1,12})\.([\w-]{16})\.([\w-]{43})$/;
const FINGERPRINT_LENGTH = 16;

/**
 * Tokens are signed with the current pepper. Those that were signed with the previous pepper stay
 * valid while that is accepted.
 *
 * @param peppers - The peppers of the keys' credentials, which are the same on every replica.
 */
export function createKeyTokens({ prefix, purpose }: TokenKind, peppers: Peppers): KeyTokens {
  const { pepper, previousPepper } = peppers;
  const signer = signerOf(pepper, purpose);
  const signers =
    previousPepper === undefined ? [signer] : [signer, signerOf(previousPepper, purpose)];

  return {
    create(key, expiresAt) {
      const seconds = Math.floor(expiresAt.getTime() / 1000);
      const id = key.id.slice(KEY_PREFIX.length);
      const signed = `${prefix}${id}.${String(seconds)}.${fingerprintOf(key, signer)}`;
      return `${signed}.${signer(signed)}`;
    },
    read(token) {
      if (!token.startsWith(prefix)) return undefined;
      const parts = FORM.exec(token.slice(prefix.length)) ?? [];
      const [, id = '', seconds = '', fingerprint = '', signature = ''] = parts;
      const signed = `${prefix}${id}.${seconds}.${fingerprint}`;
      const isSigned = signers.map((sign) => isSame(sign(signed), signature)).includes(true);
      if (!isSigned) return undefined;
      return { keyId: KEY_PREFIX + id, expiresAt: new Date(Number(seconds) * 1000), fingerprint };
    },
    isGood: ({ expiresAt, fingerprint }, key, now) =>
      key.state !== 'revoked' &&
      signers.some((sign) => fingerprint === fingerprintOf(key, sign)) &&
      now < expiresAt.getTime(),
  };
}

type Signer = (text: string) => string;

function signerOf(pepper: string, purpose: string): Signer {
  const secret = createHmac('sha256', pepper).update(purpose).digest();
  return (text) => createHmac('sha256', secret).update(text).digest('base64url');
}

/**
 * A fingerprint of the key's credential, computed from the hint, the only part of the credential in
 * the key's record. A rotation changes the hint.
 */
function fingerprintOf({ id, hint }: Pick<KeyRecord, 'id' | 'hint'>, sign: Signer): string {
  return sign(`credential ${id} ${hint}`).slice(0, FINGERPRINT_LENGTH);
}

function isSame(expected: string, presented: string): boolean {
  const [left, right] = [Buffer.from(expected), Buffer.from(presented)];
  return left.length === right.length && timingSafeEqual(left, right);
}
