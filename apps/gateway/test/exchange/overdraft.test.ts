/** `OVERDRAFT=none`: money is held before each request, and no balance falls below zero. */

import Anthropic from '@anthropic-ai/sdk';
import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  it,
  jest,
} from '@jest/globals';
import { formatUsd, parseUsd } from '@gateway/billing';
import OpenAI from 'openai';
import { createHoldLine } from '../../src/exchange/spending/hold-line.js';
import { anthropicUpstream } from '../../src/upstream/anthropic.js';
import { createUpstreamClient } from '../../src/upstream/client.js';
import { startGatedUpstream } from '../support/gated-upstream.js';
import type { GatedUpstream } from '../support/gated-upstream.js';
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
  gateway = await startTestGateway({ env: { OVERDRAFT: 'none', ALLOW_FEATURES: 'compaction' } });
  // Many tests have a request refused that waits for others.
  Object.assign(gateway.running.appParts, { holdLine: createHoldLine({ waitMs: 50 }) });
});
const cleanUps: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0)) await cleanUp();
});
afterAll(() => gateway.stop());
beforeEach(() => {
  gateway.simulator.reset();
});

async function balanceOf(keyId: string): Promise<bigint> {
  return parseUsd((await gateway.call('showKey', { key_id: keyId })).balance_usd);
}
/**
 * The gateway sends requests to another upstream until the test is over. It holds its answers back
 * until the test opens it.
 */
async function useGatedUpstream(
  options?: Parameters<typeof startGatedUpstream>[0],
): Promise<GatedUpstream> {
  const gated = await startGatedUpstream(options);
  gated.shut();
  const { appParts } = gateway.running;
  const { upstream: before } = appParts;
  const upstream = createUpstreamClient(anthropicUpstream({ url: gated.url, apiKey: 'k' }));
  Object.assign(appParts, { upstream });
  cleanUps.push(async () => {
    Object.assign(appParts, { upstream: before });
    await upstream.close();
    await gated.close();
  });
  return gated;
}
const holds = async (state: 'live' | 'orphaned') =>
  (await gateway.call('listHolds', { state })).data;
async function untilNothingIsHeld(): Promise<void> {
  while ((await holds('live')).length > 0) await new Promise((resolve) => setTimeout(resolve, 5));
}

describe('a request that the balance covers', () => {
  it.each([
    ['messages', postMessages, false],
    ['messages, streamed', postMessages, true],
    ['chat.completions', postChat, false],
    ['chat.completions, streamed', postChat, true],
    ['responses', postResponses, false],
    ['responses, streamed', postResponses, true],
  ] as const)('is served and charged exactly (%s)', async (_format, post, stream) => {
    const { id, apiKey } = await gateway.createKey({ balance_usd: '0.05' });
    const response = await post(gateway, apiKey, userMessage('Hello', { stream }));
    expect(response.status).toBe(200);
    await response.text();
    const { usage } = gateway.simulator.journal.usages()[0]!;
    const charge =
      BigInt(Number(usage['input_tokens'])) * 300_000_000n +
      BigInt(Number(usage['output_tokens'])) * 1_500_000_000n;
    expect(await balanceOf(id)).toBe(parseUsd('0.05') - charge);
    expect(await holds('live')).toEqual([]);
  });
});

