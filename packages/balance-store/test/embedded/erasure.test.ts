/** What was erased is in none of the embedded ledger's files, nor in a backup made afterwards. */

import { randomUUID } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, describe, expect, it } from '@jest/globals';
import { backUpEmbeddedLedger, openEmbeddedStore } from '../../src/embedded/index.js';
import { markErasure } from '../../src/embedded/files/erasure.js';
import type { BalanceStore, RequestRecord } from '../../src/index.js';
import { closeAny, sampleLimits } from '../../src/testing/index.js';
import { requestRecord } from '../../src/testing/samples.js';

const BY = { name: 'tests' };
const PEPPER = 'pepper of the tests';
const directories: string[] = [];
afterAll(() => {
  for (const directory of directories) rmSync(directory, { recursive: true, force: true });
});
function newDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'balance-store-'));
  directories.push(directory);
  return directory;
}
const open = (dataDir: string) => openEmbeddedStore({ dataDir, pepper: PEPPER });

/** Every text about a person that an account, its key and its entries can have. */
const WHERE = ['name', 'external', 'metadata', 'renamed', 'key', 'key-external', 'key-metadata'];
const textsOf = (n: number) =>
  Object.fromEntries(
    [...WHERE, 'note', 'link'].map((where) => [where, `<${where} of customer ${String(n)}>`]),
  );

async function createCustomer(store: BalanceStore, n: number): Promise<string> {
  const text = textsOf(n);
  const filler = 'x'.repeat((n * 37) % 400);
  const created = await store.create({
    account: {
      name: text['name']!,
      externalId: text['external'],
      metadata: { plan: text['metadata']! + filler },
    },
    key: {
      name: text['key']!,
      externalId: text['key-external'],
      metadata: { team: text['key-metadata']! + filler },
      limits: sampleLimits,
      expiresAt: null,
    },
    credit: { amount: 100n, source: 'paid' },
    by: BY,
  });
  if (created.outcome !== 'created') throw new Error(created.outcome);
  const { id } = created.account;
  await store.updateAccount(id, { name: text['renamed']! + filler }, BY);
  await store.adjust({
    adjustmentId: `adjust-${String(n)}`,
    accountId: id,
    amount: 1n,
    reason: 'goodwill',
    note: text['note'],
    by: BY,
  });
  return id;
}

/** The texts of this customer that are in a file of the directory, with the file's name. */
function remaining(directory: string, texts: readonly string[]): readonly string[] {
  return readdirSync(directory).flatMap((name) => {
    const contents = readFileSync(join(directory, name), 'latin1');
    return texts.filter((text) => contents.includes(text)).map((text) => `${name}: ${text}`);
  });
}

const OLD_TEXT = '<a text that an earlier version erased>';

/** Leaves a deleted text in free pages, as versions without `secure_delete` did. */
function leaveOldText(dataDir: string): void {
  const database = new DatabaseSync(join(dataDir, 'ledger.db'));
  const insert = database.prepare('INSERT INTO personal_text VALUES (?, NULL, ?, ?)');
  for (let n = 0; n < 50; n += 1) insert.run(`old${String(n)}`, 'salt', OLD_TEXT.repeat(20));
  database.exec("PRAGMA secure_delete = OFF; DELETE FROM personal_text WHERE id LIKE 'old%'");
  database.close();
}

function requestOf(accountId: string, sessionId: string): RequestRecord {
  return requestRecord({ id: `req_${randomUUID()}`, endedAt: Date.now(), accountId, sessionId });
}

/** A deleted request in free pages, as a split of pages may leave one. */
function leaveOldRequest(dataDir: string): void {
  const database = new DatabaseSync(join(dataDir, 'requests.db'));
  const insert = database.prepare(
    'INSERT INTO request_block (seq, ended_at, ids, requests) VALUES (?, 0, ?, ?)',
  );
  for (let n = 0; n < 50; n += 1) insert.run(1_000 + n, new Uint8Array(), OLD_TEXT.repeat(20));
  database.exec('DELETE FROM request_block WHERE seq >= 1000');
  database.close();
}

