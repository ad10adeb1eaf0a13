/** Reads tokens that were signed with RS256, as clients and their platforms sign them. */

import { verify } from 'node:crypto';
import { isObject } from '../../message/message.js';
import type { JsonObject } from '../../message/message.js';

/**
 * @param publicKey - In PEM.
 * @returns the claims; `undefined` if the token was not signed with the key
 */
export function verifiedClaims(jwt: string, publicKey: string): JsonObject | undefined {
  const [header = '', payload = '', signature = ''] = jwt.split('.');
  if (jsonOf(header)?.['alg'] !== 'RS256') return undefined;
  const signed = Buffer.from(`${header}.${payload}`);
  const isValid = verify('RSA-SHA256', signed, publicKey, Buffer.from(signature, 'base64url'));
  return isValid ? jsonOf(payload) : undefined;
}

/** The claims of a token that nobody vouches for. */
export function claimedBy(jwt: string): JsonObject | undefined {
  return jsonOf(jwt.split('.')[1] ?? '');
}

/** Whether the token is in its time, with a minute for the difference of the clocks. */
export function isCurrent({ iat, exp }: JsonObject, nowMs: number): boolean {
  const seconds = nowMs / 1_000;
  return Number(exp) > seconds && (iat === undefined || Number(iat) < seconds + 60);
}

function jsonOf(part: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(part, 'base64url').toString());
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
