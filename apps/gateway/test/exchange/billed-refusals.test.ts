/** Refusals before any output, and usage of several runs: the same price in every format. */

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { formatUsd, parseUsd } from '@gateway/billing';
import { ENDPOINTS, POSTS, startTestGateway, userMessage } from '../support/gateway.js';
import type { TestGateway } from '../support/gateway.js';

const [ASKED, FALLBACK] = ['claude-fable-5-1', 'claude-opus-5'];
/** As the provider's page on refusals names them: all others, and none, are free. */
const BILLED: readonly (string | null)[] = ['bio', 'frontier_llm', 'reasoning_extraction'];
const CATEGORIES = [...BILLED, 'cyber', 'general_harms', 'a_category_of_tomorrow', null];
const PROMPT = { input_tokens: 100_000, output_tokens: 0 };
/** Long enough for such prompts. */
const TEXT = 'word '.repeat(16_000);
const CASES = CATEGORIES.flatMap((category) =>
  [false, true].map((stream) => ({ category, stream })),
);

describe.each(['specification', 'list'])('with PRICES=%s', (prices) => {
  let gateway: TestGateway;
  beforeAll(async () => {
    const env = { PRICES: prices, ALLOW_FEATURES: 'fallbacks' };
    gateway = await startTestGateway({ env, simulator: { lenient: ['known-members'] } });
  });
  afterAll(() => gateway.stop());

  /** What the charges of one request cost the customer and the operator. */
  async function billOf(
    endpoint: (typeof ENDPOINTS)[number],
    script: Parameters<TestGateway['simulator']['script']>[0],
    request: Readonly<Record<string, unknown>>,
  ) {
    const { id, apiKey } = await gateway.createKey();
    gateway.simulator.script(script);
    const response = await POSTS[endpoint](gateway, apiKey, userMessage(TEXT, request));
    expect([response.status, await response.text()]).toEqual([
      200,
      expect.not.stringMatching(/event: error/),
    ]);
    const { data } = await gateway.call('listLedger', { key_id: id, kind: 'charge' });
    const charges = data.flatMap((entry) => (entry.kind === 'charge' ? [entry] : []));
    const sumOf = (amounts: readonly (string | null | undefined)[]): string =>
      formatUsd(amounts.reduce((sum, amount) => sum + parseUsd(amount ?? '0'), 0n));
    return {
      charge: sumOf(charges.map(({ amount_usd }) => amount_usd)),
      cost: sumOf(charges.map(({ cost_usd }) => cost_usd)),
      remarks: charges.map(({ remarks }) => remarks),
    };
  }
  const bill = (usd: string) => ({ charge: usd === '0' ? '0' : `-${usd}`, cost: usd });

  // F327: the upstream refuses before any output, with a category that it does not bill, or without
  // one: nothing is charged and no cost is recorded, in each format, streamed and whole.
  describe.each(ENDPOINTS)('a refusal of %s', (endpoint) => {
    it.each(CASES)(
      'is billed for its category: $category, streamed: $stream',
      async ({ category, stream }) => {
        const isBilled = BILLED.includes(category);
        const script = {
          content: [],
          stopReason: 'refusal',
          stopDetails: { type: 'refusal', category, explanation: null },
          usage: PROMPT,
        };
        expect(await billOf(endpoint, script, { model: ASKED, stream })).toEqual({
          ...bill(isBilled ? '1' : '0'),
          remarks: [isBilled ? null : `refusal_not_billed: ${category ?? 'no category'}`],
        });
      },
    );

    it('without details costs nothing', async () => {
      const script = { content: [], stopReason: 'refusal', stopDetails: null, usage: PROMPT };
      expect(await billOf(endpoint, script, { model: ASKED })).toMatchObject(bill('0'));
    });
  });

  // F328: a model declines before any output, and a fallback answers: the attempt is billed for its
  // category, as if it had been refused alone.
  it.each(CASES)(
    'an attempt that declined is billed for its category: $category, streamed: $stream',
    async ({ category, stream }) => {
      const hop = {
        type: 'fallback',
        from: { model: ASKED },
        to: { model: FALLBACK },
        trigger: { type: 'refusal', category },
      };
      const answered = { input_tokens: 100_000, output_tokens: 100 };
      const script = {
        content: [hop, { type: 'text', text: 'Hello' }],
        usage: {
          ...answered,
          iterations: [
            { type: 'message', model: ASKED, ...PROMPT },
            { type: 'fallback_message', model: FALLBACK, ...answered },
          ],
        },
      };
      const request = { model: ASKED, fallbacks: [{ model: FALLBACK }], stream };
      const isBilled = BILLED.includes(category);
      expect(await billOf('messages', script, request)).toMatchObject(
        bill(isBilled ? '1.5025' : '0.5025'),
      );
      // The fallback declines as well: each attempt is judged by its own category.
      const declined = {
        content: [hop],
        stopReason: 'refusal',
        stopDetails: { type: 'refusal', category: 'bio', explanation: null },
        usage: {
          ...PROMPT,
          iterations: [
            { type: 'message', model: ASKED, ...PROMPT },
            { type: 'message', model: FALLBACK, ...PROMPT },
          ],
        },
      };
      expect(await billOf('messages', declined, request)).toMatchObject(
        bill(isBilled ? '1.5' : '0.5'),
      );
    },
  );
});

// F329: a message of several runs on a model with bands: the same price in each format.
it('usage of several runs has one price in all formats', async () => {
  const env = { PRICES: 'list' };
  const gateway = await startTestGateway({ env });
  try {
    const runs = [60_000, 95_000].map((input_tokens) => ({
      type: 'message',
      model: 'claude-haiku-5-5',
      input_tokens,
      output_tokens: 100,
    }));
    const usage = { input_tokens: 155_000, output_tokens: 200, iterations: runs };
    for (const endpoint of ENDPOINTS) {
      for (const stream of [false, true]) {
        const { id, apiKey } = await gateway.createKey();
        gateway.simulator.script({ usage });
        const body = userMessage(TEXT, { model: 'claude-haiku-5-5', stream });
        await (await POSTS[endpoint](gateway, apiKey, body)).text();
        // 155,000 x 0.10 / 10^6 + 200 x 0.50 / 10^6
        const { spent_usd } = await gateway.call('showKey', { key_id: id });
        expect([endpoint, stream, spent_usd]).toEqual([endpoint, stream, '0.0156']);
      }
    }
  } finally {
    await gateway.stop();
  }
});
