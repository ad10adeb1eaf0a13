/** Notifications of payments: repeated, disordered, forged, and of money that cannot be booked. */

import { describe, expect, it } from '@jest/globals';
import { parseUsd } from '@gateway/billing';
import { CENT, describePayments } from '../support/payments.js';
import { connectTo, disconnectAll } from '../support/raw-client.js';
import { until } from '../support/until.js';

describePayments((bench) => {
  const { deliver, eventsOf, deliverAll, newPayer, balanceOf, notifiedOf } = bench;

  describe('notifications', () => {
    // F104: notifications repeated, late, disordered, to several replicas: one entry for each
    // payment, refund and dispute.
    it('lead to the same ledger in any order, repeated or at once', async () => {
      const random = randomOf(7);
      for (let round = 0; round < 8; round += 1) {
        const payer = await newPayer();
        const more = eventsOf(() => {
          bench.stripe.refund(payer.reference, 300);
          bench.stripe.failRefund(bench.stripe.refund(payer.reference, 200));
          const dispute = bench.stripe.openDispute(payer.reference);
          bench.stripe.closeDispute(dispute, round % 2 === 0 ? 'won' : 'lost');
        });
        const all = [...payer.events, ...more];
        const shuffled = shuffle([...all, ...all, ...all], random);
        const statuses = await Promise.all(shuffled.map(deliver));
        expect(new Set(statuses)).toEqual(new Set([200]));
        const net = BigInt(bench.stripe.netCentsOf(payer.accountId)) * CENT;
        expect(parseUsd(await balanceOf(payer.accountId))).toBe(net);
        const { data } = await bench.gateway.call('listLedger', { account_id: payer.accountId });
        expect(data).toHaveLength(round % 2 === 0 ? 6 : 5);
        const notified = await notifiedOf(payer.accountId);
        expect([...notified].sort()).toEqual([
          'dispute.closed',
          'dispute.opened',
          'payment.succeeded',
          'refund.created',
          'refund.created',
        ]);
      }
      expect((await bench.gateway.call('auditLedger', {})).is_sound).toBe(true);
    });

    it('of a failed or unbooked payment send no event again after the first one was deleted', async () => {
      const payer = await bench.newCustomer();
      const { checkoutId } = await bench.start(payer.apiKey);
      const failed = eventsOf(() => bench.stripe.pay(checkoutId, { delayed: true })).concat(
        eventsOf(() => bench.stripe.settleDelayed(checkoutId, 'failed')),
      );
      const { events } = await newPayer();
      const euros = events.map((event) => ({
        ...event,
        data: { object: { ...event.data.object, currency: 'eur' } },
      }));
      const alarms = async () => {
        const { data } = await bench.gateway.call('listEvents', { limit: 1_000 });
        const types = data.map(({ type }) => type);
        return types.filter((type) => ['payment.failed', 'payment.unbooked'].includes(type));
      };
      await deliverAll([...failed, ...euros]);
      expect(new Set(await alarms())).toEqual(new Set(['payment.failed', 'payment.unbooked']));
      const later = new Date(Date.now() + 3_600_000);
      const { store } = bench.gateway.running;
      while (
        (await store.pruneEvents({
          finishedBefore: later,
          giveUp: { before: later, channels: ['webhook'] },
        })) > 0
      );
      expect(await alarms()).toEqual([]);
      await deliverAll([...failed, ...euros]);
      expect(await alarms()).toEqual([]);
    });

    // F106: forged, stale, truncated or changed notifications: 400 before anything is parsed: 0 of
    // 1,000 accepted.
    it('that are forged, stale, truncated or changed are refused: 0 of 1,000 are accepted', async () => {
      const payer = await newPayer();
      const [event] = payer.events;
      if (event === undefined) throw new Error('no event');
      const random = randomOf(11);
      const now = Math.floor(Date.now() / 1_000);
      const good = bench.stripe.sign(event);
      const signature = good.headers['stripe-signature'] ?? '';
      // Never the same digits: the notification would be genuine.
      const otherDigits = (digits: string): string =>
        ((Number.parseInt(digits, 16) + 1 + Math.floor(random() * 0xfffe)) % 0x1_0000)
          .toString(16)
          .padStart(4, '0');
      const later = (seconds: string): string => String(Number(seconds) + 5);
      const forgeries = [
        () => ({ body: good.body, signature: undefined }),
        () => ({ body: good.body, signature: signature.replace(/(?<=v1=)\w{4}/, otherDigits) }),
        () => signed({ secret: `whsec_${String(random())}` }),
        () => signed({ timestampSeconds: now - 301 - Math.floor(random() * 1e6) }),
        () => ({ body: good.body.slice(0, Math.floor(random() * good.body.length)), signature }),
        () => ({ body: good.body.replace(/"amount\w*":2000/, '"amount":9999'), signature }),
        () => ({ body: `${good.body}${' '.repeat(1 + Math.floor(random() * 9))}`, signature }),
        () => ({ body: good.body, signature: signature.replace(/(?<=t=)\d+/, later) }),
        () => ({ body: good.body, signature: 't=1,v1=,v1=x' }),
        () => ({ body: good.body, signature: signature.replace('v1=', 'v0=') }),
      ];
      function signed(options: { readonly secret?: string; readonly timestampSeconds?: number }) {
        const { body, headers } = bench.stripe.sign(event!, options);
        return { body, signature: headers['stripe-signature'] };
      }
      const statuses = new Map<number, number>();
      for (let n = 0; n < 1_000; n += 1) {
        const { body, signature: header } = forgeries[n % forgeries.length]!();
        const response = await fetch(`${bench.gateway.url}/webhooks/stripe`, {
          method: 'POST',
          body,
          headers: header === undefined ? {} : { 'stripe-signature': header },
        });
        await response.arrayBuffer();
        statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1);
      }
      expect([...statuses]).toEqual([[400, 1_000]]);
      expect(await balanceOf(payer.accountId)).toBe('0');
      await deliverAll(payer.events);
      expect(await balanceOf(payer.accountId)).toBe('20');
    });

    it('that are too large are refused with 413, and other methods than POST with 405', async () => {
      const url = `${bench.gateway.url}/webhooks/stripe`;
      const headers = { 'stripe-signature': 't=1,v1=a' };
      const body = 'x'.repeat(300_000);
      expect((await fetch(url, { method: 'POST', body, headers })).status).toBe(413);
      expect((await fetch(url)).status).toBe(405);
    });

    it('are accepted while a stranger sends many others slowly', async () => {
      const payer = await newPayer();
      const slow = Array.from({ length: 100 }, () => {
        const client = connectTo(bench.gateway);
        client.send(
          'POST /webhooks/stripe HTTP/1.1\r\nhost: gateway\r\nx-forwarded-for: 192.0.2.7\r\n' +
            'stripe-signature: t=1,v1=x\r\ncontent-length: 100\r\n\r\n{',
        );
        return client;
      });
      // All but a few are refused at once. The few wait for the rest of their bodies.
      const answered = () => slow.filter((client) => client.received().includes(' 503 ')).length;
      await until(() => answered() >= 84);
      await deliverAll(payer.events);
      expect(await balanceOf(payer.accountId)).toBe('20');
      disconnectAll();
    });

    // F107: a payment differs from what was started: not credited; logged, sent as
    // `payment.unbooked`, listed until settled.
    it('that differ from the payment that was started credit nothing and raise an alarm', async () => {
      for (const [reason, change] of [
        ['other_amount', { amount_received: 2_001 }],
        ['other_currency', { currency: 'eur' }],
        ['other_account', { metadata: { gateway_account: 'acct_other' } }],
        ['unknown_payment', { metadata: { gateway_payment: 'pay_other' } }],
        ['second_payment', { id: 'pi_second' }],
      ] as const) {
        const { accountId, reference, paymentId, events } = await newPayer();
        const event = events.find(({ type }) => type === 'payment_intent.succeeded')!;
        if (reason === 'second_payment') await deliverAll(events);
        const before = await balanceOf(accountId);
        const intent = event.data.object as Record<string, unknown>;
        const metadata = {
          ...(intent['metadata'] as object),
          ...('metadata' in change ? change.metadata : {}),
        };
        const id = 'id' in change ? `${reference}_second` : reference;
        const changed = { ...event, data: { object: { ...intent, ...change, id, metadata } } };
        expect(await deliver(changed)).toBe(200);
        expect(await balanceOf(accountId)).toBe(before);
        const { data } = await bench.gateway.call('listUnbookedPayments', { limit: 1 });
        expect(data[0]).toMatchObject({ id, reason, fact: 'paid' });
        const alarms = (await bench.gateway.call('listEvents', { limit: 1000 })).data.filter(
          ({ type, data: details }) =>
            type === 'payment.unbooked' && details['provider_payment_id'] === id,
        );
        expect([paymentId, alarms.length]).toEqual([paymentId, 1]);
      }
    });

    // F108: a notification of the other mode, or of another use of the account: 400 and a log line;
    // 200 and no change.
    it('of live mode are refused in test mode; those of payments not started here change nothing', async () => {
      const { accountId, events } = await newPayer();
      const [event] = events;
      expect(await deliver({ ...event!, livemode: true })).toBe(400);
      const object = { ...event!.data.object, metadata: {}, id: 'pi_foreign' };
      expect(await deliver({ ...event!, data: { object } })).toBe(200);
      expect(await balanceOf(accountId)).toBe('0');
      const refund = {
        object: 'refund',
        id: 're_x',
        amount: 1,
        currency: 'usd',
        status: 'succeeded',
      };
      const foreign = { ...refund, payment_intent: 'pi_0foreign' };
      expect(await deliver({ ...event!, type: 'refund.created', data: { object: foreign } })).toBe(
        200,
      );
      const { data } = await bench.gateway.call('listUnbookedPayments', { limit: 1000 });
      expect(data.filter(({ id }) => ['pi_foreign', 're_x'].includes(id))).toEqual([]);
    });

    it('are counted by outcome, and no secret is in metrics', async () => {
      const text = await (await fetch(`${bench.gateway.adminUrl}/metrics`)).text();
      for (const outcome of ['booked', 'known', 'unbooked', 'unsigned', 'other_mode', 'foreign']) {
        const [, count] = new RegExp(
          `gateway_payment_notifications_total\\{outcome="${outcome}"\\} (\\d+)`,
        ).exec(text) ?? ['', '0'];
        expect([outcome, Number(count) > 0]).toEqual([outcome, true]);
      }
      expect(text).toContain('gateway_payment_notifications_total{outcome="unavailable"} 0');
      expect(text).not.toContain('canary');
    });
  });
});

/** Returns a pseudorandom sequence, the same at each run. */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state / 2_147_483_648;
  };
}

function shuffle<Item>(items: Item[], random: () => number): Item[] {
  for (let last = items.length - 1; last > 0; last -= 1) {
    const other = Math.floor(random() * (last + 1));
    [items[last], items[other]] = [items[other]!, items[last]!];
  }
  return items;
}
