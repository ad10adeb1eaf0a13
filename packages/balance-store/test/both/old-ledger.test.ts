/**
 * Ledgers of earlier versions: their entries stay valid to the byte beside new ones, on both
 * ledgers.
 *
 * One was written before charges had terms, fees and costs: two accounts with 25 charges, some
 * written off, credits, a correction and a transfer; all but one entry are sealed.
 *
 * Two were written before entries had two sides, by commits 5e46f81b and b479d8ca: accounts with
 * payments, promotional and expiring credits, refunds, a chargeback, goodwill, a transfer, an
 * expiry, a debt, an archive, and in the second one an allowance.
 */

import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { moveEmbeddedLedger, openEmbeddedStore } from '../../src/embedded/index.js';
import { ledgerFile } from '../../src/embedded/open.js';
import type { BalanceStore, Settlement } from '../../src/index.js';
import { openPostgresStore } from '../../src/postgres/index.js';
import { settlement } from '../../src/testing/index.js';
import { usePostgresServer } from '../postgres-server.js';
import type { PostgresServer } from '../postgres-server.js';
import { rewriteLedger } from '../rewrite-ledger.js';

const PEPPER = 'pepper of the tests';
const OLD_ENTRIES = 31;
const FIRST_BLOCK = 'SELECT * FROM ledger_seal WHERE block_id = 1 ORDER BY account_id';
/** The unsealed entry becomes a millisecond earlier than the one before it. */
const SET_BACK =
  'UPDATE ledger SET created_at = (SELECT b.created_at - 1 FROM ledger b ' +
  'WHERE b.account_id = ledger.account_id AND b.seq = ledger.seq - 1) WHERE seq > ' +
  '(SELECT max(to_seq) FROM ledger_seal s WHERE s.account_id = ledger.account_id)';
const OLD_LEDGER = new URL('../fixtures/ledger-before-price-parts.db.gz', import.meta.url);

let server: PostgresServer;
let dataDir: string;
beforeAll(async () => {
  server = await usePostgresServer();
});
beforeAll(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'old-ledger-'));
  writeFileSync(ledgerFile(dataDir), gunzipSync(readFileSync(OLD_LEDGER)));
});
afterAll(async () => {
  rmSync(dataDir, { recursive: true, force: true });
  await server.stop();
});

/** A charge with terms, a fee and a cost, which no old charge has. */
function newCharge(keyId: string): Settlement {
  const charge = settlement(keyId);
  const fee = { what: 'web_search_requests', units: 2, perUnit: 1_000_000n };
  return {
    ...charge,
    amount: charge.amount + 2n * fee.perUnit,
    pricing: { terms: { speed: 'fast' }, fees: [fee] },
    cost: 7n,
  };
}

async function chargeAndAudit(store: BalanceStore, before: number): Promise<void> {
  const keys = await store.listKeys({ limit: 10 });
  for (const { id } of keys) {
    const { outcome } = await store.settle(newCharge(id), { deadlineMs: 20_000 });
    expect(outcome).toBe('settled');
  }
  await store.sealEntries({ all: true });
  const report = await store.audit();
  expect(report.differences).toEqual([]);
  expect(report.entries).toBe(before + keys.length);
}

// F496
it('keeps its old entries valid beside new charges, also after a move to PostgreSQL', async () => {
  const old = new DatabaseSync(ledgerFile(dataDir));
  const sealed = old.prepare(FIRST_BLOCK).all();
  old.close();
  await rewriteLedger({ dataDir }, SET_BACK);
  const embedded = await openEmbeddedStore({ dataDir, pepper: PEPPER });
  await chargeAndAudit(embedded, OLD_ENTRIES);
  await embedded.close();
  const migrated = new DatabaseSync(ledgerFile(dataDir));
  expect(migrated.prepare(FIRST_BLOCK).all()).toEqual(sealed);
  migrated.close();

  const connectionString = await server.createDatabase();
  await moveEmbeddedLedger({ dataDir, pepper: PEPPER, connectionString });
  const postgres = await openPostgresStore({ connectionString, pepper: PEPPER });
  await chargeAndAudit(postgres, OLD_ENTRIES + 2);

  // What an old entry lacks is as sealed as what it has.
  await rewriteLedger(
    { databaseUrl: connectionString },
    "UPDATE ledger SET cost = 1 WHERE kind = 'charge' AND seq = 3",
  );
  const { differences } = await postgres.audit();
  expect(differences.map(({ check }) => check)).toContain('seal');
  await postgres.close();
});

