/**
 * Read-only links: a text that is accepted in place of a key, but only for reading the dashboard.
 *
 * A link is signed and stored nowhere. It names the key and the time until which it is valid, and
 * has a fingerprint of the credential that the key had when the link was made. So it ends when the
 * key is revoked or rotated, even if the old credential still works for a grace period. A link
 * never shows more than the key itself may see, and it cannot spend.
 */

import { createHmac, timingSafeEqual } from 'node:crypto';
import type { KeyRecord } from '@gateway/balance-store';
import { CUSTOMER_PAGE } from '../http/pages/addresses.js';

export interface ReadLinks {
  create(key: Pick<KeyRecord, 'id' | 'hint'>, expiresAt: Date): string;
  /**
   * Checks only the signature. It needs no database, so guesses cause no load there.
   *
   * @returns what the link says; `undefined` for a text that this gateway did not sign
   */
  read(link: string): ReadLink | undefined;
  /** Whether the link is still valid. `key` is the current record of the key that it names. */
  isGood(link: ReadLink, key: KeyRecord, now: number): boolean;
}

export interface ReadLink {
  readonly keyId: string;
  readonly expiresAt: Date;
  /** Of the credential that the key had when the link was made. */
  readonly fingerprint: string;
}

const PREFIX = 'gl_';
const KEY_PREFIX = 'key_';
const FORM = /^gl_([\w-]{1,64})\.(\d{1,12})\.([\w-]{16})\.([\w-]{43})$/;
const FINGERPRINT_LENGTH = 16;
const PURPOSE = 'gateway links for reading, version 1';

/** Whether a credential has the form of a link, valid or not. */
export function isReadLink(credential: string): boolean {
  return credential.startsWith(PREFIX);
}

/**
 * Links are signed with the current pepper. Links that were signed with the previous pepper stay
 * valid while that is accepted.
 *
 * @param peppers - The peppers of the keys' credentials, which are the same on every replica.
 */
export function createReadLinks(peppers: {
  readonly pepper: string;
  readonly previousPepper: string | undefined;
}): ReadLinks {
  const { pepper, previousPepper } = peppers;
  const signer = signerOf(pepper);
  const signers = previousPepper === undefined ? [signer] : [signer, signerOf(previousPepper)];

  return {
    create(key, expiresAt) {
      const seconds = Math.floor(expiresAt.getTime() / 1000);
      const id = key.id.slice(KEY_PREFIX.length);
      const signed = `${PREFIX}${id}.${String(seconds)}.${fingerprintOf(key, signer)}`;
      return `${signed}.${signer(signed)}`;
    },
    read(link) {
      const [, id = '', seconds = '', fingerprint = '', signature = ''] = FORM.exec(link) ?? [];
      const signed = `${PREFIX}${id}.${seconds}.${fingerprint}`;
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

function signerOf(pepper: string): Signer {
  const secret = createHmac('sha256', pepper).update(PURPOSE).digest();
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

/** @param link - A link that was just made for this key. */
export function linkView(link: string, keyId: string, expiresAt: Date) {
  return {
    object: 'link' as const,
    key_id: keyId,
    link,
    /**
     * The path below the address that clients use. Browsers never send the part after # to servers.
     */
    path: `${CUSTOMER_PAGE}/#link=${link}`,
    expires_at: new Date(Math.floor(expiresAt.getTime() / 1000) * 1000).toISOString(),
  };
}
