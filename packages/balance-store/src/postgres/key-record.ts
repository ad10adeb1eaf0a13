/** Turns a row of the view `key_standing` into a {@link KeyRecord}. */

import type { KeyRecord, KeyState } from '../key.js';
import { unitsFromNumeric } from '../numeric.js';

export interface KeyRow {
  readonly id: string;
  readonly name: string;
  readonly hint: string;
  readonly state: string;
  readonly expiresAt: Date | null;
  readonly concurrency: number;
  readonly burst: number;
  readonly requestsPerMinute: number;
  readonly balance: string;
  readonly spent: string;
  readonly credited: string;
  readonly writtenOff: string;
  readonly createdAt: Date;
  readonly lastChargedAt: Date | null;
  readonly standing: string;
}

export function keyRecordOf(row: KeyRow): KeyRecord {
  return {
    id: row.id,
    name: row.name,
    hint: row.hint,
    state: keyStateOf(row.state),
    expiresAt: row.expiresAt,
    limits: {
      concurrency: row.concurrency,
      burst: row.burst,
      requestsPerMinute: row.requestsPerMinute,
    },
    balance: unitsFromNumeric(row.balance),
    spent: unitsFromNumeric(row.spent),
    credited: unitsFromNumeric(row.credited),
    writtenOff: unitsFromNumeric(row.writtenOff),
    isActive: row.standing === 'active',
    createdAt: row.createdAt,
    lastChargedAt: row.lastChargedAt,
  };
}

function keyStateOf(text: string): KeyState {
  if (text === 'active' || text === 'suspended' || text === 'revoked') return text;
  throw new RangeError(`"${text}" is not a state of a key`);
}
