/** The overview, audits, request details and prices that the console and the dashboard show. */

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { formatUsd, parseUsd } from '@gateway/billing';
import type { AuditReport } from '@gateway/balance-store';
import { settlement } from '@gateway/balance-store/testing';
import type { WorkerMetrics } from '../../src/observe/registry.js';
import { createTrafficReader, quantileMs } from '../../src/observe/traffic-today.js';
import { createAuditJobs } from '../../src/operator/operations/audit-jobs.js';
import {
  MODEL,
  postChat,
  postMessages,
  postResponses,
  startTestGateway,
  userMessage,
} from '../support/gateway.js';
import type { TestGateway } from '../support/gateway.js';
import { untilSteady } from '../support/steady-time.js';
import { until } from '../support/until.js';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(() => gateway.stop());

const requestIdOf = ({ headers }: Response): string => headers.get('x-gateway-request-id') ?? '';

describe('the overview of today', () => {
  it('agrees with the audit to the last digit, and counts refused requests', async () => {
    await untilSteady('day');
    const { apiKey } = await gateway.createKey();
    for (const post of [postMessages, postChat, postMessages]) {
      await (await post(gateway, apiKey, userMessage('Hello'))).text();
    }
    await (await postMessages(gateway, apiKey, { model: MODEL })).text();
    await (await postMessages(gateway, 'gw_nobody', userMessage('Hello'))).text();
    gateway.simulator.script({ error: { type: 'overloaded_error' } });
    await (await postMessages(gateway, apiKey, userMessage('Hello'))).text();

    const [today, audit] = [await gateway.call('showToday', {}), await auditNow()];
    expect(today.day).toBe(new Date().toISOString().slice(0, 10));
    for (const spend of [today.spend.today, today.spend.last_7_days, today.spend.last_30_days]) {
      expect(spend.charged_usd).toBe(audit?.charged_usd);
      expect(parseUsd(spend.charged_usd)).toBeGreaterThan(0n);
      expect(spend.requests).toBe(3);
      // The provider's list has the same rates for this model.
      const { charged_usd = '' } = audit ?? {};
      const money = { charged_usd, written_off_usd: '0', cost_usd: charged_usd, margin_usd: '0' };
      expect(spend.by_model).toEqual([{ model: MODEL, requests: 3, ...money }]);
    }
    const live = today.gateway;
    if (live === null) throw new Error('a running gateway counts its requests');
    const byStatus = Object.fromEntries(live.requests.map((item) => [item.status, item.requests]));
    expect(byStatus).toMatchObject({ 200: 3, 400: 1, 401: 1, 529: 1 });
    const upstream = live.upstream.responses.map((item) => [item.status, item.responses] as const);
    expect(Object.fromEntries(upstream)).toMatchObject({ 200: 3, 529: 1 });
    expect(live.upstream.account_refused).toBe(0);
    expect(live.first_byte_ms.p50).toBeGreaterThan(0);
    expect(live.first_byte_ms.p95).toBeGreaterThanOrEqual(live.first_byte_ms.p50 ?? Infinity);
    expect(today.ledger).toMatchObject({ quarantined: 0, orphaned_holds: 0, conflicts: 0 });
  });
});

describe('the requests of a day', () => {
  const counter = (name: string, label: string, values: Readonly<Record<string, number>>) => ({
    name,
    help: name,
    type: 'counter',
    aggregator: 'sum',
    values: Object.entries(values).flatMap(([key, value]) => [
      { labels: { [label]: key, endpoint: 'messages' }, value },
      // The pages read balances and lists of keys, which are no requests of clients for a model.
      ...['balance', 'keys'].map((endpoint) => ({ labels: { [label]: key, endpoint }, value: 90 })),
    ]),
  });

  // F189: reads of the pages in the counts of traffic: only requests for models are counted.
  it('are added up over all processes since midnight, and never negative when a process ends', async () => {
    const metrics = (counts: Readonly<Record<string, number>>) =>
      [counter('gateway_requests_total', 'status', counts)] as unknown as WorkerMetrics;
    let processes = [metrics({ 200: 5, 401: 0 }), metrics({ 200: 2, 529: 1 })];
    const midnight = Date.UTC(2026, 10, 23);
    let time = midnight - 50;
    const reader = createTrafficReader(
      () => Promise.resolve(processes),
      () => time,
    );
    const first = await reader.read();
    expect(first.since).toEqual(new Date(midnight - 50));
    expect(first.requests).toEqual(
      new Map([
        ['200', 7],
        ['529', 1],
      ]),
    );
    expect(first.firstByteMs).toEqual({ p50: null, p95: null });
    time = midnight + 1;
    await until(async () => (await reader.read()).since.getTime() === midnight);
    processes = [metrics({ 200: 5 }), metrics({ 200: 6, 529: 1 })];
    expect((await reader.read()).requests).toEqual(new Map([['200', 4]]));
    processes = [metrics({ 200: 1 })];
    expect((await reader.read()).requests).toEqual(new Map());
    reader.stop();
  });

  it('have quantiles of the time to the first byte, in which an empty bucket ends where the next begins', async () => {
    const name = 'gateway_upstream_first_byte_seconds';
    const bucket = (le: string, value: number) => ({
      labels: { le },
      metricName: `${name}_bucket`,
      value,
    });
    const values = [bucket('1', 0), bucket('2.5', 4), bucket('+Inf', 4)];
    const metrics = [{ name, help: name, type: 'histogram', aggregator: 'sum', values }];
    const reader = createTrafficReader(
      () => Promise.resolve([metrics as unknown as WorkerMetrics]),
      () => Date.UTC(2026, 10, 23, 12),
    );
    expect((await reader.read()).firstByteMs).toEqual({ p50: 1_750, p95: 2_425 });
    reader.stop();
  });

  it('have quantiles of the time to the first byte, interpolated within a bucket', () => {
    const buckets = new Map([
      ['0.1', 0],
      ['0.5', 80],
      ['1', 100],
      ['+Inf', 100],
    ]);
    expect(quantileMs(buckets, 0.5)).toBe(350);
    expect(quantileMs(buckets, 0.95)).toBe(875);
    expect(quantileMs(buckets, 1)).toBe(1_000);
    expect(
      quantileMs(
        new Map([
          ['0.1', 0],
          ['+Inf', 4],
        ]),
        0.5,
      ),
    ).toBe(100);
    expect(quantileMs(new Map(), 0.5)).toBe(null);
  });
});

