/**
 * Ids of requests: `req_` and a UUID of version 7. They are ordered by time, so that new
 * entries are inserted next to each other in the ledger's index.
 */

import { randomUUID } from 'node:crypto';

export function newRequestId(nowMs: number): string {
  const time = nowMs.toString(16).padStart(12, '0');
  // The random digits of a UUID of version 4, whose variant has the same form and place.
  const random = randomUUID();
  return `req_${time}7${random.slice(15, 18)}${random.slice(19, 23)}${random.slice(24)}`;
}
