/**
 * Seals texts that are kept where others may read or write, with AES-256-GCM. Its key is derived
 * from the pepper, which all replicas have and Redis does not. While a pepper is replaced, texts of
 * the previous one are opened too (docs/decisions/0035-replacing-the-pepper.md).
 */

import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import type { Peppers } from '../../ledger/open-store.js';

/** A text cannot be opened in another place than the one for which it was sealed. */
export type Place = readonly string[];

export interface TextSeal {
  /** @returns the nonce, the text in cipher and the tag: {@link SEAL_BYTES} longer than the text */
  close(text: Uint8Array, place: Place): Buffer;
  /** @returns `undefined` if no gateway with one of the peppers sealed it for this place */
  open(sealed: Uint8Array, place: Place): Buffer | undefined;
}

const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
export const SEAL_BYTES = NONCE_BYTES + TAG_BYTES;

export function createTextSeal({ pepper, previousPepper }: Peppers): TextSeal {
  const key = keyOf(pepper);
  const keys = previousPepper === undefined ? [key] : [key, keyOf(previousPepper)];
  return {
    close(text, place) {
      // Random, because replicas share the key but no counter. Two equal nonces become likely only
      // after far more texts than are ever sealed under one pepper (2^48).
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv(CIPHER, key, nonce).setAAD(bytesOf(place));
      return Buffer.concat([nonce, cipher.update(text), cipher.final(), cipher.getAuthTag()]);
    },
    open(sealed, place) {
      if (sealed.length < SEAL_BYTES) return undefined;
      for (const each of keys) {
        const text = opened(sealed, each, bytesOf(place));
        if (text !== undefined) return text;
      }
      return undefined;
    },
  };
}

function opened(sealed: Uint8Array, key: Buffer, place: Buffer): Buffer | undefined {
  const end = sealed.length - TAG_BYTES;
  const decipher = createDecipheriv(CIPHER, key, sealed.subarray(0, NONCE_BYTES), {
    authTagLength: TAG_BYTES,
  });
  decipher.setAAD(place).setAuthTag(sealed.subarray(end));
  const text = decipher.update(sealed.subarray(NONCE_BYTES, end));
  try {
    decipher.final();
  } catch {
    return undefined;
  }
  return text;
}

function keyOf(pepper: string): Buffer {
  return Buffer.from(hkdfSync('sha256', pepper, '', 'kept responses', 32));
}

function bytesOf(place: Place): Buffer {
  return Buffer.from(JSON.stringify(place));
}
