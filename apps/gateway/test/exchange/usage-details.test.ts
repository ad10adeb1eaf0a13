/**
 * Odd details of a usage, or parts that its four counts leave out, never make a response free or
 * refused.
 */

import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { formatUsd } from '@gateway/billing';
import { SCENARIOS } from '@gateway/upstream-simulator';
import {
  postChat,
  postMessages,
  startTestGateway,
  userMessage,
  postResponses,
} from '../support/gateway.js';
import type { TestGateway } from '../support/gateway.js';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway({
    env: { ALLOW_FEATURES: 'advisor,compaction' },
    // So that a test can send a member that only a later version of the API will have.
    simulator: { lenient: ['known-members'] },
  });
});
afterAll(() => gateway.stop());
beforeEach(() => {
  gateway.simulator.reset();
});

/** 3 and 15 USD per million tokens, in units of 10^-14 USD per token. */
const SONNET = { input: 300_000_000n, output: 1_500_000_000n };

const UNBILLED = { stopDetails: { type: 'refusal', category: 'cyber', explanation: null } };

async function metric(name: string): Promise<number> {
  const metrics = await (await fetch(`${gateway.adminUrl}/metrics`)).text();
  const line = metrics.split('\n').find((text) => text.startsWith(`${name} `));
  return Number(line?.split(' ').at(-1) ?? 0);
}

describe('a native request with members that this version does not know', () => {
  const METRIC = 'gateway_usage_remarks_total{detail="unknown_members"}';

  // F229: a native request has members that this version does not know, perhaps with a price of
  // their own: it is sent as it is and charged as usual; the ledger, the log and a metric say so.
  it('is sent as it is, charged as usual and remarked, with the names that the API could have', async () => {
    const { id, apiKey } = await gateway.createKey();
    const before = await metric(METRIC);
    const unknown = { hologram: 1, safeguards: [], 'sk-secret': 1, A: 1, _b: 1, last: 1 };
    const request = userMessage('Hello', unknown);
    expect((await postMessages(gateway, apiKey, request)).status).toBe(200);
    expect(JSON.parse(String(gateway.simulator.journal.requests().at(-1)?.body))).toEqual(request);
    const { data } = await gateway.call('listLedger', { key_id: id, kind: 'charge' });
    const names = 'hologram, safeguards, (another name), (another name), (another name) and more';
    expect(data).toMatchObject([{ remarks: `unknown_members: the request has ${names}` }]);
    expect(await metric(METRIC)).toBe(before + 1);
  });
});

