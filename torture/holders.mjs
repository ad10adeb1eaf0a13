/**
 * Random sequences of key operations by holders, against the bounds of an account that no holder
 * can raise. Witnesses outside of the gateway check the bounds: the upstream counts the requests of
 * each holder that are in flight, the ledger is read with plain SQL, and other customers record the
 * answers to their own requests.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { createCalls } from './calls.mjs';
import { MODELS, toUnits } from './check.mjs';
import { createContest } from './holders/contest.mjs';
import { MOST_LIVE_KEYS, createHoarder } from './holders/hoard.mjs';
import { createHolder } from './holders/operations.mjs';
import { startUpstreamThread } from './holders/upstream-thread.mjs';
import { createProgress } from './progress.mjs';
import { runOnSetups, startOnSetup } from './setups.mjs';
import { toUsd } from './teams/operators.mjs';
import { startWatchers } from './watchers.mjs';

const KEY_CONCURRENCY = 2;
/** `ACCOUNT_CONCURRENCY` is this many times `KEY_CONCURRENCY`, unless it is set. */
const DEFAULT_FACTOR = 5;
/** The limits of `count_tokens` are this many times as high. */
const COUNT_TOKENS_FACTOR = 4;
const ACTORS = 3;
/** Keys of each holder at the start, besides its two managing keys. */
const USED_KEYS = 20;
/** Requests of other customers before the attack, with whose times the later ones are compared. */
const WATCHED_BEFORE = 60;
const SLOWER_MS = 100;
const LARGE_RATE = { perMinute: 1_000_000, burst: 100_000 };
/** A watcher makes five requests a second, which this rate admits. */
const SMALL_RATE = { perMinute: 330, burst: 50 };
const BODY_MEMORY_BYTES = 128 * 1024 * 1024;

const INVARIANTS = {
  B1: 'no account has more requests in flight, or admitted in a time, than its limits allow',
  B2: 'no balance is below -(ACCOUNT_CONCURRENCY x the dearest request), or below zero with OVERDRAFT=none',
  B3: 'every small request of other customers is answered with 200',
  B4: `no account ever has more than ${MOST_LIVE_KEYS} live keys`,
  B5: 'every managing call with a credential in its grace is refused with 403',
  B6: 'no holder undoes a suspension or a cap of the operator',
  audit: 'the audit finds each ledger sound, and each gateway drained and exited with 0',
};

/**
 * @param {object} options
 * @param {number} options.setups - number of set-ups, see `setups.mjs`
 * @param {number} options.operations - over all set-ups
 * @param {boolean} options.isTimed - whether slow answers to other customers are a failure
 */
export async function tortureHolders({ setups, operations, isTimed }, random, say) {
  const invariants = {
    ...INVARIANTS,
    ...(isTimed && { B3: `${INVARIANTS.B3}, none ${SLOWER_MS} ms later than before the attack` }),
  };
  const run = (setup, index) =>
    attack({ setup, index, operations: Math.ceil(operations / setups), isTimed }, random, say);
  const { lines, tally } = await runOnSetups({ setups, invariants, run }, random, say);
  return { lines, tally, done: { setups, operations } };
}