describe.each([
  ['chat.completions', postChat, 'max_completion_tokens'],
  ['responses', postResponses, 'max_output_tokens'],
] as const)('a request of %s without a limit of its answer', (_format, post, member) => {
  const NOTES = 'x-gateway-translation-notes';
  /** 15 USD per million tokens. */
  const perToken = parseUsd('0.000015');
  const unlimited = (more: object = {}) => userMessage('Hello', { max_tokens: undefined, ...more });
  const sentLimits = () =>
    gateway.simulator.journal
      .requests()
      .map(({ body }) => Number(JSON.parse(String(body)).max_tokens));

  it("keeps the model's limit if the balance covers it", async () => {
    const { apiKey } = await gateway.createKey({ balance_usd: '10' });
    const response = await post(gateway, apiKey, unlimited());
    expect([response.status, response.headers.get(NOTES)]).toEqual([200, null]);
    expect(sentLimits()).toEqual([128_000]);
  });

  // F234: with `OVERDRAFT=none`, a client that cannot state a limit has too little for the model's
  // own limit: it gets a limit that half of the free balance covers; below 4,096 tokens, a 402 that
  // names the price of those.
  it.each([null, undefined])('gets a limit that half of the balance covers (%s)', async (none) => {
    const { id, apiKey } = await gateway.createKey({ balance_usd: '0.5' });
    const response = await post(gateway, apiKey, unlimited({ max_tokens: none }));
    expect([response.status, response.headers.get(NOTES)]).toEqual([200, `${member} capped`]);
    const [limit] = sentLimits();
    // The rest is for the prompt, of which each byte counts as a token, and for its instructions.
    expect(limit).toBeGreaterThan(14_000);
    expect(BigInt(limit! * 2) * perToken).toBeLessThan(parseUsd('0.5'));
    await untilNothingIsHeld();
    const [charged] = (await gateway.call('listLedger', { key_id: id, kind: 'charge' })).data;
    const usage = gateway.simulator.journal.usages()[0]!.usage;
    const cost = BigInt(Number(usage['output_tokens'])) * perToken;
    expect(-parseUsd(charged!.amount_usd)).toBeGreaterThan(cost);
    expect(await balanceOf(id)).toBe(parseUsd('0.5') + parseUsd(charged!.amount_usd));
  });

  // F234
  it('leaves something to a request beside it, down to the least useful limit', async () => {
    const { apiKey } = await gateway.createKey({ balance_usd: '0.25' });
    const upstream = await useGatedUpstream();
    const first = post(gateway, apiKey, unlimited());
    while ((await holds('live')).length === 0)
      await new Promise((resolve) => setTimeout(resolve, 5));
    const second = post(gateway, apiKey, unlimited());
    while ((await holds('live')).length === 1)
      await new Promise((resolve) => setTimeout(resolve, 5));
    const third = await post(gateway, apiKey, unlimited());
    expect([third.status, third.headers.get('x-should-retry')]).toEqual([402, 'true']);
    upstream.open();
    expect([(await first).status, (await second).status]).toEqual([200, 200]);
    const [larger, least] = upstream.bodies
      .map((body) => Number(JSON.parse(body).max_tokens))
      .sort((one, other) => other - one);
    expect(larger).toBeGreaterThan(4_096);
    expect(least).toBe(4_096);
  });

  // F234
  it('is refused for what the least useful limit costs, and not sent, if the balance is lower', async () => {
    const { apiKey } = await gateway.createKey({ balance_usd: '0.05' });
    const response = await post(gateway, apiKey, unlimited());
    expect(response.status).toBe(402);
    const { message } = (await response.json()).error;
    const [, worst] = /may cost up to (\S+) USD, and the balance is 0.05 USD/.exec(message)!;
    expect(parseUsd(worst!)).toBeGreaterThan(4_096n * perToken);
    expect(parseUsd(worst!)).toBeLessThan(4_096n * perToken + parseUsd('0.02'));
    expect(message).toContain(`set ${member} below 4096, the least that the gateway chooses`);
    expect(gateway.simulator.journal.requests()).toEqual([]);
  });

  it('gets a limit that its cap covers, if the balance is higher', async () => {
    const { apiKey } = await gateway.createKey({ balance_usd: '10', cap_total_usd: '0.2' });
    expect((await post(gateway, apiKey, unlimited())).status).toBe(200);
    const [limit] = sentLimits();
    expect(limit).toBeGreaterThan(4_096);
    expect(BigInt(limit!) * perToken).toBeLessThan(parseUsd('0.1'));
  });
});

