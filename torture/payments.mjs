/**
 * Payments under faults: customers pay on the simulated Stripe, and payments are refunded and
 * disputed at random. Stripe's notifications are dropped, repeated, delayed and sent to any
 * gateway, together with forged ones, while gateways are killed and the ledger's database or disk
 * loses power. Afterwards the provider's records are compared with the ledger and with every
 * balance.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { startStripeSimulator } from '../packages/payments/dist/testing/index.js';
import { lineOf } from './check.mjs';
import { startOnEmbedded } from './payments/embedded.mjs';
import { createNotifications } from './payments/notifications.mjs';
import { startOnPostgres } from './payments/postgres.mjs';
import { timeUntilUsable } from './payments/usable.mjs';
import { createProgress } from './progress.mjs';
import { createRepeatedCalls } from './repeated-calls.mjs';

const SECRET_KEY = 'sk_test_torture';
const WEBHOOK_SECRET = 'whsec_torture_torture';
const ACCOUNTS = 40;
const UNITS_PER_CENT = 10n ** 12n;
/** The comparison with the provider covers the payments of this time. */
const DAY_MS = 86_400_000;
/** Number of keys with which `timeUntilUsable` is measured before the faults begin. */
const MEASURED_KEYS = 20;

/**
 * @param {object} options
 * @param {'PostgreSQL' | 'embedded'} options.ledger
 * @param {number} options.payments
 * @param {number} options.kills - kill -9 of a gateway, spread over the payments
 * @param {number} options.powerCuts - of PostgreSQL or of the embedded ledger's disk
 * @param {number} options.parallel - customers that pay at the same time
 * @param {number} [options.replicaCount] - gateways on PostgreSQL; the embedded ledger has one
 */
