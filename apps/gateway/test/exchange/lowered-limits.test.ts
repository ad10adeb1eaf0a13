/**
 * `OVERDRAFT=none`: a client may allow the gateway to lower the limit that it stated to what the
 * balance covers. On both ledgers.
 */

import Anthropic from '@anthropic-ai/sdk';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { defaultPriceTable, parseUsd } from '@gateway/billing';
import { usePostgresServer } from '../../../../packages/balance-store/test/postgres-server.js';
import type { PostgresServer } from '../../../../packages/balance-store/test/postgres-server.js';
import { createPreparer } from '../../src/exchange/preparation/prepare-request.js';
import {
  chargeWith,
  lowerLimit,
  writeLimit,
} from '../../src/exchange/preparation/lowerable-limit.js';
import { MODEL, PATHS, bodyFor, startTestGateway, userMessage } from '../support/gateway.js';
import type { TestGateway } from '../support/gateway.js';
import { ledgerEnv } from '../support/ledger-env.js';
import { NO_LIMITS } from '../support/no-limits.js';

const LOWER = 'x-gateway-lower-max-tokens';
const SENT = 'x-gateway-max-tokens';
/** 15 USD per million tokens. */
const PER_TOKEN = parseUsd('0.000015');
const DIALECTS = ['messages', 'chat.completions', 'responses'] as const;
type Dialect = (typeof DIALECTS)[number];

let postgres: PostgresServer;
beforeAll(async () => {
  postgres = await usePostgresServer();
});
afterAll(() => postgres.stop());