describe('a request that the balance might not cover', () => {
  it('is refused with 402 in every format, naming the shortfall, and is not charged or sent upstream', async () => {
    const { id, apiKey } = await gateway.createKey({ balance_usd: '0.01' });
    const native = await postMessages(
      gateway,
      apiKey,
      userMessage('Hello', { max_tokens: 10_000 }),
    );
    expect(native.status).toBe(402);
    expect(native.headers.get('x-should-retry')).toBe('false');
    expect(native.headers.get('retry-after')).toBeNull();
    const { error } = await native.json();
    expect(error.type).toBe('billing_error');
    const [, worst, balance, shortfall] =
      /up to (\S+) USD, and the balance is (\S+) USD: (\S+) USD short; lower max_tokens \(or let the gateway lower it: x-gateway-lower-max-tokens: true\), shorten/.exec(
        error.message,
      )!;
    expect(balance).toBe('0.01');
    expect(parseUsd(shortfall!)).toBe(parseUsd(worst!) - parseUsd('0.01'));
    // 10,000 tokens at 15 USD per million, and a prompt of a few thousand at most.
    expect(parseUsd(worst!)).toBeGreaterThan(parseUsd('0.15'));
    expect(parseUsd(worst!)).toBeLessThan(parseUsd('0.17'));

    for (const post of [postChat, postResponses]) {
      const refused = await post(gateway, apiKey, userMessage('Hello', { max_tokens: 10_000 }));
      expect(refused.status).toBe(402);
      expect((await refused.json()).error).toMatchObject({
        type: 'billing_error',
        code: 'insufficient_quota',
        param: null,
      });
    }
    expect(gateway.simulator.journal.requests()).toEqual([]);
    expect(await balanceOf(id)).toBe(parseUsd('0.01'));
    // A top-up of exactly the shortfall is enough.
    await gateway.call('topUp', { key_id: id, top_up_id: `more-${id}`, amount_usd: shortfall! });
    const again = userMessage('Hello', { max_tokens: 10_000 });
    expect((await postMessages(gateway, apiKey, again)).status).toBe(200);
  });

  it('is an error of its own type to the SDKs of Anthropic and OpenAI, and is not sent upstream', async () => {
    const { apiKey } = await gateway.createKey({ balance_usd: '0.01' });
    const anthropic = new Anthropic({ baseURL: gateway.url, apiKey });
    await expect(
      anthropic.messages.create({ ...userMessage('Hello', { max_tokens: 9_000 }) } as never),
    ).rejects.toMatchObject({ status: 402, error: { error: { type: 'billing_error' } } });
    const openai = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey });
    await expect(
      openai.chat.completions.create({ ...userMessage('Hello', { max_tokens: 9_000 }) } as never),
    ).rejects.toMatchObject({ status: 402, code: 'insufficient_quota' });
    expect(gateway.simulator.journal.requests()).toEqual([]);
  });

  it('may be retried when other requests hold the money that it needs', async () => {
    const { apiKey } = await gateway.createKey({ balance_usd: '0.02' });
    const upstream = await useGatedUpstream();
    const body = userMessage('Hello', { max_tokens: 500 });
    const first = postMessages(gateway, apiKey, body);
    while ((await holds('live')).length === 0)
      await new Promise((resolve) => setTimeout(resolve, 5));
    const second = await postMessages(gateway, apiKey, body);
    expect(second.status).toBe(402);
    expect(second.headers.get('x-should-retry')).toBe('true');
    expect(Number(second.headers.get('retry-after'))).toBeGreaterThan(0);
    expect((await second.json()).error.message).toMatch(/of which \S+ USD are held/);
    upstream.open();
    expect((await first).status).toBe(200);
    expect((await postMessages(gateway, apiKey, body)).status).toBe(200);
  });

  // F374: what a request needs under a cap of its key is only held by other requests: it is told to
  // try again, as at a balance, and all that fit are served in the end.
  it.each([
    ['messages', postMessages],
    ['chat', postChat],
    ['responses', postResponses],
  ])('may be retried when other requests hold what a cap leaves (%s)', async (_, post) => {
    const { id, apiKey } = await gateway.createKey({ balance_usd: '10' });
    await gateway.call('updateKey', { key_id: id, cap_total_usd: '0.02' });
    const upstream = await useGatedUpstream();
    const body = userMessage('Hello', { max_tokens: 500 });
    const first = post(gateway, apiKey, body);
    while ((await holds('live')).length === 0)
      await new Promise((resolve) => setTimeout(resolve, 5));
    const second = await post(gateway, apiKey, body);
    expect(second.status).toBe(402);
    expect(second.headers.get('x-should-retry')).toBe('true');
    expect(Number(second.headers.get('retry-after'))).toBeGreaterThan(0);
    expect((await second.json()).error.message).toMatch(
      /\S+ USD are held for requests in flight: wait for them to end/,
    );
    upstream.open();
    expect((await first).status).toBe(200);
    expect((await post(gateway, apiKey, body)).status).toBe(200);
  });

  // F374
  it('serves as many requests at once as fit into a cap, to an SDK that retries', async () => {
    const { id, apiKey } = await gateway.createKey({ balance_usd: '10' });
    await gateway.call('updateKey', { key_id: id, cap_total_usd: '0.10' });
    // Each answer costs 0.0135 USD and a little more.
    const upstream = await useGatedUpstream({ moreOutput: 900 });
    upstream.open();
    const client = new Anthropic({ baseURL: gateway.url, apiKey, maxRetries: 20 });
    const outcomes = await Promise.allSettled(
      Array.from({ length: 12 }, () =>
        client.messages.create(userMessage('Hello', { max_tokens: 1_000 }) as never),
      ),
    );
    const refusals = outcomes.flatMap((one) =>
      one.status === 'rejected' ? [String((one.reason as Error).message)] : [],
    );
    const { used_usd: used } = (await gateway.call('showKey', { key_id: id })).caps.total;
    const mayCost = refusals.map((text) => parseUsd(/may cost up to (\S+) USD/.exec(text)![1]!));
    expect(refusals.length).toBeGreaterThan(0);
    expect(refusals.length).toBeLessThan(8);
    // Those that were refused in the end did not fit, although nothing was held any more.
    for (const amount of mayCost) {
      expect(parseUsd(used) + amount).toBeGreaterThan(parseUsd('0.10'));
    }
    expect(upstream.bodies).toHaveLength(12 - refusals.length);
  });

  it('is refused with 401 instead if the key is exhausted; counting tokens is served without a hold', async () => {
    const { apiKey } = await gateway.createKey({ balance_usd: '0.00000000000001' });
    const count = await fetch(`${gateway.url}/v1/messages/count_tokens`, {
      method: 'POST',
      headers: {
        'x-api-key': apiKey,
        'anthropic-version': '2023-06-01',
        'content-type': 'application/json',
      },
      body: JSON.stringify({ model: 'claude-sonnet-4-6', messages: userMessage('Hi').messages }),
    });
    expect(count.status).toBe(200);
    expect((await postMessages(gateway, apiKey, userMessage('Hello'))).status).toBe(402);
    const none = await gateway.call('createKey', { name: 'no credit' });
    expect((await postMessages(gateway, none.api_key ?? '', userMessage('Hello'))).status).toBe(
      401,
    );
  });
});

