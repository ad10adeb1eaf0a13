/**
 * Torture of the embedded ledger: its process is killed, its power is cut, and its disk fails, at
 * any moment. Every charge that was acknowledged must be in the ledger, once and exactly.
 *
 * A power cut is simulated: a recorder notes every write and every flush of a process. The ledger
 * is then opened from the bytes that a disk could contain at some point of that record. Needs a C
 * compiler, for the recorder.
 */

import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { openEmbeddedStore } from '../packages/balance-store/dist/embedded/index.js';
import { node, root } from '../scripts/setup.mjs';
import { endsWithUs } from '../scripts/servers.mjs';
import { lineOf, toUnits } from './check.mjs';
import { createDisk, readRecords } from './power/disk.mjs';
import { compileRecorder } from './power/recorder.mjs';
import { chargeOfId } from './store-charges.mjs';

const WRITER = join(root, 'torture/power/writer.mjs');
const ACKS = 'acknowledged';
/** One of so many writes and flushes fails on a failing disk. */
const FAIL_ONE_IN = 300;

/**
 * @param {object} options
 * @param {number} options.runs - processes that are recorded
 * @param {number} options.failingRuns - of these, processes whose disk fails now and then
 * @param {number} options.cuts - power cuts of each recorded process, besides one at its end
 * @param {number} options.charges - charges of each recorded process
 * @param {number} options.kills - kill -9, of processes that share another ledger
 * @param {number} options.chargesPerKill
 */
export async function torturePower(
  { runs, failingRuns, cuts, charges, kills, chargesPerKill },
  random,
  say,
) {
  const scratch = mkdtempSync(join(tmpdir(), 'gateway-power-'));
  /** @type {Record<'lost' | 'wrong' | 'unsound', object[]>} */
  const found = { lost: [], wrong: [], unsound: [] };
  const done = { cuts: 0, kills: 0, records: 0 };
  const tally = { acknowledged: 0, committed: 0 };
  try {
    const recorder = compileRecorder(scratch);
    for (let run = 0; run < runs; run += 1) {
      const dataDir = join(scratch, `run-${run}`);
      const log = join(scratch, 'log');
      mkdirSync(dataDir);
      rmSync(log, { force: true });
      const inFlight = [400, 100, 10, 1][run % 4];
      await runWriter([dataDir, join(dataDir, ACKS), `r${run}`, charges, inFlight], {
        LD_PRELOAD: recorder,
        POWER_DIR: dataDir,
        POWER_LOG: log,
        ...(run < runs - failingRuns
          ? {}
          : { POWER_FAIL_ONE_IN: String(FAIL_ONE_IN), POWER_FAIL_FROM: ACKS }),
      });
      await cutPower(log);
      rmSync(dataDir, { recursive: true });
      say(`${done.cuts} power cuts, ${tally.acknowledged} charges acknowledged`);
    }
    await killWriters();
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }

  async function cutPower(log) {
    const records = [...readRecords(log)].length;
    done.records += records;
    const moments = new Set(Array.from({ length: cuts }, () => random.below(records)));
    // One cut is always at the end of the record, when everything is acknowledged and nothing will
    // be flushed any more.
    moments.add(records - 1);
    const disk = createDisk(random);
    let acknowledged = '';
    let index = -1;
    for (const record of readRecords(log)) {
      index += 1;
      if (record.name === ACKS) acknowledged += record.bytes.toString();
      else disk.apply(record);
      if (!moments.has(index)) continue;
      const dataDir = join(scratch, `cut-${done.cuts}`);
      disk.cut(dataDir);
      done.cuts += 1;
      await check(dataDir, idsOf(acknowledged), `cut after record ${index} of ${records}`);
      rmSync(dataDir, { recursive: true });
    }
    tally.acknowledged += idsOf(acknowledged).length;
  }

  async function killWriters() {
    const dataDir = join(scratch, 'killed');
    const acks = join(scratch, ACKS);
    mkdirSync(dataDir);
    for (; done.kills < kills; done.kills += 1) {
      const goal = random.below(2 * chargesPerKill * ACK_BYTES);
      const before = sizeOf(acks);
      const writer = startWriter([dataDir, acks, `k${done.kills}`, 10 ** 9, 200], {});
      while (sizeOf(acks) - before < goal && writer.child.exitCode === null) await sleep(1);
      if (writer.child.exitCode !== null) throw new Error('a writer ended by itself');
      writer.child.kill('SIGKILL');
      await writer.exited;
      if (done.kills % 20 === 19) say(`${done.kills + 1} kills, ${linesOf(acks)} charges`);
    }
    if (kills === 0) return;
    const ids = idsOf(readFileSync(acks, 'utf8'));
    tally.acknowledged += ids.length;
    await check(dataDir, ids, 'after all kills');
  }

  async function check(dataDir, acknowledged, when) {
    try {
      const store = await openEmbeddedStore({ dataDir, pepper: 'torture' });
      const audit = await store.audit().finally(() => store.close());
      if (!audit.isSound || audit.gap !== 0n || audit.conflicts + audit.quarantined > 0) {
        found.unsound.push({
          when,
          differences: audit.differences.slice(0, 3),
          gap: String(audit.gap),
        });
      }
    } catch (error) {
      found.unsound.push({ when, error: String(error) });
      return;
    }
    const charged = readCharges(dataDir);
    tally.committed += charged.size;
    for (const id of acknowledged) if (!charged.has(id)) found.lost.push({ when, id });
    for (const [id, amount] of charged) {
      if (amount !== chargeOfId(id)) found.wrong.push({ when, id, amount: String(amount) });
    }
  }

  const lines = [
    lineOf('I9', `each acknowledged charge is in the ledger, after each cut and kill`, found.lost),
    lineOf(
      'I2',
      'each charge is in the ledger once, with the amount computed from its id',
      found.wrong,
    ),
    lineOf('I5', 'the ledger opens, the audit finds it sound, and its gap is 0', found.unsound),
  ];
  return { lines, tally, done };
}

const ACK_BYTES = 'k100-10000\n'.length;

function startWriter(args, env) {
  const child = spawn(node, [WRITER, ...args.map(String)], {
    stdio: 'inherit',
    env: { ...process.env, ...env },
  });
  endsWithUs(child);
  const exited = new Promise((resolve) => child.once('exit', resolve));
  return { child, exited };
}

async function runWriter(args, env) {
  const code = await startWriter(args, env).exited;
  if (code !== 0) throw new Error(`the writer ended with ${code}`);
}

/** Uses plain SQL, without the code under test. */
function readCharges(dataDir) {
  const database = new DatabaseSync(join(dataDir, 'ledger.db'), { readOnly: true });
  try {
    const rows = database.prepare("SELECT id, delta FROM ledger WHERE kind = 'charge'").all();
    const charges = new Map(rows.map(({ id, delta }) => [id, -toUnits(delta)]));
    if (charges.size !== rows.length) throw new Error('a charge is in the ledger twice');
    return charges;
  } finally {
    database.close();
  }
}

/** The last line may be cut off because the process was killed. */
function idsOf(text) {
  return text.split('\n').slice(0, -1);
}

function sizeOf(file) {
  return existsSync(file) ? statSync(file).size : 0;
}

function linesOf(file) {
  return idsOf(readFileSync(file, 'utf8')).length;
}
