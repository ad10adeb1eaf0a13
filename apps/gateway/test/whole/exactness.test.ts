/**
 * Repeats the specification's check of one day's traffic: 25,845 requests of mixed usage, all
 * formats, streamed and not. The clients add up the usages that they received, and the ledger must
 * agree with the sum to the last unit. The upstream must have served as many requests.
 */

import { Agent, request } from 'undici';
import { expect, it } from '@jest/globals';
import { formatUsd, parseUsd } from '@gateway/billing';
import { PATHS, bodyFor, startTestGateway } from '../support/gateway.js';
import { runs } from '../../../../scripts/runs.cjs';

const REQUESTS = runs(__filename, 'requests');
const PARALLEL = 48;
/** USD per million tokens, in and out: the rates that the default table lists. */
const MODELS = [
  { id: 'claude-opus-5-5', rateIn: '4', rateOut: '20' },
  { id: 'claude-sonnet-4-6', rateIn: '3', rateOut: '15' },
  { id: 'claude-haiku-4-5', rateIn: '1', rateOut: '5' },
];

const FORMATS = Object.values(PATHS);

interface SeenUsage {
  readonly input: number;
  readonly output: number;
  readonly read: number;
  readonly written: number;
}

it(`charges exactly the sum of the usage objects over ${String(REQUESTS)} requests`, async () => {
  const gateway = await startTestGateway({ simulator: { keepBodies: false } });
  const keys = await Promise.all(
    Array.from({ length: 3 }, () => gateway.createKey({ balance_usd: '1000' })),
  );
  const agent = new Agent({ connections: PARALLEL });
  const seen: { model: number; usage: SeenUsage }[] = [];
  let next = 0;
  await Promise.all(
    Array.from({ length: PARALLEL }, async () => {
      for (let i = next++; i < REQUESTS; i = next++) {
        const model = i % MODELS.length;
        const key = keys[i % keys.length]!.apiKey;
        seen.push({ model, usage: await ask(i, key, MODELS[model]!.id) });
      }
    }),
  );

  const expected = seen.reduce((sum, { model, usage }) => sum + chargeOf(model, usage), 0n);
  const balances = await Promise.all(keys.map(({ id }) => gateway.call('showKey', { key_id: id })));
  const left = balances.reduce((sum, key) => sum + parseUsd(key.balance_usd), 0n);
  expect(seen).toHaveLength(REQUESTS);
  expect(formatUsd(parseUsd('3000') - left - expected)).toBe('0');

  const served = gateway.simulator.journal.usages();
  expect(served).toHaveLength(REQUESTS);

  const audit = await gateway.call('auditLedger', {});
  expect(audit).toMatchObject({ is_sound: true, gap_usd: '0', charged_usd: formatUsd(expected) });
  expect(audit.entries).toBe(REQUESTS + keys.length);
  await agent.close();
  await gateway.stop();

  async function ask(i: number, apiKey: string, model: string): Promise<SeenUsage> {
    const format = FORMATS[Math.floor(i / 3) % 3]!;
    const isNative = format === '/v1/messages';
    const stream = i % 4 >= 2;
    const text = 'word '.repeat(i % 97) + String(i % 1009);
    const system = [
      // Long enough for the upstream to cache. The same prefix is sent again, so it is both written
      // and read.
      {
        type: 'text',
        text: `context ${String(i % 11)} `.repeat(600),
        cache_control: { type: 'ephemeral' },
      },
    ];
    const cached = i % 5 === 0;
    const body = !isNative
      ? {
          model,
          max_tokens: 60 + (i % 40),
          stream,
          ...(stream && format !== '/v1/responses'
            ? { stream_options: { include_usage: i % 8 === 3 } }
            : {}),
          messages: [
            ...(cached ? [{ role: 'system', content: system }] : []),
            { role: 'user', content: text },
          ],
        }
      : {
          model,
          max_tokens: 60 + (i % 40),
          stream,
          ...(cached ? { system } : {}),
          messages: [{ role: 'user', content: text }],
        };
    const response = await request(gateway.url + format, {
      dispatcher: agent,
      method: 'POST',
      headers: {
        authorization: `Bearer ${apiKey}`,
        'content-type': 'application/json',
        'anthropic-version': '2023-06-01',
      },
      body: JSON.stringify(bodyFor(format, body)),
    });
    const answer = await response.body.text();
    if (response.statusCode !== 200) throw new Error(answer);
    if (format === '/v1/responses') return responsesUsage(answer, stream);
    return isNative ? nativeUsage(answer, stream) : chatUsage(answer, stream);
  }
});

/** In units of 10^-14 USD. Of the library under test, this uses only `parseUsd`. */
function chargeOf(model: number, { input, output, read, written }: SeenUsage): bigint {
  const { rateIn, rateOut } = MODELS[model]!;
  const perTokenIn = parseUsd(rateIn) / 1_000_000n;
  const perTokenOut = parseUsd(rateOut) / 1_000_000n;
  return (
    BigInt(input) * perTokenIn +
    BigInt(output) * perTokenOut +
    (BigInt(read) * perTokenIn * 10n) / 100n +
    (BigInt(written) * perTokenIn * 125n) / 100n
  );
}

function nativeUsage(answer: string, stream: boolean): SeenUsage {
  const usage = stream
    ? dataLines(answer).reduce<Record<string, number>>(
        (merged, event) => ({ ...merged, ...event.message?.usage, ...event.usage }),
        {},
      )
    : JSON.parse(answer).usage;
  return {
    input: usage.input_tokens,
    output: usage.output_tokens,
    read: usage.cache_read_input_tokens ?? 0,
    written: usage.cache_creation_input_tokens ?? 0,
  };
}

function chatUsage(answer: string, stream: boolean): SeenUsage {
  const usage = stream
    ? dataLines(answer.replace('data: [DONE]', '')).find((chunk) => chunk.usage != null)!.usage
    : JSON.parse(answer).usage;
  const read = usage.prompt_tokens_details?.cached_tokens ?? 0;
  const written = usage.prompt_tokens_details?.cache_write_tokens ?? 0;
  return {
    input: usage.prompt_tokens - read - written,
    output: usage.completion_tokens,
    read,
    written,
  };
}

function responsesUsage(answer: string, stream: boolean): SeenUsage {
  const { usage } = stream ? dataLines(answer).at(-1).response : JSON.parse(answer);
  const { cached_tokens: read, cache_write_tokens: written } = usage.input_tokens_details;
  return {
    input: usage.input_tokens - read - written,
    output: usage.output_tokens,
    read,
    written,
  };
}

// eslint-disable-next-line @typescript-eslint/no-explicit-any -- events have many shapes
function dataLines(answer: string): any[] {
  return answer
    .split('\n')
    .filter((line) => line.startsWith('data: {'))
    .map((line) => JSON.parse(line.slice('data: '.length)));
}