describe.each(['embedded', 'PostgreSQL'] as const)('on the %s ledger', (ledger) => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway({
      env: {
        OVERDRAFT: 'none',
        ALLOW_FEATURES: 'fallbacks',
        ...(await ledgerEnv(ledger, postgres)),
      },
    });
  });
  afterAll(() => gateway.stop());
  beforeEach(() => {
    gateway.simulator.reset();
  });

  async function post(
    dialect: Dialect,
    apiKey: string,
    body: Readonly<Record<string, unknown>>,
    lower: string | undefined,
  ): Promise<Response> {
    return fetch(gateway.url + PATHS[dialect], {
      method: 'POST',
      headers: {
        'x-api-key': apiKey,
        'anthropic-version': '2023-06-01',
        'content-type': 'application/json',
        ...(lower === undefined ? {} : { [LOWER]: lower }),
      },
      body: JSON.stringify(bodyFor(PATHS[dialect], body)),
    });
  }
  const sentBodies = () => gateway.simulator.journal.requests().map(({ body }) => String(body));
  const sentLimits = () => sentBodies().map((body) => Number(JSON.parse(body).max_tokens));
  const balanceOf = async (id: string) =>
    parseUsd((await gateway.call('showKey', { key_id: id })).balance_usd);

  // F234
  it.each(DIALECTS)(
    'a stated limit is lowered only if the client allows it (%s)',
    async (dialect) => {
      const { id, apiKey } = await gateway.createKey({ balance_usd: '0.5' });
      const body = userMessage('Hello', { max_tokens: 64_000 });
      for (const lower of [undefined, 'false']) {
        const refused = await post(dialect, apiKey, body, lower);
        expect(refused.status).toBe(402);
        expect((await refused.json()).error.message).toContain(`${LOWER}: true`);
      }
      expect(sentBodies()).toEqual([]);
      const served = await post(dialect, apiKey, body, 'true');
      expect(served.status).toBe(200);
      const [limit] = sentLimits();
      expect(served.headers.get(SENT)).toBe(String(limit));
      // Half of the balance; each byte of the prompt counts as a token.
      expect(limit).toBeGreaterThan(14_000);
      expect(BigInt(limit! * 2) * PER_TOKEN).toBeLessThan(parseUsd('0.5'));
      await served.text();
      expect(await balanceOf(id)).toBeGreaterThan(parseUsd('0.49'));
      expect((await gateway.call('listHolds', { state: 'live' })).data).toEqual([]);
    },
  );

  it('a limit that the balance covers stays as the client wrote it', async () => {
    const { apiKey } = await gateway.createKey({ balance_usd: '5' });
    const body = userMessage('Hello', { max_tokens: 64_000 });
    const served = await post('messages', apiKey, body, 'true');
    expect([served.status, served.headers.get(SENT)]).toEqual([200, null]);
    expect(sentBodies()).toEqual([JSON.stringify(body)]);
  });

  it('of a native body nothing else changes, and an answer that is cut off says so', async () => {
    const { apiKey } = await gateway.createKey({ balance_usd: '0.2' });
    // The tool_choice is replaced by a longer one, so the limit moves within the body.
    const body = {
      model: MODEL,
      tool_choice: 'required',
      max_tokens: 64_000,
      tools: [{ name: 'look', input_schema: { type: 'object' } }],
      messages: [{ role: 'user', content: 'Hello' }],
    };
    gateway.simulator.script({ stopReason: 'max_tokens' });
    const anthropic = new Anthropic({ baseURL: gateway.url, apiKey, maxRetries: 0 });
    const plain = { ...body, tools: undefined, tool_choice: undefined } as never;
    const stream = anthropic.messages.stream(plain, { headers: { [LOWER]: 'true' } });
    const { response } = await stream.withResponse();
    const data = await stream.finalMessage();
    expect(data.stop_reason).toBe('max_tokens');
    expect(sentLimits()).toEqual([Number(response.headers.get(SENT))]);

    gateway.simulator.reset();
    const served = await post('messages', apiKey, body, 'true');
    expect(served.status).toBe(200);
    const lower = served.headers.get(SENT)!;
    const expected = JSON.stringify({ ...body, tool_choice: { type: 'any' } });
    expect(sentBodies()).toEqual([expected.replace('64000', lower.padStart(5, ' '))]);
  });

  it('is never lowered below what its thinking needs, nor if a fallback has a limit of its own', async () => {
    const { apiKey } = await gateway.createKey({ balance_usd: '0.5' });
    const thinking = { type: 'enabled', budget_tokens: 8_000 };
    const served = await post(
      'messages',
      apiKey,
      userMessage('Hello', { max_tokens: 64_000, thinking }),
      'true',
    );
    expect(served.status).toBe(200);
    expect(sentLimits()[0]).toBeGreaterThanOrEqual(12_096);
    const larger = { ...thinking, budget_tokens: 40_000 };
    const refused = await post(
      'messages',
      apiKey,
      userMessage('Hello', { max_tokens: 64_000, thinking: larger }),
      'true',
    );
    expect(refused.status).toBe(402);
    expect((await refused.json()).error.message).toContain('set max_tokens below 44096');
    const fallbacks = [{ model: MODEL, max_tokens: 64_000 }];
    const other = await post(
      'messages',
      apiKey,
      userMessage('Hello', { max_tokens: 64_000, fallbacks }),
      'true',
    );
    expect(other.status).toBe(402);
    expect(sentBodies()).toHaveLength(1);
  });

  it.each(DIALECTS)('another value of the header is refused, naming it (%s)', async (dialect) => {
    const { apiKey } = await gateway.createKey({ balance_usd: '0.5' });
    const refused = await post(dialect, apiKey, userMessage('Hello'), 'yes');
    expect(refused.status).toBe(400);
    expect((await refused.json()).error.message).toContain(`${LOWER}: must be true or false`);
    expect(sentBodies()).toEqual([]);
  });

  // F234
  it('many at once: each is charged exactly, and the balance always covers what is held', async () => {
    const { id, apiKey } = await gateway.createKey({ balance_usd: '0.6' });
    gateway.simulator.scriptWhen(() => true, {
      usage: { output_tokens: 1_500 },
      eventDelayMs: 1,
    });
    let isOver = false;
    let seen = false;
    const uncovered: string[] = [];
    const watcher = (async () => {
      while (!isOver) {
        // The balance is read first: in between, it can only fall, and it always covers the holds.
        const balance = await balanceOf(id);
        const { data } = await gateway.call('listHolds', { state: 'live' });
        const held = data
          .filter(({ key_id }) => key_id === id)
          .reduce((sum, { amount_usd }) => sum + parseUsd(amount_usd), 0n);
        if (held > balance) uncovered.push(`${String(balance)} for ${String(held)}`);
        seen ||= held > 0n;
      }
    })();
    const statuses = new Set<number>();
    await Promise.all(
      Array.from({ length: 12 }, async (_, index) => {
        for (let round = 0; round < 4; round += 1) {
          const dialect = DIALECTS[(index + round) % 3]!;
          const isStated = dialect === 'messages' || round % 2 === 0;
          const body = userMessage('Hello', {
            stream: index % 2 === 0,
            max_tokens: isStated ? 64_000 : undefined,
          });
          const response = await post(dialect, apiKey, body, 'true');
          statuses.add(response.status);
          await response.text();
        }
      }),
    );
    isOver = true;
    await watcher;
    expect([uncovered, seen]).toEqual([[], true]);
    expect([...statuses].every((status) => status === 200 || status === 402)).toBe(true);
    const served = gateway.simulator.journal
      .usages()
      .reduce(
        (sum, { usage }) =>
          sum +
          BigInt(Number(usage['input_tokens'])) * 300_000_000n +
          BigInt(Number(usage['output_tokens'])) * PER_TOKEN,
        0n,
      );
    expect(sentLimits().every((limit) => limit >= 4_096 && limit < 64_000)).toBe(true);
    expect(await balanceOf(id)).toBe(parseUsd('0.6') - served);
    expect(await gateway.call('auditLedger', {})).toMatchObject({
      is_sound: true,
      written_off_usd: '0',
    });
  });
});

