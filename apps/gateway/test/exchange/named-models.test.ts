/**
 * Requests that name several models: each must be allowed to the key and have a price, the hold
 * covers all that may answer, and tokens are charged at the rates of the model that made them.
 */

import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { defaultPriceTable, formatUsd, parseUsd } from '@gateway/billing';
import fc from 'fast-check';
import { FREE_FORM } from '../../src/exchange/preparation/deciding-members.js';
import { createPreparer } from '../../src/exchange/preparation/prepare-request.js';
import type { PreparationJob } from '../../src/exchange/preparation/prepare-request.js';
import { postMessages, startTestGateway, userMessage } from '../support/gateway.js';
import type { TestGateway } from '../support/gateway.js';
import { NO_LIMITS } from '../support/no-limits.js';

const TABLE = defaultPriceTable();
const [CHEAP, DEAR, UNHEARD] = ['claude-haiku-4-5', 'claude-opus-5', 'claude-unheard-of'] as const;
const ALLOW = { ALLOW_FEATURES: 'fallbacks,advisor,compaction,unknown_tools' };

const priceOf = (model: string, input: number, output: number): bigint => {
  const { rates } = TABLE.find(model)!;
  return BigInt(input) * rates.inputPerToken + BigInt(output) * rates.outputPerToken;
};

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway({ env: ALLOW });
});
afterAll(() => gateway.stop());
beforeEach(() => {
  gateway.simulator.reset();
});

const asking = (more: object) => userMessage('Hello', { model: CHEAP, ...more });

describe('a key that may use one model', () => {
  let key: { readonly id: string; readonly apiKey: string };
  beforeAll(async () => {
    key = await gateway.createKey({ models: [CHEAP] });
  });
  const advisor = (model: string) => [{ type: 'advisor_20260301', name: 'advisor', model }];
  const content = (block: object) => ({ messages: [{ role: 'user', content: [block] }] });

  // F136: a key names a model that it may not use, or that has no price, as a fallback, as an
  // advisor or in any other place: 404 with the path of the member; nothing is sent
  // upstream.
  it.each([
    ['model', { model: DEAR }],
    ['fallbacks.0.model', { fallbacks: [{ model: DEAR }] }],
    ['fallbacks.1.model', { fallbacks: [{ model: CHEAP }, { model: DEAR }] }],
    ['fallbacks.0', { fallbacks: [DEAR] }],
    ['fallbacks', { fallbacks: 'default' }],
    ['tools.0.model', { tools: advisor(DEAR) }],
    [
      'messages.0.content.0.tool.definition.model',
      content({ type: 'tool_addition', tool: { definition: advisor(DEAR)[0] } }),
    ],
    ['compaction.model', { compaction: { type: 'summarize', model: DEAR } }],
    ['subagents.0.config.model', { subagents: [{ config: { model: DEAR } }] }],
    ['tool_choice.model', { tool_choice: { type: 'auto', model: DEAR } }],
    ['output_config.model', { output_config: { model: DEAR } }],
  ])('is refused with 404 if another is named in %s', async (path, more) => {
    const response = await postMessages(gateway, key.apiKey, asking(more));
    expect([response.status, (await response.json()).error]).toMatchObject([
      404,
      {
        type: 'not_found_error',
        message: expect.stringMatching(`^${path}: this key may not use`),
      },
    ]);
    expect(gateway.simulator.journal.requests()).toEqual([]);
  });

  // F136
  it.each([
    ['with an escaped name', `[{"mod\\u0065l":"${DEAR}"}]`],
    ['with an escaped value', `[{"model":"claud\\u0065-opus-5"}]`],
    ['in a list within a list', `[[{"model":"${DEAR}"}]]`],
  ])('is refused if a fallback names it %s', async (_what, fallbacks) => {
    const body = JSON.stringify(asking({})).replace(/\}$/, `,"fallbacks":${fallbacks}}`);
    const response = await postMessages(gateway, key.apiKey, body);
    expect([response.status, await response.text()]).toEqual([
      404,
      expect.stringContaining('this key may not use claude-opus-5'),
    ]);
  });

  // F136
  it.each([
    ['first', `[{"model":"${CHEAP}","model":"${DEAR}"}]`],
    ['last', `[{"model":"${DEAR}","model":"${CHEAP}"}]`],
  ])(
    'is refused if a fallback has two models, of which the %s is allowed',
    async (_, fallbacks) => {
      const body = JSON.stringify(asking({})).replace(/\}$/, `,"fallbacks":${fallbacks}}`);
      const response = await postMessages(gateway, key.apiKey, body);
      expect([response.status, await response.text()]).toEqual([
        400,
        expect.stringContaining('fallbacks.0.model: the member is given twice'),
      ]);
      expect(gateway.simulator.journal.requests()).toEqual([]);
    },
  );

  it('may name it in its own data, and in the report of an earlier turn', async () => {
    const tool = {
      name: 'choose',
      input_schema: { type: 'object', properties: { model: { type: 'string', const: DEAR } } },
    };
    const history = [
      { role: 'user', content: 'Hello' },
      {
        role: 'assistant',
        content: [
          { type: 'fallback', from: { model: CHEAP }, to: { model: DEAR } },
          { type: 'tool_use', id: 'toolu_1', name: 'choose', input: { model: DEAR } },
        ],
      },
      {
        role: 'user',
        content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: `model: ${DEAR}` }],
      },
    ];
    const preparation = prepare(asking({ tools: [tool], messages: history }));
    expect(preparation).toMatchObject({ models: [{ path: 'model', model: CHEAP }] });
  });

  // F136
  it('gets 404 for one without a price, wherever it is named', async () => {
    for (const more of [{ fallbacks: [{ model: UNHEARD }] }, { tools: advisor(UNHEARD) }]) {
      const response = await postMessages(gateway, key.apiKey, asking(more));
      expect([response.status, (await response.json()).error]).toMatchObject([
        404,
        { type: 'not_found_error', message: expect.stringContaining(`model: "${UNHEARD}" is not`) },
      ]);
    }
  });
});