describe('compaction, which the operator allows', () => {
  const summarized = {
    content: [{ type: 'compaction', content: 'A summary.' }],
    stopReason: 'compaction',
    usage: {
      input_tokens: 0,
      output_tokens: 0,
      iterations: [{ type: 'compaction', input_tokens: 100, output_tokens: 200 }],
    },
  };

  it('as a request of its own is served and charged, and its hold is released', async () => {
    const { id, apiKey } = await gateway.createKey({ balance_usd: '0.02' });
    gateway.simulator.script(summarized);
    const body = userMessage('Hello', { compaction: { type: 'summarize' }, max_tokens: 500 });
    expect((await postMessages(gateway, apiKey, body)).status).toBe(200);
    expect(await balanceOf(id)).toBe(
      parseUsd('0.02') - 100n * 300_000_000n - 200n * 1_500_000_000n,
    );
    expect(await holds('live')).toEqual([]);
  });

  it('by context_management is refused, naming the member, because nothing limits its charge', async () => {
    const { id, apiKey } = await gateway.createKey({ balance_usd: '5' });
    const body = userMessage('Hello', {
      context_management: { edits: [{ type: 'compact_20260112' }] },
    });
    const response = await postMessages(gateway, apiKey, body);
    expect(response.status).toBe(400);
    expect((await response.json()).error).toMatchObject({
      type: 'invalid_request_error',
      message: expect.stringMatching(/^context_management\.edits\.0\.type: cannot be used/),
    });
    expect(gateway.simulator.journal.requests()).toEqual([]);
    expect(await balanceOf(id)).toBe(parseUsd('5'));
    expect(await holds('live')).toEqual([]);
  });
});

