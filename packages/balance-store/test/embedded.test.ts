/** The contract on the embedded database, and the rules for its directory. */

import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Pool } from 'pg';
import { openEmbeddedStore } from '../src/embedded/index.js';
import { startPglite } from '../src/embedded/pglite.js';
import { EmbeddedStoreLockedError, StoreUnavailableError } from '../src/index.js';
import { balanceStoreContract } from '../src/testing/index.js';
import { expectAllOnce, spawnWriter } from './writer-process.js';

const PEPPER = 'pepper of the tests';

const directories: string[] = [];
function newDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'balance-store-'));
  directories.push(directory);
  return directory;
}
afterAll(() => {
  for (const directory of directories) rmSync(directory, { recursive: true, force: true });
});

balanceStoreContract({
  name: 'embedded',
  runner: { describe, it, beforeAll, afterAll },
  async open() {
    const dataDir = newDirectory();
    let store = await openEmbeddedStore({ dataDir, pepper: PEPPER });
    return {
      get store() {
        return store;
      },
      async tamper(sql) {
        await store.close();
        const pglite = startPglite(join(dataDir, 'pglite'));
        const pool = new Pool({ stream: pglite.connect, user: 'postgres', max: 1 });
        try {
          await pool.query(sql);
        } finally {
          await pool.end();
          await pglite.stop();
          store = await openEmbeddedStore({ dataDir, pepper: PEPPER });
        }
      },
      close: () => store.close(),
    };
  },
});

describe('embedded: the directory', () => {
  it('refuses a second opener without harm to the first', async () => {
    const dataDir = newDirectory();
    const store = await openEmbeddedStore({ dataDir, pepper: PEPPER });
    for (let attempt = 0; attempt < 20; attempt += 1) {
      await expect(openEmbeddedStore({ dataDir, pepper: PEPPER })).rejects.toThrow(
        EmbeddedStoreLockedError,
      );
    }
    await store.ping();
    await store.close();
    await (await openEmbeddedStore({ dataDir, pepper: PEPPER })).close();
  });

  it('refuses one of two openers that start at once', async () => {
    const dataDir = newDirectory();
    const results = await Promise.allSettled([
      openEmbeddedStore({ dataDir, pepper: PEPPER }),
      openEmbeddedStore({ dataDir, pepper: PEPPER }),
    ]);
    expect(results.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    for (const result of results) if (result.status === 'fulfilled') await result.value.close();
  });

  it('loses and doubles nothing when its process is killed repeatedly', async () => {
    const dataDir = newDirectory();
    const acknowledged = new Map<string, bigint>();
    for (let kill = 1; kill <= 3; kill += 1) {
      const writer = spawnWriter(['embedded', dataDir, '100'], acknowledged);
      await writer.hasAcknowledged(7_000);
      await writer.kill();
    }
    expect(acknowledged.size).toBeGreaterThanOrEqual(20_000);
    const store = await openEmbeddedStore({ dataDir, pepper: PEPPER });
    await expectAllOnce(store, acknowledged);
    await store.close();
  });

  it('acknowledges nothing that a full disk did not store', async () => {
    const dataDir = newDirectory();
    const maxFileBytes = 17_000_000;
    const acknowledged = new Map<string, bigint>();
    const first = spawnWriter(['embedded', dataDir, '10'], acknowledged);
    await first.hasAcknowledged(10);
    await first.kill();
    // Makes the ledger's file nearly as large as the limit. The rows are deleted again, but without
    // autovacuum their space is not reused.
    const pglite = startPglite(join(dataDir, 'pglite'));
    const pool = new Pool({ stream: pglite.connect, user: 'postgres', max: 1 });
    await pool.query(`
      ALTER TABLE ledger DISABLE TRIGGER USER;
      ALTER TABLE ledger SET (autovacuum_enabled = off);
      INSERT INTO ledger (id, key_id, seq, kind, delta, balance_after, input_hash, created_at, actor)
        SELECT 'filler' || n, 'filler', n, 'top_up', 1, 1, '', now(), repeat('x', 1500)
        FROM generate_series(1, ${String(Math.floor(maxFileBytes / 1_650))}) AS n;
      DELETE FROM ledger WHERE key_id = 'filler';
      ALTER TABLE ledger ENABLE TRIGGER USER;`);
    await pool.end();
    await pglite.stop();

    const writer = spawnWriter(['embedded', dataDir, '100'], acknowledged, { maxFileBytes });
    await writer.hasStalled();
    await writer.kill();
    const store = await openEmbeddedStore({ dataDir, pepper: PEPPER });
    await expectAllOnce(store, acknowledged);
    await store.close();
  });

  it('the lock of a killed process is free at once', async () => {
    const dataDir = newDirectory();
    const holder = spawn(process.execPath, ['-e', HOLD_SOCKET, join(dataDir, 'lock')]);
    await new Promise((resolve) => holder.stdout.once('data', resolve));
    // The process holds only the lock file, like a gateway in a container that shares the directory
    // but not the network namespace.
    await expect(openEmbeddedStore({ dataDir, pepper: PEPPER })).rejects.toThrow(
      EmbeddedStoreLockedError,
    );
    const exited = new Promise((resolve) => holder.once('exit', resolve));
    holder.kill('SIGKILL');
    await exited;
    await (await openEmbeddedStore({ dataDir, pepper: PEPPER })).close();
  });
});

describe('embedded: connections', () => {
  it('a new connection sees nothing of a broken one, and stays usable after errors', async () => {
    const pglite = startPglite(newDirectory());
    const pool = new Pool({ stream: pglite.connect, user: 'postgres', max: 1 });
    const first = await pool.connect();
    await first.query('CREATE TABLE kept (id INTEGER)');
    await first.query('BEGIN');
    await first.query({ name: 'insert', text: 'INSERT INTO kept VALUES ($1)', values: [1] });
    first.release(true);
    const rows = await pool.query({
      name: 'insert',
      text: 'SELECT id FROM kept WHERE id = $1',
      values: [1],
    });
    expect(rows.rows).toEqual([]);
    await expect(pool.query('SELECT 1 / $1::int', [0])).rejects.toMatchObject({ code: '22012' });
    await expect(pool.query('SELECT nonsense; SELECT 1')).rejects.toMatchObject({ code: '42703' });
    expect((await pool.query('SELECT $1::text AS said', ['x'.repeat(1_000_000)])).rows[0]).toEqual({
      said: 'x'.repeat(1_000_000),
    });
    await pool.end();
    await pglite.stop();
  });

  it('a directory that holds no database fails to open with a clear fault, and frees the lock', async () => {
    const dataDir = newDirectory();
    writeFileSync(join(dataDir, 'pglite'), 'not a directory');
    const open = () => openEmbeddedStore({ dataDir, pepper: PEPPER });
    await expect(open()).rejects.toThrow(StoreUnavailableError);
    rmSync(join(dataDir, 'pglite'));
    await (await open()).close();
  });
});

const HOLD_SOCKET =
  "require('node:net').createServer().listen(process.argv[1], () => process.stdout.write('held'))";
