/**
 * Takes the events of a message out of AWS's binary framing: each frame has its lengths, headers, a
 * payload and two checksums. A chunk's payload has an event of the API, in base64. An exception
 * ends the stream.
 *
 * https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_InvokeModelWithResponseStream.html
 */

import { crc32 } from 'node:zlib';
import { z } from 'zod';
import { parseJson } from '../../base/parse-json.js';
import type { StreamFraming } from '../upstream.js';
import { awsError } from './errors/aws-error.js';

const PRELUDE_BYTES = 12;
const CHECKSUM_BYTES = 4;
/** AWS sends at most 16 MiB of payload and 128 KiB of headers. */
const MOST_FRAME_BYTES = 17 * 1024 * 1024;
/** The length of a header's value, by its type. That of the others comes before it. */
const VALUE_BYTES: readonly number[] = [0, 0, 1, 2, 4, 8];
const BINARY = 6;
const STRING = 7;
const FIXED_BYTES: Readonly<Record<number, number>> = { 8: 8, 9: 16 };
/** What Bedrock adds to the last event. The API's events do not have it. */
const METRICS = 'amazon-bedrock-invocationMetrics';
const TYPE = /^\{\s*"type"\s*:\s*"([a-z_]+)"/;

const chunk = z.object({ bytes: z.base64() });
const event = z.looseObject({ type: z.string().regex(/^[a-z_]+$/) });
const exception = z.object({
  message: z.string().optional(),
  originalMessage: z.string().optional(),
});

/** A stream whose bytes are not what the home sent. */
export class BrokenFrameError extends Error {
  override readonly name = 'BrokenFrameError';
  constructor(problem: string) {
    super(`a frame of the upstream's stream is broken: ${problem}`);
  }
}

/**
 * @returns the framing of one stream
 * @throws {BrokenFrameError} by `push`
 */
export function openEventStream(): StreamFraming {
  let pieces: Uint8Array[] = [];
  let held = 0;
  /** Of the frame that is being received; 0 if its length has not arrived. */
  let wanted = 0;

  return {
    push(bytes) {
      pieces.push(bytes);
      held += bytes.length;
      if (held < Math.max(wanted, PRELUDE_BYTES)) return EMPTY;
      const all = Buffer.concat(pieces, held);
      const events: string[] = [];
      let at = 0;
      wanted = lengthAt(all, at);
      while (wanted > 0 && all.length - at >= wanted) {
        events.push(eventIn(all.subarray(at, at + wanted)));
        at += wanted;
        wanted = lengthAt(all, at);
      }
      const rest = all.subarray(at);
      pieces = [rest];
      held = rest.length;
      return Buffer.from(events.join(''));
    },
  };
}

const EMPTY = Buffer.alloc(0);

/** @returns the length of the frame that begins there; 0 if its prelude is incomplete */
function lengthAt(bytes: Buffer, at: number): number {
  if (bytes.length - at < PRELUDE_BYTES) return 0;
  const length = bytes.readUInt32BE(at);
  const checksum = bytes.readUInt32BE(at + 8);
  if (crc32(bytes.subarray(at, at + 8)) !== checksum) {
    throw new BrokenFrameError('the checksum of its prelude');
  }
  const headersEnd = PRELUDE_BYTES + bytes.readUInt32BE(at + 4);
  if (length > MOST_FRAME_BYTES || headersEnd + CHECKSUM_BYTES > length) {
    throw new BrokenFrameError('its length');
  }
  return length;
}

function eventIn(frame: Buffer): string {
  const end = frame.length - CHECKSUM_BYTES;
  if (crc32(frame.subarray(0, end)) !== frame.readUInt32BE(end)) {
    throw new BrokenFrameError('its checksum');
  }
  const headersEnd = PRELUDE_BYTES + frame.readUInt32BE(4);
  const headers = headersIn(frame.subarray(PRELUDE_BYTES, headersEnd));
  const payload = parseJson(frame.toString('utf8', headersEnd, end));
  switch (headers.get(':message-type')) {
    case 'event':
      return headers.get(':event-type') === 'chunk' ? chunkEvent(payload) : '';
    case 'exception':
      return exceptionEvent(headers.get(':exception-type') ?? '', payload);
    default:
      return exceptionEvent(headers.get(':error-code') ?? '', {
        message: headers.get(':error-message'),
      });
  }
}

/** Texts only: no other header is needed. */
function headersIn(bytes: Buffer): ReadonlyMap<string, string> {
  const headers = new Map<string, string>();
  try {
    for (let at = 0; at < bytes.length;) {
      const nameEnd = at + 1 + bytes.readUInt8(at);
      const name = bytes.toString('utf8', at + 1, nameEnd);
      const type = bytes.readUInt8(nameEnd);
      const isCounted = type === BINARY || type === STRING;
      const start = nameEnd + (isCounted ? 3 : 1);
      const length = isCounted
        ? bytes.readUInt16BE(nameEnd + 1)
        : (VALUE_BYTES[type] ?? FIXED_BYTES[type]);
      if (length === undefined) throw new BrokenFrameError('the type of a header');
      at = start + length;
      if (at > bytes.length) throw new BrokenFrameError('the length of a header');
      if (type === STRING) headers.set(name, bytes.toString('utf8', start, at));
    }
  } catch (error) {
    // A position beyond the end.
    throw error instanceof RangeError ? new BrokenFrameError('its headers') : error;
  }
  return headers;
}

function chunkEvent(payload: unknown): string {
  const read = chunk.safeParse(payload);
  if (!read.success) throw new BrokenFrameError('a chunk without bytes');
  const json = Buffer.from(read.data.bytes, 'base64').toString();
  const type = TYPE.exec(json)?.[1];
  // Most events pass as they are. A line break would end the line of their data.
  if (type !== undefined && !/[\r\n]/.test(json) && !json.includes(METRICS)) {
    return sse(type, json);
  }
  const parsed = event.safeParse(parseJson(json));
  if (!parsed.success) throw new BrokenFrameError('a chunk without an event');
  const { [METRICS]: _metrics, ...data } = parsed.data;
  return sse(data.type, JSON.stringify(data));
}

function exceptionEvent(name: string, payload: unknown): string {
  const { message, originalMessage } = exception.safeParse(payload).data ?? {};
  const { type, message: words } = awsError(name, message ?? originalMessage ?? '');
  return sse('error', JSON.stringify({ type: 'error', error: { type, message: words } }));
}

function sse(type: string, data: string): string {
  return `event: ${type}\ndata: ${data}\n\n`;
}
