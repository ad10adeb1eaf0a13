/** The authoritative admission read, many keys at a time. */

import type { Pool } from 'pg';
import { unitsFromNumeric } from '../numeric.js';
import type { Standing } from '../store.js';
import { READ_TIMEOUT_MS, queryArrays, reachingDatabase } from './query.js';

type StandingRow = [
  id: string,
  standing: 'active' | 'exhausted' | 'suspended' | 'revoked' | 'expired',
  balance: string,
];

/**
 * @returns a function that reads a key's standing. All reads of one turn of the event loop become one
 * query, which starts after the last of them was asked for: no answer is older than its question.
 */
export function createStandingReader(pool: Pool): (keyId: string) => Promise<Standing> {
  let turn:
    { readonly keyIds: Set<string>; readonly rows: Promise<Map<string, Standing>> } | undefined;

  async function readAtEndOfTurn(keyIds: Set<string>): Promise<Map<string, Standing>> {
    await new Promise<void>((resolve) => {
      setImmediate(resolve);
    });
    turn = undefined;
    return reachingDatabase(async () => {
      const rows = await queryArrays<StandingRow>(pool, {
        name: 'read_standings',
        text: 'SELECT id, standing, balance::text FROM key_standing WHERE id = ANY ($1)',
        values: [[...keyIds]],
        timeoutMs: READ_TIMEOUT_MS,
      });
      return new Map(
        rows.map(([id, standing, balance]) => [
          id,
          { standing, balance: unitsFromNumeric(balance) },
        ]),
      );
    });
  }

  return async function readStanding(keyId) {
    if (turn === undefined) {
      const keyIds = new Set<string>();
      turn = { keyIds, rows: readAtEndOfTurn(keyIds) };
    }
    turn.keyIds.add(keyId);
    const standings = await turn.rows;
    return standings.get(keyId) ?? { standing: 'unknown' };
  };
}