describe('a hold', () => {
  it.each([
    ['the upstream fails', { error: { type: 'overloaded_error' } }],
    ['the stream breaks off', { cut: { afterEvents: 3 } }],
    ['the stream ends in an error', { streamError: { afterEvents: 3, type: 'api_error' } }],
    ['the usage is invalid', { usage: { output_tokens: -1 } }],
  ] as const)('is released when %s', async (_what, script) => {
    const { id, apiKey } = await gateway.createKey({ balance_usd: '0.02' });
    gateway.simulator.script(script);
    const body = userMessage('Hello', { stream: true, max_tokens: 500 });
    await (await postMessages(gateway, apiKey, body)).text();
    await untilNothingIsHeld();
    expect(await balanceOf(id)).toBe(parseUsd('0.02'));
    expect(await holds('orphaned')).toEqual([]);
    // This request needs most of the balance, so its success shows that nothing is held.
    expect((await postMessages(gateway, apiKey, body)).status).toBe(200);
  });

  it('lasts after its client has left, until the response is read to its end and charged', async () => {
    const { id, apiKey } = await gateway.createKey({ balance_usd: '0.02' });
    const upstream = await useGatedUpstream();
    const leaving = new AbortController();
    const body = userMessage('Hello', { stream: true, max_tokens: 500 });
    const response = await fetch(`${gateway.url}/v1/messages`, {
      method: 'POST',
      headers: {
        'x-api-key': apiKey,
        'anthropic-version': '2023-06-01',
        'content-type': 'application/json',
      },
      body: JSON.stringify(body),
      signal: leaving.signal,
    });
    await response.body!.getReader().read();
    leaving.abort();
    expect((await postMessages(gateway, apiKey, body)).status).toBe(402);
    upstream.open();
    await untilNothingIsHeld();
    expect(await balanceOf(id)).toBeLessThan(parseUsd('0.02'));
  });

  // F358: request fails unexpectedly after its money was held: the hold expires, and is not renewed
  // until the process ends.
  it('is left to expire when its request fails unexpectedly', async () => {
    const { apiKey } = await gateway.createKey({ balance_usd: '0.02' });
    const { appParts, store } = gateway.running;
    const { upstream } = appParts;
    const fails = () => {
      throw new Error('unexpected');
    };
    Object.assign(appParts, { upstream: { ...upstream, send: fails } });
    const abandoned = jest.spyOn(store, 'abandonHold');
    cleanUps.push(async () => {
      Object.assign(appParts, { upstream });
      abandoned.mockRestore();
      for (const { request_id: id } of await holds('live')) store.releaseHold(id);
      await untilNothingIsHeld();
    });
    expect((await postMessages(gateway, apiKey, userMessage('Hello'))).status).toBe(500);
    const [held] = await holds('live');
    expect(abandoned.mock.calls).toEqual([[held!.request_id]]);
  });

  // F67: response costs more than was set aside: charged up to the balance, the rest written off;
  // then 401.
  it('that is too small for the charge: the balance is charged, the rest is written off, and the key is exhausted', async () => {
    // The input costs 3 USD per million tokens, the output 15 USD.
    const listPrice = (inputTokens: number) =>
      BigInt(inputTokens) * 300_000_000n + 1_400n * 1_500_000_000n;
    let writtenOff = 0n;
    for (const stream of [false, true]) {
      const { id, apiKey } = await gateway.createKey({ balance_usd: '0.02' });
      gateway.simulator.script({ usage: { output_tokens: 1_400 } });
      const response = await postMessages(gateway, apiKey, userMessage('Hello', { stream }));
      expect(response.status).toBe(200);
      // The client gets the whole answer, with its full usage.
      expect(await response.text()).toContain('1400');
      if (!stream) {
        expect(response.headers.get('x-gateway-charge-usd')).toBe('0.02');
        expect(response.headers.get('x-gateway-balance-usd')).toBe('0');
      }
      expect(await balanceOf(id)).toBe(0n);
      const { data } = await gateway.call('listLedger', { key_id: id, kind: 'charge' });
      const { amount_usd, written_off_usd, usage } = data[0] as never;
      expect(amount_usd).toBe('-0.02');
      expect(parseUsd(written_off_usd) + parseUsd('0.02')).toBe(
        listPrice((usage as { input_tokens: number }).input_tokens),
      );
      // There is no second answer.
      const served = gateway.simulator.journal.requests().length;
      const again = await postMessages(gateway, apiKey, userMessage('Hello', { stream }));
      expect(again.status).toBe(401);
      expect(gateway.simulator.journal.requests()).toHaveLength(served);
      const metrics = await (await fetch(`${gateway.adminUrl}/metrics`)).text();
      const total = /^gateway_written_off_usd_total (\S+)$/m.exec(metrics)?.[1];
      writtenOff += parseUsd(written_off_usd);
      expect(Number(total)).toBeCloseTo(Number(formatUsd(writtenOff)), 6);
      expect((await gateway.call('showKey', { key_id: id })).written_off_usd).toBe(written_off_usd);
    }
    expect(await holds('orphaned')).toEqual([]);
    const audit = await gateway.call('auditLedger', {});
    expect(audit).toMatchObject({ is_sound: true, gap_usd: '0' });
    expect(parseUsd(audit.written_off_usd)).toBe(writtenOff);
  });

  // F67
  it('that is too small for the charge exhausts the key until it is credited, even if a larger hold is released later', async () => {
    const { id, apiKey } = await gateway.createKey({ balance_usd: '1' });
    gateway.simulator.script({ eventDelayMs: 50 });
    const slow = userMessage('Hello', { stream: true, max_tokens: 64_000 });
    const large = postMessages(gateway, apiKey, slow);
    while ((await holds('live')).length === 0)
      await new Promise((resolve) => setTimeout(resolve, 5));
    // The balance left by the large hold covers a small hold, but not the charge of the response.
    const statuses: number[] = [];
    for (let round = 0; round < 5; round += 1) {
      gateway.simulator.script({ usage: { output_tokens: 3_000 } });
      const small = userMessage('Hello', { max_tokens: 1_000 });
      const response = await postMessages(gateway, apiKey, small);
      await response.text();
      statuses.push(response.status);
    }
    expect(statuses).toEqual([200, 401, 401, 401, 401]);
    await (await large).text();
    gateway.simulator.reset();
    // Most of the large hold is released, but the key stays exhausted until it is credited.
    expect(await balanceOf(id)).toBeGreaterThan(parseUsd('0.9'));
    expect((await postMessages(gateway, apiKey, userMessage('Hello'))).status).toBe(401);
    await gateway.call('topUp', { key_id: id, top_up_id: `again-${id}`, amount_usd: '0.01' });
    expect((await postMessages(gateway, apiKey, userMessage('Hello'))).status).toBe(200);
  });
});