async function auditNow() {
  const { id } = await gateway.call('startAudit', {});
  for (;;) {
    const job = await gateway.call('showAudit', { audit_id: id });
    if (job.state !== 'running') return job.report;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

describe('an audit as a job', () => {
  it('has the same report as an audit that is not a job', async () => {
    const { id, state } = await gateway.call('startAudit', {});
    expect(state).toBe('running');
    await auditNow();
    const job = await gateway.call('showAudit', { audit_id: id });
    expect(job).toMatchObject({ object: 'audit_job', state: 'done', reason: null });
    expect(job.report).toEqual(await gateway.call('auditLedger', {}));
    expect(job.entries).toBe(job.report?.entries);
    expect(job.expected_entries).toBeGreaterThanOrEqual(job.entries);
    expect((await gateway.call('listAudits', {})).data.map((known) => known.id)).toContain(id);
    await expect(gateway.call('showAudit', { audit_id: 'audit_none' })).rejects.toThrow(
      /^audit_id: /,
    );
    await expect(gateway.call('startAudit', { anchor: 'the end' })).rejects.toThrow(/^anchor: /);
  });

  it('is shared by callers at the same time, shows its progress, and reports its failure without details', async () => {
    const begun: {
      progress: (done: { readonly entries: number }) => void;
      fail: (error: Error) => void;
    }[] = [];
    const crashes: unknown[] = [];
    const jobs = createAuditJobs(
      {
        readUsage: () => Promise.resolve([]),
        recordEvent: () => Promise.resolve(),
        audit: (options) =>
          new Promise<AuditReport>((_resolve, reject) => {
            begun.push({ progress: options?.onProgress ?? (() => undefined), fail: reject });
          }),
      },
      () => 1_000,
      { error: (details: unknown) => crashes.push(details) } as never,
      () => undefined,
    );
    const [first, second] = await Promise.all([jobs.start(undefined), jobs.start(undefined)]);
    expect(second?.id).toBe(first?.id);
    expect((await jobs.start(undefined))?.id).toBe(first?.id);
    expect(begun.length).toBe(1);
    begun[0]?.progress({ entries: 7 });
    expect(jobs.find(first?.id ?? '')).toMatchObject({ entries: 7, result: { state: 'running' } });
    begun[0]?.fail(new Error('a secret of the database'));
    await new Promise((resolve) => setImmediate(resolve));
    expect(jobs.find(first?.id ?? '')?.result).toEqual({
      state: 'failed',
      finishedAt: new Date(1_000),
      reason: 'the audit failed',
    });
    expect(crashes.length).toBe(1);
    expect((await jobs.start(undefined))?.id).not.toBe(first?.id);
    expect(jobs.list().length).toBe(2);
  });
});

describe('the details of a request', () => {
  it('show its charge line by line, its key and its account', async () => {
    const { id, apiKey } = await gateway.createKey();
    const response = await postMessages(gateway, apiKey, userMessage('Hello'));
    const { usage } = (await response.json()) as { usage: Record<string, number> };
    const request = await gateway.call('showRequest', { request_id: requestIdOf(response) });
    expect(request).toMatchObject({
      state: 'charged',
      hold: null,
      key: { id },
      entry: { id: requestIdOf(response), model: MODEL, key_id: id },
    });
    expect(request.account?.id).toBe(request.key.account_id);
    const tokens = request.lines.map((line) => [line.class, line.tokens]);
    expect(tokens).toEqual([
      ['input', usage['input_tokens']],
      ['output', usage['output_tokens']],
    ]);
    const total = request.lines.reduce((sum, { amount_usd }) => sum + parseUsd(amount_usd), 0n);
    expect(formatUsd(total)).toBe(request.list_price_usd);
    expect(request.entry?.amount_usd).toBe(`-${formatUsd(total)}`);
    await expect(gateway.call('showRequest', { request_id: 'req_none' })).rejects.toThrow(
      /^request_id: /,
    );
  });

  // F210: a customer quotes the id of a message, in any format: its request is found; by a customer
  // only among its own.
  it('are found by the id that each format shows, and by a customer only if they are its own', async () => {
    const [owner, stranger] = [await gateway.createKey(), await gateway.createKey()];
    const usageOf = (id: string, { apiKey }: typeof owner) =>
      fetch(`${gateway.url}/v1/dashboard/usage/${id}`, {
        headers: { authorization: `Bearer ${apiKey}` },
      });
    const shownAs = { msg_: postMessages, 'chatcmpl-msg_': postChat, resp_: postResponses };
    for (const [prefix, post] of Object.entries(shownAs)) {
      const response = await post(gateway, owner.apiKey, userMessage('Hello'));
      const { id } = (await response.json()) as { id: string };
      expect(id.startsWith(prefix)).toBe(true);
      const requestId = requestIdOf(response);
      // A Responses stream that began before its message has the id of the request.
      for (const shownId of [requestId, id, `resp_${requestId}`]) {
        const request = await gateway.call('showRequest', { request_id: shownId });
        expect(request).toMatchObject({ request_id: requestId, entry: { id: requestId } });
        const entry = await gateway.call('showEntry', { entry_id: id });
        expect(entry.id).toBe(requestId);
        expect(await (await usageOf(shownId, owner)).json()).toMatchObject({
          request_id: requestId,
        });
        expect((await usageOf(shownId, stranger)).status).toBe(404);
      }
    }
  });

  // F211: several requests whose messages have one id: 409 that names them; none is guessed, and no
  // charge is booked under such an id.
  it('are not guessed if several requests have a message with one id', async () => {
    const { store } = gateway.running;
    const [mine, other] = [await gateway.createKey(), await gateway.createKey()];
    const upstreamId = 'msg_of_several';
    const charges = [mine.id, other.id].map((keyId) => settlement(keyId, { upstreamId }));
    const [first, second] = charges.map(({ requestId }) => requestId);
    // A part of a response, which another model made, is no request of its own.
    charges.push(settlement(mine.id, { upstreamId, requestId: `${String(first)}.2` }));
    for (const charge of charges) await store.settle(charge, { deadlineMs: 20_000 });
    await expect(
      gateway.call('showRequest', { request_id: 'resp_of_several' }),
    ).rejects.toMatchObject({
      status: 409,
      message: expect.stringMatching(
        new RegExp(`^request_id: several .*(${first}, ${second}|${second}, ${first})$`),
      ),
    });
    const own = await fetch(`${gateway.url}/v1/dashboard/usage/${upstreamId}`, {
      headers: { authorization: `Bearer ${mine.apiKey}` },
    });
    expect(await own.json()).toMatchObject({ request_id: first });
    await store.settle(settlement(mine.id, { upstreamId }), { deadlineMs: 20_000 });
    const ambiguous = await fetch(own.url, { headers: { authorization: `Bearer ${mine.apiKey}` } });
    expect(ambiguous.status).toBe(409);
    expect(await ambiguous.text()).not.toContain(second);
  });

  it('show the money that is held for it while it is in flight', async () => {
    const { id } = await gateway.createKey();
    const hold = { requestId: 'req_held', keyId: id, amount: parseUsd('1.5') };
    expect((await gateway.running.store.placeHold(hold)).outcome).toBe('held');
    const request = await gateway.call('showRequest', { request_id: 'req_held' });
    expect(request).toMatchObject({
      state: 'in_flight',
      entry: null,
      lines: [],
      hold: { amount_usd: '1.5', key_id: id },
    });
    gateway.running.store.releaseHold('req_held');
  });
});

describe('the prices', () => {
  const pricesFor = async (apiKey: string) => {
    const response = await fetch(`${gateway.url}/v1/dashboard/prices`, {
      headers: { authorization: `Bearer ${apiKey}` },
    });
    expect(response.status).toBe(200);
    return (await response.json()) as {
      readonly data: readonly { readonly model: string; readonly rates: object }[];
    };
  };

  it('are those at which requests are charged, and only of models that the key may use', async () => {
    const { apiKey } = await gateway.createKey();
    const response = await postMessages(gateway, apiKey, userMessage('Hello'));
    await response.text();
    const prices = await pricesFor(apiKey);
    const { entry } = await gateway.call('showRequest', { request_id: requestIdOf(response) });
    expect(prices.data.find(({ model }) => model === MODEL)?.rates).toEqual(
      entry?.kind === 'charge' ? entry.rates : undefined,
    );
    expect(prices.data.length).toBe(gateway.running.prices.list().length);
    const limited = await gateway.createKey({ models: ['claude-haiku-4-5'] });
    const own = await pricesFor(limited.apiKey);
    expect(own.data.map(({ model }) => model)).toEqual(['claude-haiku-4-5']);
  });
});
