/**
 * Both directions, one after the other: content that both formats can carry comes back unchanged.
 */

import { describe, expect, it } from '@jest/globals';
import {
  createChatStream,
  readUsage,
  translateRequest,
  translateResponse,
  nativeSchemas,
  type ModelTraits,
  type Note,
  type StreamPipe,
} from '../../src/index.js';
import { NOT_STRICT } from '../../src/reverse/request/strict-schema.js';
import {
  createMessageStream,
  translateCompletion,
  translateMessagesRequest,
} from '../../src/reverse/index.js';
import { assembled } from '../assembled-completion.js';
import { CONTEXT, STREAM_VECTORS, bytesOf, contextOf, run } from '../replay-vectors.js';
import { vectorsIn } from '../vector-files.js';
import * as reverse from './vectors.js';

const MODEL: ModelTraits = {
  sampling: 'accepted',
  forcedToolChoice: 'accepted',
  effort: ['low', 'medium', 'high', 'xhigh', 'max'],
  thinkingOff: 'disabled',
  systemMessages: 'anywhere',
  structuredOutputs: 'accepted',
};

function forwards(chat: string, model: string): { body: string; notes: readonly unknown[] } {
  const result = translateRequest(JSON.parse(chat), {
    model,
    traits: MODEL,
    maxOutputTokens: 1_000_000,
    endUserId: (value) => value,
    jsonSchema: nativeSchemas,
  });
  if (result.outcome === 'refused') throw new Error(result.problem.message);
  return result;
}

function backwards(native: string): { body: string; notes: readonly Note[] } {
  const traits = reverse.traitsNamed('gateway');
  const endUserId = (value: string): string => value;
  const result = translateMessagesRequest(native, { model: 'my-model', traits, endUserId });
  if (result.outcome === 'refused') throw new Error(result.problem.message);
  return result;
}

interface NativeVector {
  readonly native?: object | string;
}

/**
 * Requests that do not come back: the chat format has adaptive thinking only as an effort, no
 * native tools, no failed results, shorter names of tools, and no thinking between tools.
 */
const ONE_WAY = /"type":"(adaptive|between_tools|web_search_\d+)"|"is_error":true|"name":"\w{65,}"/;

/** The chat format has no strict schemas with optional members, and fewer keywords in them. */
function isLoosened(native: object | string): boolean {
  return backwards(reverse.textOf(native)).notes.some(({ detail }) => detail === NOT_STRICT);
}

interface Tools {
  readonly tools?: readonly { readonly input_schema?: object }[];
}

/** The request as it comes back: OpenAI requires `properties` in the schema of each tool. */
function withProperties(text: string): unknown {
  const native = JSON.parse(text) as Tools;
  const tools = native.tools?.map(({ input_schema, ...tool }) => ({
    ...tool,
    ...(input_schema && { input_schema: { properties: {}, ...input_schema } }),
  }));
  return { ...native, ...(tools && { tools }) };
}

describe('requests that translateRequest wrote', () => {
  const vectors = vectorsIn<NativeVector>('vectors/request').filter(
    ([, { native }]) =>
      native !== undefined && !ONE_WAY.test(JSON.stringify(native)) && !isLoosened(native),
  );

  it.each(vectors)('%s: come back through the chat format unchanged', (_name, { native }) => {
    const text = reverse.textOf(native);
    const chat = backwards(text);
    const again = forwards(chat.body, 'claude-test');
    expect(JSON.parse(again.body)).toEqual(withProperties(text));
    expect([chat.notes, again.notes]).toEqual([[], []]);
  });
});

describe('chat requests that translateMessagesRequest wrote', () => {
  const vectors = reverse
    .load<reverse.RequestVector>('request')
    .filter(([, vector]) => vector.refused === undefined && vector.traits === 'gateway');

  it.each(vectors)('%s: come back through the native format unchanged', (_name, { native }) => {
    const chat = backwards(reverse.textOf(native)).body;
    const again = backwards(forwards(chat, 'claude-test').body).body;
    // If a request defines no tools, translateRequest defines those that its history calls.
    expect(JSON.parse(again)).toMatchObject(JSON.parse(chat));
  });
});

function through(pipe: StreamPipe, stream: Uint8Array): Buffer {
  const { pushed, end } = run(pipe, [stream]);
  return Buffer.concat([pushed, end.tail]);
}

/**
 * Streams that do not come back: the other direction has no annotations, tiers or custom tools, and
 * reads no native reason.
 */
