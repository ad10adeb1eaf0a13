/**
 * Settles a batch of charges in one transaction. The same rules as the SQL functions `settle_batch`
 * and `write_offs` on PostgreSQL.
 */

import { settlementHash } from '../../ledger/contents-hash.js';
import { detailOf, storable } from '../../ledger/quarantine-text.js';
import { rateTextsOf } from '../../ledger/rate-texts.js';
import type { KeyState } from '../../key.js';
import type { QuarantinedUsage, Settlement, SettleOutcome } from '../../store.js';
import type { Connection } from './connection.js';
import { ZERO, assertNotNegative, textOf, unitsOf } from './money.js';
import { standingOf } from './standing.js';

/** A key's row while the batch is folded into it. */
interface KeyFold {
  readonly id: string;
  readonly state: KeyState;
  readonly expiresAt: number | null;
  balance: bigint;
  spent: bigint;
  writtenOff: bigint;
  uncovered: bigint;
  seq: number;
  /** Sum of the key's live holds that the batch has not deleted; read when it is first needed. */
  held: bigint | undefined;
  isChanged: boolean;
}

/** What the ledger has under a request id. */
interface Known {
  readonly hash: string;
  readonly balanceAfter: bigint;
  readonly writtenOff: bigint;
}

/** The outcome of one charge, but for the standing, which is that of after the whole batch. */
type Settled =
  | { readonly outcome: 'conflict' }
  | { readonly outcome: 'settled' | 'replayed'; readonly key: KeyFold; readonly entry: Known };

/** @throws {RangeError} when a charge is malformed: then none of the batch is settled. */
export function settleBatch(
  connection: Connection,
  batch: readonly Settlement[],
): readonly SettleOutcome[] {
  return connection.write(() => {
    const now = Date.now();
    const fold = createFold(connection, now);
    const settled = batch.map((settlement) => fold.settle(settlement));
    fold.finish();
    return settled.map((one): SettleOutcome => {
      if (one.outcome === 'conflict') return one;
      const { outcome, key, entry } = one;
      return {
        outcome,
        balance: entry.balanceAfter,
        isActive: standingOf(key, now) === 'active',
        writtenOff: entry.writtenOff,
      };
    });
  });
}

function createFold(connection: Connection, now: number) {
  const keys = new Map<string, KeyFold>();
  /** Ids that this batch has entered. */
  const entered = new Map<string, Known>();
  // Usually there are none, and then no charge has to look for its own.
  const areHolds = connection.get('SELECT 1 FROM hold LIMIT 1') !== undefined;

  function keyOf(keyId: string): KeyFold {
    let key = keys.get(keyId);
    if (key === undefined) {
      key = readKey(connection, keyId);
      keys.set(keyId, key);
    }
    return key;
  }

  /** Deletes the request's hold. @returns what it held, if it was this key's */
  function takeHold(requestId: string, key: KeyFold): HoldTaken | undefined {
    if (!areHolds) return undefined;
    const hold = connection.get<HoldRow>(
      'DELETE FROM hold WHERE request_id = ? RETURNING key_id, amount, orphaned_at',
      requestId,
    );
    if (hold === undefined) return undefined;
    const isLive = hold.orphaned_at === null;
    const amount = isLive ? unitsOf(hold.amount) : 0n;
    const owner = keys.get(hold.key_id);
    if (owner?.held !== undefined) owner.held -= amount;
    return hold.key_id === key.id ? { amount } : undefined;
  }

  /** The part of a guarded charge that must be written off. */
  function writeOffOf(amount: bigint, key: KeyFold, own: HoldTaken | undefined): bigint {
    key.held ??= heldBy(connection, key.id);
    const ownHold = own?.amount ?? 0n;
    const free = key.balance - key.held;
    // Without unguarded charges of the same key, the own hold is always covered by the balance.
    const affordable = max(0n, min(key.balance, max(ownHold, free)));
    return max(0n, amount - affordable);
  }

  function settle(settlement: Settlement): Settled {
    const { requestId, keyId, amount, overdraft } = settlement;
    assertStorable(settlement);
    const hash = settlementHash(settlement);
    const key = keyOf(keyId);
    const known = entered.get(requestId) ?? readKnown(connection, requestId);
    const hold = takeHold(requestId, key);
    if (known !== undefined) {
      if (known.hash === hash) return { outcome: 'replayed', key, entry: known };
      connection.run(
        'INSERT INTO settle_conflict (request_id, input_hash, key_id, amount, created_at) ' +
          'VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING',
        requestId,
        Buffer.from(hash, 'hex'),
        keyId,
        textOf(amount),
        now,
      );
      return { outcome: 'conflict' };
    }
    const isGuarded = overdraft === 'none' || hold !== undefined;
    const writtenOff = isGuarded ? writeOffOf(amount, key, hold) : 0n;
    const charged = amount - writtenOff;
    key.balance -= charged;
    key.spent += charged;
    key.writtenOff += writtenOff;
    key.uncovered += writtenOff;
    key.seq += 1;
    key.isChanged = true;
    const entry = { hash, balanceAfter: key.balance, writtenOff };
    insertCharge(connection, settlement, key, entry, now);
    entered.set(requestId, entry);
    return { outcome: 'settled', key, entry };
  }

  return {
    settle,
    finish(): void {
      for (const key of keys.values()) if (key.isChanged) updateKey(connection, key, now);
    },
  };
}

interface HoldTaken {
  readonly amount: bigint;
}

interface HoldRow {
  readonly key_id: string;
  readonly amount: string;
  readonly orphaned_at: number | null;
}

