/**
 * The form of a credential: `gw_`, 43 base-62 characters of 256 random bits, and 6 of a CRC-32 of all
 * that. The prefix lets scanners recognise a leaked one; the checksum lets the gateway refuse typing
 * errors and junk without asking a database.
 */

import { createHmac, randomBytes } from 'node:crypto';

const PREFIX = 'gw_';
const SECRET_LENGTH = 43;
const CHECKSUM_LENGTH = 6;
const CHECKED_LENGTH = PREFIX.length + SECRET_LENGTH;
const CREDENTIAL_LENGTH = CHECKED_LENGTH + CHECKSUM_LENGTH;

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const BASE = BigInt(ALPHABET.length);

/**
 * Whether a text has the form of a credential, checksum included. Says nothing about whether it was
 * ever issued. Costs the same small amount whatever the text is, however long.
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

/** First and last characters, enough for a person to tell two credentials apart: `gw_Ab3d…9xYz`. */
export function hintOf(credential: string): string {
  return `${credential.slice(0, PREFIX.length + 4)}…${credential.slice(-4)}`;
}

/** What is stored in place of a credential. Worthless without the pepper, which no database holds. */
export function hashCredential(credential: string, pepper: string): Buffer {
  return createHmac('sha256', pepper).update(credential).digest();
}

/** Names a pepper without giving it away, so that keys of another pepper are recognised as such. */
export function pepperIdOf(pepper: string): string {
  return createHmac('sha256', pepper).update('pepper id').digest('hex').slice(0, 16);
}

function checksumOf(text: string): string {
  let crc = 0xffffffff;
  for (let index = 0; index < text.length; index += 1) {
    crc = (CRC_TABLE[(crc ^ text.charCodeAt(index)) & 0xff] ?? 0) ^ (crc >>> 8);
  }
  let rest = (crc ^ 0xffffffff) >>> 0;
  let checksum = '';
  // Without a bigint: this runs for every request.
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

/** CRC-32 as in ISO 3309, reflected. Node has its own only from 20.15 on. */
const CRC_TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit += 1) crc = crc & 1 ? 0xedb88320 ^ (crc >>> 1) : crc >>> 1;
  return crc >>> 0;
});
