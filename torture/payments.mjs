/**
 * Payments under faults: customers pay on the simulated Stripe, which refunds and disputes at
 * random. Its notifications are dropped, repeated, delayed and sent to any replica, together with
 * forged ones, while gateways and the database are killed. Afterwards the provider's records are
 * compared with the ledger and with every balance.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { request } from 'undici';
import { startStripeSimulator } from '../packages/payments/dist/testing/index.js';
import { lineOf } from './check.mjs';
import { startSystem } from './system.mjs';

const SECRET_KEY = 'sk_test_torture';
const WEBHOOK_SECRET = 'whsec_torture_torture';
const ADMIN_TOKEN = 'torture-admin-token';
const ACCOUNTS = 40;
const UNITS_PER_CENT = 10n ** 12n;
/**
 * The number of attempts to deliver a notification. Stripe itself tries for three days, which is
 * too long for this test.
 */
const ATTEMPTS = 4;

/**
 * @param {object} options
 * @param {number} options.payments
 * @param {number} options.kills - kill -9 of a replica, spread over the payments
 * @param {number} options.databaseCrashes - immediate stops of PostgreSQL, followed by a start
 * @param {number} options.parallel - customers that pay at the same time
 * @param {number} options.replicaCount
 */
export async function torturePayments(options, random, say) {
  const { payments, kills, databaseCrashes, parallel, replicaCount } = options;
  const stripe = await startStripeSimulator({
    secretKey: SECRET_KEY,
    webhookSecret: WEBHOOK_SECRET,
  });
  const system = await startSystem({
    replicaCount,
    env: {
      STRIPE_SECRET_KEY: SECRET_KEY,
      STRIPE_WEBHOOK_SECRET: WEBHOOK_SECRET,
      STRIPE_API_URL: stripe.url,
      PUBLIC_URL: 'http://127.0.0.1',
      TRUST_PROXY: '1',
    },
    journalEntries: 1,
  });
  const { replicas, store, postgres } = system;
  const done = { kills: 0, databaseCrashes: 0 };
  const tally = { paid: 0, refunds: 0, disputes: 0, delivered: 0, dropped: 0, forged: 0 };
  const accepted = [];
  const keys = [];
  for (let n = 0; n < ACCOUNTS; n += 1) {
    const key = await system.createKey(`payer-${n}`, { credit: 0n, concurrency: 5 });
    const record = await store.getKey(key.id);
    keys.push({ ...key, accountId: record?.accountId ?? '' });
  }

  const deliveries = new Set();
  let lastEvent = 0;
  let lastSaid = Date.now();
  let started = 0;

  /** Repeats a call until a replica answers with 200. */
  async function untilAnswered(work) {
    for (;;) {
      const response = await work(random.pick(replicas)).catch(() => undefined);
      const body = await response?.body.json().catch(() => undefined);
      if (response?.statusCode === 200 && body !== undefined) return body;
      await sleep(50);
    }
  }

  async function pay() {
    while (started < payments) {
      const n = (started += 1);
      const { credential } = random.pick(keys);
      const amount_usd = `${5 + random.below(90)}.${String(random.below(100)).padStart(2, '0')}`;
      const page = await untilAnswered((replica) =>
        request(`${replica.url}/v1/dashboard/top-ups`, {
          method: 'POST',
          headers: {
            authorization: `Bearer ${credential}`,
            'content-type': 'application/json',
            'idempotency-key': `torture-${n}`,
            'x-forwarded-for': `10.${n >> 16}.${(n >> 8) & 255}.${n & 255}`,
          },
          body: JSON.stringify({ amount_usd }),
        }),
      );
      misuse(stripe.pay(page.url.split('/').at(-1)), Math.round(Number(amount_usd) * 100));
      tally.paid += 1;
      deliverNew();
      if (Date.now() - lastSaid > 10_000) {
        lastSaid = Date.now();
        say(`${tally.paid} payments, ${tally.delivered} notifications`);
      }
      while (deliveries.size > 200) await Promise.race(deliveries);
    }
  }

  /** Refunds and disputes of a payment, or none. */
  function misuse(reference, cents) {
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

  function deliverNew() {
    const events = stripe.events.slice(lastEvent);
    lastEvent = stripe.events.length;
    for (const event of random.shuffle(events)) {
      if (random.chance(0.1)) {
        tally.dropped += 1;
        continue;
      }
      const copies = random.chance(0.3) ? 3 : 1;
      for (let copy = 0; copy < copies; copy += 1) later(() => deliver(event));
      if (random.chance(0.1)) later(() => forge(event));
    }
  }

  function later(work) {
    const delivery = sleep(random.below(300))
      .then(work)
      .finally(() => deliveries.delete(delivery));
    deliveries.add(delivery);
  }

  async function deliver(event) {
    for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
      const status = await post(stripe.sign(event));
      if (status === 200) {
        tally.delivered += 1;
        return;
      }
      await sleep(100 * attempt);
    }
    tally.dropped += 1;
  }

  async function forge(event) {
    const now = Math.floor(Date.now() / 1000);
    const forged = random.pick([
      () => stripe.sign(event, { secret: 'whsec_of_somebody' }),
      () => stripe.sign(event, { timestampSeconds: now - 400 }),
      () => {
        const { body, headers } = stripe.sign(event);
        return { headers, body: body.replace(/"amount":(\d)/, '"amount":9$1').concat(' ') };
      },
    ])();
    tally.forged += 1;
    const status = await post(forged);
    if (status !== undefined && status < 300) accepted.push({ type: event.type, status });
  }

  async function post({ body, headers }) {
    const { url } = random.pick(replicas);
    try {
      const response = await request(`${url}/webhooks/stripe`, { method: 'POST', body, headers });
      await response.body.dump();
      return response.statusCode;
    } catch {
      return undefined;
    }
  }

  /** Each fault happens when its share of the payments has begun. */
  async function breakThings() {
    const faults = random.shuffle([
      ...Array.from({ length: kills }, () => kill),
      ...Array.from({ length: databaseCrashes }, () => crash),
    ]);
    for (const [index, fault] of faults.entries()) {
      const due = Math.floor(((index + 1) / (faults.length + 1)) * payments);
      while (started < due) await sleep(5);
      await fault();
    }
  }

  async function kill() {
    const replica = random.pick(replicas);
    await replica.untilReady();
    done.kills += 1;
    await replica.restart('SIGKILL');
  }

  async function crash() {
    done.databaseCrashes += 1;
    await postgres.crash();
    await sleep(random.below(1_000));
    await postgres.start();
  }

  await Promise.all([breakThings(), ...Array.from({ length: parallel }, pay)]);
  await Promise.all(deliveries);
  say('every payment was made');
  await Promise.all(replicas.map((replica) => replica.untilReady()));

  const range = {
    from: new Date(Date.now() - 86_400_000).toISOString(),
    until: new Date(Date.now() + 60_000).toISOString(),
  };
  const reconcile = (apply) =>
    untilAnswered((replica) =>
      request(`${replica.adminUrl}/admin/payments/reconcile`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${ADMIN_TOKEN}`,
          'content-type': 'application/json',
        },
        body: JSON.stringify({ ...range, apply }),
        headersTimeout: 600_000,
      }),
    );
  const applied = await reconcile(true);
  say(`${applied.compared} facts compared, ${applied.missing.length} booked by the comparison`);
  const left = await reconcile(false);
  const audit = await store.audit();

  const wrong = [];
  let sum = 0n;
  for (const { accountId } of keys) {
    const balance = (await store.getAccount(accountId))?.balance ?? 0n;
    const expected = BigInt(stripe.netCentsOf(accountId)) * UNITS_PER_CENT;
    sum += balance;
    if (balance !== expected) {
      wrong.push({ accountId, balance: String(balance), expected: String(expected) });
    }
  }
  const refused = applied.missing.filter(({ outcome }) => outcome !== 'booked');
  const notExited = await system.drain();
  await system.stop();
  await stripe.close();
  say(`credited in all: ${Number(sum) / 1e14} USD`);
  return {
    done,
    tally,
    lines: [
      lineOf('P1', 'every balance equals the payments minus refunds and disputes', wrong),
      lineOf('P2', 'the comparison booked everything that was dropped', refused),
      lineOf('P3', 'after it, the comparison finds nothing', left.missing),
      lineOf('P4', `none of ${tally.forged} forged notifications was accepted`, accepted),
      lineOf('P5', 'the ledger is sound', audit.differences),
      lineOf('I10', 'every gateway drained and exited with 0', Array(notExited).fill({})),
    ],
  };
}
