/**
 * Torture of the ledger alone: kills processes that settle as fast as they can, and stops
 * PostgreSQL at once, without a clean shutdown. Every charge that was acknowledged to any process
 * must be in the ledger, once and exactly.
 */

import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { openPostgresStore } from '../packages/balance-store/dist/postgres/index.js';
import { node, root } from '../scripts/setup.mjs';
import { endsWithUs, startPostgres } from '../scripts/servers.mjs';
import { lineOf, toUnits } from './check.mjs';
import { withClient } from './plain-sql.mjs';
import { createProgress } from './progress.mjs';
import { chargeOfId, createKey } from './store-charges.mjs';
import { crashFor } from './system.mjs';

const WRITER = join(root, 'torture/store-writer.mjs');
const KEYS = 20;

/**
 * @param {object} options
 * @param {number} options.charges - acknowledged charges to reach
 * @param {number} options.kills - kill -9 of a writer, spread over the run
 * @param {number} options.databaseCrashes - immediate stops of PostgreSQL, followed by a start
 * @param {number} options.writerCount
 */
export async function tortureStore({ charges, kills, databaseCrashes, writerCount }, random, say) {
  const postgres = await startPostgres();
  const open = (options) =>
    openPostgresStore({ connectionString: postgres.url, pepper: 'torture', ...options });
  const store = await open();
  for (let i = 0; i < KEYS; i += 1) await createKey(store, `torture-${i}`);
  await store.close();

  const acknowledged = new Set();
  const misstated = [];
  let replayed = 0;
  const done = { kills: 0, databaseCrashes: 0, writersFailed: 0 };
  const writers = Array.from({ length: writerCount }, (_, slot) => startWriter(`w${slot}.0`));

  function startWriter(name) {
    const child = spawn(node, [WRITER, postgres.url, name, '100'], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const lines = createInterface({ input: child.stdout });
    const heard = new Promise((resolve) => lines.once('close', resolve));
    endsWithUs(child);
    const exited = new Promise((resolve) => child.once('exit', resolve));
    child.once('exit', (_code, signal) => {
      if (signal !== 'SIGKILL') done.writersFailed += 1;
    });
    lines.on('line', (line) => {
      // The last line may be cut off because the process was killed.
      if (!line.endsWith(';')) return;
      const [id, amount, outcome] = line.slice(0, -1).split(' ');
      if (BigInt(amount) !== chargeOfId(id)) misstated.push(line);
      if (outcome === 'replayed') replayed += 1;
      acknowledged.add(id);
    });
    return {
      async kill() {
        child.kill('SIGKILL');
        await Promise.all([exited, heard]);
      },
    };
  }

  const faults = random.shuffle([
    ...Array.from({ length: kills }, () => killWriter),
    ...Array.from({ length: databaseCrashes }, () => crashDatabase),
  ]);
  const sayProgress = createProgress(say);
  for (const [index, fault] of faults.entries()) {
    await reach(Math.floor(((index + 1) / (faults.length + 1)) * charges));
    await fault();
  }
  await reach(charges);
  await Promise.all(writers.map((writer) => writer.kill()));

  async function reach(count) {
    while (acknowledged.size < count) {
      if (done.writersFailed > 0) throw new Error('a writer ended by itself');
      await sleep(5);
      sayProgress(() => `${acknowledged.size} acknowledged, ${done.kills} kills`);
    }
  }

  async function killWriter() {
    const slot = random.below(writerCount);
    done.kills += 1;
    await writers[slot].kill();
    writers[slot] = startWriter(`w${slot}.${done.kills}`);
  }

  async function crashDatabase() {
    done.databaseCrashes += 1;
    await crashFor(postgres, random.below(300));
  }

  say('comparing the acknowledged charges with the ledger');
  const healed = await open({ holdLifetimeMs: 300 });
  for (let tries = 0; tries < 100 && (await healed.countHolds('live')) > 0; tries += 1) {
    // `expire` marks the expired holds of killed processes as orphaned.
    await healed.expire({ keysWithinMs: 0 });
    await sleep(100);
  }
  const liveHolds = await healed.countHolds('live');
  const orphanedHolds = await healed.countHolds('orphaned');
  await healed.sealEntries({ all: true });
  const audit = await healed.audit();
  await healed.close();
  const ledger = await readCharges(postgres.url);
  postgres.stop();

  const lines = [
    lineOf(
      'I1',
      `sum of entries = sum of balances (gap ${ledger.gap})`,
      ledger.gap === 0n ? [] : [ledger.gap.toString()],
    ),
    lineOf(
      'I2',
      `each charge has the amount computed from its id (${ledger.amounts.size} in the ledger)`,
      [
        ...misstated,
        ...[...ledger.amounts].filter(([id, amount]) => amount !== chargeOfId(id)).map(String),
      ],
    ),
    lineOf(
      'I9',
      `each acknowledged charge is in the ledger (${acknowledged.size} acknowledged, ` +
        `${ledger.amounts.size - acknowledged.size} more committed, ${replayed} replays charged once)`,
      [...acknowledged].filter((id) => !ledger.amounts.has(id)),
    ),
    lineOf(
      'I5',
      `the audit finds the ledger sound, with all entries sealed (${audit.sealed} entries, block ${audit.head?.block})`,
      [
        ...audit.differences,
        ...(audit.sealed === audit.entries ? [] : [`${audit.sealed} of ${audit.entries} sealed`]),
        ...(audit.conflicts + audit.quarantined === 0 ? [] : ['conflicts or quarantine']),
      ],
    ),
    lineOf(
      'I10',
      `no hold is live any more (${orphanedHolds} orphans of killed processes)`,
      liveHolds === 0 ? [] : [String(liveHolds)],
    ),
  ];
  return { lines, tally: { acknowledged: acknowledged.size, replayed }, done };
}

/** Uses plain SQL, without the code under test. */
function readCharges(databaseUrl) {
  return withClient(databaseUrl, async (client) => {
    const amounts = new Map();
    let deltas = 0n;
    let after = '';
    for (;;) {
      const { rows } = await client.query(
        'select id, kind, delta::text from ledger where id > $1 order by id limit 50000',
        [after],
      );
      if (rows.length === 0) break;
      for (const { id, kind, delta } of rows) {
        deltas += toUnits(delta);
        if (kind === 'charge') amounts.set(id, -toUnits(delta));
      }
      after = rows.at(-1).id;
    }
    const { rows } = await client.query('select balance::text from account');
    const balances = rows.reduce((sum, row) => sum + toUnits(row.balance), 0n);
    return { amounts, gap: deltas - balances };
  });
}