const SEALS = 'SELECT * FROM ledger_seal ORDER BY block_id, account_id';
const USD = 10n ** 14n;
const BY = { name: 'tests' };

/** What the sides of the books have, and that the audit finds nothing. */
async function soundSides(store: BalanceStore) {
  const { differences, sides, charged, balances } = await store.audit();
  expect(differences).toEqual([]);
  const of = Object.fromEntries(sides.map(({ side, amount }) => [side, amount]));
  expect(sides.reduce((sum, { amount }) => sum + amount, 0n)).toBe(0n);
  return { of, charged, balances };
}

/** Opens the accounts of an earlier version, and books what changes its credits. */
async function continueBooks(store: BalanceStore): Promise<void> {
  const before = await soundSides(store);
  expect(before.of).toEqual({});
  await store.expire({ keysWithinMs: 0 });
  const opened = await soundSides(store);
  expect(opened.of['unknown']).toBe(-before.balances - before.charged);
  const accounts = [...(await store.listAccounts({ limit: 10 }))].reverse();
  expect(opened.of['balance:given']).toBe(accounts.reduce((sum, { given }) => sum + given, 0n));
  expect(accounts.map(({ given }) => given > 0n).slice(0, 2)).toEqual([true, true]);
  const [a = '', b = ''] = accounts.map(({ id }) => id);

  const given = async (id: string) => (await store.getAccount(id))?.given ?? 0n;
  const before5 = await given(a);
  // The credit of 5 USD was spent in part.
  const left = (await store.readUnspent(a))?.lots.find(({ entryId }) => entryId === 'topup:old-1');
  const reversal = { adjustmentId: 'r1', accountId: a, reverses: 'topup:old-1', by: BY };
  expect(await store.reverse(reversal)).toMatchObject({ outcome: 'adjusted' });
  expect(await given(a)).toBe(before5 - (left?.remaining ?? 0n));
  // Which credits a correction took, nobody recorded: it gives other money back.
  const correction = { adjustmentId: 'r2', accountId: b, reverses: 'adjustment:old-9', by: BY };
  const ofB = await given(b);
  await store.reverse(correction);
  expect(await given(b)).toBe(ofB);
  await store.transfer({ transferId: 'new', from: a, to: b, amount: 12n * USD, by: BY });
  const after = await soundSides(store);
  expect(after.of['unknown']).toBe((opened.of['unknown'] ?? 0n) + 5n * USD - USD / 2n);
  expect(after.of['transfers'] ?? 0n).toBe(0n);

  const [key] = await store.listKeys({ accountId: b, limit: 1 });
  const had = await given(b);
  const charge = settlement(key?.id ?? '', { usage: { inputTokens: 5_000_000 } });
  await store.settle(charge, { deadlineMs: 20_000 });
  await store.sealEntries({ all: true });
  const { of } = await soundSides(store);
  expect(of['redeemed']).toBe(had - (await given(b)));
  expect(of['redeemed']).toBeGreaterThan(0n);
}

// F516: a credit of an earlier version, which does not say from where its money came, is reversed:
// its unspent part is taken from it, and the audit knows the same.
it.each(['5e46f81b', 'b479d8ca'])(
  'of %s has the books of two sides from now on',
  async (commit) => {
    const fixture = new URL(`../fixtures/ledger-of-${commit}.db.gz`, import.meta.url);
    const folders = ['a', 'b'].map(() => mkdtempSync(join(tmpdir(), 'old-ledger-')));
    const [first = '', second = ''] = folders;
    writeFileSync(ledgerFile(first), gunzipSync(readFileSync(fixture)));
    const sealsOf = (folder: string) => {
      const database = new DatabaseSync(ledgerFile(folder));
      const rows = database.prepare(SEALS).all();
      database.close();
      return rows;
    };
    const sealed = sealsOf(first);
    expect(sealed.length).toBeGreaterThan(2);
    await (await openEmbeddedStore({ dataDir: first, pepper: PEPPER })).close();
    cpSync(first, second, { recursive: true });
    const embedded = await openEmbeddedStore({ dataDir: first, pepper: PEPPER });
    await continueBooks(embedded);
    await embedded.close();
    expect(sealsOf(first).slice(0, sealed.length)).toEqual(sealed);

    const connectionString = await server.createDatabase();
    await moveEmbeddedLedger({ dataDir: second, pepper: PEPPER, connectionString });
    const postgres = await openPostgresStore({ connectionString, pepper: PEPPER });
    await continueBooks(postgres);
    await postgres.close();
    for (const folder of folders) rmSync(folder, { recursive: true, force: true });
  },
);
