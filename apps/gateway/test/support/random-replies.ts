/** Random responses of the upstream, with everything by which the provider's list prices them. */

import { listPriceTableJson } from '@gateway/billing';
import type { Attempt, Reply } from './list-vectors.js';

export interface RandomReply extends Reply {
  readonly isStreamed: boolean;
  readonly dialect: 'messages' | 'chat.completions' | 'responses';
}

/** Those of `stop_details.category`, and one that the provider may add. */
const CATEGORIES = [
  'cyber',
  'bio',
  'frontier_llm',
  'reasoning_extraction',
  'general_harms',
  'of_tomorrow',
];
const BANDED = 'claude-haiku-5-5';
const MODELS = listPriceTableJson.models.map(({ id }) => id);
const WITH = (member: 'speed' | 'inference_geo') =>
  listPriceTableJson.models
    .filter((model) => Object.keys(model[member] ?? {}).length > 0)
    .map(({ id }) => id);
const [WITH_SPEED, WITH_GEO] = [WITH('speed'), WITH('inference_geo')];

/** The same seed gives the same responses. */
export function createReplies(seed: number) {
  let state = seed;
  /** From 0 to `limit - 1` (mulberry32). */
  function below(limit: number): number {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % limit;
  }
  const chosen = <Value>(values: readonly Value[]): Value => values[below(values.length)]!;

  function attempt(model: string, more: Partial<Attempt> = {}): Attempt {
    const written = below(2) * below(9_000);
    const usage = {
      input_tokens: 1 + below(5_000),
      output_tokens: 1 + below(3_000),
      cache_read_input_tokens: below(2) * below(90_000),
      cache_creation_input_tokens: written,
      cache_creation_1h_input_tokens: below(2) * below(written + 1),
    };
    return { model, usage, ...more };
  }
  const withCounts = (of: Attempt, usage: Attempt['usage']): Attempt => ({
    ...of,
    usage: { ...of.usage, ...usage },
  });

  const refused = (): NonNullable<Attempt['end']> => {
    const category = chosen([...CATEGORIES, undefined]);
    return { kind: 'refused', ...(category !== undefined && { category }) };
  };
  const declined = (model: string): Attempt =>
    withCounts(attempt(model, { end: refused() }), { output_tokens: 0 });
  const partlyAnswered = (model: string): Attempt =>
    withCounts(attempt(model), { output_tokens: 1 + below(500) });

  const kinds: readonly (() => Reply)[] = [
    ...Array.from({ length: 5 }, () => () => ({
      name: 'plain',
      attempts: [attempt(chosen(MODELS))],
    })),
    () => ({
      name: 'about the end of a band',
      attempts: [
        withCounts(attempt(BANDED), {
          input_tokens: 90_000 + below(10_003),
          cache_read_input_tokens: below(3) * 5_000,
        }),
      ],
    }),
    () => ({
      name: 'fast',
      attempts: [attempt(chosen(WITH_SPEED), { circumstances: { speed: 'fast' } })],
    }),
    () => ({
      name: 'batch',
      attempts: [attempt(chosen(MODELS), { circumstances: { serviceTier: 'batch' } })],
    }),
    () => ({
      name: 'in a region',
      attempts: [attempt(chosen(WITH_GEO), { circumstances: { inferenceGeo: 'us' } })],
    }),
    () => ({
      name: 'searches',
      attempts: [
        attempt(chosen(MODELS), { server_tool_use: { web_search_requests: 1 + below(9) } }),
      ],
    }),
    () => ({
      name: 'refusal',
      attempts: [
        withCounts(
          attempt(chosen(MODELS), {
            end: refused(),
          }),
          { output_tokens: 0 },
        ),
      ],
    }),
    () => ({
      name: 'fallback',
      attempts: [
        chosen([declined, partlyAnswered])('claude-fable-5-1'),
        attempt(chosen(['claude-opus-5', 'claude-opus-5-5'])),
      ],
    }),
    () => ({
      name: 'fallback to the second',
      attempts: [
        declined('claude-fable-5-1'),
        declined('claude-opus-5'),
        chosen([attempt, declined])('claude-opus-5-5'),
      ],
    }),
    () => {
      const model = chosen(['claude-opus-5-5', BANDED]);
      const long = withCounts(attempt(model), { input_tokens: 99_000 + below(60_000) });
      return { name: 'compaction', attempts: [long, attempt(model)] };
    },
    () => ({
      name: 'advisor',
      attempts: [attempt('claude-fable-5-2'), attempt('claude-opus-5-5')],
    }),
    () => ({
      name: 'runs',
      attempts: [60_000, 95_000].map((least) => ({
        model: BANDED,
        usage: { input_tokens: least + below(10_000), output_tokens: 1 + below(500) },
      })),
    }),
  ];

  return {
    below,
    next: (): RandomReply => ({
      ...chosen(kinds)(),
      isStreamed: below(2) === 0,
      dialect: chosen(['messages', 'chat.completions', 'responses'] as const),
    }),
  };
}
