/**
 * The race for the last cent: many simultaneous requests of one key, over all replicas, with a
 * balance that covers only a few of them. With `OVERDRAFT=bounded` the balance must not fall
 * further below zero than the key's concurrency allows. With `OVERDRAFT=none` it must not fall
 * below zero, while replicas are killed, clients leave, and some responses cost far more than their
 * holds.
 */

import { Agent, request } from 'undici';
import { setTimeout as sleep } from 'node:timers/promises';
import { chargeOf, lineOf, readLedger, toUnits } from './check.mjs';
import { callHeaders } from './headers.mjs';
import { createProgress } from './progress.mjs';
import { startSystem } from './system.mjs';

const MODEL = 'claude-haiku-4-5';
const CONCURRENCY = 5;
const MAX_TOKENS = 40;
/**
 * A request that costs several times its hold: nearly the most that an answer may report before it
 * is set aside, which is twice its limit and its size, and some thousand tokens more.
 */
const COSTLY_USAGE = { input_tokens: 13_000, output_tokens: 2 * MAX_TOKENS + 900 };
const COSTLY = `[[script:${JSON.stringify({ usage: COSTLY_USAGE })}]]`;
const ATTEMPTS = 16;
/** Number of keys that race at the same time, independently of each other. */
const PARALLEL_ROUNDS = 8;

/**
 * @param {object} options
 * @param {'bounded' | 'none'} options.overdraft - the setting under test
 * @param {number} options.rounds - number of keys, each with one race
 * @param {number} options.kills - kill -9 of a replica, spread over the rounds
 * @param {number} options.replicaCount
 */
