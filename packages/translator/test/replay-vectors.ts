/** The vectors in `vectors/replay`, and functions that several suites share. */

import { expect } from '@jest/globals';
import type { StreamEnd, StreamPipe, TranslateResponseContext, Usage } from '../src/index.js';
import { toolsOf, type VectorTools } from './called-as.js';
import { vectorsIn } from './vector-files.js';

export interface StreamVector {
  readonly why: string;
  readonly source: string;
  readonly context?: VectorTools & Partial<Omit<TranslateResponseContext, 'tools'>>;
  /** Native events, or SSE text. */
  readonly upstream: readonly (NativeEvent | string)[];
  /**
   * Expected chunks: the only choice's delta and finish reason, and usage where the chunk has it.
   */
  readonly chat: readonly ExpectedChunk[];
  readonly outcome: 'complete' | (StreamEnd & { readonly outcome: 'failed' })['cause'];
  /** Set if only the translation fails. The stream itself is complete. */
  readonly isCompleteUpstream?: true;
  readonly usage?: Usage;
  /** The reason, if the usage is invalid. */
  readonly invalidUsage?: string;
  /** The `detail` of each remark on the usage. */
  readonly remarks?: readonly string[];
  readonly stopReason?: string | null;
  readonly error?: { readonly type: string; readonly message: string };
  /** Index of the first event that the native tap keeps back. */
  readonly heldFrom?: number;
  /**
   * The native tap's last bytes, if the upstream's error event lacks its name or its blank line.
   * The tap adds the missing line.
   */
  readonly tapTail?: string;
  /**
   * Set if Anthropic's SDK cannot read even the upstream's own bytes, needs members that they lack,
   * or reports a count that fell.
   */
  readonly anthropicHelper?: 'skip';
}

export interface NativeEvent {
  readonly type: string;
  readonly usage?: unknown;
}

interface ExpectedChunk {
  readonly delta?: unknown;
  readonly finish_reason?: string;
  readonly native_finish_reason?: string;
  readonly choices?: readonly never[];
  readonly usage?: unknown;
}

export const STREAM_VECTORS = vectorsIn<StreamVector>('vectors/replay');

export function vectorNamed(wanted: string): StreamVector {
  const vector = STREAM_VECTORS.find(([name]) => name === wanted)?.[1];
  if (vector === undefined) throw new Error(`no vector ${wanted}`);
  return vector;
}

export const CONTEXT: TranslateResponseContext = {
  model: 'my-"model"',
  includeUsage: false,
  legacyFunctions: false,
  created: 1_700_000_000,
};

export function contextOf({ context = {} }: StreamVector): TranslateResponseContext {
  return { ...CONTEXT, ...context, tools: toolsOf(context) };
}

/** The SSE text of each event. */
export function framesOf({ upstream }: Pick<StreamVector, 'upstream'>, lineEnd = '\n'): string[] {
  return upstream.map((event) =>
    typeof event === 'string'
      ? event
      : [`event: ${event.type}`, `data: ${JSON.stringify(event)}`, '', ''].join(lineEnd),
  );
}

export function bytesOf(vector: Pick<StreamVector, 'upstream'>, lineEnd?: string): Buffer {
  return Buffer.from(framesOf(vector, lineEnd).join(''));
}

/** The stream with every line end; as it is, if the vector has it as text. */
export function withEachLineEnd({ upstream }: StreamVector): Buffer[] {
  const isText = upstream.some((event) => typeof event === 'string');
  return (isText ? ['\n'] : ['\n', '\r\n', '\r']).map((end) => bytesOf({ upstream }, end));
}

/** The expected reading of the usage. */
export function readingOf({ usage, invalidUsage, remarks }: StreamVector): object {
  if (invalidUsage !== undefined) return { outcome: 'invalid', reason: invalidUsage };
  const described = remarks?.map((detail) => ({ detail, message: expect.any(String) }));
  return { outcome: 'read', usage, remarks: described };
}

/** Drives a pipe: pushes until the pipe is finished, then ends it. */
export function run(
  pipe: StreamPipe,
  pieces: readonly Uint8Array[],
): { readonly pushed: Buffer; readonly end: StreamEnd } {
  const pushed: Uint8Array[] = [];
  for (const piece of pieces) {
    if (pipe.isFinished) break;
    pushed.push(pipe.push(piece));
  }
  const end = pipe.end();
  return { pushed: Buffer.concat(pushed), end };
}

/** One piece per byte. */
export function bytewise(bytes: Uint8Array): Uint8Array[] {
  return Array.from(bytes, (_byte, index) => bytes.subarray(index, index + 1));
}

/** Pieces that end at the given fractions of the whole. */
export function cutAt(bytes: Uint8Array, fractions: readonly number[]): Uint8Array[] {
  const cuts = fractions
    .map((fraction) => Math.round(fraction * bytes.length))
    .sort((a, b) => a - b);
  return [...cuts, bytes.length].map((cut, index) => bytes.subarray(cuts[index - 1] ?? 0, cut));
}
