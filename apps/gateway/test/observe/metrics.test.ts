/** The series that exist in the metrics before anything has happened. */

import { afterAll, beforeAll, expect, it, jest } from '@jest/globals';
import { LOSS_REASONS } from '../../src/observe/exchange-report.js';
import { ENDPOINTS, LIMIT_NAMES } from '../../src/observe/finished-request.js';
import { addGauge, createRegistry } from '../../src/observe/registry.js';
import { MODEL, postMessages, startTestGateway, userMessage } from '../support/gateway.js';
import type { TestGateway } from '../support/gateway.js';
import { readMetric } from '../support/metrics.js';
import { eventually } from '../support/until.js';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(() => gateway.stop());

it('every counter with a fixed set of labels is 0 in the first scrape, so that its first occurrence is an increase', async () => {
  const text = await (await fetch(`${gateway.adminUrl}/metrics`)).text();
  const own = text.split('\n').filter((line) => /^gateway_\w+_total[ {]/.test(line));
  const values = new Map(own.map((line) => line.split(/ (?=\S+$)/) as [string, string]));
  expect(new Set(values.values())).toEqual(new Set(['0']));
  const foreseen = [
    ...LOSS_REASONS.map((reason) => `gateway_unbilled_total{reason="${reason}"}`),
    ...ENDPOINTS.flatMap((endpoint) =>
      [200, 400, 401, 402, 403, 404, 409, 413, 415, 429, 499, 500, 502, 503, 504, 529].map(
        (status) => `gateway_requests_total{endpoint="${endpoint}",status="${String(status)}"}`,
      ),
    ),
    ...LIMIT_NAMES.map((limit) => `gateway_rate_limited_total{limit="${limit}"}`),
    ...[200, 429, 500, 529, 'none'].map(
      (status) => `gateway_upstream_responses_total{status="${String(status)}"}`,
    ),
    ...[
      'cache_creation',
      'thinking_tokens',
      'iterations',
      'service_tier',
      'server_tool_use',
      'unknown_members',
    ].map((detail) => `gateway_usage_remarks_total{detail="${detail}"}`),
    ...['input', 'output', 'cache_read', 'cache_creation'].map(
      (kind) => `gateway_tokens_total{model="${MODEL}",class="${kind}"}`,
    ),
    `gateway_charged_usd_total{model="${MODEL}"}`,
    'gateway_written_off_usd_total',
    'gateway_usage_parts_set_aside_total',
    'gateway_upstream_account_refused_total',
    'gateway_limits_redis_lost_total',
  ];
  expect(foreseen.filter((name) => !values.has(name))).toEqual([]);
});

it('requests are counted in series that exist before the first request', async () => {
  const names = async () =>
    (await (await fetch(`${gateway.adminUrl}/metrics`)).text())
      .split('\n')
      .filter((line) => /^gateway_\w+_total[ {]/.test(line))
      .map((line) => line.replace(/ \S+$/, ''));
  const before = await names();
  const { apiKey } = await gateway.createKey();
  gateway.simulator.script({ error: { type: 'authentication_error' } });
  for (const [key, body] of [
    [apiKey, userMessage('Hello')],
    [apiKey, userMessage('Hello', { stream: true })],
    [apiKey, '{'],
    ['gw_nobody', userMessage('Hello')],
  ] as const) {
    await (await postMessages(gateway, key, body)).text();
  }
  expect(await names()).toEqual(before);
  const count = (status: number) =>
    readMetric(gateway, `gateway_requests_total{endpoint="messages",status="${String(status)}"}`);
  await eventually(async () => {
    expect(await Promise.all([200, 400, 401, 502].map(count))).toEqual([1, 1, 1, 1]);
  });
  expect(await readMetric(gateway, 'gateway_upstream_account_refused_total')).toBe(1);
  expect(await readMetric(gateway, 'gateway_upstream_responses_total{status="401"}')).toBe(1);
});

it('a request that fails with an unexpected error is counted with status 500', async () => {
  const { apiKey } = await gateway.createKey();
  const { store } = gateway.running.appParts;
  for (const [endpoint, ask] of [
    ['messages', () => postMessages(gateway, apiKey, userMessage('Hello'))],
    [
      'balance',
      () =>
        fetch(`${gateway.url}/v1/dashboard/balance`, {
          headers: { authorization: `Bearer ${apiKey}` },
        }),
    ],
  ] as const) {
    const crash = jest
      .spyOn(store, 'findKeyByCredential')
      .mockRejectedValueOnce(new Error('a bug'));
    expect((await ask()).status).toBe(500);
    crash.mockRestore();
    const requests = `gateway_requests_total{endpoint="${endpoint}",status="500"}`;
    expect(await readMetric(gateway, requests)).toBe(1);
  }
});

it('a gauge has no sample while its figure is unknown', async () => {
  const registry = createRegistry();
  let figure: number | undefined;
  addGauge(registry, 'conflicts', 'Conflicts', () => figure);
  const samples = async () =>
    (await registry.metrics()).split('\n').filter((line) => line.startsWith('conflicts'));
  expect(await samples()).toEqual([]);
  figure = 3;
  expect(await samples()).toEqual(['conflicts 3']);
  figure = undefined;
  expect(await samples()).toEqual([]);
});
