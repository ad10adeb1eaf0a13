/** Writes the simulator's responses: JSON, errors and event streams, with the faults of scripts. */

import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { eventsOf, writeEvent } from './events.js';
import type { ContentBlock, JsonObject } from './message.js';
import { ERROR_STATUS } from './script.js';
import type { ErrorType, ScriptedReply } from './script.js';

/** A message as it is sent; a script may remove its usage. */
export type SentMessage = JsonObject & {
  readonly content: readonly ContentBlock[];
  readonly usage?: JsonObject;
};

export const JSON_HEADERS = { 'content-type': 'application/json' };
const STREAM_HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache',
};
/** The API's headers about the quota of its customer. A gateway must not pass them on. */
const RATE_LIMIT_HEADERS = {
  'anthropic-organization-id': '00000000-0000-4000-8000-000000000000',
  'anthropic-ratelimit-requests-limit': '4000',
  'anthropic-ratelimit-requests-remaining': '3999',
  'anthropic-ratelimit-requests-reset': '2026-01-01T00:00:00Z',
};

export function sendJson(res: ServerResponse, status: number, body: JsonObject): void {
  res.writeHead(status, { ...RATE_LIMIT_HEADERS, ...JSON_HEADERS });
  res.end(JSON.stringify(body));
}

export function sendError(
  res: ServerResponse,
  requestId: string,
  error: { readonly type: ErrorType; readonly message: string; readonly errorCode?: string },
  script: ScriptedReply = {},
): void {
  const { type, message, errorCode } = error;
  const details = errorCode === undefined ? {} : { details: { error_code: errorCode } };
  const status = script.status ?? ERROR_STATUS[type];
  const headers = {
    ...RATE_LIMIT_HEADERS,
    ...JSON_HEADERS,
    ...(status === 400 ? { 'x-should-retry': 'false' } : {}),
    ...(type === 'rate_limit_error' ? { 'retry-after': '30' } : {}),
    ...script.headers,
  };
  res.writeHead(status, headers);
  const body = { type: 'error', error: { type, message, ...details }, request_id: requestId };
  res.end(JSON.stringify(body));
}

/** @returns whether the stream was sent whole: not cut, stalled or ended with an error */
export async function sendStream(
  res: ServerResponse,
  message: SentMessage,
  script: ScriptedReply,
): Promise<boolean> {
  const events = script.events ?? eventsOf({ message, script });
  const lineEnd = script.lineEnd ?? '\n';
  const written = events.map((event) => writeEvent(event, lineEnd));
  const headers = { ...STREAM_HEADERS, ...script.headers };
  const { streamError, cut, stallAfterEvents, garbage } = script;
  if (streamError !== undefined) {
    const { type, message: text = 'Scripted error' } = streamError;
    const error = { type: 'error', error: { type, message: text } };
    const shown = written.slice(0, streamError.afterEvents);
    await sendParts(res, 200, headers, [...shown, writeEvent(error, lineEnd)], script);
    return false;
  }
  if (garbage !== undefined) written.splice(garbage.afterEvents, 0, garbage.bytes);
  const limit = cut?.afterEvents ?? stallAfterEvents;
  if (limit === undefined) return sendParts(res, script.status ?? 200, headers, written, script);
  await sendParts(res, 200, headers, written.slice(0, limit), { ...script, isOpenEnded: true });
  if (cut === undefined) return false;
  if (cut.how === 'reset') res.socket?.resetAndDestroy();
  else res.end();
  return false;
}

/** Writes the parts with the script's delays and splits. @returns whether the client stayed */
export async function sendParts(
  res: ServerResponse,
  status: number,
  headers: Readonly<Record<string, string>>,
  parts: readonly (string | Uint8Array)[],
  script: ScriptedReply & { readonly isOpenEnded?: boolean },
): Promise<boolean> {
  res.writeHead(status, { ...RATE_LIMIT_HEADERS, ...headers });
  const { eventDelayMs: delayMs = 0, splitBytes } = script;
  if (delayMs === 0 && splitBytes === undefined) {
    const whole =
      parts.length === 1 ? parts[0] : parts.map((part) => Buffer.from(part).toString()).join('');
    if (script.isOpenEnded === true) res.write(whole ?? '');
    else res.end(whole);
    return !res.destroyed;
  }
  for (const [index, part] of parts.entries()) {
    for (const piece of splitBytes === undefined ? [part] : split(part, splitBytes)) {
      if (res.destroyed) return false;
      if (!res.write(piece)) await drained(res);
      if (splitBytes !== undefined) await new Promise(setImmediate);
    }
    // No delay after the last part: the journal must have the usage before the client can act on
    // it.
    if (delayMs > 0 && index < parts.length - 1) await sleep(delayMs);
  }
  if (script.isOpenEnded !== true) res.end();
  return !res.destroyed;
}

function split(part: string | Uint8Array, size: number): Buffer[] {
  const bytes = Buffer.from(part);
  const pieces: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += size) pieces.push(bytes.subarray(at, at + size));
  return pieces;
}

function drained(res: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    res.once('drain', resolve);
    res.once('close', resolve);
  });
}
