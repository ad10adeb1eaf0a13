/** Moving the embedded ledger to PostgreSQL: all rows arrive, and the old ledger stays closed. */

import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { moveEmbeddedLedger, openEmbeddedStore } from '../src/embedded/index.js';
import { LedgerMoveError, LedgerMovedError } from '../src/index.js';
import type { BalanceStore, LedgerEntry } from '../src/index.js';
import { openPostgresStore } from '../src/postgres/index.js';
import { sampleLimits, settlement } from '../src/testing/index.js';
import { usePostgresServer } from './postgres-server.js';
import type { PostgresServer } from './postgres-server.js';

const PEPPER = 'pepper of the tests';
const DEADLINE = { deadlineMs: 20_000 };

let server: PostgresServer;
let dataDir: string;
beforeAll(async () => {
  server = await usePostgresServer();
  dataDir = mkdtempSync(join(tmpdir(), 'balance-store-'));
});
afterAll(async () => {
  rmSync(dataDir, { recursive: true, force: true });
  await server.stop();
});

async function fill(store: BalanceStore) {
  const { record, credential } = await store.createKey({
    name: 'Ünï "quoted" \\ 🙂',
    limits: { ...sampleLimits, requestsPerMinute: 0.1 },
    expiresAt: new Date('2200-01-01T00:00:00.123Z'),
  });
  const keyId = record.id;
  // More digits than a double has.
  await store.topUp({ topUpId: '1', keyId, amount: 12_345_678_901_234_567_891_234n, actor: 'a' });
  const charges = Array.from({ length: 1_200 }, (_, index) =>
    settlement(keyId, { usage: { inputTokens: index, outputTokens: 1 }, upstreamId: undefined }),
  );
  await Promise.all(charges.map((charge) => store.settle(charge, DEADLINE)));
  await store.sealEntries({ all: true });
  await store.settle(settlement(keyId, { model: 'm "x"\n\\' }), DEADLINE);
  await store.settle({ ...charges[0]!, amount: 1n }, DEADLINE);
  await store.quarantine({ requestId: 'q', keyId, model: 'm', reason: 'r' });
  await store.placeHold({ requestId: 'h', keyId, amount: 7n });
  return { keyId, credential };
}

async function everything(store: BalanceStore) {
  const entries: LedgerEntry[] = [];
  for (let cursor: string | undefined; ;) {
    const page = await store.listEntries({
      limit: 500,
      ...(cursor === undefined ? {} : { cursor }),
    });
    entries.push(...page.entries);
    cursor = page.next;
    if (cursor === undefined) break;
  }
  return {
    entries,
    keys: await store.listKeys({ limit: 10 }),
    audit: await store.audit(),
    holds: await store.listHolds({ state: 'live', limit: 10 }),
  };
}

it('moves every row unchanged, once, and leaves the embedded ledger closed permanently', async () => {
  const connectionString = await server.createDatabase();
  const source = await openEmbeddedStore({ dataDir, pepper: PEPPER });
  const { keyId, credential } = await fill(source);
  const before = await everything(source);
  expect(before.audit).toMatchObject({ isSound: true, sealed: 1_201, conflicts: 1 });
  // A ledger that is in use cannot be moved.
  const move = () => moveEmbeddedLedger({ dataDir, pepper: PEPPER, connectionString });
  await expect(move()).rejects.toThrow('open in another gateway');
  await source.close();

  const { rows, audit } = await move();
  expect(Object.fromEntries(rows)).toEqual({
    api_key: 1,
    ledger: 1_202,
    hold: 1,
    ledger_block: 2,
    ledger_seal: 2,
    quarantine: 1,
    settle_conflict: 1,
  });
  expect(audit).toEqual(before.audit);
  await expect(openEmbeddedStore({ dataDir, pepper: PEPPER })).rejects.toThrow(LedgerMovedError);
  await expect(move()).rejects.toThrow(LedgerMovedError);

  const target = await openPostgresStore({ connectionString, pepper: PEPPER });
  expect(await everything(target)).toEqual(before);
  expect((await target.findKeyByCredential(credential))?.id).toBe(keyId);
  // The chain continues from the same block.
  expect((await target.sealEntries())?.block).toBe(3n);
  expect((await target.settle(settlement(keyId), DEADLINE)).outcome).toBe('settled');
  await target.close();
});

it('repeats a move that was cut off before its mark; refuses a target in use', async () => {
  const ownDir = mkdtempSync(join(tmpdir(), 'balance-store-'));
  const source = await openEmbeddedStore({ dataDir: ownDir, pepper: PEPPER });
  await fill(source);
  await source.close();
  const occupied = await server.createDatabase();
  const other = await openPostgresStore({ connectionString: occupied, pepper: PEPPER });
  await other.createKey({ name: 'k', limits: sampleLimits, expiresAt: null });
  const before = await everything(other);
  const move = (connectionString: string) =>
    moveEmbeddedLedger({ dataDir: ownDir, pepper: PEPPER, connectionString });
  await expect(move(occupied)).rejects.toThrow(LedgerMoveError);
  expect(await everything(other)).toEqual(before);
  await other.close();

  const connectionString = await server.createDatabase();
  const first = await move(connectionString);
  // Simulates a process that died before it wrote the mark.
  rmSync(
    join(
      ownDir,
      readdirSync(ownDir).find((name) => name.startsWith('moved'))!,
    ),
  );
  expect(await move(connectionString)).toEqual(first);
  rmSync(ownDir, { recursive: true, force: true });
});
