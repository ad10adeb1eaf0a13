/**
 * A ledger that cannot record charges for some seconds, while clients send requests: the disk of
 * the embedded ledger is full, or PostgreSQL is read-only. The upstream's journal is the witness:
 * from one second after the fault began until its end no request arrives, and afterwards every
 * response that the upstream completed is charged its price, once.
 */

import { execFileSync } from 'node:child_process';
import { closeSync, mkdirSync, mkdtempSync, openSync, rmSync, rmdirSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { askIn, createCalls } from './calls.mjs';
import { MODELS, lineOf, toUnits } from './check.mjs';
import { FORMATS } from './formats.mjs';
import { orderText, startOrderedUpstream } from './ordered-upstream.mjs';
import { query } from './plain-sql.mjs';
import { startOnSetup } from './setups.mjs';

const DISK_BYTES = 24 * 1024 * 1024;
/** From then on, no request may be sent upstream. */
const NOTICED_MS = 1_000;

/**
 * @param {object} options
 * @param {number} options.rounds - faults of each kind
 * @param {number} options.faultMs - length of each fault
 * @param {number} options.requests - answered before the first fault, and after each
 * @param {number} options.parallel
 */
export async function tortureUnchargeable(options, random, say) {
  const disk = mountDisk();
  const faults = {
    ...(disk && {
      'a full disk': {
        ledger: 'embedded',
        dataDir: disk.dataDir,
        begin: async () => disk.fill(),
        end: async () => disk.empty(),
      },
    }),
    'a read-only database': {
      ledger: 'PostgreSQL',
      begin: (system) => setReadOnly(system, 'on'),
      end: (system) => setReadOnly(system, 'off'),
    },
  };
  const lines = [];
  if (disk === undefined)
    lines.push(lineOf('skipped', 'a full disk: this user may not mount a file system', []));
  const tally = {};
  try {
    for (const [name, fault] of Object.entries(faults)) {
      say(name);
      const { violations, counts } = await run(fault, options, random);
      for (const [key, value] of Object.entries(counts)) tally[key] = (tally[key] ?? 0) + value;
      const what = {
        U1: 'from a second after the fault began, no request is sent upstream',
        U2: 'each response that the upstream completed is charged its price, once',
        U3: 'requests are answered again after the fault, without a restart',
        audit: 'the audit finds the ledger sound, and the gateway drained and exited with 0',
      };
      for (const [invariant, text] of Object.entries(what))
        lines.push(
          lineOf(invariant, `${name}: ${text} ${JSON.stringify(counts)}`, violations[invariant]),
        );
    }
  } finally {
    disk?.unmount();
  }
  return { lines, tally, done: { rounds: options.rounds } };
}

/**
 * @param {object} fault
 * @param {any} fault.ledger
 * @param {string} [fault.dataDir]
 * @param {(system: any) => Promise<void>} fault.begin
 * @param {(system: any) => Promise<void>} fault.end
 */
async function run({ ledger, dataDir, begin, end }, options, random) {
  const { rounds, faultMs, requests, parallel } = options;
  const upstream = await startOrderedUpstream();
  const started = await startOnSetup(
    { ledger, redis: false, workers: 1, overdraft: 'bounded' },
    {
      upstreamEnv: { UPSTREAM_URL: upstream.url, UPSTREAM_API_KEY: upstream.apiKeys[0] },
      dataDir,
    },
  );
  const { system, gateway, createAccount } = started;
  const key = { concurrency: 100, burst: 100_000, requests_per_minute: 1_000_000 };
  const { keys } = await createAccount('clients', {
    creditUsd: '1000000',
    keys: Array.from({ length: 4 }, () => key),
  });
  const calls = createCalls(gateway.url);
  const counts = { answered: 0, refused: 0, cut: 0 };
  let isStopped = false;
  /** @type {Set<Promise<void>>} */
  const open = new Set();
  const clients = Promise.all(
    Array.from({ length: parallel }, async (_, index) => {
      for (let number = 0; !isStopped; number += 1) {
        const stream = random.chance(0.7);
        const { path, body } = askIn({
          ...{ format: random.pick(FORMATS), model: random.pick(MODELS).id, maxTokens: 20, stream },
          text: orderText({
            ...{ who: 'client', id: `${index}-${number}`, delayMs: random.below(100) },
            ...{ input: 1 + random.below(50), output: 1 + random.below(20) },
          }),
        });
        const sending = send({ path, body });
        open.add(sending);
        // Responses wait for their charges during a fault. New requests must still be made then.
        await Promise.race([sending.then(() => open.delete(sending)), sleep(300)]);
      }
    }),
  );
  /** @type {Record<'U1' | 'U2' | 'U3' | 'audit', unknown[]>} */
  const violations = { U1: [], U2: [], U3: [], audit: [] };
  await untilAnswered(requests);
  for (let round = 0; round < rounds; round += 1) {
    await begin(system);
    const from = Date.now() + NOTICED_MS;
    await sleep(faultMs);
    const until = Date.now();
    await end(system);
    for (const { id, startedAt } of upstream.entries())
      if (startedAt > from && startedAt < until)
        violations.U1.push({ id, msAfterTheFault: startedAt - from + NOTICED_MS });
    if (!(await untilAnswered(counts.answered + requests))) violations.U3.push({ round });
  }
  isStopped = true;
  if (counts.refused === 0) violations.U1.push('no request was refused, so no fault was met');
  await clients;
  await Promise.all(open);
  await calls.stop();
  const badEnds = await started.finish(async () => {
    const ledgerRows = await system.read(
      "select delta, written_off, upstream_id from ledger where kind = 'charge'",
    );
    violations.U2 = wrongCharges(ledgerRows, upstream.entries());
  });
  await upstream.stop();
  violations.audit = badEnds;
  return { violations, counts };

  async function send({ path, body }) {
    const { status } = await calls.call({
      ...{ path, body, credential: random.pick(keys).credential, address: '192.0.2.1' },
    });
    counts[status === 200 ? 'answered' : status === 0 ? 'cut' : 'refused'] += 1;
    if (status !== 200) await sleep(10 + random.below(40));
  }

  async function untilAnswered(count) {
    for (let tries = 0; counts.answered < count; tries += 1) {
      if (tries === 600) return false;
      await sleep(50);
    }
    return true;
  }
}

function wrongCharges(ledger, journal) {
  const entries = Map.groupBy(ledger, ({ upstream_id }) => upstream_id);
  return journal.filter(({ messageId, outcome, price }) => {
    const own = entries.get(messageId) ?? [];
    if (outcome === 'left' && own.length === 0) return false;
    const [entry] = own;
    return (
      own.length !== 1 ||
      toUnits(String(entry.written_off)) - toUnits(String(entry.delta)) !== price
    );
  });
}

/** Also for the sessions that are open. */
async function setReadOnly({ postgres }, value) {
  await query(
    postgres.url.replace(/$/, '?options=-c%20default_transaction_read_only%3Doff'),
    `alter system set default_transaction_read_only = ${value}`,
  );
  await query(postgres.url, 'select pg_reload_conf()');
}

/** @returns a small disk; `undefined` if this user may not mount one */
function mountDisk() {
  const dir = mkdtempSync(join(tmpdir(), 'gateway-torture-disk-'));
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${DISK_BYTES}`, 'gateway-torture', dir], {
      stdio: 'ignore',
    });
  } catch {
    rmdirSync(dir);
    return undefined;
  }
  const dataDir = join(dir, 'data');
  const filler = join(dir, 'filler');
  mkdirSync(dataDir);
  return {
    dataDir,
    fill() {
      const file = openSync(filler, 'w');
      try {
        for (const size of [1024 * 1024, 4096]) writeUntilFull(file, Buffer.alloc(size, 1));
      } finally {
        closeSync(file);
      }
    },
    empty: () => rmSync(filler),
    unmount() {
      execFileSync('umount', [dir]);
      rmdirSync(dir);
    },
  };
}

function writeUntilFull(file, block) {
  try {
    for (;;) writeSync(file, block);
  } catch (error) {
    if (error.code !== 'ENOSPC') throw error;
  }
}
