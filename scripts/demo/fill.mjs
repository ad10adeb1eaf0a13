/**
 * Writes the demo's months through the real stores, in the order of time, under a clock of its own.
 * Everything is dated as if it had happened: charges, credits, expiries, seals, sums and requests.
 *
 *   node --import scripts/demo/clock.mjs scripts/demo/fill.mjs <directory> <seed>
 */

import { randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openEmbeddedStore } from '../../packages/balance-store/dist/embedded/index.js';
import { itemizeCharge, parsePriceSchedule, parseUsd } from '../../packages/billing/dist/index.js';
import { setClock } from './clock.mjs';
import { CUSTOMERS } from './customers.mjs';
import { failureOf } from './failures.mjs';
import { createRandom } from './random.mjs';
import { trafficOf } from './traffic.mjs';

/** What agents name as the tag of their work. */
const PROJECTS = ['checkout', 'search', 'reports'];

const [dataDir = '', seed = '1'] = process.argv.slice(2);

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
const DAYS = 61;
/** Charges that begin within this time share a transaction, and its time. */
const WINDOW_MS = 5 * MINUTE_MS;
const NO_LIMIT = { concurrency: 50, burst: 100, requestsPerMinute: 6_000 };
const OPERATOR = { name: 'demo' };
/** What customers pay above the list: the operator's margin. */
const PRICES = { extends: 'specification', factor: '1.25' };
const UPSTREAMS = { primary: 5, second: 2 };

const HAPPENINGS = { open: openAccount, credit: giveCredit, move: moveMoney };
const now = Date.now();
const random = createRandom(seed);
const prices = parsePriceSchedule(PRICES).at(now);
const costs = parsePriceSchedule({ extends: 'specification' }).at(now);
const bytes = (length) => randomBytes(length).toString('base64url');

mkdirSync(dataDir, { recursive: true, mode: 0o700 });
const write = (name, text) => {
  writeFileSync(join(dataDir, name), text, { mode: 0o600 });
};
const pepper = bytes(32);
write('key-pepper', `${pepper}\n`);

setClock(now - (DAYS + 1) * DAY_MS);
const store = await openEmbeddedStore({ dataDir, pepper });
/** @type {import('@gateway/balance-store').RequestRecord[]} */
let recorded = [];
const settled = await live(await openAccounts());
await store.rollUpUsage();
await store.sealEntries({ all: true });
await store.close();

write('prices.json', `${JSON.stringify(PRICES, null, 2)}\n`);
write(
  'settings.json',
  `${JSON.stringify({
    DATA_DIR: dataDir,
    PRICES: join(dataDir, 'prices.json'),
    COSTS: 'specification',
    OPERATOR: 'Demo operator <operator@demo.example>',
  })}\n`,
);
process.stdout.write(`${String(settled)} charges of ${String(CUSTOMERS.length)} accounts\n`);

/** Creates each account when its first credit arrives, and returns what will happen. */
async function openAccounts() {
  const events = [];
  for (const customer of CUSTOMERS) {
    const oldest = Math.max(...customer.credits.map(({ daysAgo }) => daysAgo), 0);
    const opened = { customer, accountId: '', keys: [], balance: 0n };
    const since = customer.credits.length === 0 ? now - 3 * DAY_MS : now - oldest * DAY_MS;
    events.push({ at: since - MINUTE_MS, kind: 'open', opened });
    for (const [index, credit] of customer.credits.entries()) {
      events.push({ at: now - credit.daysAgo * DAY_MS, kind: 'credit', opened, credit, index });
    }
    if (customer.lastsDays !== undefined) {
      events.push({ at: now - 2 * MINUTE_MS, kind: 'move', opened, days: customer.lastsDays });
    }
    for (const request of trafficOf(customer, random, { days: DAYS, now })) {
      if (request.at > since && request.at < now - MINUTE_MS) {
        events.push({ ...request, kind: 'request', opened });
      }
    }
  }
  return events.sort((a, b) => a.at - b.at);
}

async function live(events) {
  let charges = 0;
  let day = 0;
  for (let index = 0; index < events.length;) {
    const event = events[index];
    setClock(event.at);
    const today = Math.floor(event.at / DAY_MS);
    if (today > day) {
      day = today;
      await store.expire({ keysWithinMs: 7 * DAY_MS });
      await store.rollUpUsage();
      await store.sealEntries();
    }
    if (event.kind !== 'request') {
      await HAPPENINGS[event.kind](event, { events });
      index += 1;
      continue;
    }
    const first = index;
    while (events[index]?.kind === 'request' && events[index].at < event.at + WINDOW_MS) index += 1;
    const requests = events.slice(first, index);
    setClock(requests.at(-1).at);
    charges += (await Promise.all(requests.map(serve))).filter(Boolean).length;
    await record();
  }
  return charges;
}

/** As a running gateway does: soon after the requests, in the order in which they ended. */
async function record() {
  const kept = recorded.sort((a, b) => a.endedAt - b.endedAt);
  recorded = [];
  await store.recordRequests({ kept, counted: [] });
}