it('many requests at once: each served one is charged, and the balance never falls below zero', async () => {
  const { id, apiKey } = await gateway.createKey({ balance_usd: '0.1' });
  const low: bigint[] = [];
  let isOver = false;
  const watcher = (async () => {
    while (!isOver) low.push(await balanceOf(id));
  })();
  const statuses: number[] = [];
  await Promise.all(
    Array.from({ length: 40 }, async (_, index) => {
      const post = index % 2 === 0 ? postMessages : postChat;
      const stream = index % 3 === 0;
      for (let round = 0; round < 5; round += 1) {
        const body = userMessage(`Hello ${String(index)}`, { stream, max_tokens: 300 });
        const response = await post(gateway, apiKey, body);
        await response.text();
        statuses.push(response.status);
      }
    }),
  );
  isOver = true;
  await watcher;
  expect(new Set(statuses)).toEqual(new Set([200, 402]));
  const served = gateway.simulator.journal
    .usages()
    .reduce(
      (sum, { usage }) =>
        sum +
        BigInt(Number(usage['input_tokens'])) * 300_000_000n +
        BigInt(Number(usage['output_tokens'])) * 1_500_000_000n,
      0n,
    );
  const balance = await balanceOf(id);
  expect(formatUsd(balance)).toBe(formatUsd(parseUsd('0.1') - served));
  expect([...low, balance].filter((units) => units < 0n)).toEqual([]);
});