describe('an erasure', () => {
  // F158: erased texts in unused parts of the embedded ledger's file: gone after the next stop or
  // start, also after a kill; never in a later backup.
  it('leaves none of the texts in the files of a stopped ledger, nor in a backup', async () => {
    const dataDir = newDirectory();
    const backups = newDirectory();
    let store = await open(dataDir);
    const customers: string[] = [];
    for (let n = 0; n < 60; n += 1) customers.push(await createCustomer(store, n));
    await store.close();
    leaveOldText(dataDir);
    store = await open(dataDir);
    const erased: string[] = [OLD_TEXT];
    const kept: string[] = [];
    for (const [n, id] of customers.entries()) {
      const texts = Object.values(textsOf(n));
      if (n % 2 === 0) {
        await closeAny(store, id);
        await store.eraseAccount(id, BY);
      }
      (n % 2 === 0 ? erased : kept).push(...texts);
    }
    const audit = await store.audit();
    expect(audit).toMatchObject({ isSound: true });
    await backUpEmbeddedLedger({ dataDir, to: join(backups, 'running.db') });
    await store.close();
    await backUpEmbeddedLedger({ dataDir, to: join(backups, 'stopped.db') });

    expect(remaining(dataDir, erased)).toEqual([]);
    expect(remaining(backups, erased)).toEqual([]);
    // The same search finds the texts of the others, in each file.
    const found = remaining(backups, kept);
    expect(found.length).toBeGreaterThanOrEqual(2 * 30 * WHERE.length);
    const again = await open(dataDir);
    expect(await again.audit()).toMatchObject({ isSound: true, entries: audit.entries });
    await again.close();
  });

  // F254: requests of an erased account in unused parts of the record's file: gone with the next
  // stop, and nothing of the requests of others.
  it('leaves nothing in the record of requests', async () => {
    const dataDir = newDirectory();
    let store = await open(dataDir);
    const erased = await createCustomer(store, 1);
    const kept = await createCustomer(store, 2);
    await store.recordRequests({
      kept: [requestOf(erased, 'session-to-erase'), requestOf(kept, 'session-to-keep')],
      counted: [],
    });
    await store.close();
    leaveOldRequest(dataDir);
    expect(remaining(dataDir, [OLD_TEXT])).toEqual([`requests.db: ${OLD_TEXT}`]);
    store = await open(dataDir);
    await closeAny(store, erased);
    await store.eraseAccount(erased, BY);
    expect(existsSync(join(dataDir, 'requests.db-erased-texts-remain'))).toBe(true);
    await store.close();
    expect(remaining(dataDir, [OLD_TEXT, 'session-to-erase', erased.slice(5)])).toEqual(
      // The ledger keeps the id of the account, which is about nobody.
      [`ledger.db: ${erased.slice(5)}`],
    );
    expect(remaining(dataDir, ['session-to-keep'])).toEqual(['requests.db: session-to-keep']);
    expect(existsSync(join(dataDir, 'requests.db-erased-texts-remain'))).toBe(false);
  });

  // F158
  it('is finished when the ledger is opened again, if its process was killed before', async () => {
    const dataDir = newDirectory();
    await (await open(dataDir)).close();
    leaveOldText(dataDir);
    expect(remaining(dataDir, [OLD_TEXT])).toEqual([`ledger.db: ${OLD_TEXT}`]);
    markErasure(join(dataDir, 'ledger.db'));
    const store = await open(dataDir);
    expect(remaining(dataDir, [OLD_TEXT])).toEqual([]);
    expect(existsSync(join(dataDir, 'erased-texts-remain'))).toBe(false);
    await store.close();
  });

  // F158
  it('is finished later if another process reads the ledger', async () => {
    const dataDir = newDirectory();
    await (await open(dataDir)).close();
    leaveOldText(dataDir);
    markErasure(join(dataDir, 'ledger.db'));
    const reader = new DatabaseSync(join(dataDir, 'ledger.db'), { readOnly: true });
    reader.exec('BEGIN; SELECT 1 FROM account');
    const store = await open(dataDir);
    expect(existsSync(join(dataDir, 'erased-texts-remain'))).toBe(true);
    reader.close();
    await store.close();
    expect(remaining(dataDir, [OLD_TEXT])).toEqual([]);
    expect(existsSync(join(dataDir, 'erased-texts-remain'))).toBe(false);
  });
});
