/**
 * A ledger that cannot record charges for some seconds, while clients send requests: the disk of
 * the ledger is full, or PostgreSQL is read-only, or the pooler before it is gone or stands still.
 * The upstream's journal is the witness: from one second after the fault began until its end no
 * request arrives that is not charged before this end, and afterwards every response that the
 * upstream completed is charged its price, once.
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
import { findPgbouncer } from '../scripts/servers.mjs';

/** The ledger's log takes up to 16 MB, and 4 MB must stay free. */
const DISK_BYTES = 64 * 1024 * 1024;
/** A new database has about 40 MB, and its log some files of 16 MB each, more with each charge. */
const POSTGRES_DISK_BYTES = 512 * 1024 * 1024;
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
  const disks = [mountDisk(DISK_BYTES), mountDisk(POSTGRES_DISK_BYTES)];
  const [disk, postgresDisk] = disks;
  /** @type {Record<string, Fault | undefined>} */
  const faults = {
    'a full disk': disk && {
      ledger: 'embedded',
      parts: { dataDir: disk.dataDir },
      begin: async () => disk.fill(),
      end: async () => disk.empty(),
    },
    'a full disk of PostgreSQL': postgresDisk && {
      ledger: 'PostgreSQL',
      parts: { postgresParent: postgresDisk.dir },
      begin: async () => postgresDisk.fill(),
      async end({ postgres }) {
        postgresDisk.empty();
        await postgres.ensureStarted();
      },
    },
    'a read-only database': {
      ledger: 'PostgreSQL',
      begin: (system) => setReadOnly(system, 'on'),
      end: (system) => setReadOnly(system, 'off'),
    },
    ...(findPgbouncer() !== undefined
      ? {
          'a pooler that was killed': {
            ledger: 'PostgreSQL',
            parts: { hasPooler: true },
            begin: ({ pooler }) => pooler.crash(),
            end: ({ pooler }) => pooler.start(),
          },
          'a pooler that stands still': {
            ledger: 'PostgreSQL',
            parts: { hasPooler: true },
            begin: async ({ pooler }) => pooler.signal('SIGSTOP'),
            end: async ({ pooler }) => pooler.signal('SIGCONT'),
          },
        }
      : { 'a pooler': undefined }),
  };
  const lines = [];
  const tally = {};
  try {
    for (const [name, fault] of Object.entries(faults)) {
      say(name);
      if (fault === undefined) {
        lines.push(
          lineOf('skipped', `${name}: this user may not mount or install what it needs`, []),
        );
        continue;
      }
      const { violations, counts } = await run(fault, options, random);
      for (const [key, value] of Object.entries(counts)) tally[key] = (tally[key] ?? 0) + value;
      const what = {
        U1: 'from a second after the fault began, no request is sent upstream that is not charged before its end',
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
    for (const each of disks) each?.unmount();
  }
  return { lines, tally, done: { rounds: options.rounds } };
}

/**
 * @typedef {object} Fault
 * @property {any} ledger
 * @property {object} [parts] - for `startSystem`
 * @property {(system: any) => Promise<unknown>} begin
 * @property {(system: any) => Promise<unknown>} end
 */

/** @param {Fault} fault */
async function run({ ledger, parts, begin, end }, options, random) {
  const { rounds, faultMs, requests, parallel } = options;
  const upstream = await startOrderedUpstream();
  const started = await startOnSetup(
    { ledger, redis: false, workers: 1, overdraft: 'bounded' },
    {
      upstreamEnv: { UPSTREAM_URL: upstream.url, UPSTREAM_API_KEY: upstream.apiKeys[0] },
      ...parts,
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
          format: random.pick(FORMATS),
          model: random.pick(MODELS).id,
          maxTokens: 20,
          stream,
          text: orderText({
            who: 'client',
            id: `${index}-${number}`,
            delayMs: random.below(100),
            input: 1 + random.below(50),
            output: 1 + random.below(20),
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
  /** The times of the faults, without their first second. */
  const spans = [];
  await untilAnswered(requests);
  for (let round = 0; round < rounds; round += 1) {
    await begin(system);
    const from = Date.now() + NOTICED_MS;
    await sleep(faultMs);
    const until = Date.now();
    await end(system);
    spans.push({ from, until });
    if (!(await untilAnswered(counts.answered + requests))) violations.U3.push({ round });
  }
  isStopped = true;
  if (counts.refused === 0) violations.U1.push('no request was refused, so no fault was met');
  await clients;
  await Promise.all(open);
  await calls.stop();
  const badEnds = await started.finish(async () => {
    const ledgerRows = await system.read(
      "select delta, written_off, upstream_id, created_at from ledger where kind = 'charge'",
    );
    violations.U1.push(...sentInVain(ledgerRows, upstream.entries(), spans));
    violations.U2 = wrongCharges(ledgerRows, upstream.entries());
  });
  await upstream.stop();
  violations.audit = badEnds;
  return { violations, counts };

  async function send({ path, body }) {
    const { status } = await calls.call({
      path,
      body,
      credential: random.pick(keys).credential,
      address: '192.0.2.1',
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

/**
 * Requests that were sent during a fault and not charged before its end. PostgreSQL whose disk is
 * full writes some charges more into files that it has already.
 */
function sentInVain(ledger, journal, spans) {
  const chargedAt = new Map(
    ledger.map(({ upstream_id, created_at }) => [upstream_id, Number(created_at)]),
  );
  return journal.flatMap(({ id, messageId, startedAt }) => {
    const span = spans.find(({ from, until }) => startedAt > from && startedAt < until);
    if (span === undefined || chargedAt.get(messageId) < span.until) return [];
    return [{ id, msAfterTheFault: startedAt - span.from + NOTICED_MS }];
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

/** @returns a disk of this size; `undefined` if this user may not mount one */
function mountDisk(bytes) {
  const dir = mkdtempSync(join(tmpdir(), 'gateway-torture-disk-'));
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${bytes}`, 'gateway-torture', dir], {
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
    dir,
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
      // Lazily: after an error a process may still have files on it, and the error is what counts.
      execFileSync('umount', ['--lazy', dir]);
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
