/** Measures how fast balance stores charge one key, without a gateway in front, in rounds. */

import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { openBatchCounter } from './batches.mjs';
import { startHelper } from './ipc.mjs';
import { cpuSecondsOf } from './proc.mjs';
import { summary } from './statistics.mjs';

const LANES = 512;
const WARM_UP_MS = 1_000;

/**
 * @returns per store: charges per second, CPU time of each process per charge, charges per batch.
 */
export async function measureSettling({ session, rounds, durationMs }) {
  const { databaseUrl, pids } = await session.startServers();
  const dataDir = mkdtempSync(join(session.scratch, 'settling-'));
  const postgres = await startHelper('settler.mjs', ['postgres', databaseUrl]);
  const embedded = await startHelper('settler.mjs', ['embedded', dataDir]);
  const batches = await openBatchCounter(databaseUrl, [postgres.ready.keyId]);
  /** @type {any[]} */
  const stores = [
    { title: 'PostgreSQL', helper: postgres, serverPid: pids.postgres, batches, samples: [] },
    { title: 'embedded (SQLite)', helper: embedded, samples: [] },
  ];
  for (const { helper } of stores) await settle(helper, WARM_UP_MS);
  for (let round = 0; round < rounds; round += 1) {
    for (const store of stores) store.samples.push(await sample(store, durationMs));
  }
  const figures = await Promise.all(stores.map(figuresOf));
  await batches.close();
  for (const { helper } of stores) {
    await helper.ask('close');
    helper.stop();
  }
  return figures;
}

function settle(helper, durationMs) {
  return helper.ask('settle', { lanes: LANES, durationMs });
}

async function sample({ helper, serverPid, batches }, durationMs) {
  await batches?.read();
  const before = clocks(helper, serverPid);
  const { settled, seconds } = await settle(helper, durationMs);
  const after = clocks(helper, serverPid);
  const counted = await batches?.readLatest();
  return {
    perSecond: settled / seconds,
    cpuUs: ((after.own - before.own) / settled) * 1e6,
    serverCpuUs: ((after.server - before.server) / settled) * 1e6,
    perBatch: counted && counted.settled / counted.batches,
  };
}

function clocks({ pid }, serverPid) {
  return {
    own: cpuSecondsOf(pid),
    server: serverPid === undefined ? NaN : cpuSecondsOf(serverPid),
  };
}

async function figuresOf({ title, helper, samples }) {
  const of = (name) => summary(samples.map((figures) => figures[name]));
  return {
    title,
    perSecond: of('perSecond'),
    cpuUs: of('cpuUs'),
    serverCpuUs: of('serverCpuUs'),
    perBatch: of('perBatch'),
    isExact: await helper.ask('isExact'),
  };
}
