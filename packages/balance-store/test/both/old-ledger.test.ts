/**
 * A ledger that was written before charges had terms, fees and costs: two accounts with 25 charges,
 * some written off, credits, a correction and a transfer; all but one entry are sealed. Its entries
 * stay valid to the byte beside new charges, on both ledgers.
 */

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
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

// F503: also an entry that is earlier than the one before it, as versions allowed that followed a
// clock that was set back.
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
