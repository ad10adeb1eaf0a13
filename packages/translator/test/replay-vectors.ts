/** The vectors in `vectors/replay`, and functions that several suites share. */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { StreamEnd, StreamPipe, TranslateResponseContext, Usage } from '../src/index.js';

export interface StreamVector {
  readonly why: string;
  readonly source: string;
  readonly context?: Partial<TranslateResponseContext>;
  readonly maxEventBytes?: number;
  /** Native events, or SSE text. */
  readonly upstream: readonly (NativeEvent | string)[];
  /**
   * Expected chunks: the only choice's delta and finish reason, and usage where the chunk has it.
   */
  readonly chat: readonly ExpectedChunk[];
  readonly outcome: 'complete' | (StreamEnd & { readonly outcome: 'failed' })['cause'];
  readonly usage?: Usage | 'invalid';
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
  /** Whether bytes follow the event that ends the stream. */
  readonly trailing?: boolean;
  /**
   * Set if Anthropic's SDK cannot read even the upstream's own bytes, or needs members that they
   * lack.
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
  readonly choices?: readonly never[];
  readonly usage?: unknown;
}

const FOLDER = join(__dirname, 'vectors/replay');

export const STREAM_VECTORS: readonly (readonly [name: string, vector: StreamVector])[] =
  readdirSync(FOLDER)
    .sort()
    .map((file) => {
      const vector: StreamVector = JSON.parse(readFileSync(join(FOLDER, file), 'utf8'));
      return [file.replace('.json', ''), vector];
    });

export const CONTEXT: TranslateResponseContext = {
  model: 'my-"model"',
  includeUsage: false,
  legacyFunctions: false,
  created: 1_700_000_000,
};

export function contextOf(vector: StreamVector): TranslateResponseContext {
  return { ...CONTEXT, ...vector.context };
}

export function optionsOf({ maxEventBytes }: StreamVector): { readonly maxEventBytes?: number } {
  return maxEventBytes === undefined ? {} : { maxEventBytes };
}

/** The SSE text of each event. */
export function framesOf(vector: StreamVector): string[] {
  return vector.upstream.map((event) =>
    typeof event === 'string' ? event : `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`,
  );
}

export function bytesOf(vector: StreamVector): Buffer {
  return Buffer.from(framesOf(vector).join(''));
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
