/**
 * Random answers of the upstream to one customer, on one to three upstream accounts, while other
 * customers watch their own service. What the upstream answers to the one must not decide about the
 * others.
 */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { randomAnswer } from './answers/random-answer.mjs';
import { askIn, createCalls } from './calls.mjs';
import { MODELS } from './check.mjs';
import { FORMATS } from './formats.mjs';
import { orderText, startOrderedUpstream } from './ordered-upstream.mjs';
import { createProgress } from './progress.mjs';
import { runOnSetups, startOnSetup } from './setups.mjs';
import { startWatchers } from './watchers.mjs';

/** No other customer uses this model. */
const OWN_MODEL = 'claude-sonnet-5';
const KEYS = 6;
const ACTORS = 6;
/** Far more than the requests of the other customers have. */
const LARGE_BYTES = 60_000;
const WATCHED_BEFORE = 10;
const WATCH_PAUSE_MS = 60;

const INVARIANTS = {
  B7: 'no request of other customers is refused, whatever the upstream answers to one customer',
  audit: 'the audit finds each ledger sound, and each gateway drained and exited with 0',
};

/**
 * @param {object} options
 * @param {number} options.setups - number of set-ups, see `setups.mjs`
 * @param {number} options.operations - requests of the one customer, over all set-ups
 */
export async function tortureAnswers({ setups, operations }, random, say) {
  const run = (setup, index) =>
    attack({ setup, accounts: 3 - (index % 3), operations: operations / setups }, random, say);
  const result = await runOnSetups({ setups, invariants: INVARIANTS, run }, random, say);
  return { ...result, done: { setups, operations } };
}

async function attack({ setup, accounts, operations }, random, say) {
  const names = Array.from({ length: accounts }, (_, n) => `acct-${n}`);
  const upstream = await startOrderedUpstream(names.map((name) => `key-of-${name}`));
  const folder = mkdtempSync(join(tmpdir(), 'gateway-torture-'));
  const file = join(folder, 'upstreams.json');
  const list = names.map((name, n) => ({ name, url: upstream.url, api_key: upstream.apiKeys[n] }));
  writeFileSync(file, JSON.stringify({ accounts: list }));
  const started = await startOnSetup(setup, { upstreamEnv: { UPSTREAMS: file } });
  const { gateway, createAccount } = started;
  const calls = createCalls(gateway.url);
  const key = { concurrency: 10, burst: 100_000, requests_per_minute: 1_000_000 };
  const customers = [];
  for (const [n, { id: model }] of MODELS.entries()) {
    const { keys } = await createAccount(`watcher-${n}`, { creditUsd: '1000', keys: [key] });
    customers.push({ credential: keys[0].credential, model });
  }
  // A holder chooses the number of its keys, so several keys of one account are one customer.
  const { keys } = await createAccount('attacker', {
    creditUsd: '1000000',
    keys: Array.from({ length: KEYS }, () => key),
  });
  const watchers = startWatchers({ url: gateway.url, customers, pauseMs: WATCH_PAUSE_MS });
  await watchers.takeAfter(WATCHED_BEFORE);

  const sayProgress = createProgress(say);
  /** @type {Record<string, number>} */
  const statuses = {};
  let sent = 0;
  await Promise.all(
    Array.from({ length: ACTORS }, async () => {
      while (sent < operations) {
        sent += 1;
        await ask();
        sayProgress(() => `${sent} requests; ${JSON.stringify(statuses)}`);
        await sleep(random.below(30));
      }
    }),
  );
  // The accounts must still serve the others afterwards.
  await sleep(1_000);
  const watched = await watchers.take();
  await watchers.stop();
  await calls.stop();
  const refused = watched.filter(({ status }) => status !== 200);
  const audit = await started.finish();
  await upstream.stop();
  rmSync(folder, { recursive: true, force: true });
  return {
    violations: {
      B7: [...refused, ...(watched.length === 0 ? ['nothing was watched'] : [])],
      audit,
    },
    counts: { sent, accounts, watched: watched.length, refused: refused.length, ...statuses },
  };

  async function ask() {
    const isLarge = random.chance(0.5);
    const answers = Array.from({ length: accounts }, () => randomAnswer(random));
    // All accounts give the same answer to a request that none may serve.
    if (random.chance(0.5)) answers.fill(answers[0]);
    // An account that limits a small request of a model limits everybody's requests of this model.
    const isLimited = answers.some(({ status }) => status === 429);
    const model = isLarge || !isLimited ? random.pick(MODELS).id : OWN_MODEL;
    const order = orderText({ who: 'attacker', answers, output: 10 });
    const { path, body } = askIn({
      format: random.pick(FORMATS),
      model,
      maxTokens: 20,
      stream: random.chance(0.6),
      text: isLarge ? order.padEnd(LARGE_BYTES + random.below(LARGE_BYTES), ' word') : order,
    });
    const { status } = await calls.call({
      path,
      body,
      credential: random.pick(keys).credential,
      address: '10.9.0.1',
      ...(random.chance(0.1) ? { leaveAfterMs: random.below(200) } : {}),
    });
    statuses[status] = (statuses[status] ?? 0) + 1;
  }
}