export async function tortureRace({ overdraft, rounds, kills, replicaCount }, random, say) {
  const system = await startSystem({
    replicaCount,
    env: { OVERDRAFT: overdraft },
    journalEntries: rounds * ATTEMPTS * 4,
  });
  const agent = new Agent({ connections: 64, bodyTimeout: 60_000, headersTimeout: 60_000 });
  const done = { rounds: 0, kills: 0 };
  const tally = { complete: 0, refused: 0, cut: 0, left: 0 };
  const seen = [];
  const notRefused = [];
  const sayProgress = createProgress(say);
  let next = 0;

  const killer = (async () => {
    for (let kill = 1; kill <= kills; kill += 1) {
      const due = Math.floor((kill / (kills + 1)) * rounds);
      while (done.rounds < due) await sleep(5);
      const replica = random.pick(system.replicas);
      await replica.untilReady();
      done.kills += 1;
      await replica.restart('SIGKILL');
    }
  })();

  const keys = [];
  async function racer() {
    while (next < rounds) {
      const round = (next += 1);
      // With `none` each request places a hold of several times its charge. The credit must be
      // larger, so that several holds fit at once.
      const credit = overdraft === 'none' ? 10n ** 12n : 5n * 10n ** 10n;
      const key = await system.createKey(`race-${round}`, {
        credit: credit + BigInt(round),
        concurrency: CONCURRENCY,
      });
      keys.push(key);
      await Promise.all(
        Array.from({ length: ATTEMPTS }, (_, attempt) => attempts(key, attempt, round)),
      );
      if (overdraft === 'bounded') await expectRefused(key);
      done.rounds += 1;
      sayProgress(() => `${done.rounds} rounds; ${JSON.stringify(tally)}; ${done.kills} kills`);
    }
  }

  /** Sends one request after another until the key's balance is used up, at most twelve. */
  async function attempts(key, attempt, round) {
    for (let tries = 0; tries < 12; tries += 1) {
      const replica = system.replicas[(attempt + tries) % replicaCount];
      const leaves = overdraft === 'none' && random.chance(0.1);
      const isCostly = overdraft === 'none' && random.chance(0.05);
      const text = `${isCostly ? COSTLY : ''}round ${round} ${attempt}`;
      const status = await one(key, replica, { leaves, text });
      if (status === 401 || status === 402) return;
      if (status !== 200) await sleep(20);
    }
  }

  async function one(key, replica, { leaves, text }) {
    try {
      const response = await request(`${replica.url}/v1/messages`, {
        dispatcher: agent,
        method: 'POST',
        headers: callHeaders(key.credential),
        body: JSON.stringify({
          model: MODEL,
          max_tokens: MAX_TOKENS,
          messages: [{ role: 'user', content: text }],
          stream: leaves,
        }),
      });
      if (leaves) {
        tally.left += 1;
        response.body.on('error', () => {}).destroy();
        return response.statusCode;
      }
      const body = /** @type {any} */ (await response.body.json());
      if (response.statusCode !== 200) {
        tally.refused += 1;
        return response.statusCode;
      }
      tally.complete += 1;
      seen.push({
        requestId: response.headers['x-gateway-request-id'],
        keyId: key.id,
        input: body.usage.input_tokens,
        output: body.usage.output_tokens,
      });
      return 200;
    } catch {
      tally.cut += 1;
      return 0;
    }
  }

  /** Checks that every replica refuses the key, whose balance is used up now. */
  async function expectRefused(key) {
    const deadline = Date.now() + 30_000;
    if ((await system.store.readStanding(key.id)).standing === 'active') {
      notRefused.push({ key: key.id, status: 'still active' });
      return;
    }
    for (const replica of system.replicas) {
      let status = await one(key, replica, { leaves: false, text: 'after' });
      // If the release of a lease did not reach Redis, the lease counts until it expires.
      while (status === 429 && Date.now() < deadline) {
        await sleep(500);
        status = await one(key, replica, { leaves: false, text: 'after' });
      }
      if (status !== 401) notRefused.push({ key: key.id, replica: replica.name, status });
    }
  }

  let lowest = 0n;
  let watching = true;
  const watcher = (async () => {
    while (watching) {
      const { balances } = await readLedger(system.postgres.url, { withEntries: false });
      for (const text of balances.values()) if (toUnits(text) < lowest) lowest = toUnits(text);
      await sleep(50);
    }
  })();
  await Promise.all(Array.from({ length: PARALLEL_ROUNDS }, racer));
  await killer;
  await Promise.all(system.replicas.map((replica) => replica.untilReady()));
  const losses = await Promise.all(
    system.replicas.map((replica) => replica.metric('gateway_limits_redis_lost_total')),
  );
  const badExits = await system.drain();
  watching = false;
  await watcher;
  await agent.destroy();
  const audit = await system.store.audit();
  const ledger = await readLedger(system.postgres.url);
  const served = system.upstreams.usages();
  await system.stop();

  const costOf = ({ input, output }) =>
    chargeOf({ model: MODEL, input, output, read: 0, written: 0 });
  const highestCost = served.reduce((most, { usage }) => {
    const cost = costOf({ input: usage.input_tokens, output: usage.output_tokens });
    return cost > most ? cost : most;
  }, 0n);
  // While Redis does not answer in time (on a busy machine), each replica grants leases from its
  // own share of the limit, in addition to the leases that Redis granted before.
  const redisWasLost = losses.some((count) => count !== 0);
  const share = Math.max(1, Math.floor(CONCURRENCY / replicaCount));
  const inFlight = CONCURRENCY + (redisWasLost ? replicaCount * share : 0);
  const floor = overdraft === 'none' ? 0n : -BigInt(inFlight) * highestCost;
  const bound =
    overdraft === 'none'
      ? 'zero'
      : `${floor}, ${inFlight} times the most expensive request${redisWasLost ? ' (Redis was lost at times)' : ''}`;
  const charges = new Map(ledger.entries.map((entry) => [entry.id, entry]));
  const crossed = [...ledger.balances.values()].filter((text) => toUnits(text) < 0n).length;
  const lines = [];
  const check = (name, what, violations) => {
    lines.push(lineOf(name, what, violations));
  };
  check(
    'I6',
    `no balance was ever below ${bound} (lowest seen ${lowest}, ${crossed} of ${keys.length} ended below zero)`,
    [
      ...[...ledger.balances].filter(([, text]) => toUnits(text) < floor),
      ...(lowest < floor ? [lowest.toString()] : []),
      // If no balance crosses zero, this check proves nothing.
      ...(overdraft === 'bounded' && crossed === 0 ? ['no key ever crossed zero'] : []),
    ],
  );
  check(
    'I2',
    `each usage that a client saw is charged once, with the exact amount (${seen.length} seen)`,
    seen.filter((usage) => {
      const entry = charges.get(usage.requestId);
      const charged = entry && toUnits(entry.delta) - toUnits(entry.written_off);
      return charged !== -costOf(usage);
    }),
  );
  if (overdraft === 'none') {
    const writeOffs = Map.groupBy(
      ledger.entries.filter((entry) => toUnits(entry.written_off) > 0n),
      (entry) => entry.key_id,
    );
    check(
      'I7',
      `after a write-off, a key is charged only for requests in flight (${writeOffs.size} keys with write-offs)`,
      [
        ...[...writeOffs].filter(([, entries]) => entries.length > CONCURRENCY),
        ...[...writeOffs.keys()].filter((id) => ledger.standings.get(id) === 'active'),
        // Without a write-off, this check proves nothing.
        ...(writeOffs.size === 0 ? ['no response cost more than the balance of its key'] : []),
      ],
    );
  }
  check('audit', `the audit finds the ledger sound (gap ${audit.gap})`, [...audit.differences]);
  check('I10', 'every replica drained and exited with 0', badExits === 0 ? [] : [badExits]);
  if (overdraft === 'bounded') {
    check('I6b', 'every replica answers 401 to a key whose balance is spent', notRefused);
  }
  return { lines, tally, done };
}
