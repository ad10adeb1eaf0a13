/**
 * The system under test of the part `payments-embedded`: one gateway with the embedded ledger. Its
 * process is killed, and its disk loses power (see `power.mjs`). Needs a C compiler, for the
 * recorder.
 */

import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { openEmbeddedStore } from '../../packages/balance-store/dist/embedded/index.js';
import { freePort } from '../../scripts/free-port.cjs';
import { createDisk, readRecords } from '../power/disk.mjs';
import { compileRecorder } from '../power/recorder.mjs';
import { createReplica } from '../replicas.mjs';
import { ADMIN_TOKEN, PEPPER } from '../system.mjs';
import { startUpstreams } from '../upstreams.mjs';

/**
 * @param {object} options
 * @param {Readonly<Record<string, string>>} options.env - configuration of the gateway
 */
export async function startOnEmbedded({ env }, random) {
  const scratch = mkdtempSync(join(tmpdir(), 'gateway-payments-'));
  const dataDir = join(scratch, 'data');
  const log = join(scratch, 'log');
  mkdirSync(dataDir);
  const upstreams = await startUpstreams({ accounts: 0, journalEntries: 1 });
  const replica = createReplica('gateway', {
    port: await freePort(),
    adminPort: await freePort(),
    env: {
      ...upstreams.env,
      DATA_DIR: dataDir,
      KEY_PEPPER: PEPPER,
      ADMIN_TOKEN,
      LD_PRELOAD: compileRecorder(scratch),
      POWER_DIR: dataDir,
      POWER_LOG: log,
      ...env,
    },
  });
  let disk = createDisk(random);
  let store;
  await replica.start();

  /**
   * Empties the recorder's log. The simulated disk starts again with
   * the present files, and counts all of their bytes as flushed.
   */
  function recordAnew() {
    rmSync(log, { force: true });
    disk = createDisk(random, dataDir);
  }

  return {
    replicas: [replica],
    /** @param {() => Promise<void>} afterwards - called while no gateway has the ledger open */
    async kill(afterwards) {
      await replica.untilReady();
      await replica.restart('SIGKILL', async () => {
        recordAnew();
        await afterwards();
      });
    },
    /** @param {() => Promise<void>} afterwards - called while no gateway has the ledger open */
    async cutPower(afterwards) {
      await replica.untilReady();
      await replica.restart('SIGKILL', async () => {
        for (const record of readRecords(log)) disk.apply(record);
        rmSync(dataDir, { recursive: true });
        disk.cut(dataDir);
        recordAnew();
        await afterwards();
      });
    },
    /** Reads the ids of all entries with plain SQL, without the code under test. */
    async entryIds() {
      // A copy, because opening the file would change it.
      const copy = join(scratch, 'copy');
      cpSync(dataDir, copy, { recursive: true });
      const database = new DatabaseSync(join(copy, 'ledger.db'));
      try {
        const rows = database.prepare('SELECT id FROM ledger').all();
        return new Set(rows.map(({ id }) => String(id)));
      } finally {
        database.close();
        rmSync(copy, { recursive: true });
      }
    },
    /** @returns the number of gateways that did not exit with 0 */
    async drain() {
      await replica.untilReady();
      return (await replica.stop()) === 0 ? 0 : 1;
    },
    /** Call this only after `drain`, when the gateway no longer has the ledger open. */
    async openLedger() {
      store = await openEmbeddedStore({ dataDir, pepper: PEPPER });
      return store;
    },
    async stop() {
      await store?.close();
      for (const { link } of upstreams.members) link.stop();
      await upstreams.stop();
      rmSync(scratch, { recursive: true, force: true });
    },
  };
}
