/** The parts of a webhook: its text, its signatures, the times of its attempts. */

import { describe, expect, it } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import { EVENT_TYPES } from '@gateway/balance-store';
import type { StoredEvent } from '@gateway/balance-store';
import { RETRY_SCHEDULE, nextAttempt } from '../../src/observe/notifications/retry-schedule.js';
import { webhookBody, webhookSigner } from '../../src/observe/notifications/webhook-message.js';
import { NEXT_SECRET, SECRET } from '../support/webhook-receiver.js';

const EVENT: StoredEvent = {
  seq: 7n,
  id: 'evt_1',
  type: 'balance.low',
  accountId: 'acct_1',
  keyId: undefined,
  data: {},
  createdAt: new Date('2026-11-22T10:00:00.000Z'),
  attempts: 0,
  deliveredAt: null,
  lastError: null,
  mail: undefined,
  mailError: null,
};

describe('the text of a webhook', () => {
  it.each<[Partial<StoredEvent>, object]>([
    [
      { data: { balance: '0.10504000000000', threshold: '5.00000000000000' } },
      { account_id: 'acct_1', key_id: null, balance_usd: '0.10504', threshold_usd: '5' },
    ],
    [
      { type: 'balance.exhausted', data: { balance: '-0.00000000000001' } },
      { account_id: 'acct_1', key_id: null, balance_usd: '-0.00000000000001' },
    ],
    [
      {
        type: 'cap.reached',
        keyId: 'key_1',
        data: { period: 'day', cap: '1.50000000000000', used: '1.50000000000001' },
      },
      {
        account_id: 'acct_1',
        key_id: 'key_1',
        period: 'day',
        cap_usd: '1.5',
        used_usd: '1.50000000000001',
      },
    ],
    [
      { type: 'key.rotated', keyId: 'key_1', data: { by: 'operator', previous_until: null } },
      { account_id: 'acct_1', key_id: 'key_1', by: 'operator', previous_until: null },
    ],
    [
      { type: 'ledger.unsound', accountId: '', data: { differences: '2', gap: '0.01' } },
      { account_id: null, key_id: null, differences: '2', gap_usd: '0.01' },
    ],
  ])(
    'of %j has amounts in USD in their shortest form, and null for an absent account or key',
    (parts, data) => {
      const event = { ...EVENT, ...parts };
      expect(JSON.parse(webhookBody(event))).toEqual({
        id: 'evt_1',
        type: event.type,
        timestamp: '2026-11-22T10:00:00.000Z',
        data,
      });
    },
  );

  it('is the same at each attempt', () => {
    for (const type of EVENT_TYPES) {
      const again = { ...EVENT, type, attempts: 3, lastError: 'an earlier failure' };
      expect(webhookBody(again)).toBe(webhookBody({ ...EVENT, type }));
    }
  });
});

describe('the signatures of a webhook', () => {
  const body = webhookBody(EVENT);

  it('are one for each secret, and the official library accepts the webhook under each secret', () => {
    const headers = webhookSigner([SECRET, NEXT_SECRET])('evt_1', new Date(), body);
    expect(headers['webhook-signature']?.split(' ')).toHaveLength(2);
    for (const secret of [SECRET, NEXT_SECRET]) {
      expect(new Webhook(secret).verify(body, { ...headers })).toEqual(JSON.parse(body));
    }
  });

  it('do not match another secret, another body, another id or an old time', () => {
    const sign = webhookSigner([SECRET]);
    const headers = { ...sign('evt_1', new Date(), body) };
    const receiver = new Webhook(SECRET);
    expect(() => new Webhook(NEXT_SECRET).verify(body, headers)).toThrow('No matching signature');
    expect(() => receiver.verify(`${body} `, headers)).toThrow('No matching signature');
    expect(() => receiver.verify(body, { ...headers, 'webhook-id': 'evt_2' })).toThrow(
      'No matching signature',
    );
    const anHourAgo = new Date(Date.now() - 3_600_000);
    expect(() => receiver.verify(body, { ...sign('evt_1', anHourAgo, body) })).toThrow('too old');
  });
});

describe('an event whose delivery fails', () => {
  const createdAt = EVENT.createdAt.getTime();

  /** Simulates all attempts of an event. Each attempt takes no time. */
  function attemptsOf(firstAt: number, random: number): readonly number[] {
    const times = [firstAt];
    for (let attempts = 0; ; attempts += 1) {
      const now = times.at(-1)!;
      const next = nextAttempt(RETRY_SCHEDULE, { ...EVENT, attempts }, { now, random });
      if (next === undefined) return times;
      times.push(next.getTime());
    }
  }

  it('is tried for a day, at growing intervals', () => {
    const seconds = attemptsOf(createdAt, 0.5).map((at) => (at - createdAt) / 1_000);
    expect(seconds.slice(0, 7)).toEqual([0, 5, 35, 155, 755, 2_555, 6_155]);
    const last = seconds.at(-1)!;
    expect(last).toBeLessThanOrEqual(86_400);
    expect(last).toBeGreaterThan(86_400 - 7_200);
    expect(seconds).toHaveLength(18);
  });

  it('is retried after delays that vary at random by up to a fifth', () => {
    const [early, late] = [0, 1].map((random) =>
      nextAttempt(RETRY_SCHEDULE, EVENT, { now: createdAt, random }),
    );
    expect([early, late]).toEqual([new Date(createdAt + 4_000), new Date(createdAt + 6_000)]);
  });

  it('is tried at least three times, even if it is older than a day at the first attempt', () => {
    const twoDays = 2 * 86_400_000;
    expect(attemptsOf(createdAt + twoDays, 0.5)).toEqual(
      [0, 5_000, 35_000].map((ms) => createdAt + twoDays + ms),
    );
  });
});