const preparerFor = (overdraft: 'bounded' | 'none') =>
  createPreparer({
    models: TABLE.list(),
    fees: new Map(),
    allow: new Set(ALLOW.ALLOW_FEATURES.split(',')) as never,
    overdraft,
    chat: { jsonSchema: 'native', reasoning: 'none', cache: 'client' },
  });
const PREPARERS = { bounded: preparerFor('bounded'), none: preparerFor('none') };

function prepare(
  body: object,
  more: { readonly overdraft?: 'none'; readonly format?: PreparationJob['format'] } = {},
) {
  const { overdraft = 'bounded', format = 'messages' } = more;
  const bytes = Buffer.from(JSON.stringify(body));
  return PREPARERS[overdraft]({ format, body: bytes, hasLongContext: false }, NO_LIMITS);
}

// F136
it('a model is found at any place that is not free-form data', () => {
  const names = fc.constantFrom(
    'fallbacks',
    'subagents',
    'a',
    'tools',
    'definition',
    'model',
    'to',
  );
  const path = fc.array(fc.oneof(names, fc.constant(0)), { minLength: 1, maxLength: 8 });
  fc.assert(
    fc.property(path, fc.option(fc.constantFrom(...FREE_FORM)), (steps, skipped) => {
      const all = skipped === null ? steps : [...steps, skipped];
      const inner = all.reduceRight<unknown>(
        (value, step) => (step === 0 ? [value] : { [step]: value }),
        { model: UNHEARD },
      );
      const preparation = prepare({ ...asking({}), future: inner });
      expect(preparation.outcome).toBe(skipped === null ? 'refused' : 'prepared');
    }),
  );
});

