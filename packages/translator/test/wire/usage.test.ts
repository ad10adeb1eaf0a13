import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { chatUsage, readUsage, type Usage } from '../../src/index.js';
import { createMessageStreamTap, readMessage } from '../../src/native/index.js';
import { overlayUsage } from '../../src/wire/cumulative-usage.js';
import { titled } from '../titled.js';
import { vectorsIn } from '../vector-files.js';

describe('readUsage', () => {
  it('reads every class of tokens', () => {
    const native = {
      input_tokens: 1,
      output_tokens: 2,
      cache_read_input_tokens: 3,
      cache_creation_input_tokens: 9,
      cache_creation: { ephemeral_5m_input_tokens: 4, ephemeral_1h_input_tokens: 5 },
      output_tokens_details: { thinking_tokens: 2 },
    };
    expect(readUsage(native)).toEqual({
      outcome: 'read',
      usage: {
        inputTokens: 1,
        outputTokens: 2,
        cacheReadInputTokens: 3,
        cacheCreationInputTokens: 9,
        cacheCreation1hInputTokens: 5,
        thinkingTokens: 2,
      },
    });
  });

  // F33
  it.each<[string, unknown]>([
    ['undefined', undefined],
    ['null', null],
    ['a number', 5],
    ['an array', []],
    ['a missing output count', { input_tokens: 1 }],
    ['a missing input count', { output_tokens: 1 }],
    ['null input', { input_tokens: null, output_tokens: 1 }],
    ['a negative count', { input_tokens: -1, output_tokens: 1 }],
    ['a fraction', { input_tokens: 1, output_tokens: 0.5 }],
    ['text', { input_tokens: '1', output_tokens: 1 }],
    ['an absurd count', { input_tokens: 1e30, output_tokens: 1 }],
    ['more than 2^31-1', { input_tokens: 2 ** 31, output_tokens: 1 }],
    ['a boolean', { input_tokens: true, output_tokens: 1 }],
    ['a negative cache read', { input_tokens: 1, output_tokens: 1, cache_read_input_tokens: -1 }],
  ])('refuses %s', (_what, native) => {
    expect(readUsage(native)).toMatchObject({ outcome: 'invalid' });
  });

  it('accepts zero as a count, and reads absent or null cache counts as zero', () => {
    expect(
      readUsage({ input_tokens: 0, output_tokens: 0, cache_read_input_tokens: null }),
    ).toMatchObject({ outcome: 'read', usage: { inputTokens: 0, cacheReadInputTokens: 0 } });
  });
});

describe('overlayUsage', () => {
  const counts = fc.record(
    {
      input_tokens: fc.option(fc.nat(1000)),
      output_tokens: fc.nat(1000),
      cache_read_input_tokens: fc.option(fc.nat(1000)),
      cache_creation_input_tokens: fc.option(fc.nat(1000)),
    },
    { requiredKeys: ['output_tokens'] },
  );

  const PROMPT = ['input_tokens', 'cache_read_input_tokens', 'cache_creation_input_tokens'];
  type Counts = Readonly<Record<string, number | null | undefined>>;
  const promptOf = (of: Counts) => PROMPT.reduce((sum, name) => sum + (of[name] ?? 0), 0);

  // F34
  it('takes the last value that is present and not null, and never adds, while no count falls', () => {
    fc.assert(
      fc.property(fc.array(counts, { minLength: 1 }), (events) => {
        let expected: Counts = {};
        let native: Readonly<Record<string, unknown>> = {};
        for (const event of events as readonly Counts[]) {
          native = overlayUsage(native, event).native;
          const given = Object.entries(event).filter(([, value]) => value != null);
          const next = { ...expected, ...Object.fromEntries(given) };
          const kept = PROMPT.map((name) => [name, expected[name]]);
          const falls = promptOf(next) < promptOf(expected);
          expected = falls ? { ...next, ...Object.fromEntries(kept) } : next;
        }
        for (const name of [...PROMPT, 'output_tokens']) {
          expect(native[name] ?? undefined).toBe(expected[name]);
        }
      }),
    );
  });

  // F366: zeros in `message_delta` after the real counts of `message_start`: the prompt is charged
  // by the real counts, with a remark.
  it('never makes a prompt shorter than an earlier event said', () => {
    fc.assert(
      fc.property(fc.array(counts, { minLength: 2 }), (events) => {
        let native: Readonly<Record<string, unknown>> = {};
        let most = 0;
        for (const event of events) {
          native = overlayUsage(native, event).native;
          expect(promptOf(native as Counts)).toBeGreaterThanOrEqual(most);
          most = promptOf(native as Counts);
        }
      }),
    );
  });

  it.each([
    ['the prompt', { input_tokens: 9 }, { input_tokens: 8 }, 'prompt 9, then 8'],
    ['the output', { output_tokens: 9 }, { output_tokens: 0 }, 'output 9, then 0'],
    [
      'a counter',
      { server_tool_use: { web_search_requests: 2 } },
      { server_tool_use: { web_search_requests: 0 } },
      'web_search_requests 2, then 0',
    ],
  ])('keeps %s that fell, with a remark', (_what, earlier, later, message) => {
    const joined = overlayUsage(earlier, later, true);
    expect(joined.native).toEqual(expect.objectContaining(earlier));
    expect(joined.remark).toEqual({ detail: 'falling_counts', message });
  });

  it('takes the counts of a fallback, and those that cannot be read, so that they are refused', () => {
    const iterations = [{ type: 'fallback_message', model: 'b', input_tokens: 5 }];
    const shorter = { input_tokens: 5, iterations };
    expect(overlayUsage({ input_tokens: 9 }, shorter)).toEqual({ native: shorter });
    const odd = { input_tokens: -1, output_tokens: 'no' };
    expect(overlayUsage({ input_tokens: 9, output_tokens: 1 }, odd, true).native).toEqual(odd);
  });

  it('takes the provisional output of `message_start` as no bound', () => {
    expect(overlayUsage({ output_tokens: 9 }, { output_tokens: 1 }).native).toEqual({
      output_tokens: 1,
    });
  });

  it('drops a split without one-hour cache writes when a later total differs from its own', () => {
    const earlier = {
      cache_creation_input_tokens: 5,
      cache_creation: { ephemeral_5m_input_tokens: 5, ephemeral_1h_input_tokens: 0 },
    };
    const overlaid = (written: number) =>
      overlayUsage(earlier, { cache_creation_input_tokens: written }).native;
    expect(overlaid(5)).toHaveProperty('cache_creation');
    expect(overlaid(7)).not.toHaveProperty('cache_creation');
  });

  it('keeps one-hour cache writes under a larger later total, with a remark', () => {
    const [total, oneHour] = [1_200, 1_000];
    const earlier = {
      input_tokens: 1,
      cache_creation_input_tokens: 1_000,
      cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 1_000 },
    };
    const later = { output_tokens: 2, cache_creation_input_tokens: total };
    expect(readUsage(overlayUsage(earlier, later).native)).toMatchObject({
      outcome: 'read',
      usage: { cacheCreationInputTokens: total, cacheCreation1hInputTokens: oneHour },
      remarks: [{ detail: 'cache_creation', message: `1000 of ${String(total)} tokens` }],
    });
  });
});

