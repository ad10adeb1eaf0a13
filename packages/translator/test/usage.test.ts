import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { chatUsage, readUsage, type Usage } from '../src/index.js';
import { createMessageStreamTap, readMessage } from '../src/native/index.js';
import { overlayUsage } from '../src/wire/usage.js';
import { titled } from './titled.js';
import { vectorsIn } from './vector-files.js';

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

  // F34
  it('takes the last value that is present and not null, and never adds', () => {
    fc.assert(
      fc.property(fc.array(counts, { minLength: 1 }), (events) => {
        const merged = events.reduce<Record<string, unknown>>(
          (earlier, later) => overlayUsage(earlier, later),
          {},
        );
        for (const name of Object.keys(merged)) {
          const values = events.map((event) => (event as Record<string, unknown>)[name]);
          expect(merged[name]).toBe(values.filter((value) => value != null).at(-1));
        }
      }),
    );
  });

  it('drops a split without one-hour cache writes when a later total differs from its own', () => {
    const earlier = {
      cache_creation_input_tokens: 5,
      cache_creation: { ephemeral_5m_input_tokens: 5, ephemeral_1h_input_tokens: 0 },
    };
    expect(overlayUsage(earlier, { cache_creation_input_tokens: 5 })).toHaveProperty(
      'cache_creation',
    );
    expect(overlayUsage(earlier, { cache_creation_input_tokens: 7 })).not.toHaveProperty(
      'cache_creation',
    );
  });

  it.each([
    ['a larger', 1_200, 1_000],
    ['a smaller', 900, 900],
  ])('keeps one-hour cache writes under %s later total, with a remark', (_what, total, oneHour) => {
    const earlier = {
      input_tokens: 1,
      cache_creation_input_tokens: 1_000,
      cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 1_000 },
    };
    const later = { output_tokens: 2, cache_creation_input_tokens: total };
    expect(readUsage(overlayUsage(earlier, later))).toMatchObject({
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
