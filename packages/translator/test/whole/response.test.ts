import { describe, expect, it } from '@jest/globals';
import { errorBody, translateResponse, type ErrorDetails } from '../../src/index.js';
import { toolsOf, type VectorTools } from '../called-as.js';
import { titled } from '../titled.js';
import { vectorsIn } from '../vector-files.js';

interface ResponseVector {
  readonly why: string;
  readonly context: VectorTools & {
    readonly includeUsage: boolean;
    readonly legacyFunctions?: boolean;
    readonly reasoning?: 'thinking_blocks' | 'reasoning_content';
    readonly annotations?: boolean;
  };
  readonly serviceTier?: string;
  readonly native: string | object;
  readonly message: object;
  readonly finish: string;
  /** The native reason, if the answer names it. */
  readonly nativeFinish?: string;
  readonly usage: Record<string, number>;
}

interface ErrorVector {
  readonly why: string;
  readonly source: string;
  readonly error: Pick<ErrorDetails, 'type' | 'message' | 'param' | 'code'>;
  /** The bodies in the dialects `messages` and `chat.completions`. */
  readonly messages: unknown;
  readonly chat: unknown;
}

const translate = (native: string | Uint8Array, context: Partial<ResponseVector['context']> = {}) =>
  translateResponse(native, {
    model: 'asked-for',
    created: 1_700_000_000,
    includeUsage: false,
    legacyFunctions: false,
    ...context,
    tools: toolsOf(context),
  });

describe('translateResponse', () => {
  it.each(titled(vectorsIn<ResponseVector>('vectors/response')))('%s', (_title, vector) => {
    const native =
      typeof vector.native === 'string' ? vector.native : JSON.stringify(vector.native);
    const result = translate(new TextEncoder().encode(native), vector.context);
    if (result.outcome === 'malformed') throw new Error(result.reason);
    const { cached, written, reasoning, ...totals } = vector.usage;
    expect(JSON.parse(result.body)).toEqual({
      id: 'chatcmpl-msg_1',
      object: 'chat.completion',
      created: 1_700_000_000,
      model: 'asked-for',
      choices: [
        {
          index: 0,
          message: vector.message,
          logprobs: null,
          finish_reason: vector.finish,
          native_finish_reason: vector.nativeFinish,
        },
      ],
      ...(vector.serviceTier === undefined ? {} : { service_tier: vector.serviceTier }),
      usage: {
        ...totals,
        prompt_tokens_details: { cached_tokens: cached, cache_write_tokens: written },
        completion_tokens_details: { reasoning_tokens: reasoning },
      },
    });
    expect(result).toMatchObject({ messageId: 'msg_1', usage: { outcome: 'read' } });
  });

  it.each(['', '{', '[]', 'null', '<html>', '{"content":5}', '{"content":"a"}'])(
    'reports that %j is not a message',
    (body) => {
      expect(translate(body)).toMatchObject({ outcome: 'malformed' });
    },
  );

  it.each([
    [{ name: 'f' }],
    [{ id: 5, name: 'f' }],
    [{ id: 'toolu_1', name: { toString: 5 } }],
    [{ id: 'toolu_1', name: '' }],
  ])('reports a call whose id or name is missing, empty or not a string: %j', (call) => {
    const body = JSON.stringify({
      id: 'msg_1',
      content: [{ type: 'tool_use', ...call, input: {} }],
    });
    expect(translate(body)).toEqual({
      outcome: 'malformed',
      reason: 'a call has no id or no name',
    });
  });

  it('reads values that are nested too deep for recursion, wherever they are', () => {
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
    const thinking = `{"type":"thinking","thinking":"a","signature":"b","odd":${deep}}`;
    const call = `{"type":"tool_use","id":"c","name":"f","input":{"a":${deep}}}`;
    const usage = `{"input_tokens":1,"output_tokens":1,"cache_creation":{"odd":${deep}}}`;
    const body = `{"id":"msg_1","content":[${thinking},${call}],"usage":${usage}}`;
    const result = translate(body, { reasoning: 'reasoning_content' });
    if (result.outcome === 'malformed') throw new Error(result.reason);
    expect(result.body).toContain(JSON.stringify(`{"a":${deep}}`));
    expect(result.usage).toMatchObject({
      outcome: 'read',
      remarks: [{ detail: 'cache_creation' }],
    });
  });

  it('returns invalid usage as invalid', () => {
    const body = '{"id":"msg_1","content":[],"usage":{"input_tokens":-5,"output_tokens":1}}';
    expect(translate(body)).toMatchObject({ outcome: 'translated', usage: { outcome: 'invalid' } });
  });
});

describe('errorBody', () => {
  const error = { type: 'not_found_error', message: 'No.', requestId: 'req_1' } as const;

  it.each(titled(vectorsIn<ErrorVector>('vectors/error')))('%s', (_title, vector) => {
    expect([vector.why, vector.source]).toEqual([expect.any(String), expect.any(String)]);
    for (const dialect of ['messages', 'chat'] as const) {
      const body = errorBody({
        ...vector.error,
        requestId: 'req_1',
        dialect: dialect === 'chat' ? 'chat.completions' : 'messages',
      });
      expect(JSON.parse(body)).toEqual(vector[dialect]);
    }
  });

  it('carries a stable code if there is one', () => {
    const body = errorBody({ ...error, dialect: 'messages', errorCode: 'thread_not_found' });
    expect(JSON.parse(body).error.details).toEqual({ error_code: 'thread_not_found' });
  });
});