async function attack({ setup, index, operations, isTimed }, random, say) {
  const { overdraft } = setup;
  // If the rate were small everywhere, no account would come to its concurrency.
  const isRateSmall = index % 2 === 1;
  const rate = isRateSmall ? SMALL_RATE : LARGE_RATE;
  const configured = random.pick([undefined, 4, 7, 12]);
  const upstream = await startUpstreamThread();
  const started = await startOnSetup(setup, {
    upstreamEnv: upstream.env,
    env: {
      KEY_CONCURRENCY: String(KEY_CONCURRENCY),
      KEY_BURST: String(isRateSmall ? 20 : 10_000),
      KEY_REQUESTS_PER_MINUTE: String(isRateSmall ? 120 : 100_000),
      ...(configured !== undefined && { ACCOUNT_CONCURRENCY: String(configured) }),
      ACCOUNT_BURST: String(rate.burst),
      ACCOUNT_REQUESTS_PER_MINUTE: String(rate.perMinute),
      BODY_MEMORY_BYTES: String(BODY_MEMORY_BYTES),
    },
  });
  const { system, gateway, createAccount } = started;
  const calls = createCalls(gateway.url);
  const violations = Object.fromEntries(
    Object.keys(INVARIANTS).map((name) => [name, /** @type {unknown[]} */ ([])]),
  );
  /** @type {Record<string, any>} */
  const counts = { operations: 0, watched: 0, created: 0 };

  const watchedAccounts = [];
  for (const [n, { id: model }] of MODELS.entries()) {
    const key = { concurrency: 2, burst: 1_000, requests_per_minute: 100_000 };
    const { keys } = await createAccount(`watcher-${n}`, { creditUsd: '1000', keys: [key] });
    watchedAccounts.push({ credential: keys[0].credential, model });
  }
  let topUps = 0;
  const topUp = (accountId) =>
    system.callAdmin('POST', `accounts/${accountId}/top-ups`, {
      top_up_id: `again-${(topUps += 1)}`,
      anyway: true,
      amount_usd: '0.1',
    });
  const accountLimit = configured ?? DEFAULT_FACTOR * KEY_CONCURRENCY;
  const startedAt = Date.now();
  const holders = [];
  for (const { who, creditUsd, concurrency } of [
    { who: 'poor', creditUsd: '0.3', concurrency: KEY_CONCURRENCY },
    { who: 'rich', creditUsd: '1000', concurrency: KEY_CONCURRENCY },
    // Its keys have a concurrency that may be above that of an account.
    { who: 'large', creditUsd: '1000', concurrency: 9 },
  ]) {
    const key = { concurrency };
    const managing = { ...key, scope: 'manage' };
    const account = await createAccount(who, {
      creditUsd,
      keys: [managing, managing, ...Array.from({ length: USED_KEYS }, () => key)],
    });
    const holder = createHolder({ who, account, calls, open: upstream.open, topUp }, random);
    holders.push({ ...holder, most: Math.max(accountLimit, concurrency) });
  }
  const hoarder = await createHoarder(started, calls);
  const contest = await createContest(started, { calls, overdraft }, random);

  const watchers = startWatchers({
    url: gateway.url,
    customers: watchedAccounts,
    pauseMs: isRateSmall ? 220 : 40,
  });
  const before = await watchers.takeAfter(WATCHED_BEFORE);

  const sayProgress = createProgress(say);
  let isOver = false;
  // One after another, as a busy account refuses calls before it looks at the credential's grace.
  for (const holder of holders) await holder.actFirst();
  if (overdraft === 'bounded') await holders[0].overdraw(isOverdrawn);
  const actors = holders.flatMap((holder) =>
    Array.from({ length: ACTORS }, async () => {
      while (counts.operations < operations) {
        counts.operations += 1;
        await holder.act();
        sayProgress(() => `${counts.operations} operations`);
        await sleep(random.below(40));
      }
    }),
  );
  /** Acts as often as every `share`th operation, and at least twice. */
  const actEvery = async (share, act) => {
    for (let n = 0; n < Math.max(2, Math.floor(operations / share)); n += 1) {
      const due = Math.min(n * share, operations);
      while (counts.operations < due) await sleep(20);
      await act();
    }
  };
  const others = [
    actEvery(400, async () => {
      const { live, created } = await hoarder.hoard();
      counts.created += created;
      if (live > MOST_LIVE_KEYS) violations.B4.push({ hoarded: live });
    }),
    actEvery(60, () => contest.act()),
  ];
  const reading = (async () => {
    while (!isOver) {
      for (const { account_id, live } of await system.read(
        `select account_id, count(*) as live from api_key where state <> 'revoked'
          group by account_id having count(*) > ${MOST_LIVE_KEYS}`,
      ))
        violations.B4.push({ account_id, live: Number(live) });
      await sleep(300);
    }
  })();
  await Promise.all(actors);
  const during = await watchers.take();
  await Promise.all(others);
  isOver = true;
  await reading;
  if (counts.created === 0) violations.B4.push('no key was created at the limit');
  await watchers.stop();
  await Promise.all(holders.map((holder) => holder.settle()));
  await calls.stop();

  checkWatched();
  const rows = await system.read(
    'select account_id, balance_after, kind from ledger order by account_id, seq',
  );
  for (const holder of holders) await checkHolder(holder);
  const graceAnswers = holders.flatMap((holder) => holder.graceAnswers);
  counts.graceCalls = graceAnswers.length;
  violations.B5.push(
    // 401: the key was rotated again or revoked, so its old credential is unknown.
    ...graceAnswers.filter(({ status }) => ![401, 403, 429].includes(status)),
    ...(graceAnswers.some(({ status }) => status === 403) ? [] : ['no call was refused with 403']),
  );
  Object.assign(counts, contest.counts);
  violations.B6.push(...contest.undone);
  if (contest.counts.suspensions + contest.counts.caps === 0) violations.B6.push('nothing was set');
  violations.audit.push(...(await started.finish()));
  await upstream.stop();
  return { violations, counts };

  async function isOverdrawn(accountId) {
    const [{ balance }] = await system.read(
      `select balance from account where id = '${accountId}'`,
    );
    return toUnits(String(balance)) < 0n;
  }

  function checkWatched() {
    counts.watched = during.length;
    const longest = (watched) => Math.round(Math.max(0, ...watched.map(({ ms }) => ms)));
    counts.longestMsBefore = longest(before);
    counts.longestMs = longest(during);
    violations.B3.push(...during.filter(({ status }) => status !== 200));
    if (during.length === 0) violations.B3.push('nothing was watched');
    if (!isTimed) return;
    const most = counts.longestMsBefore + SLOWER_MS;
    violations.B3.push(...during.filter(({ ms }) => ms > most));
  }

  async function checkHolder({ who, account, most, statuses }) {
    const { requests, inFlight, countsInFlight, dearest, beyondRate } = await upstream.summaryOf(
      who,
      { ...rate, since: startedAt },
    );
    const balances = rows
      .filter(({ account_id }) => account_id === account.id)
      .map(({ balance_after }) => toUnits(String(balance_after)));
    const lowest = balances.reduce((low, each) => (each < low ? each : low));
    const floor = overdraft === 'none' ? 0n : -BigInt(most) * dearest;
    counts[who] = { requests, inFlight, most, beyondRate, lowest: toUsd(lowest), ...statuses };
    if (inFlight > most) violations.B1.push({ who, inFlight, most });
    if (countsInFlight > COUNT_TOKENS_FACTOR * most) violations.B1.push({ who, countsInFlight });
    if (beyondRate > 0) violations.B1.push({ who, requests, beyondRate });
    if (lowest < floor) violations.B2.push({ who, lowest: toUsd(lowest), floor: toUsd(floor) });
    // Checks of requests that were never refused, and of balances that never end, prove nothing.
    if (who === 'rich' && statuses[429] === undefined)
      violations.B1.push({ who, never: 'refused by a limit' });
    if (who === 'poor' && overdraft === 'bounded' && lowest >= 0n)
      violations.B2.push({ who, never: 'below zero' });
  }
}
