/**
 * Finds in a translated body what the bound of its usage needs. A scan of the whole body would cost
 * a fifth of the translation, so a body is scanned only if it has a block that counts for more than
 * its bytes. Such blocks are found by the text of their type. It cannot be a text of the client:
 * quotes within a text are escaped.
 */

import { ChargeFindingsCollector } from './charge-bound.js';
import type { ChargeFindings } from './charge-bound.js';
import type { ChargeScan } from './inspect-native-request.js';

/**
 * The types of all such blocks and tools that a translation writes, or the beginnings of types.
 * `usage-bound.test.ts` translates every vector of the translator to find others.
 */
const MARK = /"type":"(?:image"|document"|web_)/;
/** More than a mark has, so that each lies in one of two pieces that overlap by this much. */
const OVERLAP = 32;
/** A longer text would be a large object for V8. */
const PIECE_BYTES = 32 * 1024;
const PLAIN = new ChargeFindingsCollector().findings();

export interface UsageFindings {
  readonly findings: ChargeFindings;
  readonly maxTokens: number;
  /** The body could not be scanned: only its limit and the model bound its usage. */
  readonly isOpen: boolean;
}

/** @param scan - For the bodies that need it. */
export function createUsageFinder(
  scan: (body: Uint8Array) => ChargeScan,
): (body: Uint8Array, model: string) => UsageFindings {
  return (body, model) => {
    const bytes = Buffer.from(body.buffer, body.byteOffset, body.length);
    const maxTokens = limitOf(bytes, model);
    const scanned = isMarked(bytes) ? scan(body) : undefined;
    return {
      findings: scanned?.outcome === 'scanned' ? scanned.findings : PLAIN,
      maxTokens,
      isOpen: scanned?.outcome === 'refused',
    };
  };
}

/** One expression over Latin-1 text is five times as fast as `Buffer.includes` for each mark. */
function isMarked(bytes: Buffer): boolean {
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
    if (MARK.test(bytes.toString('latin1', at, at + PIECE_BYTES + OVERLAP))) return true;
  }
  return false;
}

const MAX_DIGITS = 10;

/** A translation begins with its model and `max_tokens`. */
function limitOf(bytes: Buffer, model: string): number {
  const start = Buffer.byteLength(`{"model":${JSON.stringify(model)},"max_tokens":`);
  const digits = /^\d+/.exec(bytes.toString('latin1', start, start + MAX_DIGITS))?.[0];
  if (digits === undefined) throw new Error('a translation does not begin with its limit');
  return Number(digits);
}
