/** Credits a key once per id. The same rules as the SQL function `top_up` on PostgreSQL. */

import { topUpHash } from '../../ledger/contents-hash.js';
import { topUpEntryId } from '../../ledger/top-up-id.js';
import type { KeyState } from '../../key.js';
import type { TopUp, TopUpOutcome } from '../../store.js';
import type { Connection } from './connection.js';
import { ZERO, textOf, unitsOf } from './money.js';
import { standingOf } from './standing.js';

interface KeyRow {
  readonly state: KeyState;
  readonly expires_at: number | null;
  readonly balance: string;
  readonly credited: string;
  readonly uncovered: string;
  readonly seq: number;
}

export function topUpOnce(connection: Connection, topUp: TopUp): TopUpOutcome {
  return connection.write(() => {
    const { keyId, amount, actor } = topUp;
    const now = Date.now();
    const id = topUpEntryId(topUp.topUpId);
    const hash = topUpHash(topUp);
    const key = connection.get<KeyRow>(
      'SELECT state, expires_at, balance, credited, uncovered, seq FROM api_key WHERE id = ?',
      keyId,
    );
    if (key === undefined) return { outcome: 'unknown_key' };
    const { state, expires_at: expiresAt } = key;

    const known = connection.get<{
      readonly input_hash: Uint8Array;
      readonly balance_after: string;
    }>('SELECT input_hash, balance_after FROM ledger WHERE id = ?', id);
    if (known !== undefined) {
      if (Buffer.from(known.input_hash).toString('hex') !== hash) return { outcome: 'conflict' };
      const parts = { balance: unitsOf(key.balance), uncovered: unitsOf(key.uncovered) };
      return {
        outcome: 'replayed',
        balance: unitsOf(known.balance_after),
        isActive: standingOf({ state, expiresAt, ...parts }, now) === 'active',
      };
    }

    const balance = unitsOf(key.balance) + amount;
    connection.run(
      'INSERT INTO ledger (id, key_id, seq, kind, delta, balance_after, input_hash, created_at, ' +
        "actor) VALUES (?, ?, ?, 'top_up', ?, ?, ?, ?, ?)",
      id,
      keyId,
      key.seq + 1,
      textOf(amount),
      textOf(balance),
      Buffer.from(hash, 'hex'),
      now,
      actor,
    );
    // A credit ends the exhaustion that a write-off caused.
    connection.run(
      'UPDATE api_key SET balance = ?, credited = ?, uncovered = ?, seq = ? WHERE id = ?',
      textOf(balance),
      textOf(unitsOf(key.credited) + amount),
      ZERO,
      key.seq + 1,
      keyId,
    );
    const isActive = standingOf({ state, expiresAt, balance, uncovered: 0n }, now) === 'active';
    return { outcome: 'credited', balance, isActive };
  });
}
