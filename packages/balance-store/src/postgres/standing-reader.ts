/** The authoritative admission read: reads the standings of many keys in one query. */

import type { Pool } from 'pg';
import { createQueryBatcher } from '../ledger/query-batcher.js';
import { unitsFromNumeric } from '../numeric.js';
import type { Standing } from '../store.js';
import { READ_TIMEOUT_MS, queryArrays, reachingDatabase } from './query.js';

type StandingRow = [
  id: string,
  standing: 'active' | 'exhausted' | 'suspended' | 'revoked' | 'expired',
  balance: string,
  uncovered: string,
];

/**
 * @returns a function that reads a key's standing. Reads of one event-loop tick share one query.
 */
export function createStandingReader(pool: Pool): (keyId: string) => Promise<Standing> {
  return createQueryBatcher(async (keyIds: readonly string[]) => {
    const rows = await reachingDatabase(() =>
      queryArrays<StandingRow>(pool, {
        name: 'read_standings',
        text: 'SELECT id, standing, balance::text, uncovered::text FROM key_standing WHERE id = ANY ($1)',
        values: [[...new Set(keyIds)]],
        timeoutMs: READ_TIMEOUT_MS,
      }),
    );
    const standings = new Map<string, Standing>(
      rows.map(([id, standing, balance, uncovered]) => [
        id,
        { standing, balance: unitsFromNumeric(balance), uncovered: unitsFromNumeric(uncovered) },
      ]),
    );
    return keyIds.map((keyId) => standings.get(keyId) ?? { standing: 'unknown' });
  });
}
