/** Reads and writes what operators decided about a key. */

import {
  NO_BOUNDS,
  OPERATOR_BOUNDS,
  dataOfBounds,
  operatorBoundsOf,
} from '../../operator-bounds.js';
import type { BoundField, OperatorBounds } from '../../operator-bounds.js';
import type { KeyRecord } from '../../key.js';
import type { LedgerTransaction } from './transaction.js';

/** A holder's change was refused, because it would undo or exceed a decision of an operator. */
export interface Bound {
  readonly bound: BoundField;
}

export interface KnownBounds {
  readonly bounds: OperatorBounds;
  /** Of the document; 0 if there is none. */
  readonly version: number;
}

/** Call it after the account is locked. */
export async function readBounds(
  transaction: LedgerTransaction,
  keyId: string,
): Promise<KnownBounds> {
  const found = await transaction.getDocument(OPERATOR_BOUNDS, keyId);
  return found === undefined
    ? { bounds: NO_BOUNDS, version: 0 }
    : { bounds: operatorBoundsOf(found.data), version: found.version };
}

/**
 * Writes nothing if the bounds stay as they are.
 *
 * @returns what the trail must say about it
 */
export async function writeBounds(
  transaction: LedgerTransaction,
  { id, accountId }: Pick<KeyRecord, 'id' | 'accountId'>,
  { bounds: before, version }: KnownBounds,
  bounds: OperatorBounds,
): Promise<Readonly<Record<string, unknown>>> {
  const [former, data] = [dataOfBounds(before), dataOfBounds(bounds)];
  if (JSON.stringify(former) === JSON.stringify(data)) return {};
  const document = { kind: OPERATOR_BOUNDS, id, accountId, version, data } as const;
  if (!(await transaction.writeDocument(document))) {
    throw new Error(`the bounds of ${id} were changed without the lock of its account`);
  }
  return { [OPERATOR_BOUNDS]: data };
}
