/** The usage report and the cost report: what they count, pages, the key, and scripted faults. */

import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';
import { startUpstreamSimulator } from '../src/index.js';
import type { UpstreamSimulator } from '../src/index.js';

const DAY_MS = 86_400_000;
const FIRST = Date.UTC(2026, 10, 1);
const MODEL = 'claude-sonnet-4-6';
const USAGE = { input_tokens: 100, output_tokens: 10 };
const ADMIN_KEY = 'sk-ant-admin-test';

let now = FIRST;
let simulator: UpstreamSimulator;
beforeEach(async () => {
  await (simulator as UpstreamSimulator | undefined)?.close();
  now = FIRST;
  simulator = await startUpstreamSimulator({
    apiKey: 'test',
    adminKey: ADMIN_KEY,
    unitsPerToken: (_model, type) => (type === 'output_tokens' ? 1_500_000_000n : 300_000_001n),
    now: () => now,
  });
});
afterAll(() => simulator.close());

async function send(more: object = {}): Promise<void> {
  await fetch(`${simulator.url}/v1/messages`, {
    method: 'POST',
    headers: { 'x-api-key': 'test', 'anthropic-version': '2023-06-01' },
    body: JSON.stringify({
      model: MODEL,
      max_tokens: 50,
      messages: [{ role: 'user', content: 'Hello' }],
      ...more,
    }),
  })
    .then((response) => response.text())
    .catch(() => undefined);
}

interface Page {
  readonly data: readonly {
    readonly starting_at: string;
    readonly ending_at: string;
    readonly results: readonly Record<string, unknown>[];
  }[];
  readonly has_more: boolean;
  readonly next_page: string | null;
}

async function report(
  path: string,
  query: Readonly<Record<string, string>> = {},
  key = ADMIN_KEY,
): Promise<{ readonly status: number; readonly page: Page }> {
  const url = new URL(`/v1/organizations/${path}`, simulator.url);
  const days = { starting_at: '2026-11-01T00:00:00Z', ending_at: '2026-11-02T00:00:00Z' };
  for (const [name, value] of Object.entries({ ...days, bucket_width: '1d', ...query })) {
    url.searchParams.set(name, value);
  }
  const response = await fetch(url, { headers: { 'x-api-key': key } });
  return { status: response.status, page: (await response.json()) as Page };
}

const usage = (query: Readonly<Record<string, string>> = {}) =>
  report('usage_report/messages', { 'group_by[]': 'model', ...query });
const costs = () => report('cost_report', { 'group_by[]': 'description' });

describe('the reports', () => {
  it('count each message on the day on which it was generated, by model and class of tokens', async () => {
    simulator.script({ usage: USAGE });
    await send();
    simulator.script({
      usage: {
        ...USAGE,
        cache_creation_input_tokens: 30,
        cache_creation: { ephemeral_5m_input_tokens: 20, ephemeral_1h_input_tokens: 10 },
        cache_read_input_tokens: 7,
      },
    });
    await send();
    now += DAY_MS;
    simulator.script({ usage: USAGE });
    await send();
    const { page } = await usage();
    expect(page.data).toEqual([
      {
        starting_at: '2026-11-01T00:00:00Z',
        ending_at: '2026-11-02T00:00:00Z',
        results: [
          expect.objectContaining({
            model: MODEL,
            uncached_input_tokens: 200,
            output_tokens: 20,
            cache_read_input_tokens: 7,
            cache_creation: { ephemeral_5m_input_tokens: 20, ephemeral_1h_input_tokens: 10 },
          }),
        ],
      },
    ]);
    const { page: cost } = await costs();
    expect(
      cost.data[0]?.results.map(({ token_type, amount, currency }) => [
        token_type,
        amount,
        currency,
      ]),
    ).toEqual([
      ['uncached_input_tokens', '0.0600000002', 'USD'],
      ['output_tokens', '0.03', 'USD'],
      ['cache_read_input_tokens', '0.002100000007', 'USD'],
      ['cache_creation.ephemeral_5m_input_tokens', '0.00600000002', 'USD'],
      ['cache_creation.ephemeral_1h_input_tokens', '0.00300000001', 'USD'],
    ]);
  });

  it('count broken responses, and the counts of a script that sets `billed`; not errors, nor messages with `billed: null`', async () => {
    const counted = async (): Promise<number> => {
      const { page } = await usage();
      return Number(page.data[0]?.results[0]?.['output_tokens'] ?? 0);
    };
    simulator.script({ usage: USAGE, cut: { afterEvents: 1, how: 'reset' } });
    await send({ stream: true });
    expect(await counted()).toBe(10);
    simulator.script({ usage: USAGE, billed: { output_tokens: 5 } });
    await send();
    expect(await counted()).toBe(15);
    simulator.script({ usage: USAGE, billed: null });
    await send();
    simulator.script({ usage: USAGE, streamError: { afterEvents: 2, type: 'api_error' } });
    await send({ stream: true });
    simulator.script({ error: { type: 'overloaded_error' } });
    await send();
    expect(await counted()).toBe(15);
    // If counts are unreadable, the client does not know the usage, but the provider does.
    simulator.script({ usage: { output_tokens: -4 } });
    await send();
    expect(await counted()).toBeGreaterThan(15);
    expect(simulator.journal.billed()).toHaveLength(3);
  });

  it('count a complete message whose script breaks only streams, and cache writes by lifetime even without a `usage`', async () => {
    simulator.script({ streamError: { afterEvents: 1, type: 'overloaded_error' } });
    await send();
    const cache_control = { type: 'ephemeral', ttl: '1h' };
    const text = 'cached '.repeat(3_000);
    simulator.script({ withoutUsage: true });
    await send({ system: [{ type: 'text', text, cache_control }] });
    const { page } = await usage();
    const [sum] = page.data[0]?.results ?? [];
    expect(sum?.['output_tokens']).toBeGreaterThan(0);
    expect(sum?.['cache_creation']).toMatchObject({ ephemeral_5m_input_tokens: 0 });
    expect(simulator.journal.billed()).toHaveLength(2);
  });

  it('list each day once across all pages', async () => {
    const asked = { ending_at: '2026-11-11T12:00:00Z', limit: '4' };
    const starts: string[] = [];
    let next: string | null = null;
    do {
      const { page } = await usage({ ...asked, ...(next === null ? {} : { page: next }) });
      starts.push(...page.data.map(({ starting_at }) => starting_at.slice(0, 10)));
      expect(page.has_more).toBe(page.next_page !== null);
      next = page.next_page;
    } while (next !== null);
    expect(starts).toEqual(
      Array.from({ length: 11 }, (_, day) => `2026-11-${String(day + 1).padStart(2, '0')}`),
    );
  });

  it('refuse another key, and a query with an empty or invalid parameter', async () => {
    expect((await report('cost_report', {}, 'test')).status).toBe(401);
    expect((await report('cost_report', { starting_at: '' })).status).toBe(400);
    expect((await report('cost_report', { limit: '32' })).status).toBe(400);
    expect((await report('cost_report', { page: 'x' })).status).toBe(400);
    expect((await report('cost_report')).status).toBe(200);
  });

  it('fail as a script says', async () => {
    simulator.scriptReport({ error: { type: 'authentication_error' } });
    simulator.scriptReport({ alter: (page) => ({ ...page, has_more: 'yes' }) });
    simulator.scriptReport({ body: '{"data":[]}' });
    expect((await usage()).status).toBe(401);
    expect((await usage()).page.has_more).toBe('yes');
    expect((await usage()).page).toEqual({ data: [] });
    expect((await usage()).page.has_more).toBe(false);
  });
});
