/**
 * The charge of one message is found by an index among many entries, of all accounts, of one or of
 * one key. These tests look at the plans of the databases, not at times.
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { PrismaPg } from '@prisma/adapter-pg';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { openEmbeddedStore } from '../../src/embedded/index.js';
import { openReader } from '../../src/embedded/sqlite/connection.js';
import { listEntries } from '../../src/embedded/sqlite/entries.js';
import { PrismaClient } from '../../src/generated/client.js';
import type { BalanceStore } from '../../src/index.js';
import type { EntryFilter } from '../../src/ledger-entry.js';
import { createEntryTable } from '../../src/postgres/entries.js';
import { openPostgresStore } from '../../src/postgres/index.js';
import { sampleLimits, settlement } from '../../src/testing/index.js';
import { rowsRead } from '../postgres-plans.js';
import { querySql, usePostgresServer } from '../postgres-server.js';
import type { PostgresServer } from '../postgres-server.js';
import { rewriteLedger } from '../rewrite-ledger.js';
import { plansOf } from '../sqlite-plans.js';

const PEPPER = 'pepper of the tests';
const ENTRIES = 5_000;
const LIMIT = 100;

/** The key of an account with one charge. */
async function oneCharge(store: BalanceStore) {
  const { record } = await store.createKey({ name: 'k', limits: sampleLimits, expiresAt: null });
  await store.settle(settlement(record.id, { upstreamId: 'msg_0' }), { deadlineMs: 20_000 });
  return record;
}

/** Copies the only charge, each time with another id, number and message. */
function copyOf(columns: readonly string[], numbers: string): string {
  const changed: Record<string, string> = {
    id: "'req_' || n.i",
    seq: 'seq + n.i',
    upstream_id: "'msg_' || n.i",
  };
  const values = columns.map((column) => changed[column] ?? `ledger.${column}`);
  return `INSERT INTO ledger (${columns.join(', ')}) SELECT ${values.join(', ')} FROM ledger, ${numbers}`;
}

/** Every way in which a message is looked for. */
const filtersOf = ({ id, accountId }: { readonly id: string; readonly accountId: string }) => {
  const message = { upstreamId: 'msg_7', limit: LIMIT };
  return [
    message,
    { ...message, accountId },
    { ...message, accountId, keyId: id },
  ] as EntryFilter[];
};

describe('among many entries, SQLite', () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'balance-store-'));
  afterAll(() => rmSync(dataDir, { recursive: true, force: true }));

  // F210
  it('finds the charge of a message by its index', async () => {
    const store = await openEmbeddedStore({ dataDir, pepper: PEPPER });
    const key = await oneCharge(store);
    await store.close();
    const file = join(dataDir, 'ledger.db');
    const database = new DatabaseSync(file, { readOnly: true });
    const columns = database.prepare("SELECT name FROM pragma_table_info('ledger')").all();
    database.close();
    const numbers =
      '(WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n ' +
      `WHERE i < ${String(ENTRIES)}) SELECT i FROM n) n`;
    const copy = copyOf(
      columns.map(({ name }) => String(name)),
      numbers,
    );
    // Without ANALYZE, which the gateway never runs: SQLite knows no statistics.
    await rewriteLedger({ dataDir }, copy);
    const reader = openReader(file);
    for (const filter of filtersOf(key)) {
      const plans = await plansOf(reader, (on) => {
        expect(listEntries(on, filter, undefined)).toHaveLength(1);
      });
      expect(plans).toEqual([
        expect.stringMatching(/^SEARCH ledger USING INDEX ledger_upstream_id_idx \(/),
      ]);
    }
    reader.close();
  });
});

describe('among many entries, PostgreSQL', () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await usePostgresServer();
  });
  afterAll(() => server.stop());

  // F210
  it('reads little more than the charge of a message', async () => {
    const databaseUrl = await server.createDatabase();
    const store = await openPostgresStore({ connectionString: databaseUrl, pepper: PEPPER });
    const key = await oneCharge(store);
    await store.close();
    const columns = await querySql<{ name: string }>(
      databaseUrl,
      "SELECT column_name AS name FROM information_schema.columns WHERE table_name = 'ledger'",
    );
    const copy = copyOf(
      columns.map(({ name }) => name),
      `generate_series(1, ${String(ENTRIES)}) AS n (i)`,
    );
    await rewriteLedger({ databaseUrl }, `${copy}; ANALYZE`);
    const prisma = new PrismaClient({
      adapter: new PrismaPg({ connectionString: databaseUrl }),
      log: [{ emit: 'event', level: 'query' }],
    });
    const statements: { readonly query: string; readonly params: string }[] = [];
    prisma.$on('query', (statement) => statements.push(statement));
    for (const filter of filtersOf(key)) {
      expect(await createEntryTable(prisma).list(filter, undefined)).toHaveLength(1);
    }
    await prisma.$disconnect();
    expect(statements.length).toBeGreaterThanOrEqual(3);
    for (const { query, params } of statements) {
      const values = JSON.parse(params) as string[];
      expect(await rowsRead(databaseUrl, query, values)).toBeLessThan(20);
    }
  });
});
