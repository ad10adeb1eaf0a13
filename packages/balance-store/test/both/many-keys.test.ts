/**
 * A holder creates keys without end. Work that reads the whole ledger holds a page of them, however
 * many there are and whatever accounts they belong to.
 */

import { execFile } from 'node:child_process';
import { copyFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { DatabaseSync } from 'node:sqlite';
import { openEmbeddedStore } from '../../src/embedded/index.js';
import { ledgerFile } from '../../src/embedded/open.js';
import { createAuditSource } from '../../src/embedded/sqlite/audit/source.js';
import { openReader } from '../../src/embedded/sqlite/connection.js';
import type { Connection } from '../../src/embedded/sqlite/connection.js';
import type { ReadOperations } from '../../src/embedded/threads/operations.js';
import { createLedgerThread } from '../../src/embedded/threads/thread-client.js';
import { allRowsOf, createCarrySums } from '../../src/ledger/archive/carry.js';
import type { CarriedCharge } from '../../src/ledger/archive/carry.js';
import { verifyArchiveFile } from '../../src/ledger/archive/verify-file.js';
import { auditLedger } from '../../src/ledger/audit/audit-ledger.js';
import { sampleLimits, settlement } from '../../src/testing/index.js';
import { waitPastMidnight } from '../../src/testing/midnight.js';
import { earlier, hoursEarlier, rewriteLedger } from '../rewrite-ledger.js';

const VERIFY_FILE = join(__dirname, '../../src/ledger/archive/verify-file.ts');
const PEPPER = 'pepper of the tests';
const BY = { name: 'tests' };
const DAY_MS = 86_400_000;
const directories: string[] = [];
function newDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'many-keys-'));
  directories.push(directory);
  return directory;
}
afterAll(() => {
  for (const directory of directories) rmSync(directory, { recursive: true, force: true });
});

const COPIES = 40_000;

/** Copies the only row of a table. @param changed - Columns, and SQL of the copy's number `i`. */
function copyRows(
  database: DatabaseSync,
  table: string,
  changed: Readonly<Record<string, string>>,
): void {
  const columns = database.prepare(`PRAGMA table_info(${table})`).all();
  const values = columns.map(({ name }) => changed[String(name)] ?? String(name));
  database.exec(
    `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${String(COPIES)}) ` +
      `INSERT INTO ${table} SELECT ${values.join(', ')} FROM ${table}, n`,
  );
}

describe('many keys', () => {
  // F239: an account with more keys than fit into memory, all charged in one hour: an audit holds
  // one page of them. The heap of its thread is a quarter of the usual one here.
  it('of one account are audited in a small heap', async () => {
    const dataDir = newDirectory();
    const store = await openEmbeddedStore({ dataDir, pepper: PEPPER });
    const key = { name: 'first', limits: sampleLimits, expiresAt: null };
    const created = await store.create({ account: { name: 'many' }, key, by: BY });
    if (created.outcome !== 'created') throw new Error(created.outcome);
    await store.settle(settlement(created.key?.id ?? ''), { deadlineMs: 20_000 });
    const database = new DatabaseSync(ledgerFile(dataDir));
    copyRows(database, 'api_key', { id: 'id || i', credential_hmac: 'randomblob(32)' });
    copyRows(database, 'usage_hour', { key_id: 'key_id || i' });
    copyRows(database, 'ledger', { id: 'id || i', key_id: 'key_id || i', seq: 'seq + i' });
    database.exec('UPDATE account SET seq = (SELECT max(seq) FROM ledger)');
    database.close();
    const thread = createLedgerThread<ReadOperations>(
      { file: ledgerFile(dataDir), role: 'background', checkpoints: false },
      { limits: { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 8 } },
    );
    const report = await thread.call('audit', [{}], undefined);
    expect(report.keys).toBe(COPIES + 1);
    expect(report.entries).toBe(COPIES + 1);
    // The copies have no creation in the trail; their totals and their usage are right.
    expect(new Set(report.differences.map(({ check }) => check))).not.toContain('usage');
    await thread.stop();
    await store.close();
  });

  // F239
  it('are summed for an archive a part at a time, with the same sums in the same order', async () => {
    const charges = Array.from({ length: 400 }, (_, index): CarriedCharge => {
      const seq = BigInt(Math.floor(index / 4) + 1);
      return {
        accountId: `account ${String(index % 4)}`,
        // After every 40th charge, a credit ends the run.
        seq: seq + seq / 40n,
        keyId: `key ${String((index * 7919) % 31)}`,
        delta: -BigInt(index),
        writtenOff: 0n,
        overCap: 0n,
        createdAtMs: index,
        balanceAfter: BigInt(1_000 - index),
      };
    });
    const sumAll = async (rowsKept: number) => {
      let most = 0;
      let passes = 0;
      const add = (sums: ReturnType<typeof createCarrySums>) => {
        passes += 1;
        for (const charge of charges) {
          sums.add(charge);
          most = Math.max(most, sums.size());
        }
        return Promise.resolve();
      };
      const sums = createCarrySums(1, { rowsKept });
      await add(sums);
      const rows = [];
      for await (const row of allRowsOf(sums, add)) rows.push(row);
      return { rows, most, passes };
    };
    const whole = await sumAll(10_000);
    expect([whole.passes, whole.rows.length]).toEqual([1, whole.most]);
    for (const rowsKept of [1, 7, 100]) {
      const { rows, most, passes } = await sumAll(rowsKept);
      expect(rows).toEqual(whole.rows);
      expect(most).toBeLessThanOrEqual(2 * rowsKept);
      expect(passes).toBeGreaterThan(1);
    }
  });
});