async function openAccount({ opened }) {
  const { name, keys } = opened.customer;
  const created = await store.create({ account: { name }, by: OPERATOR });
  if (created.outcome !== 'created') throw new Error(created.outcome);
  opened.accountId = created.account.id;
  for (const [index, keyName] of keys.entries()) {
    const made = await store.create({
      account: { id: opened.accountId },
      key: {
        name: keyName,
        limits: NO_LIMIT,
        expiresAt: null,
        scope: index === 0 ? 'manage' : 'use',
      },
      by: OPERATOR,
    });
    if (made.outcome !== 'created' || made.key === undefined) throw new Error(made.outcome);
    opened.keys.push(made.key.id);
    if (index === 0 && opened.customer === CUSTOMERS[0]) write('demo-key', `${made.credential}\n`);
  }
}

async function giveCredit({ at, opened, credit, index }) {
  const { usd, source = 'paid', expiresInDays } = credit;
  await store.topUp({
    topUpId: `demo:${opened.accountId}:${String(index)}`,
    to: { accountId: opened.accountId },
    amount: parseUsd(usd),
    source,
    ...(expiresInDays === undefined ? {} : { expiresAt: new Date(at + expiresInDays * DAY_MS) }),
    by: OPERATOR,
  });
}

/** Leaves the account with money for a few days, and moves the rest to the first one. */
async function moveMoney({ opened: { accountId }, days }, { events }) {
  const until = new Date(Math.ceil(now / DAY_MS) * DAY_MS);
  const week = { from: new Date(until.getTime() - 7 * DAY_MS), until };
  const [sum] = await store.readUsage({ by: [], accountId, ...week });
  const account = await store.getAccount(accountId);
  const left = ((sum?.listPrice ?? 0n) * BigInt(days)) / 7n;
  const moved = await store.transfer({
    transferId: `demo:${accountId}`,
    from: accountId,
    to: events[0].opened.accountId,
    amount: (account?.balance ?? 0n) - left,
    by: OPERATOR,
  });
  if (moved.outcome !== 'transferred') throw new Error(moved.outcome);
}

/** @returns whether it was charged */
async function serve(event) {
  const { at, opened, keyIndex, model, endpoint, streamed, client, sessionId, usage } = event;
  const { accountId, keys, customer } = opened;
  const keyId = keys[keyIndex];
  const id = `req_${Math.floor(at).toString(16).padStart(12, '0')}7${random.hex(3)}8${random.hex(15)}`;
  const { standing } = await store.readStanding(keyId);
  const upstreamAccount = random.pick(UPSTREAMS);
  const failure = failureOf(event, { standing, upstreamAccount, random, now });
  const firstByteMs = random.around(model.includes('haiku') ? 420 : 900, 0.35);
  const durationMs = firstByteMs + usage.outputTokens * (model.includes('haiku') ? 6 : 14);
  const common = {
    id,
    accountId,
    keyId,
    model,
    endpoint,
    endedAt: Math.floor(at) + 1,
    streamed,
    clientLeft: false,
    errorType: undefined,
    errorMessage: undefined,
    since: undefined,
    upstreamAccount: undefined,
    firstByteMs: undefined,
    tokens: undefined,
    charge: undefined,
    fault: undefined,
    upstreamStatus: undefined,
    upstreamRequestId: undefined,
    traceId: undefined,
    client,
    sessionId,
    tag: sessionId === undefined ? undefined : PROJECTS[Number.parseInt(sessionId[0], 16) % 3],
    count: 1,
  };
  if (failure !== undefined) {
    const { isSent, ...ends } = failure;
    recorded.push({
      ...common,
      ...ends,
      durationMs: isSent ? random.around(300) : random.between(1, 4),
      ...(isSent ? { upstreamAccount, upstreamRequestId: `req_011${random.hex(20)}` } : {}),
    });
    return false;
  }
  const priced = (table) =>
    itemizeCharge({ usage, circumstances: {}, serverToolUse: {} }, table.find(model), table.fees);
  const { total, rates } = priced(prices);
  const outcome = await store.settle(
    {
      requestId: id,
      keyId,
      amount: total,
      cost: priced(costs).total,
      overdraft: 'bounded',
      model,
      usage,
      rates,
      endpoint,
      streamed,
      upstreamId: `msg_01${random.hex(20)}`,
      upstreamAccount,
    },
    { deadlineMs: 10_000 },
  );
  if (outcome.outcome !== 'settled') throw new Error(`${customer.name}: ${outcome.outcome}`);
  recorded.push({
    ...common,
    status: 200,
    durationMs,
    firstByteMs,
    upstreamAccount,
    upstreamStatus: 200,
    upstreamRequestId: `req_011${random.hex(20)}`,
    clientLeft: random.happens(0.01),
    tokens: {
      input: usage.inputTokens,
      output: usage.outputTokens,
      cacheRead: usage.cacheReadInputTokens,
      cacheWrite: usage.cacheCreationInputTokens,
    },
    charge: total - outcome.writtenOff,
  });
  return true;
}