// F136
it.each(['chat.completions', 'responses'] as const)(
  'a translated request (%s) names one model, whatever the client adds',
  (format) => {
    let prepared = 0;
    const value = fc.letrec((tie) => ({
      any: fc.oneof(
        { maxDepth: 4 },
        fc.constant(DEAR),
        fc.array(tie('any'), { maxLength: 2 }),
        fc.dictionary(
          fc.constantFrom('model', 'fallbacks', 'tools', 'function', 'type', 'name', 'metadata'),
          tie('any'),
          { maxKeys: 3 },
        ),
      ),
    })).any;
    const member = fc.constantFrom(
      'fallbacks',
      'models',
      'tools',
      'metadata',
      'extra_body',
      'reasoning',
    );
    fc.assert(
      fc.property(member, value, (name, given) => {
        const input = [{ role: 'user', content: 'Hello' }];
        const body =
          format === 'responses' ? { model: CHEAP, input } : { model: CHEAP, messages: input };
        const preparation = prepare({ ...body, [name]: given }, { format });
        if (preparation.outcome !== 'prepared') return;
        prepared += 1;
        // The rules for native requests find no other model in the bytes that go upstream.
        const sent = JSON.parse(Buffer.from(preparation.body).toString()) as object;
        expect(prepare(sent)).toMatchObject({ models: [{ path: 'model', model: CHEAP }] });
      }),
    );
    expect(prepared).toBeGreaterThan(20);
  },
);

describe('with OVERDRAFT=none', () => {
  const boundOf = (more: object) => {
    const preparation = prepare(asking(more), { overdraft: 'none' });
    if (preparation.outcome !== 'prepared') throw new Error(JSON.stringify(preparation));
    return preparation.chargeBound!;
  };

  // F138: with `OVERDRAFT=none`, a request names several models: the hold covers each of them; a
  // request that leaves the choice to the provider is refused.
  it('the hold covers each model that may answer, with the most that it may write', () => {
    const alone = boundOf({ model: DEAR });
    const both = boundOf({ fallbacks: [{ model: DEAR }] });
    expect(both).toBeGreaterThan(alone);
    expect(both).toBeLessThan(alone * 2n);
    const longer = boundOf({ fallbacks: [{ model: DEAR, max_tokens: 10_000 }] });
    const more = BigInt(10_000 - 200) * TABLE.find(DEAR)!.rates.outputPerToken;
    expect(longer).toBeGreaterThanOrEqual(both + more);
  });

  // F138
  it('a request that leaves the model to the provider has no bound', () => {
    expect(prepare(asking({ fallbacks: 'default' }), { overdraft: 'none' })).toMatchObject({
      refusal: { status: 400, param: 'fallbacks' },
    });
  });
});

