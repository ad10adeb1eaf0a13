/** Threads that do long work: their death is the failure of that work only. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, describe, expect, it } from '@jest/globals';
import { openEmbeddedStore } from '../../src/embedded/index.js';
import { ledgerFile } from '../../src/embedded/open.js';
import type { ReadOperations } from '../../src/embedded/threads/operations.js';
import { createLedgerThread } from '../../src/embedded/threads/thread-client.js';
import { BackgroundWorkError } from '../../src/index.js';
import { openPostgresStore } from '../../src/postgres/index.js';
import { usePostgresServer } from '../postgres-server.js';

const pepper = 'pepper of the tests';
const directory = mkdtempSync(join(tmpdir(), 'background-'));
afterAll(() => {
  rmSync(directory, { recursive: true, force: true });
});

describe('long work in a thread', () => {
  // F152: long work needs more memory than its thread may use, or its store closes: that work fails
  // with the reason; the process, its store and the next audit go on.
  it('fails alone if it needs more memory than the thread may use', async () => {
    const store = await openEmbeddedStore({ dataDir: directory, pepper });
    const file = ledgerFile(directory);
    const database = new DatabaseSync(file);
    database.exec(
      'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000) ' +
        "INSERT INTO usage_hour SELECT 'account ' || i, 1, 'key', 'model', 'messages', '', '', " +
        `FALSE, 1, ${'0, '.repeat(5)}${"'0.00000000000000', ".repeat(8)}0 FROM n`,
    );
    database.close();
    const thread = createLedgerThread<ReadOperations>(
      { file, role: 'background', checkpoints: false },
      { limits: { maxOldGenerationSizeMb: 24, maxYoungGenerationSizeMb: 2 } },
    );
    const range = { from: new Date(0), until: new Date(7_200_000) };
    const read = thread.call('readUsage', [{ by: ['account'], ...range }], undefined);
    await expect(read).rejects.toThrow(BackgroundWorkError);
    const [all] = await store.readUsage({ by: [], ...range });
    expect(all?.requests).toBe(100_000);
    await thread.stop();
    await store.close();
  });

  // F152
  it('does not delay closing a store on PostgreSQL', async () => {
    const server = await usePostgresServer();
    try {
      const connectionString = await server.createDatabase();
      const store = await openPostgresStore({ connectionString, pepper });
      expect((await store.audit()).isSound).toBe(true);
      const interrupted = expect(store.audit()).rejects.toThrow('the store is closed');
      await store.close();
      await interrupted;
      await expect(store.audit()).rejects.toThrow('the store is closed');
    } finally {
      await server.stop();
    }
  });
});
