/**
 * Hostile bodies against one gateway process with a small heap. The process must not end, must
 * continue to serve others, must keep its memory bounded, and must charge every response.
 *
 * The first phase sends one body after another, so that each block of the event loop and each
 * growth of memory can be attributed to one body. The second phase sends many bodies at once, from
 * several keys, while a customer makes small requests.
 */

import { performance } from 'node:perf_hooks';
import { Worker } from 'node:worker_threads';
import { readFileSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { brotliCompressSync, constants, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { Agent, request } from 'undici';
import { SHAPES } from './attack/shapes.mjs';
import { lineOf, readLedger, toUnits } from './check.mjs';
import { callHeaders } from './headers.mjs';
import { createMemoryLimit } from './memory-limit.mjs';
import { createProgress } from './progress.mjs';
import { startSystem } from './system.mjs';

const PATHS = {
  messages: '/v1/messages',
  chat: '/v1/chat/completions',
  responses: '/v1/responses',
};

const MEBIBYTE = 1024 * 1024;
const LARGEST_BYTES = 32 * MEBIBYTE - 4096;
/** The largest heap of the gateway's main thread: V8's default on a machine of one gigabyte. */
const HEAP_MEGABYTES = 512;
/** The memory limit of the whole process, on systems where it can be set. */
const SYSTEM_MEGABYTES = 768;
/** The gateway's default where the system has a limit: a sixth of it. */
const BODY_MEGABYTES = SYSTEM_MEGABYTES / 6;
const LONGEST_BLOCK_MS = 100;
/** How often a body that seems to block for longer is sent again. */
const REPEATS = 2;
/**
 * Allowed growth of memory by a body, as a multiple of its size. What the worker thread may take
 * without a body is allowed in addition (`preparer.ts`).
 */
const LARGEST_GROWTH = 4;
const THREAD_BYTES = 64 * MEBIBYTE;
/** Each body of this size or more is sent to a new process, so that its growth is measured. */
const RENEWED_BYTES = 16 * MEBIBYTE;
const ENCODINGS = {
  identity: (body) => body,
  gzip: (body) => gzipSync(body, { level: 9 }),
  deflate: deflateSync,
  br: (body) => brotliCompressSync(body, { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } }),
  zstd: zstdCompressSync,
};

/**
 * @param {object} options
 * @param {number} options.bodies - number of bodies, over all shapes
 * @param {readonly number[]} options.sizes - bytes of the large bodies of every shape; all other
 *   bodies are small
 * @param {number} options.seconds - duration of the attack with many bodies at once
 * @param {number} [options.togetherBytes] - the size of each of these
 * @param {boolean} options.isTimed - whether a long block of the event loop is a failure; false for
 *   a busy machine
 */
export async function tortureAttack(
  { bodies, sizes, seconds, togetherBytes = LARGEST_BYTES, isTimed },
  random,
  say,
) {
  const memoryLimit = createMemoryLimit(SYSTEM_MEGABYTES * MEBIBYTE);
  const system = await startSystem({
    replicaCount: 1,
    nodeFlags: [`--max-old-space-size=${HEAP_MEGABYTES}`],
    memoryLimit,
    env: {
      MAX_BODY_BYTES: String(32 * MEBIBYTE),
      BODY_MEMORY_BYTES: String(BODY_MEGABYTES * MEBIBYTE),
    },
    journalEntries: 1_000_000,
  });
  const [gateway] = system.replicas;
  const agent = new Agent({ connections: 64, headersTimeout: 120_000, bodyTimeout: 120_000 });
  const attacker = await system.createKey('attacker', { credit: 10n ** 18n, concurrency: 100 });
  const probe = startProbe(gateway.url);
  const tally = {};
  const worst = { block: { ms: 0 }, probe: { ms: 0 }, growth: { bytes: 0 } };
  /** @type {Record<'crashes' | 'serverErrors' | 'blocks' | 'growths', object[]>} */
  const failures = { crashes: [], serverErrors: [], blocks: [], growths: [] };
  const seen = [];

  /** @returns the status and the text; the status is 0 if the connection broke. */
  async function send(key, { format, body, encoding }) {
    try {
      const response = await request(gateway.url + PATHS[format], {
        dispatcher: agent,
        method: 'POST',
        headers: {
          ...callHeaders(key.credential),
          ...(encoding === 'identity' ? {} : { 'content-encoding': encoding }),
        },
        body,
      });
      const text = await response.body.text();
      if (response.statusCode === 200) {
        seen.push(response.headers['x-gateway-request-id']);
      }
      return { status: response.statusCode, text };
    } catch (error) {
      return { status: 0, text: String(error) };
    }
  }

  /** @returns the longest block of the event loop since the last call. */
  async function longestBlockMs() {
    try {
      return 1000 * (await gateway.metric('nodejs_eventloop_lag_max_seconds'));
    } catch (error) {
      // A body may have ended the gateway, which is reported as a crash.
      await sleep(500);
      if (gateway.isRunning()) throw error;
      return 0;
    }
  }

  async function attackAlone(shape, bytes, encoding) {
    const plain = Buffer.from(shape.make(bytes));
    const body = ENCODINGS[encoding](plain);
    const { pid } = gateway;
    await longestBlockMs();
    probe.reset();
    const before = resetPeak(pid);
    const { status, text } = await send(attacker, { ...shape, body, encoding });
    // Work that continues after the response counts for this body too.
    await sleep(bytes > MEBIBYTE ? 50 : 0);
    let blockMs = await longestBlockMs();
    const growth = peakOf(pid) - before;
    // Another process can cause a long block too. If the body causes it, it happens each time.
    for (let repeats = 0; blockMs > LONGEST_BLOCK_MS && repeats < REPEATS; repeats += 1) {
      await send(attacker, { ...shape, body, encoding });
      await sleep(50);
      blockMs = Math.min(blockMs, await longestBlockMs());
    }
    const what = `${shape.format}, ${shape.name}, ${plain.length} bytes, ${encoding}: ${status}`;
    tally[status] = (tally[status] ?? 0) + 1;
    const times = (growth - THREAD_BYTES) / plain.length;
    if (!gateway.isRunning()) {
      failures.crashes.push({ what, output: gateway.output().slice(-500) });
      await gateway.start();
    }
    if (status >= 500 || status === 0)
      failures.serverErrors.push({ what, text: text.slice(0, 200) });
    if (blockMs > worst.block.ms) worst.block = { ms: Math.round(blockMs), what };
    if (probe.longestMs() > worst.probe.ms) {
      worst.probe = { ms: Math.round(probe.longestMs()), what };
    }
    if (isTimed && blockMs > LONGEST_BLOCK_MS)
      failures.blocks.push({ what, ms: Math.round(blockMs) });
    if (growth > worst.growth.bytes) worst.growth = { bytes: growth, what };
    if (times > LARGEST_GROWTH)
      failures.growths.push({ what, megabytes: Math.round(growth / MEBIBYTE) });
  }

  /** The first requests compile code and start threads, so they are not measured. */
  async function warmUp() {
    for (const format of Object.keys(PATHS)) {
      const shape = SHAPES.find((each) => each.format === format && each.name === 'many messages');
      if (shape === undefined) throw new Error(`no shape to warm up with for ${format}`);
      for (const bytes of [1000, 3 * MEBIBYTE]) {
        await send(attacker, { ...shape, body: shape.make(bytes), encoding: 'identity' });
      }
    }
    await sleep(500);
  }

  /** Memory that earlier bodies left would hide what a large one takes. */
  async function renewGateway() {
    const code = await gateway.restart('SIGTERM');
    if (code !== 0) failures.crashes.push({ code, output: gateway.output().slice(-500) });
    await gateway.untilReady();
    await warmUp();
  }

  await warmUp();
  let sent = 0;
  const sayProgress = createProgress(say);
  const plan = planOf({ bodies, sizes }, random);
  for (const { shape, bytes, encoding } of plan) {
    if (bytes >= RENEWED_BYTES) await renewGateway();
    await attackAlone(shape, Math.min(bytes, LARGEST_BYTES), encoding);
    sent += 1;
    sayProgress(() => `${sent} of ${plan.length} bodies; longest block ${worst.block.ms} ms`);
  }

  const together = await attackTogether();
  probe.stop();
  const badExits = await system.drain();
  await agent.destroy();
  const audit = await system.store.audit();
  const ledger = await readLedger(system.postgres.url);
  const served = system.upstreams.usages();
  await system.stop();
  const systemLimit =
    memoryLimit === undefined
      ? 'this system does not allow a limit'
      : `${SYSTEM_MEGABYTES} MiB from the system, at most ${Math.round(memoryLimit.peakBytes() / MEBIBYTE)} used`;
  await memoryLimit?.remove();

  /** Sends many bodies at once. A customer's small requests must still be answered. */
  async function attackTogether() {
    const customer = await system.createKey('customer', { credit: 10n ** 18n, concurrency: 5 });
    const suspended = await system.createKey('suspended', { credit: 10n ** 14n, concurrency: 5 });
    await system.store.suspendKey(suspended.id);
    const others = await Promise.all(
      [1, 2, 3].map((index) =>
        system.createKey(`attacker-${index}`, { credit: 10n ** 18n, concurrency: 4 }),
      ),
    );
    const counts = { attacks: 0, crashes: 0, customer: {}, longestMs: 0 };
    const peakBefore = resetPeak(gateway.pid);
    const bodiesToSend = random
      .shuffle([...SHAPES])
      .slice(0, 8)
      .map((shape) => ({ ...shape, body: Buffer.from(shape.make(togetherBytes)) }));
    // These bodies take seconds to build, so the time of the attack begins afterwards.
    const until = Date.now() + seconds * 1000;
    const attackers = [...others, ...others, ...others, suspended, suspended].map(async (key) => {
      while (Date.now() < until && gateway.isRunning()) {
        const { status } = await send(key, { ...random.pick(bodiesToSend), encoding: 'identity' });
        counts.attacks += 1;
        tally[`together ${status}`] = (tally[`together ${status}`] ?? 0) + 1;
        if (status >= 500 && status !== 529) failures.serverErrors.push({ together: status });
      }
    });
    const hello = {
      format: 'messages',
      body: '{"model":"claude-sonnet-4-6","max_tokens":5,"messages":[{"role":"user","content":"Hi"}]}',
      encoding: 'identity',
    };
    while (Date.now() < until && gateway.isRunning()) {
      const startedAt = performance.now();
      const { status } = await send(customer, hello);
      counts.customer[status] = (counts.customer[status] ?? 0) + 1;
      counts.longestMs = Math.max(counts.longestMs, Math.round(performance.now() - startedAt));
      await sleep(20);
    }
    await Promise.all(attackers);
    if (!gateway.isRunning()) {
      failures.crashes.push({ together: gateway.output().slice(-500) });
      counts.crashes += 1;
      await gateway.start();
    }
    counts.peakGrowthMegabytes = Math.round((peakOf(gateway.pid) - peakBefore) / MEBIBYTE);
    say(`together: ${JSON.stringify(counts)}`);
    return counts;
  }

  const entries = new Map(ledger.entries.map((entry) => [entry.id, entry]));
  const charged = new Set(ledger.entries.map((entry) => entry.upstream_id));
  const lines = [];
  const check = (name, what, violations) => {
    lines.push(lineOf(name, what, violations, 5));
  };
  const shapes = new Set(SHAPES.map(({ name }) => name)).size;
  check(
    'A1',
    `no crash with a heap of ${HEAP_MEGABYTES} MB (${systemLimit}): ${sent} bodies in ${shapes} shapes and all formats, ${together.attacks} more at once`,
    failures.crashes,
  );
  check(
    'A2',
    'no body leads to a 5xx status (except 529 when many are sent at once), and none sent alone to a broken connection',
    failures.serverErrors,
  );
  check(
    'A3',
    `${isTimed ? `no body sent alone blocks the event loop for more than ${LONGEST_BLOCK_MS} ms` : 'blocks of the event loop, not checked'} (longest ${worst.block.ms} ms by ${worst.block.what}; slowest health check ${worst.probe.ms} ms)`,
    failures.blocks,
  );
  check(
    'A4',
    `no body sent alone takes more than ${LARGEST_GROWTH} times its size, and a fixed allowance, in memory (most: ${Math.round(worst.growth.bytes / MEBIBYTE)} MiB by ${worst.growth.what})`,
    failures.growths,
  );
  check(
    'A5',
    `each response is charged or written off (${seen.length} seen, ${served.length} served)`,
    [
      ...seen.filter((id) => id !== undefined && !entries.has(id)),
      ...served
        .filter(({ messageId }) => !charged.has(messageId))
        .map(({ messageId }) => messageId),
    ],
  );
  check(
    'A6',
    `every request of a customer during ${together.attacks} attacks is answered with 200 (${JSON.stringify(together.customer)}, longest ${together.longestMs} ms)`,
    [
      ...Object.keys(together.customer).filter((status) => status !== '200'),
      ...(together.attacks === 0 ? ['no attack was made'] : []),
      ...(together.customer[200] === undefined ? ['the customer received no answer'] : []),
    ],
  );
  check('audit', `the audit finds the ledger sound (gap ${audit.gap})`, [...audit.differences]);
  check('I10', 'the gateway drained and exited with 0', badExits === 0 ? [] : [badExits]);
  const spent = ledger.entries.reduce(
    (sum, { kind, delta }) => (kind === 'charge' ? sum - toUnits(delta) : sum),
    0n,
  );
  return { lines, tally, done: { sent, ...together, spent: String(spent) } };
}

/** Every shape in every size, and small bodies in random encodings. */
function planOf({ bodies, sizes }, random) {
  const plan = SHAPES.flatMap((shape) =>
    sizes.map((bytes) => ({ shape, bytes, encoding: 'identity' })),
  );
  while (plan.length < bodies) {
    plan.push({
      shape: random.pick(SHAPES),
      bytes: 100 + Math.floor((random.below(1024) / 1024) ** 4 * MEBIBYTE),
      encoding: random.pick(Object.keys(ENCODINGS)),
    });
  }
  // Those with a new process each come before the long time that one process then has.
  const isRenewed = ({ bytes }) => Number(bytes >= RENEWED_BYTES);
  return random.shuffle(plan).sort((a, b) => isRenewed(b) - isRenewed(a));
}

/**
 * Checks the gateway's health from another thread, so that work in this thread does not delay the
 * check.
 */
function startProbe(url) {
  const longest = new Int32Array(new SharedArrayBuffer(4));
  const worker = new Worker(new URL('./attack/probe.mjs', import.meta.url), {
    workerData: { url: `${url}/healthz`, longest },
  });
  return {
    reset: () => Atomics.store(longest, 0, 0),
    longestMs: () => Atomics.load(longest, 0),
    stop: () => void worker.terminate(),
  };
}

/** @returns the resident memory now, from which the next peak is measured. */
function resetPeak(pid) {
  writeFileSync(`/proc/${pid}/clear_refs`, '5');
  return statusOf(pid, 'VmRSS');
}

function peakOf(pid) {
  try {
    return statusOf(pid, 'VmHWM');
  } catch {
    return 0;
  }
}

function statusOf(pid, name) {
  const text = readFileSync(`/proc/${pid}/status`, 'utf8');
  return 1024 * Number(new RegExp(`${name}:\\s+(\\d+)`).exec(text)?.[1]);
}