describe('a page of a few keys', () => {
  let dataDir: string;
  let file: string;
  /** A ledger with an archive, and charges after it, of accounts with one to seven keys. */
  beforeAll(async () => {
    dataDir = newDirectory();
    const store = await openEmbeddedStore({ dataDir, pepper: PEPPER });
    const keys: string[] = [];
    for (const count of [1, 7, 2, 3]) {
      const key = { name: 'k', limits: sampleLimits, expiresAt: null };
      const credit = { amount: 10n ** 16n, source: 'paid' } as const;
      const created = await store.create({ account: { name: 'a' }, key, credit, by: BY });
      if (created.outcome !== 'created') throw new Error(created.outcome);
      const { id } = created.account;
      keys.push(created.key?.id ?? '');
      for (let more = 1; more < count; more += 1) {
        const added = await store.create({ account: { id }, key, by: BY });
        if (added.outcome === 'created') keys.push(added.key?.id ?? '');
      }
    }
    const charge = async () => {
      for (const keyId of keys) await store.settle(settlement(keyId), { deadlineMs: 20_000 });
    };
    await waitPastMidnight();
    await charge();
    const place = { dataDir };
    await rewriteLedger(
      place,
      `UPDATE ledger SET created_at = ${earlier(place, 40 * DAY_MS)}; ` + hoursEarlier(40),
    );
    file = join(newDirectory(), 'archive.jsonl');
    const until = new Date((Math.floor(Date.now() / DAY_MS) - 10) * DAY_MS);
    await store.archive({ until, file, by: BY });
    await charge();
    await charge();
    await store.close();
  });

  const audited = async (reader: Connection, keys: number) => {
    const report = await auditLedger(createAuditSource(reader), {}, { accounts: 3, keys });
    return { ...report, differences: report.differences.map((one) => JSON.stringify(one)).sort() };
  };

  // F239
  it.each([
    ['a sound ledger', ''],
    ['a total of a key', "UPDATE api_key SET spent = '9.00000000000000'"],
    ['a sum of usage', 'UPDATE usage_hour SET requests = requests + 1'],
    ['a charge', 'UPDATE ledger SET output_tokens = 11'],
    ['the time of a charge', 'UPDATE ledger SET created_at = created_at - 86400000'],
    ['the key of a charge', "UPDATE ledger SET key_id = 'key_0' WHERE kind = 'charge'"],
    ['the key of a sum', "UPDATE usage_hour SET key_id = 'a' || key_id"],
    ['an archived sum', "UPDATE ledger_carry SET charged = '0.00000000000009'"],
    ['the key of an archived sum', "UPDATE ledger_carry SET key_id = key_id || 'x'"],
  ])('finds what a page of all keys finds: %s', async (_, sql) => {
    const copy = newDirectory();
    copyFileSync(ledgerFile(dataDir), ledgerFile(copy));
    await rewriteLedger({ dataDir: copy }, sql);
    const reader = openReader(ledgerFile(copy));
    const whole = await audited(reader, 5_000);
    expect(whole.isSound).toBe(sql === '');
    for (const keys of [1, 2, 3]) expect(await audited(reader, keys)).toEqual(whole);
    reader.close();
  });

  // F239
  it('gives a file that is verified a part at a time the same figures', async () => {
    const whole = await verifyArchiveFile(file);
    const end = JSON.parse(readFileSync(file, 'utf8').trimEnd().split('\n').at(-1) ?? '') as {
      readonly end: { readonly carry_digest: string };
    };
    expect(whole.carryDigest).toBe(end.end.carry_digest);
    for (const rowsKept of [1, 3]) {
      expect(await verifyArchiveFile(file, { rowsKept })).toEqual(whole);
    }
  });

  // F297: an archive of many keys reads its file more than ten times, and Node reported a leak of
  // listeners. The test's own process would not print it.
  it('lets a file be read many times without a warning of Node', async () => {
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [
      '--import',
      join(__dirname, '../run-typescript.mjs'),
      '--input-type=module',
      '--eval',
      `import { verifyArchiveFile } from ${JSON.stringify(VERIFY_FILE)};
      const { charges } = await verifyArchiveFile(${JSON.stringify(file)}, { rowsKept: 1 });
      console.log(String(charges));`,
    ]);
    expect(Number(stdout)).toBeGreaterThan(10);
    expect(stderr).not.toContain('MaxListenersExceededWarning');
  });
});
