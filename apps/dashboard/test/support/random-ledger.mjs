/**
 * Writes a random ledger with its record of requests, dated over two months, through the real
 * stores: accounts sold below cost and above it, charges without a cost, requests that failed, that
 * the record lost, and that it has only as a gap. Requests older than 30 days are pruned.
 *
 *   node --import scripts/demo/clock.mjs random-ledger.mjs <directory> <seed> <pepper>
 *
 * Prints the credential of the first key and its account's id. `recorded.json` has what was
 * recorded.
 */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openEmbeddedStore } from '../../../../packages/balance-store/dist/embedded/index.js';
import { setClock } from '../../../../scripts/demo/clock.mjs';
import { createRandom } from '../../../../scripts/demo/random.mjs';

const [dataDir = '', seed = '1', pepper = ''] = process.argv.slice(2);
const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const DAYS = 65;
const RECORD_DAYS = 30;
const USD = 10n ** 14n;
const MODELS = { 'claude-sonnet-4-6': 3, 'claude-haiku-4-5': 2, 'claude-opus-4-8': 1 };
const OPERATOR = { name: 'random' };
const LIMITS = { concurrency: 9, burst: 9, requestsPerMinute: 90 };

const now = Date.now();
const random = createRandom(seed);
setClock(now - DAYS * DAY_MS);
const store = await openEmbeddedStore({ dataDir, pepper });
const accounts = [];
for (let index = 0; index < random.between(2, 4); index += 1) {
  const { account } = await store.create({ account: { name: `Shop ${index}` }, by: OPERATOR });
  const keys = [];
  for (let key = 0; key < random.between(1, 3); key += 1) {
    const made = await store.create({
      account: { id: account.id },
      key: { name: `key ${key}`, limits: LIMITS, expiresAt: null, scope: key ? 'use' : 'manage' },
      by: OPERATOR,
    });
    keys.push(made.key.id);
    if (index === 0 && key === 0) process.stdout.write(`${made.credential} ${account.id}\n`);
  }
  const to = { accountId: account.id };
  await store.topUp({
    topUpId: `credit ${index}`,
    to,
    amount: 900n * USD,
    source: 'paid',
    by: OPERATOR,
  });
  // In permille of the cost: some are sold below it.
  accounts.push({ id: account.id, keys, price: random.between(300, 2_000) });
}

const times = Array.from({ length: random.between(60, 160) }, () =>
  random.happens(0.1)
    ? now - random.between(60_000, HOUR_MS)
    : now - random.between(60_000, (DAYS - 1) * DAY_MS),
);
// At both ends of the first day that is kept, which "30 days until now" cuts.
const oldest = Math.floor(now / DAY_MS - RECORD_DAYS) * DAY_MS;
times.push(oldest + HOUR_MS / 2, oldest + DAY_MS - HOUR_MS / 2);
// Not within a minute of a day's end, because a charge is dated before its request is over.
const apart = (at) => at % HOUR_MS > 60_000 && at % HOUR_MS < HOUR_MS - 60_000;
const recorded = [];
let waiting = [];
for (const at of times.filter(apart).sort((a, b) => a - b)) {
  setClock(at);
  await serve(at);
  if (random.happens(0.3)) await record();
}
await record();
setClock(now);
await store.rollUpUsage();
await store.pruneRequests({ before: new Date(oldest), maxKept: 1_000_000 });
await store.close();
writeFileSync(
  join(dataDir, 'recorded.json'),
  JSON.stringify(recorded, (_, value) => (typeof value === 'bigint' ? String(value) : value)),
);

async function record() {
  await store.recordRequests({ kept: waiting, counted: [] });
  recorded.push(...waiting);
  waiting = [];
}

async function serve(at) {
  const account = accounts[random.between(0, accounts.length - 1)];
  const keyId = account.keys[random.between(0, account.keys.length - 1)];
  const model = random.pick(MODELS);
  const time = Math.floor(at).toString(16).padStart(12, '0');
  const id = `req_${time}7${random.hex(3)}8${random.hex(15)}`;
  const hasFailed = random.happens(0.25);
  const usage = {
    inputTokens: random.between(1, 90_000),
    outputTokens: random.between(1, 9_000),
    cacheReadInputTokens: random.happens(0.5) ? random.between(1, 90_000) : 0,
    cacheCreationInputTokens: random.happens(0.5) ? random.between(1, 9_000) : 0,
    cacheCreation1hInputTokens: 0,
  };
  const perToken = BigInt(random.between(1, 700_000_003));
  const amount = BigInt(usage.inputTokens) * perToken;
  const cost = (amount * 1_000n) / BigInt(account.price);
  const run = random.happens(0.7) ? `session-${random.between(1, 5)}` : undefined;
  const tag = random.happens(0.5) ? random.pick({ blue: 1, red: 1 }) : undefined;
  if (!hasFailed) {
    const none = 0n;
    const { outcome } = await store.settle(
      {
        requestId: id,
        keyId,
        amount,
        cost: random.happens(0.97) ? cost : undefined,
        overdraft: 'bounded',
        model,
        usage,
        rates: {
          inputPerToken: perToken,
          outputPerToken: none,
          cacheReadPerToken: none,
          cacheWrite5mPerToken: none,
          cacheWrite1hPerToken: none,
        },
        endpoint: 'messages',
        streamed: true,
        upstreamId: `msg_01${random.hex(20)}`,
        upstreamAccount: undefined,
        spender: { tag, run },
      },
      { deadlineMs: 10_000 },
    );
    if (outcome !== 'settled') throw new Error(outcome);
  }
  // The record lost it, as in a crash.
  if (random.happens(0.1)) return;
  const isGap = !hasFailed && random.happens(0.05);
  waiting.push({
    id,
    accountId: account.id,
    keyId,
    model,
    endpoint: 'messages',
    status: hasFailed ? random.pick({ 400: 2, 429: 2, 529: 1 }) * 1 : 200,
    errorType: hasFailed ? random.pick({ api_error: 1, rate_limit_error: 2 }) : undefined,
    errorMessage: undefined,
    upstreamAccount: undefined,
    endedAt: Math.floor(at),
    durationMs: random.between(1, 90_000),
    firstByteMs: hasFailed ? undefined : random.between(1, 2_000),
    streamed: true,
    clientLeft: false,
    tokens: hasFailed
      ? undefined
      : {
          input: usage.inputTokens,
          output: usage.outputTokens,
          cacheRead: usage.cacheReadInputTokens,
          cacheWrite: usage.cacheCreationInputTokens,
        },
    charge: hasFailed ? undefined : amount,
    fault: undefined,
    upstreamStatus: undefined,
    upstreamRequestId: undefined,
    traceId: undefined,
    client: random.pick({ 'claude-cli/2.1': 2, 'node/24': 1 }),
    sessionId: run,
    tag,
    count: 1,
    since: isGap ? Math.floor(at) - 1_000 : undefined,
  });
}