describe.each([
  ['messages', postMessages],
  ['chat.completions', postChat],
  ['responses', postResponses],
] as const)('%s: a usage whose details', (_format, post) => {
  // F203: a response at another price: of another region or speed: charged as usual; a remark in
  // the ledger, and a metric.
  it('name another region or speed is charged as usual, and remarked', async () => {
    const { id, apiKey } = await gateway.createKey();
    gateway.simulator.script({
      usage: { input_tokens: 10, output_tokens: 20, inference_geo: 'us', speed: 'fast' },
    });
    await (await post(gateway, apiKey, userMessage('Hello'))).text();
    const { data } = await gateway.call('listLedger', { key_id: id, kind: 'charge' });
    expect(data).toMatchObject([
      {
        amount_usd: formatUsd(-(10n * SONNET.input + 20n * SONNET.output)),
        remarks: 'inference_geo: "us"; speed: "fast"',
      },
    ]);
    expect(await metric('gateway_usage_remarks_total{detail="inference_geo"}')).toBeGreaterThan(0);
    expect(await metric('gateway_usage_remarks_total{detail="speed"}')).toBeGreaterThan(0);
  });

  // F310: a response whose tier, or whose uses of the provider's tools, have no price in the table:
  // charged at the usual price; a remark in the ledger, and a metric. What costs nothing is not.
  it.each<[string, object, string | null]>([
    ['another tier', { service_tier: 'priority' }, 'service_tier: "priority"'],
    ['a tier of another type', { service_tier: 7 }, 'service_tier: 7'],
    [
      'uses of tools without a fee',
      { server_tool_use: { code_execution_requests: 4, teleport_requests: 1 } },
      'server_tool_use: no fee for code_execution_requests: 4, teleport_requests: 1',
    ],
    [
      'an unreadable count',
      { server_tool_use: { web_fetch_requests: '3' } },
      'server_tool_use: "web_fetch_requests": "3"',
    ],
    ['an unreadable list of counts', { server_tool_use: [3] }, 'server_tool_use: an object'],
    [
      'a readable and an unreadable count',
      { server_tool_use: { code_execution_requests: 1, odd: -1 } },
      'server_tool_use: "odd": -1; server_tool_use: no fee for code_execution_requests: 1',
    ],
    [
      'many uses',
      { server_tool_use: { a: 1, b: 1, c: 1, d: 1, e: 1, f: 1 } },
      'server_tool_use: no fee for a: 1, b: 1, c: 1, d: 1, e: 1 and more',
    ],
    ['the usual tier', { service_tier: 'standard' }, null],
    [
      'uses that cost tokens only',
      {
        service_tier: null,
        server_tool_use: { web_fetch_requests: 5, tool_search_requests: 2, web_search_requests: 0 },
      },
      null,
    ],
  ])('name %s is charged as usual, and remarked unless it is free', async (_what, odd, remarks) => {
    const { id, apiKey } = await gateway.createKey();
    const details = ['service_tier', 'server_tool_use'] as const;
    const counted = async () =>
      Promise.all(
        details.map((detail) => metric(`gateway_usage_remarks_total{detail="${detail}"}`)),
      );
    const before = await counted();
    gateway.simulator.script({ usage: { input_tokens: 10, output_tokens: 20, ...odd } });
    await (await post(gateway, apiKey, userMessage('Hello'))).text();
    const { data } = await gateway.call('listLedger', { key_id: id, kind: 'charge' });
    const amount_usd = formatUsd(-(10n * SONNET.input + 20n * SONNET.output));
    expect(data).toMatchObject([{ amount_usd, remarks }]);
    const of = (detail: string) => (remarks ?? '').split(`${detail}: `).length - 1;
    expect(await counted()).toEqual(before.map((count, index) => count + of(details[index]!)));
  });

  // F202: counts that the request cannot have caused: set aside for the operator; the client gets
  // an error, no balance changes.
  it.each([
    ['input_tokens', 1_000_000_000],
    ['output_tokens', 1_000_000_000],
    ['cache_read_input_tokens', 10_000_001],
  ])(
    'the request cannot have caused (%s: %i) is set aside, and nothing is charged',
    async (...odd) => {
      const [name, count] = odd;
      for (const stream of [false, true]) {
        const { id, apiKey } = await gateway.createKey();
        const lost = 'gateway_unbilled_total{reason="invalid_usage"}';
        const before = await metric(lost);
        gateway.simulator.script({ usage: { input_tokens: 10, output_tokens: 20, [name]: count } });
        const response = await post(gateway, apiKey, userMessage('Hello', { stream }));
        expect(await response.text()).toContain('cannot be charged; nothing was charged');
        expect((await gateway.call('showKey', { key_id: id })).spent_usd).toBe('0');
        const [from, until] = [new Date(0), new Date(Date.now() + 86_400_000)];
        const rows = await gateway.running.store.listQuarantined({ from, until, limit: 1000 });
        expect(rows.find(({ keyId }) => keyId === id)?.reason).toContain(
          'the request cannot have caused',
        );
        expect(await metric(lost)).toBe(before + 1);
      }
    },
  );

  // F201: a refusal before any output, of a category that the provider does not bill: charged 0,
  // with its usage and the reason in the ledger.
  it('are those of a refusal before any output costs nothing if its category is free', async () => {
    for (const stream of [false, true]) {
      const { id, apiKey } = await gateway.createKey();
      const usage = { input_tokens: 10_000, output_tokens: 1 };
      const refusal = { ...SCENARIOS['refusal'], ...UNBILLED, usage };
      gateway.simulator.script(refusal);
      const free = await post(gateway, apiKey, userMessage('Hello', { stream }));
      expect([free.status, stream ? null : free.headers.get('x-gateway-charge-usd')]).toEqual([
        200,
        stream ? null : '0',
      ]);
      expect(await free.text()).not.toMatch(/event: error/);
      // Another category, and a refusal after some output, cost what others cost.
      const charge = formatUsd(10_000n * SONNET.input + SONNET.output);
      const stopDetails = { type: 'refusal', category: 'frontier_llm', explanation: null };
      gateway.simulator.script({ ...refusal, stopDetails });
      await (await post(gateway, apiKey, userMessage('Hello', { stream }))).text();
      const partly = { ...SCENARIOS['refusal_after_text'], usage };
      gateway.simulator.script({ ...partly, ...UNBILLED });
      await (await post(gateway, apiKey, userMessage('Hello', { stream }))).text();
      const { data } = await gateway.call('listLedger', { key_id: id, kind: 'charge' });
      expect(data).toMatchObject([
        { amount_usd: `-${charge}`, remarks: null },
        { amount_usd: `-${charge}`, remarks: null },
        { amount_usd: '0', remarks: 'refusal_not_billed: cyber' },
      ]);
      const witness = { input_tokens: 10_000, output_tokens: 1 };
      const { differences } = await gateway.call('compareWitness', {
        usages: data.map(({ id: request_id }) => ({
          request_id,
          ...witness,
          cache_read_input_tokens: 0,
          cache_creation_input_tokens: 0,
        })),
      });
      expect(differences).toEqual([]);
    }
    expect((await gateway.call('auditLedger', {})).is_sound).toBe(true);
  });

  // F75: details of a usage contradict its counts: charged by the counts, delivered, counted in a
  // metric.
  it.each([
    [
      'have a third cache lifetime',
      {
        cache_creation_input_tokens: 1_000,
        cache_creation: {
          ephemeral_5m_input_tokens: 300,
          ephemeral_1h_input_tokens: 0,
          ephemeral_24h_input_tokens: 700,
        },
      },
      'cache_creation',
    ],
    [
      'do not add up',
      {
        cache_creation_input_tokens: 1_000,
        cache_creation: { ephemeral_5m_input_tokens: 1, ephemeral_1h_input_tokens: 2 },
      },
      'cache_creation',
    ],
    [
      'have more thinking than output',
      {
        cache_creation_input_tokens: 1_000,
        output_tokens_details: { thinking_tokens: 1_000_000 },
      },
      'thinking_tokens',
    ],
  ])(
    '%s is delivered, charged by its counts, recorded and counted in the metrics',
    async (_what, odd, detail) => {
      for (const stream of [false, true]) {
        const { id, apiKey } = await gateway.createKey();
        const before = await metric(`gateway_usage_remarks_total{detail="${detail}"}`);
        gateway.simulator.script({ usage: { input_tokens: 10, output_tokens: 20, ...odd } });
        const response = await post(gateway, apiKey, userMessage('Hello', { stream }));
        expect(response.status).toBe(200);
        expect(await response.text()).not.toMatch(/"error":\{|event: error/);
        const charge =
          10n * SONNET.input + 20n * SONNET.output + (1_000n * SONNET.input * 125n) / 100n;
        expect((await gateway.call('showKey', { key_id: id })).spent_usd).toBe(formatUsd(charge));
        const { data } = await gateway.call('listLedger', { key_id: id, kind: 'charge' });
        expect(data).toMatchObject([{ remarks: expect.stringContaining(detail) }]);
        expect(await metric(`gateway_usage_remarks_total{detail="${detail}"}`)).toBe(before + 1);
      }
      expect((await gateway.call('auditLedger', {})).is_sound).toBe(true);
    },
  );
});

describe('work that the counts of a message leave out', () => {
  const usage = (...iterations: object[]) => ({
    input_tokens: 10,
    output_tokens: 20,
    iterations: [{ type: 'message', input_tokens: 10, output_tokens: 20 }, ...iterations],
  });
  const MESSAGE = 10n * SONNET.input + 20n * SONNET.output;

  // F68
  it.each([false, true])(
    "by an advisor is charged at the rates of the advisor's model, in an entry of its own (streamed: %s)",
    async (stream) => {
      const { id, apiKey } = await gateway.createKey();
      const advisor = {
        type: 'advisor_message',
        model: 'claude-opus-4-6',
        input_tokens: 1_000_000,
        output_tokens: 100_000,
      };
      gateway.simulator.script({ usage: usage(advisor) });
      const tools = [{ type: 'advisor_20260301', name: 'advisor', model: advisor.model }];
      const request = userMessage('Hello', { stream, tools });
      const response = await postMessages(gateway, apiKey, request);
      expect(response.status).toBe(200);
      await response.text();
      const { data } = await gateway.call('listLedger', { key_id: id, kind: 'charge' });
      const requestId = response.headers.get('x-gateway-request-id')!;
      const charges = new Map(data.map((entry) => [entry.id, entry]));
      expect([...charges.keys()].sort()).toEqual([requestId, `${requestId}.2`]);
      expect(charges.get(requestId)).toMatchObject({ amount_usd: `-${formatUsd(MESSAGE)}` });
      const models = await gateway.call('listModels', {});
      const opus = models.data.find((model) => model.id === 'claude-opus-4-6')!;
      expect(charges.get(`${requestId}.2`)).toMatchObject({
        model: 'claude-opus-4-6',
        amount_usd: `-${String(Number(opus.rate_in) + Number(opus.rate_out) / 10)}`,
        remarks: 'iterations: advisor_message',
      });
      if (!stream) {
        const spent = (await gateway.call('showKey', { key_id: id })).spent_usd;
        expect(response.headers.get('x-gateway-charge-usd')).toBe(spent);
      }
    },
  );

  // F68
  it('by an unknown model, or with invalid counts, is not charged but quarantined, and counted in the metrics', async () => {
    const { id, apiKey } = await gateway.createKey();
    const { quarantined } = await gateway.call('auditLedger', {});
    const before = await metric('gateway_usage_parts_set_aside_total');
    gateway.simulator.script({
      usage: usage(
        { type: 'advisor_message', model: 'claude-unheard-of', input_tokens: 1, output_tokens: 1 },
        { type: 'compaction', input_tokens: -1 },
      ),
    });
    expect((await postMessages(gateway, apiKey, userMessage('Hello'))).status).toBe(200);
    expect((await gateway.call('showKey', { key_id: id })).spent_usd).toBe(formatUsd(MESSAGE));
    expect((await gateway.call('auditLedger', {})).quarantined).toBe(quarantined + 2);
    expect(await metric('gateway_usage_parts_set_aside_total')).toBe(before + 2);
  });

  it('of an unknown kind is charged at the rates of the message', async () => {
    const { id, apiKey } = await gateway.createKey();
    gateway.simulator.script({
      usage: usage({ type: 'critic', input_tokens: 7, output_tokens: 8 }),
    });
    expect((await postMessages(gateway, apiKey, userMessage('Hello'))).status).toBe(200);
    const critic = 7n * SONNET.input + 8n * SONNET.output;
    expect((await gateway.call('showKey', { key_id: id })).spent_usd).toBe(
      formatUsd(MESSAGE + critic),
    );
  });

  // F76: parts of a usage add up to absurd numbers: message charged, the rest set aside; never a
  // crash.
  it('that would make a count larger than allowed is not charged, but the message is', async () => {
    const { id, apiKey } = await gateway.createKey();
    const before = await metric('gateway_usage_parts_set_aside_total');
    const most = 2 ** 31 - 1;
    gateway.simulator.script({
      usage: usage({ type: 'compaction', input_tokens: most, output_tokens: most }),
    });
    expect((await postMessages(gateway, apiKey, userMessage('Hello'))).status).toBe(200);
    expect((await gateway.call('showKey', { key_id: id })).spent_usd).toBe(formatUsd(MESSAGE));
    expect(await metric('gateway_usage_parts_set_aside_total')).toBe(before + 1);
  });
});
