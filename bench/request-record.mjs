/**
 * `--requests 10000000`: the record of requests at this size, on both ledgers: how long writing
 * takes, the first page of each filter, and the sums that breakdowns ask for.
 *
 * The requests are written through the real stores, in the order of time, over 30 days that end
 * now. With `DATA`, a folder, or `DATABASE_URL`, they stay there, and the next run only reads them.
 */

import { mkdirSync, mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { openEmbeddedStore } from '../packages/balance-store/dist/embedded/index.js';
import { openPostgresStore } from '../packages/balance-store/dist/postgres/index.js';
import { step } from '../scripts/setup.mjs';
import { createRandom } from '../torture/random.mjs';
import { median } from './statistics.mjs';

const PEPPER = 'benchmark-pepper-benchmark-pepper';
const BATCH = 512;
const READS = 5;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const DAYS = 30;
const ACCOUNTS = 200;
const KEYS = 600;
const ACTIVE_KEYS = 30;
const MODELS = ['model-large', 'model-medium', 'model-small', 'model-tiny'];
const ENDPOINTS = ['messages', 'chat.completions', 'responses'];
const CLIENTS = ['claude-cli/2.1', 'codex/0.61', 'openai-python/2.9', 'node-fetch'];
/**
 * So many of ten thousand requests fail in this way.
 *
 * @type {[number, number, string, string][]}
 */
const FAILURES = [
  [150, 429, 'rate_limit_error', 'this key may send 60 requests per minute'],
  [120, 529, 'overloaded_error', 'the upstream is overloaded'],
  [60, 400, 'invalid_request_error', 'max_tokens: must be at most 128000'],
  [30, 502, 'api_error', 'the upstream answered with an error'],
  [1, 413, 'request_too_large', 'the request is too large'],
];
/** As the gateway limits them. */
const MAX_SUMS = 50_000;

/** @returns the exit code */
export async function measureRequests(session, count) {
  const { DATA, DATABASE_URL } = process.env;
  if (DATABASE_URL === undefined) {
    if (DATA !== undefined) mkdirSync(DATA, { recursive: true });
    const dataDir = DATA ?? mkdtempSync(join(session.scratch, 'requests-'));
    await measure('embedded (SQLite)', count, () => openEmbeddedStore({ dataDir, pepper: PEPPER }));
  }
  if (DATA === undefined) {
    const connectionString = DATABASE_URL ?? (await session.startServers()).databaseUrl;
    await measure('PostgreSQL', count, () =>
      openPostgresStore({ connectionString, pepper: PEPPER }),
    );
  }
  return 0;
}

async function measure(title, count, open) {
  const store = await open();
  step(`${title}: ${count.toLocaleString('en-US')} requests`);
  const isFilled = (await store.listRequests({ limit: 1 })).requests.length > 0;
  if (!isFilled) {
    const { seconds, cpuMs } = await timed(() => fill(store, count));
    const each = ((cpuMs * 1_000) / count).toFixed(1);
    process.stdout.write(`  written in ${seconds.toFixed(0)} s, ${each} µs of CPU time each\n`);
  }
  const { requests } = await store.listRequests({ limit: 50 });
  const newest = requests[0]?.endedAt ?? 0;
  const queries = { ...pagesOf(store, newest), ...sumsOf(store, newest) };
  for (const [name, read] of Object.entries(queries)) {
    const samples = [];
    let found = 0;
    for (let times = 0; times < READS; times += 1) {
      const sample = await timed(async () => {
        found = await read();
      });
      samples.push(sample);
    }
    const ms = median(samples.map(({ seconds }) => seconds * 1_000)) ?? 0;
    const cpuMs = median(samples.map((sample) => sample.cpuMs)) ?? 0;
    process.stdout.write(
      `  ${name.padEnd(44)} ${ms.toFixed(1).padStart(9)} ms  CPU ${cpuMs.toFixed(1).padStart(9)} ms` +
        `  ${found.toLocaleString('en-US').padStart(9)} found\n`,
    );
  }
  await store.close();
}

/** The first page of each filter, of frequent values and of rare ones. */
function pagesOf(store, newest) {
  const page = (query) => async () => {
    let found = 0;
    let cursor;
    // A page may be empty although there is a next one; the pages then read on.
    for (let reads = 0; reads < 10 && found === 0; reads += 1) {
      const { requests, next } = await store.listRequests({ limit: 50, ...query, cursor });
      found = requests.length;
      cursor = next;
      if (next === undefined) break;
    }
    return found;
  };
  const day = new Date(newest - 20 * DAY_MS);
  const old = { from: day, until: new Date(day.getTime() + HOUR_MS) };
  const middle = 10_000;
  return {
    'the newest': page({}),
    'the last hour': page({ from: new Date(newest - HOUR_MS) }),
    'an hour, 20 days ago': page(old),
    'a busy account': page({ accountId: accountOf(0) }),
    'a quiet account': page({ accountId: accountOf(KEYS - 1) }),
    'a busy key': page({ keyId: keyOf(0) }),
    'a quiet key': page({ keyId: keyOf(KEYS - 1) }),
    'a model': page({ model: MODELS[3] }),
    'a model that nobody used': page({ model: 'model-none' }),
    'an endpoint': page({ endpoint: ENDPOINTS[2] }),
    'an upstream account': page({ upstreamAccount: 'second' }),
    failed: page({ failed: true }),
    'status 5xx': page({ statusFrom: 500, statusUntil: 600 }),
    'a rare error': page({ errorType: 'request_too_large' }),
    'a rare error of a busy key': page({ errorType: 'request_too_large', keyId: keyOf(0) }),
    'a rare error, 20 days ago': page({ errorType: 'request_too_large', ...old }),
    'failures of a quiet key': page({ failed: true, keyId: keyOf(KEYS - 1) }),
    'a program': page({ client: CLIENTS[1] }),
    'a program that nobody used': page({ client: 'none/1' }),
    'a session, long ago': page({ sessionId: sessionOf(middle) }),
    'a session that does not exist': page({ sessionId: 'none' }),
    "a request's id, long ago": page({ id: requestOf(newest - 20 * DAY_MS, 0) }),
    "the provider's id, long ago": page({ id: upstreamIdOf(middle) }),
    'an id that does not exist': page({ id: 'req_none' }),
  };
}

function sumsOf(store, newest) {
  const until = new Date((Math.floor(newest / DAY_MS) + 1) * DAY_MS);
  const ago = (days) => new Date(until.getTime() - days * DAY_MS);
  const sums = (query) => async () => {
    try {
      return (await store.sumRequests({ until, maxSums: MAX_SUMS, ...query })).length;
    } catch (error) {
      if (error instanceof RangeError) return Infinity;
      throw error;
    }
  };
  return {
    'a month by model, by day': sums({ from: ago(DAYS), by: ['model'], everyMs: DAY_MS }),
    'a month by model, in a zone (by hour)': sums({
      from: ago(DAYS),
      by: ['model'],
      everyMs: HOUR_MS,
    }),
    'a month of a key by model, by day': sums({
      from: ago(DAYS),
      by: ['model'],
      everyMs: DAY_MS,
      accountId: accountOf(0),
      keyId: keyOf(0),
    }),
    'the same, without what was spent': sums({
      from: ago(DAYS),
      by: ['model'],
      everyMs: HOUR_MS,
      without: 'spend',
    }),
    'a month by account, in one': sums({ from: ago(DAYS), by: ['account'] }),
    'a week by account, by hour': sums({ from: ago(7), by: ['account'], everyMs: HOUR_MS }),
    'a day by account, by hour': sums({ from: ago(1), by: ['account'], everyMs: HOUR_MS }),
    'a month by session, by day': sums({ from: ago(DAYS), by: ['session'], everyMs: DAY_MS }),
    'a day by session': sums({ from: ago(1), by: ['session'] }),
    'a month by program, by day': sums({ from: ago(DAYS), by: ['client'], everyMs: DAY_MS }),
  };
}

async function timed(work) {
  const cpu = process.cpuUsage();
  const startedAt = performance.now();
  await work();
  const seconds = (performance.now() - startedAt) / 1_000;
  const { user, system } = process.cpuUsage(cpu);
  return { seconds, cpuMs: (user + system) / 1_000 };
}

const keyOf = (index) => `key_${String(index).padStart(26, '0')}`;
const accountOf = (key) => `acct_${String(key % ACCOUNTS).padStart(26, '0')}`;
const sessionOf = (index) => `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`;
const upstreamIdOf = (index) => `req_011${String(index).padStart(20, '0')}`;
const requestOf = (at, index) =>
  `req_${Math.floor(at).toString(16).padStart(12, '0')}7${String(index).padStart(19, '0')}`;

async function fill(store, count) {
  const random = createRandom(1);
  const end = Date.now() - 60_000;
  const start = end - DAYS * DAY_MS;
  const sessions = new Map();
  let lastSession = 0;
  /** @type {number[]} */
  let active = [];
  let period = 0;
  /** In five minutes some keys work. A few of them do so most of the time. */
  function activeAt(at) {
    const its = Math.floor(at / 300_000);
    if (its !== period) {
      period = its;
      active = Array.from({ length: ACTIVE_KEYS }, () =>
        Math.floor(KEYS * (random.below(1_000_000) / 1_000_000) ** 3),
      );
    }
    return active;
  }
  function request(index) {
    const endedAt = Math.floor(start + ((end - start) * index) / count);
    const key = random.pick(activeAt(endedAt));
    const model = MODELS[random.below(4) === 0 ? (key + 1) % 4 : key % 4];
    let drawn = random.below(10_000);
    const failure = FAILURES.find(([share]) => (drawn -= share) < 0);
    const hasSession = key % 2 === 0;
    if (hasSession && (!sessions.has(key) || random.below(25) === 0)) {
      sessions.set(key, (lastSession += 1));
    }
    const output = 100 + random.below(2_000);
    return {
      id: requestOf(endedAt - 3_000, index),
      accountId: accountOf(key),
      keyId: keyOf(key),
      model,
      endpoint: ENDPOINTS[key % 3],
      status: failure?.[1] ?? 200,
      errorType: failure?.[2],
      errorMessage: failure?.[3],
      upstreamAccount: random.below(7) < 5 ? 'primary' : 'second',
      endedAt,
      durationMs: 500 + output * 10,
      firstByteMs: 400 + random.below(900),
      streamed: true,
      clientLeft: false,
      tokens:
        failure === undefined
          ? { input: random.below(4_000), output, cacheRead: random.below(90_000), cacheWrite: 900 }
          : undefined,
      charge: failure === undefined ? BigInt(output) * 1_500_000_000n : undefined,
      fault: undefined,
      upstreamStatus: failure?.[1] ?? 200,
      upstreamRequestId: upstreamIdOf(index),
      traceId: undefined,
      since: undefined,
      client: CLIENTS[key % 4],
      sessionId: hasSession ? sessionOf(sessions.get(key)) : undefined,
      count: 1,
    };
  }
  const perDay = Math.ceil(count / DAYS / BATCH) * BATCH;
  for (let first = 0; first < count; first += BATCH) {
    // As the gateway does: the sums by five minutes are deleted after two days.
    if (first % perDay === 0) {
      await store.pruneRequests({ before: new Date(start - DAY_MS), maxKept: 2 * count });
    }
    const kept = Array.from({ length: Math.min(BATCH, count - first) }, (_, index) =>
      request(first + index),
    );
    await store.recordRequests({ kept, counted: [] });
  }
}
