/**
 * The form of a credential: `gw_`, 43 base-62 characters for 256 random bits, and 6 base-62
 * characters for the CRC-32 of all that precedes them. Secret scanners recognise a leaked
 * credential by its prefix. The checksum lets the gateway refuse typing errors and junk without a
 * database query.
 */

import { createHmac, randomBytes } from 'node:crypto';
import { crc32 } from './node-parts.js';

const PREFIX = 'gw_';
const SECRET_LENGTH = 43;
const CHECKSUM_LENGTH = 6;
const CHECKED_LENGTH = PREFIX.length + SECRET_LENGTH;
const CREDENTIAL_LENGTH = CHECKED_LENGTH + CHECKSUM_LENGTH;

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const BASE = BigInt(ALPHABET.length);

/**
 * Whether a text has the form of a credential, checksum included. It does not say whether the
 * credential was ever issued. The check takes no longer for a longer text.
 */
export function isWellFormedCredential(text: string): boolean {
  return (
    text.length === CREDENTIAL_LENGTH &&
    text.startsWith(PREFIX) &&
    text.endsWith(checksumOf(text.slice(0, CHECKED_LENGTH)))
  );
}

export function generateCredential(): string {
  const secret = encodeSecret(BigInt(`0x${randomBytes(32).toString('hex')}`));
  return PREFIX + secret + checksumOf(PREFIX + secret);
}

/** First and last characters, so that people can distinguish credentials: `gw_Ab3d…9xYz`. */
export function hintOf(credential: string): string {
  return `${credential.slice(0, PREFIX.length + 4)}…${credential.slice(-4)}`;
}

/**
 * The hash that is stored in place of a credential. A stolen database does not help to guess
 * credentials, because the pepper is not in it.
 */
export function hashCredential(credential: string, pepper: string): Buffer {
  return createHmac('sha256', pepper).update(credential).digest();
}

/**
 * Identifies a pepper without revealing it, so that keys issued under another one are recognised.
 */
export function pepperIdOf(pepper: string): string {
  return createHmac('sha256', pepper).update('pepper id').digest('hex').slice(0, 16);
}

function checksumOf(text: string): string {
  let rest = crc32(text);
  let checksum = '';
  // Numbers rather than bigints, which are slower: this runs for every request.
  for (let index = 0; index < CHECKSUM_LENGTH; index += 1) {
    checksum = ALPHABET.charAt(rest % ALPHABET.length) + checksum;
    rest = Math.floor(rest / ALPHABET.length);
  }
  return checksum;
}

function encodeSecret(value: bigint): string {
  let text = '';
  for (let rest = value; text.length < SECRET_LENGTH; rest /= BASE) {
    text = ALPHABET.charAt(Number(rest % BASE)) + text;
  }
  return text;
}