interface KeyRow {
  readonly state: KeyState;
  readonly expires_at: number | null;
  readonly balance: string;
  readonly spent: string;
  readonly written_off: string;
  readonly uncovered: string;
  readonly seq: number;
}

function readKey(connection: Connection, id: string): KeyFold {
  const row = connection.get<KeyRow>(
    'SELECT state, expires_at, balance, spent, written_off, uncovered, seq FROM api_key ' +
      'WHERE id = ?',
    id,
  );
  if (row === undefined) throw new RangeError('no such API key');
  return {
    id,
    state: row.state,
    expiresAt: row.expires_at,
    balance: unitsOf(row.balance),
    spent: unitsOf(row.spent),
    writtenOff: unitsOf(row.written_off),
    uncovered: unitsOf(row.uncovered),
    seq: row.seq,
    held: undefined,
    isChanged: false,
  };
}

function updateKey(connection: Connection, key: KeyFold, now: number): void {
  connection.run(
    'UPDATE api_key SET balance = ?, spent = ?, written_off = ?, uncovered = ?, seq = ?, ' +
      'last_charged_at = ? WHERE id = ?',
    textOf(key.balance),
    textOf(key.spent),
    textOf(key.writtenOff),
    textOf(key.uncovered),
    key.seq,
    now,
    key.id,
  );
}

function readKnown(connection: Connection, id: string): Known | undefined {
  const row = connection.get<{
    readonly input_hash: Uint8Array;
    readonly balance_after: string;
    readonly written_off: string;
  }>('SELECT input_hash, balance_after, written_off FROM ledger WHERE id = ?', id);
  if (row === undefined) return undefined;
  return {
    hash: Buffer.from(row.input_hash).toString('hex'),
    balanceAfter: unitsOf(row.balance_after),
    writtenOff: unitsOf(row.written_off),
  };
}

// Outside of the function: the statement is found by this text, which would be put together anew,
// and its hash computed, for each charge.
const INSERT_CHARGE =
  'INSERT INTO ledger (id, key_id, seq, kind, delta, balance_after, written_off, input_hash, ' +
  'created_at, model, input_tokens, output_tokens, cache_read_input_tokens, ' +
  'cache_creation_input_tokens, cache_creation_1h_input_tokens, input_rate, output_rate, ' +
  'cache_read_rate, cache_write_5m_rate, cache_write_1h_rate, endpoint, streamed, ' +
  'upstream_id, remarks) ' +
  "VALUES (?, ?, ?, 'charge', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";

function insertCharge(
  connection: Connection,
  settlement: Settlement,
  key: KeyFold,
  { hash, writtenOff }: Known,
  now: number,
): void {
  const { usage, upstreamId, remarks } = settlement;
  const rates = rateTextsOf(settlement.rates).numerics;
  connection.run(
    INSERT_CHARGE,
    settlement.requestId,
    key.id,
    key.seq,
    textOf(writtenOff - settlement.amount),
    textOf(key.balance),
    writtenOff === 0n ? ZERO : textOf(writtenOff),
    Buffer.from(hash, 'hex'),
    now,
    settlement.model,
    usage.inputTokens,
    usage.outputTokens,
    usage.cacheReadInputTokens,
    usage.cacheCreationInputTokens,
    usage.cacheCreation1hInputTokens,
    rates.inputPerToken,
    rates.outputPerToken,
    rates.cacheReadPerToken,
    rates.cacheWrite5mPerToken,
    rates.cacheWrite1hPerToken,
    settlement.endpoint,
    settlement.streamed ? 1 : 0,
    upstreamId ?? null,
    remarks === undefined ? null : storable(remarks),
  );
}

/** Sum of the key's live holds. */
export function heldBy(connection: Connection, keyId: string): bigint {
  return connection
    .all<{ readonly amount: string }>(
      'SELECT amount FROM hold WHERE key_id = ? AND orphaned_at IS NULL',
      keyId,
    )
    .reduce((sum, { amount }) => sum + unitsOf(amount), 0n);
}

const MAX_TOKENS = 2 ** 31 - 1;

/**
 * Refuses what PostgreSQL would refuse, too: a ledger can be moved there.
 *
 * @throws {RangeError}
 */
function assertStorable(settlement: Settlement): void {
  const { requestId, keyId, model, endpoint, upstreamId, usage, amount } = settlement;
  assertNotNegative(amount);
  for (const count of Object.values(usage)) {
    if (!Number.isInteger(count) || count < 0 || count > MAX_TOKENS) {
      throw new RangeError(`${String(count)} is not a number of tokens`);
    }
  }
  for (const text of [requestId, keyId, model, endpoint, upstreamId]) {
    if (text?.includes('\0') === true) throw new RangeError('a text contains NUL');
  }
}

/** Durably sets a settlement aside. A second call changes nothing. */
export function quarantineSettlement(
  connection: Connection,
  settlement: Settlement,
  reason: string,
): void {
  insertQuarantine(connection, { ...settlement, reason }, detailOf(settlement));
}

export function insertQuarantine(
  connection: Connection,
  { requestId, keyId, model, reason }: QuarantinedUsage,
  detail: string | null = null,
): void {
  connection.write(() => {
    connection.run(
      'INSERT INTO quarantine (request_id, key_id, model, reason, detail, created_at) ' +
        'VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING',
      ...[requestId, keyId, model, reason].map(storable),
      detail,
      Date.now(),
    );
  });
}

const min = (a: bigint, b: bigint): bigint => (a < b ? a : b);
const max = (a: bigint, b: bigint): bigint => (a > b ? a : b);