export async function torturePayments(options, random, say) {
  const { ledger, payments, kills, powerCuts, parallel, replicaCount = 1 } = options;
  const stripe = await startStripeSimulator({
    secretKey: SECRET_KEY,
    webhookSecret: WEBHOOK_SECRET,
  });
  const env = {
    STRIPE_SECRET_KEY: SECRET_KEY,
    STRIPE_WEBHOOK_SECRET: WEBHOOK_SECRET,
    STRIPE_API_URL: stripe.url,
    PUBLIC_URL: 'http://127.0.0.1',
    TRUST_PROXY: '1',
  };
  const system = await (ledger === 'embedded'
    ? startOnEmbedded({ env }, random)
    : startOnPostgres({ env, replicaCount }, random));
  const { replicas } = system;
  const notifications = createNotifications({ stripe, replicas }, random);
  const done = { kills: 0, powerCuts: 0 };
  const tally = { paid: 0, refunds: 0, disputes: 0 };
  const lost = [];
  const keys = [];
  const sayProgress = createProgress(say);
  let started = 0;

  const { callRepeatedly, callAdmin } = createRepeatedCalls(
    { replicas, isFinal: (status) => status === 200 },
    random,
  );

  async function createKey(name) {
    const { value } = await callAdmin('POST', 'keys', { name, idempotency_key: name });
    return value;
  }

  /** Pays on a new payment page. @returns the id of the payment */
  async function payOnce({ api_key, amount_usd, n }) {
    const { value } = await callRepeatedly(({ url }) => `${url}/v1/dashboard/top-ups`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${api_key}`,
        'content-type': 'application/json',
        'idempotency-key': `torture-${n}`,
        'x-forwarded-for': `10.${n >> 16}.${(n >> 8) & 255}.${n & 255}`,
      },
      body: JSON.stringify({ amount_usd }),
    });
    return stripe.pay(value.url.split('/').at(-1));
  }

  async function pay() {
    while (started < payments) {
      const n = (started += 1);
      const { api_key } = random.pick(keys);
      const amount_usd = `${5 + random.below(90)}.${String(random.below(100)).padStart(2, '0')}`;
      const reference = await payOnce({ api_key, amount_usd, n });
      refundAndDispute(reference, Math.round(Number(amount_usd) * 100));
      tally.paid += 1;
      notifications.deliverNew();
      sayProgress(() => `${tally.paid} payments, ${notifications.tally.delivered} notifications`);
      await notifications.untilFew();
    }
  }

  /**
   * Measures how soon a first payment makes a key usable. Runs before the faults, and with keys of
   * its own, because their requests are charged.
   */
  async function measureUsable() {
    let longest = 0;
    for (let n = 0; n < MEASURED_KEYS; n += 1) {
      const { api_key } = await createKey(`measured-${n}`);
      await payOnce({ api_key, amount_usd: '5.00', n: payments + 1 + n });
      const event = stripe.events.findLast(({ type }) => type === 'checkout.session.completed');
      if (event === undefined) throw new Error('the payment has no notification');
      const notification = stripe.sign(event);
      const took = await timeUntilUsable({ credential: api_key, replicas, notification });
      longest = Math.max(longest, took);
    }
    say(`longest time from a notification to a usable key: ${longest.toFixed(0)} ms`);
  }

  /** Refunds and disputes a payment at random; many payments have neither. */
  function refundAndDispute(reference, cents) {
    let left = cents;
    for (let n = random.below(4); n > 1; n -= 1) {
      const part = 1 + random.below(Math.floor(left / 2));
      const refundId = stripe.refund(reference, part);
      tally.refunds += 1;
      if (random.chance(0.2)) stripe.failRefund(refundId);
      else left -= part;
    }
    if (random.chance(0.9)) return;
    tally.disputes += 1;
    const disputeId = stripe.openDispute(reference, { isInquiry: random.chance(0.2) });
    if (random.chance(0.7)) stripe.closeDispute(disputeId, random.pick(['won', 'lost']));
  }

  /** Spreads the faults evenly over the payments, in random order. */
  async function breakThings() {
    const faults = random.shuffle([
      ...Array.from({ length: kills }, () => 'kills'),
      ...Array.from({ length: powerCuts }, () => 'powerCuts'),
    ]);
    for (const [index, fault] of faults.entries()) {
      const due = Math.floor(((index + 1) / (faults.length + 1)) * payments);
      while (started < due) await sleep(5);
      const number = (done[fault] += 1);
      const afterwards = () => findLost(`${fault} ${number}`);
      await (fault === 'kills' ? system.kill(afterwards) : system.cutPower(afterwards));
    }
  }

  /**
   * Finds lost entries. A gateway accepts a notification only after booking it, so the entries of
   * accepted notifications must be in the ledger.
   */
  async function findLost(when) {
    const acknowledged = [...notifications.acknowledged];
    const ids = await system.entryIds();
    for (const id of acknowledged) if (!ids.has(id)) lost.push({ when, id });
  }

  await measureUsable();
  for (let n = 0; n < ACCOUNTS; n += 1) keys.push(await createKey(`payer-${n}`));
  await Promise.all([breakThings(), ...Array.from({ length: parallel }, pay)]);
  await notifications.untilNone();
  say('every payment was made');
  await Promise.all(replicas.map((replica) => replica.untilReady()));

  const range = {
    from: new Date(Date.now() - DAY_MS).toISOString(),
    until: new Date(Date.now() + 60_000).toISOString(),
  };
  const reconcile = async (body) => (await callAdmin('POST', 'payments/reconcile', body)).value;
  const applied = await reconcile({ ...range, apply: true });
  say(`${applied.compared} facts compared, ${applied.missing.length} booked by the comparison`);
  const left = await reconcile(range);
  const notExited = await system.drain();

  const store = await system.openLedger();
  const audit = await store.audit();
  const wrong = [];
  let [credited, expectedSum] = [0n, 0n];
  for (const { account_id } of keys) {
    const balance = (await store.getAccount(account_id))?.balance ?? 0n;
    const expected = BigInt(stripe.netCentsOf(account_id)) * UNITS_PER_CENT;
    credited += balance;
    expectedSum += expected;
    if (balance !== expected) {
      wrong.push({ account_id, balance: String(balance), expected: String(expected) });
    }
  }
  const refused = applied.missing.filter(({ outcome }) => outcome !== 'booked');
  const paidUsd = Number(expectedSum) / 1e14;
  say(
    `credited in all: ${Number(credited) / 1e14} USD; paid minus refunds and disputes: ${paidUsd} USD`,
  );
  await system.stop();
  await stripe.close();
  const { forged } = notifications.tally;
  return {
    done,
    tally: { ...tally, ...notifications.tally },
    lines: [
      lineOf('P1', 'every balance equals the payments minus refunds and disputes', wrong),
      lineOf('P2', 'the comparison booked every fact that it found missing', refused),
      lineOf('P3', 'a second comparison finds no difference', left.missing),
      lineOf('P4', `none of ${forged} forged notifications was accepted`, notifications.accepted),
      lineOf('P5', 'the audit finds the ledger sound', audit.differences),
      lineOf(
        'P6',
        'the entries of every accepted notification are in the ledger after each fault',
        lost,
      ),
      lineOf('I10', 'every gateway drained and exited with 0', Array(notExited).fill({})),
    ],
  };
}