describe('the tokens of a response', () => {
  const attempt = (type: string, model: string | null, input: number, output: number) => ({
    type,
    model,
    input_tokens: input,
    output_tokens: output,
  });
  const allow = { fallbacks: [{ model: DEAR }] };

  /** Answers as `model`, plain or streamed, and returns the entries of the ledger. */
  async function answered(
    more: object,
    {
      model,
      stream,
      usage,
    }: { readonly model: string; readonly stream: boolean; readonly usage: object },
  ) {
    const { id, apiKey } = await gateway.createKey();
    const message = { id: 'msg_1', type: 'message', role: 'assistant', model, content: [] };
    gateway.simulator.script(
      stream
        ? {
            events: [
              { type: 'message_start', message: { ...message, stop_reason: null, usage } },
              { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { ...usage } },
              { type: 'message_stop' },
            ],
          }
        : {
            status: 200,
            headers: { 'content-type': 'application/json' },
            body: JSON.stringify({ ...message, stop_reason: 'end_turn', usage }),
          },
    );
    const request = asking({ stream, max_tokens: 64_000, ...more });
    const response = await postMessages(gateway, apiKey, request);
    const text = await response.text();
    expect([response.status, text]).toEqual([200, expect.not.stringContaining('"type":"error"')]);
    const { data } = await gateway.call('listLedger', { key_id: id, kind: 'charge' });
    const charges = data as never as readonly {
      readonly id: string;
      readonly model: string;
      readonly amount_usd: string;
      readonly usage: Readonly<Record<string, number>>;
    }[];
    const requestId = response.headers.get('x-gateway-request-id')!;
    const { spent_usd: spent } = await gateway.call('showKey', { key_id: id });
    if (!stream) expect(response.headers.get('x-gateway-charge-usd')).toBe(spent);
    return {
      spent,
      /** Model, tokens and amount of each entry with tokens, in the order of the parts. */
      entries: charges
        .filter(({ usage: of }) => of['input_tokens']! + of['output_tokens']! > 0)
        .sort((one, other) => (one.id < other.id ? -1 : 1))
        .map(({ model: of, usage: { input_tokens: input, output_tokens: output }, amount_usd }) => {
          expect(parseUsd(amount_usd)).toBe(-priceOf(of, input!, output!));
          return [of, input, output];
        }),
      hasOwnEntry: charges.some((each) => each.id === requestId),
    };
  }

  describe.each([false, true])('streamed: %s', (stream) => {
    // F137: a fallback or another model than that of the request makes the tokens: they are charged
    // at the rates of that model; those of a model without a price are set aside.
    it.each([
      [
        'a fallback that the iterations name',
        { model: DEAR, iterations: [attempt('fallback_message', DEAR, 10, 100_000)] },
        [[DEAR, 10, 100_000]],
      ],
      ['a model that only the response names', { model: DEAR }, [[DEAR, 10, 100_000]]],
      [
        'a model with the date of its version',
        { model: `${DEAR}-20260301` },
        [[DEAR, 10, 100_000]],
      ],
      ['the model of the request', { model: CHEAP }, [[CHEAP, 10, 100_000]]],
      [
        'two models',
        {
          model: DEAR,
          iterations: [
            attempt('message', CHEAP, 4, 60_000),
            attempt('fallback_message', DEAR, 6, 40_000),
          ],
        },
        [
          [CHEAP, 4, 60_000],
          [DEAR, 6, 40_000],
        ],
      ],
      [
        'two models, the first beside the counts',
        {
          model: DEAR,
          iterations: [
            attempt('message', null, 4, 60_000),
            attempt('fallback_message', DEAR, 10, 100_000),
          ],
        },
        [
          [DEAR, 10, 100_000],
          [CHEAP, 4, 60_000],
        ],
      ],
    ])('by %s are charged at its rates', async (_what, { model, ...iterations }, expected) => {
      const usage = { input_tokens: 10, output_tokens: 100_000, ...iterations };
      const { spent, entries, hasOwnEntry } = await answered(allow, { model, stream, usage });
      expect(entries).toEqual(expected);
      expect(hasOwnEntry).toBe(true);
      const total = expected.reduce(
        (sum, [of, input, output]) => sum + priceOf(String(of), Number(input), Number(output)),
        0n,
      );
      expect(spent).toBe(formatUsd(total));
    });

    // F137
    it('by a model without a price are set aside, not charged and not free', async () => {
      const { quarantined } = await gateway.call('auditLedger', {});
      const usage = {
        input_tokens: 10,
        output_tokens: 100_000,
        iterations: [attempt('fallback_message', UNHEARD, 10, 100_000)],
      };
      for (const each of [usage, { input_tokens: 10, output_tokens: 100_000 }]) {
        const more = { fallbacks: 'default' };
        const { spent, entries } = await answered(more, { model: UNHEARD, stream, usage: each });
        expect([spent, entries]).toEqual(['0', []]);
      }
      const after = await gateway.call('auditLedger', {});
      expect(after).toMatchObject({ is_sound: true, quarantined: quarantined + 2 });
    });

    it('of a request that names one model are charged at its rates, whatever the response calls it', async () => {
      const usage = {
        input_tokens: 10,
        output_tokens: 20,
        iterations: [attempt('message', `${CHEAP}-internal`, 10, 20)],
      };
      const { entries } = await answered({}, { model: `${CHEAP}-internal`, stream, usage });
      expect(entries).toEqual([[CHEAP, 10, 20]]);
    });
  });
});
