/**
 * Ids of requests: `req_` and a UUID of version 7. They are ordered by time, so that new
 * entries are inserted next to each other in the ledger's index.
 */

import { randomFillSync } from 'node:crypto';

const POOL_BYTES = 10 * 512;
const pool = Buffer.alloc(POOL_BYTES);
let used = POOL_BYTES;

export function newRequestId(nowMs: number): string {
  if (used === POOL_BYTES) {
    randomFillSync(pool);
    used = 0;
  }
  const random = pool.toString('hex', used, used + 10);
  used += 10;
  const time = nowMs.toString(16).padStart(12, '0');
  const variant = ((Number.parseInt(random.slice(3, 4), 16) & 0x3) | 0x8).toString(16);
  return `req_${time}7${random.slice(0, 3)}${variant}${random.slice(4, 19)}`;
}