describe('a lowered limit', () => {
  const prepare = createPreparer({
    models: defaultPriceTable().list(),
    fees: new Map(),
    allow: new Set(['web_search']),
    overdraft: 'none',
    chat: { jsonSchema: 'ignored', reasoning: 'none', cache: 'client' },
  });
  const models = defaultPriceTable().list();

  it('is held at the bound of the body that is sent, and within what is available', () => {
    fc.assert(
      fc.property(
        fc.record({
          price: fc.constantFrom(...models),
          maxTokens: fc.integer({ min: 0, max: 2 ** 31 - 1 }),
          text: fc.string({ maxLength: 200 }),
          thinking: fc.option(fc.integer({ min: 0, max: 50_000 }), { nil: undefined }),
          searches: fc.option(fc.integer({ min: 0, max: 12 }), { nil: undefined }),
          available: fc.bigInt({ min: -(10n ** 14n), max: 10n ** 17n }),
        }),
        ({ price, maxTokens, text, thinking, searches, available }) => {
          const request = {
            messages: [{ role: 'user', content: `x${text}` }],
            ...(thinking === undefined
              ? {}
              : { thinking: { type: 'enabled', budget_tokens: thinking } }),
            ...(searches === undefined
              ? {}
              : {
                  tools: [{ type: 'web_search_20250305', name: 'web_search', max_uses: searches }],
                }),
            max_tokens: maxTokens,
            model: price.id,
          };
          const boundOf = (body: Uint8Array, lowersLimit: boolean) => {
            const prepared = prepare(
              { format: 'messages', body, hasLongContext: false, lowersLimit },
              NO_LIMITS,
            );
            if (prepared.outcome !== 'prepared') throw new Error(prepared.outcome);
            return prepared;
          };
          const body = Buffer.from(JSON.stringify(request));
          expect(boundOf(body, false).limit).toBeUndefined();
          const limit = boundOf(body, true).limit!;
          const lower = Math.min(maxTokens, lowerLimit(limit, available));
          expect(lower).toBeLessThanOrEqual(maxTokens);
          expect(lower).toBeGreaterThanOrEqual(limit.leastTokens);
          if (lower > limit.leastTokens && lower < maxTokens) {
            expect(chargeWith(limit, lower)).toBeLessThanOrEqual(available);
          }
          writeLimit(body, limit.span, lower);
          expect(JSON.parse(String(body))).toEqual({ ...request, max_tokens: lower });
          const sent = boundOf(body, false).chargeBound!;
          expect(chargeWith(limit, lower)).toBeGreaterThanOrEqual(sent);
        },
      ),
    );
  });
});
