/**
 * Delivers the simulated Stripe's notifications to the gateways: some dropped, some repeated, all
 * delayed, in any order and to any gateway, together with forged ones.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { request } from 'undici';

/**
 * The number of attempts to deliver a notification. Stripe itself tries for three days, which is
 * too long for this test.
 */
const ATTEMPTS = 4;
const MOST_WAITING = 200;

/**
 * @param {object} options
 * @param {import('../../packages/payments/dist/testing/index.js').StripeSimulator} options.stripe
 * @param {readonly { readonly url: string }[]} options.replicas
 */
export function createNotifications({ stripe, replicas }, random) {
  const tally = { delivered: 0, dropped: 0, forged: 0 };
  /** Forged notifications that a gateway accepted. */
  const accepted = [];
  /** The ids of the entries of genuine notifications that were answered with 200. */
  const acknowledged = new Set();
  const deliveries = new Set();
  let lastEvent = 0;

  /** Sends the notifications of all events since the last call, each after a short random time. */
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
    const signed = stripe.sign(event);
    for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
      if ((await post(signed)) === 200) {
        tally.delivered += 1;
        for (const id of entryIdsOf(JSON.parse(signed.body))) acknowledged.add(id);
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

  return {
    tally,
    accepted,
    acknowledged,
    deliverNew,
    /** Waits until at most {@link MOST_WAITING} deliveries are in progress. */
    async untilFew() {
      while (deliveries.size > MOST_WAITING) await Promise.race(deliveries);
    },
    async untilNone() {
      await Promise.all(deliveries);
    },
  };
}

/** The ids of entries that must be in the ledger once a notification was answered with 200. */
function entryIdsOf({ type, data: { object } }) {
  const id = `adjustment:stripe:${object.id}`;
  switch (type) {
    case 'payment_intent.succeeded':
      return [`topup:stripe:${object.id}`];
    case 'checkout.session.completed':
      return [`topup:stripe:${object.payment_intent}`];
    case 'refund.created':
    case 'charge.dispute.funds_withdrawn':
      return [id];
    case 'refund.failed':
      return [id, `${id}:undone`];
    case 'charge.dispute.funds_reinstated':
      return [id, `${id}:won`];
    default:
      return [];
  }
}
