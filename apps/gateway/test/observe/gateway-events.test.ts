/** The events that the gateway itself causes, and the deletion of old events. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { defaultPriceTable } from '@gateway/billing';
import { StoreUnavailableError } from '@gateway/balance-store';
import type { BalanceStore, EventState, NewEvent } from '@gateway/balance-store';
import { openEmbeddedStore } from '@gateway/balance-store/embedded';
import { sampleLimits, settlement } from '@gateway/balance-store/testing';
import type { FinishedRequest } from '../../src/observe/finished-request.js';
import { startEventPruning } from '../../src/observe/notifications/event-pruning.js';
import { auditWithEvent } from '../../src/observe/notifications/ledger-unsound.js';
import { startMarginWatch } from '../../src/observe/notifications/margin-watch.js';
import { startRetirementWatch } from '../../src/observe/notifications/model-retirement.js';
import { withRefusalEvents } from '../../src/observe/notifications/upstream-refused.js';

const log = pino({ level: 'silent' });
const DAY_MS = 86_400_000;

let dataDir: string;
let store: BalanceStore;
beforeEach(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'gateway-events-'));
  store = await openEmbeddedStore({ dataDir, pepper: 'pepper of the tests' });
});
afterEach(async () => {
  await store.close();
  rmSync(dataDir, { recursive: true, force: true });
});

function runSql(sql: string): void {
  const database = new DatabaseSync(join(dataDir, 'ledger.db'));
  database.exec(sql);
  database.close();
}

async function eventsIn(state?: EventState) {
  const events = await store.listEvents({ state, limit: 100 });
  return events.map(({ type, accountId, keyId, data }) => ({ type, accountId, keyId, data }));
}

describe('a model that the provider retires', () => {
  const RETIRES = '2026-11-30T00:00:00Z';
  const at = (before: number): number => Date.parse(RETIRES) - before;

  // F199: the provider retires a model of the price table: the log and an event say so a week
  // before and on the day, once for all replicas.
  it('causes one event a week before and one on the day, from however many replicas', async () => {
    let nowMs = at(8 * DAY_MS);
    const models = defaultPriceTable().list();
    const prices = {
      list: () => models.filter(({ retiresAt }) => (retiresAt ?? RETIRES) <= RETIRES),
    };
    const parts = { prices, store, log, now: () => nowMs };
    const replicas = [startRetirementWatch(parts), startRetirementWatch(parts)];
    const seen: (readonly string[])[] = [];
    for (nowMs of [at(8 * DAY_MS), at(7 * DAY_MS), at(DAY_MS), at(1), at(0), at(-DAY_MS)]) {
      for (const replica of replicas) await replica.look();
      seen.push((await eventsIn()).map(({ type }) => type));
    }
    const [one, both] = [['model.retiring'], ['model.retired', 'model.retiring']];
    expect(seen.map((types) => [...types].sort())).toEqual([[], one, one, one, both, both]);
    expect((await eventsIn())[0]).toEqual({
      type: 'model.retiring',
      accountId: '',
      keyId: undefined,
      data: { model: 'claude-sonnet-4-5', retires_at: RETIRES },
    });
    for (const replica of replicas) await replica.stop();
  });

  // F350: a gateway starts more than 30 days after a model of its table retired: no second
  // `model.retired`.
  it('causes no event when the first one may have been deleted', async () => {
    const models = defaultPriceTable().list();
    const prices = { list: () => models.filter(({ retiresAt }) => retiresAt === RETIRES) };
    const kept = 30 * DAY_MS;
    const typesAt = async (nowMs: number) => {
      const watch = startRetirementWatch({ prices, store, log, now: () => nowMs });
      await watch.look();
      await watch.stop();
      return (await eventsIn()).map(({ type }) => type);
    };
    expect(await typesAt(at(-kept))).toEqual([]);
    expect(await typesAt(at(1 - kept))).toEqual(['model.retired']);
  });

  // F199
  it('is reported again if the event could not be written', async () => {
    let isDown = true;
    const recordEvent = (event: NewEvent): Promise<void> =>
      isDown ? Promise.reject(new StoreUnavailableError('down')) : store.recordEvent(event);
    const prices = defaultPriceTable();
    const watch = startRetirementWatch({ prices, store: { recordEvent }, log, now: () => at(1) });
    await watch.look();
    expect(await eventsIn()).toEqual([]);
    isDown = false;
    await watch.look();
    expect((await eventsIn()).map(({ type }) => type)).toEqual(['model.retiring']);
    await watch.stop();
  });
});

describe('a model that is sold below its cost', () => {
  const NOON = Date.parse('2026-11-27T12:00:00Z');
  const sum = (model: string, more: object) => ({
    model,
    accountId: 'acct_1',
    requests: 2,
    costed: 2,
    listPrice: 5n,
    cost: 6n,
    writtenOff: 0n,
    fees: 0n,
    usage: {
      inputTokens: 0n,
      outputTokens: 0n,
      cacheReadInputTokens: 0n,
      cacheCreationInputTokens: 0n,
      cacheCreation1hInputTokens: 0n,
    },
    ...more,
  });

  it('causes one event for each account and day, from however many replicas', async () => {
    let nowMs = NOON;
    const days: string[] = [];
    const parts = {
      store: {
        recordEvent: (event: NewEvent) => store.recordEvent(event),
        readUsage: ({ from, until }: { readonly from: Date; readonly until: Date }) => {
          days.push(`${from.toISOString()} ${until.toISOString()}`);
          return Promise.resolve([
            sum('below', {}),
            sum('at-cost', { cost: 5n }),
            sum('partly-known', { costed: 1 }),
          ]);
        },
      },
      log,
      now: () => nowMs,
    };
    const replicas = [startMarginWatch(parts), startMarginWatch(parts)];
    for (nowMs of [NOON, NOON + 60_000]) for (const each of replicas) await each.look();
    const day = (date: string) => ({
      type: 'model.sold_below_cost',
      accountId: '',
      keyId: undefined,
      data: {
        day: date,
        model: 'below',
        account_id: 'acct_1',
        charged_usd: '0.00000000000005',
        cost_usd: '0.00000000000006',
      },
    });
    expect(await eventsIn()).toEqual([day('2026-11-27')]);
    // The last hour of a day is looked at in the first hour of the next.
    nowMs = Date.parse('2026-11-28T00:59:00Z');
    await replicas[0]!.look();
    expect(days.at(-1)).toBe('2026-11-27T00:00:00.000Z 2026-11-28T00:00:00.000Z');
    nowMs = Date.parse('2026-11-28T01:00:00Z');
    await replicas[0]!.look();
    expect(await eventsIn()).toEqual(expect.arrayContaining([day('2026-11-28')]));
    for (const each of replicas) await each.stop();
  });
});

describe("an upstream that refuses the operator's key", () => {
  const request: FinishedRequest = {
    requestId: 'req_1',
    endpoint: 'messages',
    status: 502,
    durationMs: 1,
    keyId: 'key_1',
    model: 'claude-test',
  };
  const refused = {
    ...request,
    report: { operatorMustAct: true, fault: 'upstream 401: authentication_error' },
  } as FinishedRequest;
  const OTHER = { ...request, report: { operatorMustAct: false } } as FinishedRequest;
  const EVENT = {
    type: 'upstream.refused',
    accountId: '',
    keyId: undefined,
    data: { fault: 'upstream 401: authentication_error' },
  };

  it('causes one event an hour, however many requests it refuses', async () => {
    let nowMs = 0;
    const seen: string[] = [];
    const writes: Promise<void>[] = [];
    const recordEvent = (event: NewEvent): Promise<void> => {
      const write = store.recordEvent(event);
      writes.push(write);
      return write;
    };
    const inner = { requestFinished: ({ requestId }: FinishedRequest) => seen.push(requestId) };
    const telemetry = withRefusalEvents(inner, { recordEvent }, log, () => nowMs);
    for (nowMs of [0, 0, 1, 3_599_999]) {
      telemetry.requestFinished(request);
      telemetry.requestFinished(OTHER);
      telemetry.requestFinished(refused);
    }
    await Promise.all(writes);
    expect(await eventsIn('pending')).toEqual([EVENT]);
    nowMs = 3_600_000;
    telemetry.requestFinished(refused);
    await Promise.all(writes);
    expect(await eventsIn('pending')).toEqual([EVENT, EVENT]);
    // Limits are another event, with an hour of its own.
    const limited = { ...request, report: { limitedForSeconds: 700, fault: 'all' } };
    for (let n = 0; n < 3; n += 1) telemetry.requestFinished(limited as FinishedRequest);
    await Promise.all(writes);
    const data = { fault: 'all', retry_after_seconds: '700' };
    expect(await eventsIn('pending')).toEqual([
      EVENT,
      EVENT,
      { ...EVENT, type: 'upstream.limited', data },
    ]);
    expect(seen).toHaveLength(16);
  });

  it('causes an event at the next refusal if the ledger could not record the first event', async () => {
    let calls = 0;
    const recordEvent = (event: NewEvent): Promise<void> => {
      calls += 1;
      return calls === 1
        ? Promise.reject(new StoreUnavailableError('away'))
        : store.recordEvent(event);
    };
    const inner = { requestFinished: () => undefined };
    const telemetry = withRefusalEvents(inner, { recordEvent }, log);
    telemetry.requestFinished(refused);
    await new Promise((resolve) => setImmediate(resolve));
    telemetry.requestFinished(refused);
    telemetry.requestFinished(refused);
    while ((await eventsIn()).length === 0);
    expect(calls).toBe(2);
  });
});

describe('an audit', () => {
  async function charge(): Promise<string> {
    const key = { name: 'k', limits: sampleLimits, expiresAt: null };
    const { record } = await store.createKey(key);
    await store.settle(settlement(record.id), { deadlineMs: 20_000 });
    return record.accountId;
  }

  it('of a sound ledger causes no event', async () => {
    await charge();
    const before = await eventsIn();
    expect((await auditWithEvent(store, {})).isSound).toBe(true);
    expect(await eventsIn()).toEqual(before);
  });

  it('that finds differences causes one event, and returns its report even if the event cannot be written', async () => {
    const accountId = await charge();
    runSql(`UPDATE account SET balance = '1.00000000000000' WHERE id = '${accountId}'`);
    const report = await auditWithEvent(store, {});
    expect(report.isSound).toBe(false);
    const [event, ...others] = (await eventsIn()).filter(({ type }) => type === 'ledger.unsound');
    expect(others).toEqual([]);
    expect(event).toMatchObject({ accountId: '', keyId: undefined });
    expect(Number(event?.data['differences'])).toBe(report.differences.length);
    expect(event?.data['checks']?.split(' ')).toContain('balance');
    expect(event?.data['gap']).toBe('-1.00045');

    const away = () => Promise.reject(new StoreUnavailableError('read-only'));
    const audit = () => store.audit();
    expect(await auditWithEvent({ audit, recordEvent: away }, {})).toEqual(report);
  });
});

describe('old events', () => {
  async function write(name: string, days: number): Promise<void> {
    await store.recordEvent({
      type: 'credit.added',
      accountId: name,
      keyId: undefined,
      data: {},
    });
    const createdAt = String(Date.now() - days * DAY_MS);
    runSql(`UPDATE event SET created_at = ${createdAt} WHERE account_id = '${name}'`);
  }
  const namesIn = async (state: EventState) =>
    (await eventsIn(state)).map(({ accountId }) => accountId);

  beforeEach(async () => {
    await write('delivered 31 days ago', 31);
    await write('delivered 29 days ago', 29);
    for (const { seq } of await store.listEvents({ limit: 2 })) {
      await store.finishEvent('webhook', seq, { outcome: 'delivered' });
    }
    await write('pending for 2 days', 2);
    await write('pending', 0);
  });

  it('that were delivered are deleted after 30 days; pending ones stay if a receiver is configured', async () => {
    await startEventPruning(store, log, { idle: ['mail'] }).stop();
    expect(await namesIn('delivered')).toEqual(['delivered 29 days ago']);
    expect(await namesIn('pending')).toEqual(['pending for 2 days', 'pending']);
  });

  it('become undelivered after a day if no receiver is configured, and can still be listed', async () => {
    await startEventPruning(store, log, { idle: ['webhook', 'mail'] }).stop();
    expect(await namesIn('pending')).toEqual(['pending']);
    expect(await namesIn('undelivered')).toEqual(['pending for 2 days']);
    expect(await namesIn('delivered')).toEqual(['delivered 29 days ago']);
  });
});
