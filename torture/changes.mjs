/**
 * Every value that a holder may change is changed at every moment of a request. The charge must be
 * the price of what was served, in both settings of OVERDRAFT, also if the answer costs more than
 * was set aside. Only what the balance cannot cover may be written off. The usage objects that the
 * clients received and the upstream's journal are the witnesses.
 */

import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { askIn, createCalls } from './calls.mjs';
import { CHANGES, undoOf } from './changes/values.mjs';
import { MODELS, toUnits } from './check.mjs';
import { FORMATS } from './formats.mjs';
import { orderText, startOrderedUpstream } from './ordered-upstream.mjs';
import { createProgress } from './progress.mjs';
import { runOnSetups, startOnSetup } from './setups.mjs';
import { toUsd } from './teams/operators.mjs';

/**
 * The moments of a request: before its admission; when half of its body is sent; when the upstream
 * has it, so that its hold is placed; while it streams; before the bytes with the final usage; and
 * together with these bytes, so that the change is made while the charge is settled.
 */
const MOMENTS = /** @type {const} */ (['before', 'half', 'held', 'streaming', 'end', 'settling']);
/** Where the upstream waits at a moment. */
const WAITS = /** @type {const} */ ({
  held: 'answer',
  streaming: 'stream',
  end: 'end',
  settling: 'end',
});
/** One managing key may make only so many calls in a minute. */
const MANAGING_KEYS = 24;
const PARALLEL = 4;
const MAX_TOKENS = 20;
const LONGEST_WAIT_MS = 10_000;

const INVARIANTS = {
  B8: 'each served request is charged its price once, whatever a holder changes meanwhile; only what the balance cannot cover is written off',
  I2: 'each usage object that a client received has an entry with the same counts',
  audit: 'the audit finds each ledger sound, and each gateway drained and exited with 0',
};

/**
 * @param {object} options
 * @param {number} options.setups - number of set-ups, see `setups.mjs`
 * @param {number} options.operations - requests with a change, over all set-ups
 */
export async function tortureChanges({ setups, operations }, random, say) {
  const run = (setup) => change({ setup, operations: Math.ceil(operations / setups) }, random, say);
  const result = await runOnSetups({ setups, invariants: INVARIANTS, run }, random, say);
  return { ...result, done: { setups, operations } };
}