describe('chatUsage', () => {
  it('adds up, so that the charge can be recomputed from it', () => {
    fc.assert(
      fc.property(fc.nat(), fc.nat(), fc.nat(), fc.nat(), (input, output, read, written) => {
        const usage = chatUsage({
          inputTokens: input,
          outputTokens: output,
          cacheReadInputTokens: read,
          cacheCreationInputTokens: written,
          cacheCreation1hInputTokens: 0,
          thinkingTokens: 0,
        });
        const { cached_tokens, cache_write_tokens } = usage.prompt_tokens_details;
        expect(usage.total_tokens).toBe(usage.prompt_tokens + usage.completion_tokens);
        expect(usage.prompt_tokens - cached_tokens - cache_write_tokens).toBe(input);
      }),
    );
  });
});

// F137
describe('readUsage, with the vectors in `vectors/native-usage`', () => {
  interface Vector {
    readonly why: string;
    readonly source: string;
    /** Blocks of content, if any matter. */
    readonly content?: readonly object[];
    readonly native: unknown;
    readonly usage: Usage | 'invalid';
    /** The `detail` of each remark. */
    readonly remarks?: readonly string[];
    readonly byModel?: readonly object[];
    readonly uncounted?: readonly object[];
    readonly runs?: readonly object[];
    readonly circumstances?: object;
    readonly serverToolUse?: object;
  }
  it.each(titled(vectorsIn<Vector>('vectors/native-usage')))('%s', (_title, vector) => {
    const { why, source, native, usage, remarks, byModel, uncounted } = vector;
    const { runs, circumstances, serverToolUse } = vector;
    expect([why, source]).toEqual([expect.any(String), expect.any(String)]);
    const expected =
      usage === 'invalid'
        ? { outcome: 'invalid', reason: expect.any(String) }
        : {
            outcome: 'read',
            usage,
            remarks: remarks?.map((detail) => ({ detail, message: expect.any(String) })),
            byModel,
            uncounted,
            runs,
            circumstances,
            serverToolUse,
          };
    const content = vector.content ?? [];
    if (content.length === 0) expect(readUsage(native)).toEqual(expected);
    expect(readMessage({ content, usage: native }).usage).toEqual(expected);

    const pipe = createMessageStreamTap();
    const events = [
      { type: 'message_start', message: { id: 'msg_1', usage: { input_tokens: 1 } } },
      ...content.map((block, index) => ({
        type: 'content_block_start',
        index,
        content_block: block,
      })),
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: native ?? {} },
      { type: 'message_stop' },
    ];
    for (const event of events) {
      pipe.push(Buffer.from(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`));
    }
    const end = pipe.end();
    if (end.outcome === 'failed') throw new Error(end.cause);
    expect(end.usage).toEqual(expected);
  });
});
