/** Calls the SQL function `top_up`. */

import type { Pool } from 'pg';
import { topUpHash } from '../ledger/contents-hash.js';
import { topUpEntryId } from '../ledger/top-up-id.js';
import { numericFromUnits, unitsFromNumeric } from '../numeric.js';
import { StoreUnavailableError } from '../store.js';
import type { TopUp, TopUpOutcome } from '../store.js';
import { WRITE_TIMEOUT_MS, isUniqueViolation, queryRows } from './query.js';

export async function topUpOnce(pool: Pool, topUp: TopUp, attempt = 1): Promise<TopUpOutcome> {
  const { topUpId, keyId, amount, actor } = topUp;
  try {
    const [row] = await queryRows<TopUpRow>(pool, {
      text: 'SELECT outcome, balance::text, is_active AS "isActive" FROM top_up($1, $2, $3, $4, $5)',
      values: [
        topUpEntryId(topUpId),
        keyId,
        numericFromUnits(amount),
        Buffer.from(topUpHash(topUp), 'hex'),
        actor,
      ],
      timeoutMs: WRITE_TIMEOUT_MS,
    });
    if (row === undefined)
      throw new StoreUnavailableError('the database did not answer the top-up');
    if (row.balance === null) return { outcome: row.outcome };
    const { outcome, balance, isActive } = row;
    return { outcome, balance: unitsFromNumeric(balance), isActive };
  } catch (error) {
    // The same id was inserted for another key at the same moment. The second attempt finds that
    // entry.
    if (isUniqueViolation(error) && attempt === 1) return topUpOnce(pool, topUp, 2);
    throw error;
  }
}

type TopUpRow =
  | { readonly outcome: 'conflict' | 'unknown_key'; readonly balance: null }
  | {
      readonly outcome: 'credited' | 'replayed';
      readonly balance: string;
      readonly isActive: boolean;
    };