const ONE_WAY_STREAMS =
  /^(search-|service-tier|tool-custom|tool-index-reused|stop-(a-)?future-|stop-compaction|stop-pause-turn)/;
const ONE_WAY_ANSWERS = /^stop\/(pause-turn|compaction|a-future-reason)$/;

describe('streams', () => {
  it.each(STREAM_VECTORS.filter(([name]) => !ONE_WAY_STREAMS.test(name)))(
    '%s: a stream of createChatStream comes back byte for byte',
    (name, vector) => {
      const context = contextOf(vector);
      const chat = through(createChatStream(context), bytesOf(vector));
      const native = through(createMessageStream({ model: 'm', stopSequences: [] }), chat);
      const again = through(createChatStream(context), native);
      // A native stream should not interleave its blocks. If it does, the blocks come back in
      // order.
      if (name === 'text-interleaved-blocks') expect(assembled(again)).toBe(assembled(chat));
      else expect(again.toString()).toBe(chat.toString());
    },
  );

  it.each(reverse.load<reverse.StreamVector>('stream'))(
    '%s: a stream of createMessageStream comes back',
    (_name, vector) => {
      const { maxEventBytes } = vector;
      const options = maxEventBytes === undefined ? {} : { maxEventBytes };
      const context = { ...CONTEXT, reasoning: 'thinking_blocks', includeUsage: true } as const;
      const reversed = createMessageStream(reverse.contextOf(vector), options);
      const chat = through(createChatStream(context), through(reversed, reverse.bytesOf(vector)));
      const native = through(createMessageStream(reverse.contextOf(vector)), chat);
      expect(through(createChatStream(context), native).toString()).toBe(chat.toString());
    },
  );
});

interface Message {
  readonly id: string;
  readonly content: readonly Readonly<Record<string, unknown>>[];
  readonly stop_reason: string;
  readonly usage: object;
}

describe('responses', () => {
  const context = { ...CONTEXT, reasoning: 'thinking_blocks' } as const;
  const there = (native: string): string => {
    const result = translateResponse(native, context);
    if (result.outcome !== 'translated') throw new Error(result.reason);
    return result.body;
  };
  const back = (chat: string): string => {
    const result = translateCompletion(chat, { model: 'm', stopSequences: [] });
    if (result.outcome !== 'translated') throw new Error(result.outcome);
    return result.body;
  };

  const vectors = vectorsIn<NativeVector>('vectors/response');

  it.each(vectors.filter(([name]) => !ONE_WAY_ANSWERS.test(name)))(
    '%s: the chat form does not change when it is translated again',
    (_name, { native }) => {
      const chat = there(reverse.textOf(native));
      expect(there(back(chat))).toBe(chat);
    },
  );

  it.each(vectors)('%s: usage comes back exactly', (_name, { native }) => {
    const before = JSON.parse(reverse.textOf(native)) as Message;
    const after = JSON.parse(back(there(reverse.textOf(native)))) as Message;
    const reading = readUsage(before.usage);
    if (reading.outcome === 'invalid') {
      expect(readUsage(after.usage).outcome).toBe('invalid');
      return;
    }
    // The chat format cannot express the lifetime of cache writes, and of the circumstances only
    // the service tier.
    const usage = { ...reading.usage, cacheCreation1hInputTokens: 0 };
    const { serviceTier } = reading.circumstances ?? {};
    const circumstances = serviceTier === undefined ? undefined : { serviceTier };
    const [tier] = (reading.remarks ?? []).filter(({ detail }) => detail === 'service_tier');
    const remarks = tier && [tier];
    expect(readUsage(after.usage)).toEqual({ outcome: 'read', usage, remarks, circumstances });
    expect(after.id).toBe(before.id);
  });

  it.each(reverse.load<reverse.ResponseVector>('response').filter(([, v]) => !v.outcome))(
    '%s: the native form does not change when it is translated again',
    (_name, vector) => {
      const first = translateCompletion(reverse.textOf(vector.chat), reverse.contextOf(vector));
      if (first.outcome !== 'translated') throw new Error(first.outcome);
      const native = back(there(first.body));
      expect(back(there(native))).toBe(native);
      const before = JSON.parse(first.body) as Message;
      const after = JSON.parse(native) as Message;
      expect(after.content).toEqual(before.content);
      expect(after.usage).toEqual(before.usage);
    },
  );
});
