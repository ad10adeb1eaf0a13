/** The vectors in `vectors`, and functions that several suites share. */

import type { StreamEnd, StreamError, Usage } from '../../src/index.js';
import type { ChatTraits, MessageContext } from '../../src/reverse/index.js';
import { vectorsIn } from '../vector-files.js';

interface Vector {
  readonly why: string;
  readonly source: string;
}

export interface RequestVector extends Vector {
  /** One of {@link TRAITS}; `openai` when absent. */
  readonly traits?: string;
  /** Whether the translation sends the client's end user upstream, as an opaque id. */
  readonly endUserId?: boolean;
  /** A native request, or its text. */
  readonly native: unknown;
  /** The expected chat request, its keys in any order. */
  readonly chat?: unknown;
  /** Parts of the body's text, if its exact bytes matter. */
  readonly contains?: readonly string[];
  /** Path and reason of every expected note. */
  readonly notes?: readonly { readonly path: string; readonly reason: string }[];
  readonly stream?: boolean;
  readonly stopSequences?: readonly string[];
  readonly refused?: { readonly param: string | null; readonly code: string };
}

interface Stop {
  readonly stop_reason?: string;
  readonly stop_sequence?: string;
  readonly stop_details?: unknown;
  readonly stopSequences?: readonly string[];
}

export interface ResponseVector extends Vector, Stop {
  /** A chat completion, or the text of the body. */
  readonly chat: unknown;
  readonly outcome?: 'error' | 'malformed';
  readonly error?: StreamError;
  readonly id?: string;
  readonly content?: readonly unknown[];
  readonly usage?: Usage | 'invalid';
  readonly contains?: readonly string[];
}

export interface StreamVector extends Vector, Stop {
  /** Chunks, or SSE text. */
  readonly chunks: readonly (object | string)[];
  /** The expected blocks: how each begins, and its deltas. */
  readonly blocks: readonly { readonly block: NativeBlock; readonly deltas: readonly unknown[] }[];
  readonly outcome: 'complete' | (StreamEnd & { readonly outcome: 'failed' })['cause'];
  readonly usage?: Usage | 'invalid';
  readonly error?: StreamError;
  /** The counts that the first chunk already carries. */
  readonly startUsage?: object;
  readonly pings?: number;
  readonly maxEventBytes?: number;
  /** Whether events follow the one that ends the stream. */
  readonly trailing?: boolean;
  /**
   * Set if the completion that is assembled from the chunks is translated to another message than
   * the stream. For example, a completion does not keep the order of text and calls.
   */
  readonly plain?: 'differs';
}

interface NativeBlock {
  readonly type: string;
}

export interface ErrorVector extends Vector {
  readonly chat: { readonly status: number; readonly body: unknown };
  readonly native: StreamError & { readonly status: number };
}

export const TRAITS: Readonly<Record<string, ChatTraits>> = {
  openai: {
    maxTokens: 'max_completion_tokens',
    sampling: 'accepted',
    effort: ['none', 'minimal', 'low', 'medium', 'high', 'xhigh'],
    files: 'pdf',
    toolResults: 'text',
    thinking: 'dropped',
    cacheControl: 'dropped',
  },
  gateway: {
    maxTokens: 'max_completion_tokens',
    sampling: 'accepted',
    effort: ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'],
    files: 'any',
    toolResults: 'parts',
    thinking: 'thinking_blocks',
    cacheControl: 'carried',
    maxStopSequences: 100,
  },
  coarse: {
    maxTokens: 'max_completion_tokens',
    sampling: 'accepted',
    effort: ['none', 'high'],
    files: 'none',
    toolResults: 'text',
    thinking: 'dropped',
    cacheControl: 'dropped',
  },
  plain: {
    maxTokens: 'max_tokens',
    sampling: 'accepted',
    effort: [],
    files: 'none',
    toolResults: 'text',
    thinking: 'dropped',
    cacheControl: 'dropped',
  },
  reasoner: {
    maxTokens: 'max_tokens',
    sampling: 'refused',
    effort: ['low', 'medium', 'high'],
    files: 'none',
    toolResults: 'text',
    thinking: 'reasoning_content',
    cacheControl: 'dropped',
  },
};

export function traitsNamed(name = 'openai'): ChatTraits {
  const traits = TRAITS[name];
  if (traits === undefined) throw new Error(`unknown traits ${name}`);
  return traits;
}

export function load<Kind extends Vector>(
  kind: 'request' | 'response' | 'stream' | 'error',
): (readonly [name: string, vector: Kind])[] {
  return vectorsIn(`reverse/vectors/${kind}`);
}

export function contextOf({ stopSequences = [] }: Stop): MessageContext {
  return { model: 'my-"model"', stopSequences };
}

export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

export function bytesOf({ chunks }: StreamVector): Buffer {
  const events = chunks.map((chunk) =>
    typeof chunk === 'string' ? chunk : `data: ${JSON.stringify(chunk)}\n\n`,
  );
  return Buffer.from(events.join(''));
}

/** The counts of a usage under their native names; null if the usage is invalid or absent. */
export function nativeCounts(usage: Usage | 'invalid' | undefined): object {
  const counts = typeof usage === 'object' ? usage : undefined;
  return {
    input_tokens: counts?.inputTokens ?? null,
    output_tokens: counts?.outputTokens ?? null,
    cache_read_input_tokens: counts?.cacheReadInputTokens ?? null,
    cache_creation_input_tokens: counts?.cacheCreationInputTokens ?? null,
    output_tokens_details: counts === undefined ? null : { thinking_tokens: counts.thinkingTokens },
  };
}