async function change({ setup, operations }, random, say) {
  const upstream = await startOrderedUpstream();
  const started = await startOnSetup(setup, {
    upstreamEnv: { UPSTREAM_URL: upstream.url, UPSTREAM_API_KEY: upstream.apiKeys[0] },
  });
  const { system, gateway, createAccount } = started;
  const calls = createCalls(gateway.url);
  const seen = [];
  /** The credit of each account that has one request only. */
  const credits = new Map();
  const counts = {
    requests: 0,
    changed: 0,
    refusedChanges: 0,
    poor: 0,
    aboveHold: 0,
    impossible: 0,
  };
  /** Requests whose usage no request like them can have: it is set aside. */
  const impossible = new Set();
  const sayProgress = createProgress(say);

  await Promise.all(
    Array.from({ length: PARALLEL }, async (_, worker) => {
      const rich = await newAccount(`rich-${worker}`, '1000000', MANAGING_KEYS);
      while (counts.requests < operations) {
        counts.requests += 1;
        await (random.chance(0.25) ? askWithLittle() : askAndChange(rich));
        sayProgress(() => JSON.stringify(counts));
      }
    }),
  );
  await calls.stop();
  const ledger = await system.read(
    `select id, account_id, delta, written_off, input_tokens, output_tokens, upstream_id
       from ledger where kind = 'charge'`,
  );
  const audit = await started.finish();
  await upstream.stop();
  return {
    violations: { B8: wrongCharges(ledger), I2: wrongCounts(ledger), audit },
    counts: { ...counts, charges: ledger.length },
  };

  async function newAccount(name, creditUsd, managingKeys) {
    const key = { concurrency: 20, burst: 100_000, requests_per_minute: 1_000_000 };
    return createAccount(name, {
      creditUsd,
      keys: Array.from({ length: managingKeys }, () => ({ ...key, scope: 'manage' })),
    });
  }

  /** An account whose balance covers a part of what its only request will cost. */
  async function askWithLittle() {
    counts.poor += 1;
    const credit = 10n ** 12n + BigInt(random.below(10 ** 9));
    const account = await newAccount(`poor-${counts.poor}`, toUsd(credit), 1);
    credits.set(account.id, credit);
    await askAndChange(account);
  }

  /** One request with a new key, which its holder changes meanwhile, and perhaps changes back. */
  async function askAndChange(account) {
    const created = await system.callAdmin('POST', 'keys', {
      account_id: account.id,
      name: 'changed',
      concurrency: 5,
    });
    const key = { id: created.id, credential: created.api_key };
    const moment = random.pick(MOMENTS);
    const id = `request-${counts.requests}-${account.id}`;
    const answer = random.pick(['within', 'above', 'above', 'impossible']);
    if (answer === 'above') counts.aboveHold += 1;
    if (answer === 'impossible') {
      counts.impossible += 1;
      impossible.add(id);
    }
    const format = random.pick(FORMATS);
    const model = random.pick(MODELS).id;
    const stream = random.chance(0.7);
    const { path, body } = askIn({
      format,
      model,
      maxTokens: MAX_TOKENS,
      stream,
      text: orderText({
        who: 'changing',
        id,
        input: random.below(50),
        waitMs: LONGEST_WAIT_MS,
        output: outputOf(answer),
        waits: moment in WAITS ? [WAITS[moment]] : [],
      }),
    });
    let goOn = () => {};
    const isHalfSent = new Promise((resolve) => {
      goOn = () => resolve(undefined);
    });
    const isReached =
      moment in WAITS ? upstream.reached(id, WAITS[moment]) : sleep(random.below(20));
    const sending = calls.call({
      path,
      credential: key.credential,
      address: address(),
      body: moment === 'half' ? Readable.from(inHalves(body, isHalfSent)) : body,
    });
    if (moment !== 'before') await Promise.race([isReached, sending]);
    if (moment === 'settling') upstream.open({ id });
    await changeAndUndo(account, key);
    goOn();
    upstream.open({ id });
    const { status, requestId, text } = await sending;
    if (status === 200) {
      const usage = format.usage(text, stream);
      if (usage !== undefined) seen.push({ requestId, ...usage });
    }
    await system.callAdmin('POST', `keys/${key.id}/revoke`, {});
  }

  /** An honest upstream may exceed the hold, but not twice the limit and a thousand tokens. */
  function outputOf(answer) {
    if (answer === 'within') return random.below(MAX_TOKENS);
    if (answer === 'above') return MAX_TOKENS + random.below(MAX_TOKENS + 1_000);
    return 2 * MAX_TOKENS + 1_001 + random.below(100_000);
  }

  async function changeAndUndo(account, key) {
    const name = random.pick(Object.keys(CHANGES));
    if (name === 'scope') {
      // Only an operator may change it.
      await system.callAdmin('PATCH', `keys/${key.id}`, { scope: random.pick(['use', 'manage']) });
      return;
    }
    const calls = [CHANGES[name](random), random.chance(0.5) ? undoOf(name) : undefined];
    for (const call of calls) if (call !== undefined) await manage(account, key, call);
  }

  /** @param {readonly [method: 'PATCH' | 'POST', path: string, body: object]} call */
  async function manage({ keys }, { id }, [method, path, body]) {
    const { status } = await calls.call({
      path: `/v1/dashboard/keys/${id}${path}`,
      method,
      body: JSON.stringify(body),
      credential: random.pick(keys).credential,
      address: address(),
    });
    counts[status === 200 ? 'changed' : 'refusedChanges'] += 1;
  }

  function address() {
    return `10.${1 + random.below(250)}.${random.below(250)}.${random.below(250)}`;
  }

  function wrongCharges(ledger) {
    const entries = Map.groupBy(ledger, ({ upstream_id }) => upstream_id);
    const known = new Set();
    /** @type {unknown[]} */
    const wrong = counts.changed === 0 ? ['nothing was changed'] : [];
    for (const { messageId, outcome, price, id } of upstream.entries()) {
      known.add(messageId);
      const own = entries.get(messageId) ?? [];
      if (impossible.has(id)) {
        if (own.length > 0) wrong.push({ id, outcome, entries: own.length, never: 'possible' });
        continue;
      }
      if (outcome === 'left' && own.length === 0) continue;
      const [entry] = own;
      const charged = entry && -toUnits(String(entry.delta));
      const writtenOff = entry && toUnits(String(entry.written_off));
      const credit = credits.get(entry?.account_id);
      const most =
        setup.overdraft === 'none' && credit !== undefined && price > credit ? price - credit : 0n;
      if (own.length !== 1 || charged + writtenOff !== price || writtenOff !== most)
        wrong.push({ id, outcome, entries: own.length, price, charged, writtenOff, most });
    }
    for (const { id, upstream_id } of ledger)
      if (!known.has(upstream_id)) wrong.push({ id, upstream_id, never: 'served' });
    return wrong;
  }

  function wrongCounts(ledger) {
    const entries = new Map(ledger.map((entry) => [entry.id, entry]));
    return seen.filter(({ requestId, input, output }) => {
      const entry = entries.get(requestId);
      return entry?.input_tokens !== input || entry?.output_tokens !== output;
    });
  }
}

async function* inHalves(body, isHalfSent) {
  const half = Math.floor(body.length / 2);
  yield body.slice(0, half);
  await isHalfSent;
  yield body.slice(half);
}
