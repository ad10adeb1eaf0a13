/** Writes the simulator's responses: JSON, errors and event streams, with the faults of scripts. */

import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { eventsOf } from './events.js';
import type { JsonObject } from './message.js';
import type { ScriptedReply } from './script.js';
import { JSON_HEADERS } from './wire.js';
import type { Headers, SentError, SentMessage, Wire } from './wire.js';

/** A response to write, and how its place writes. */
export interface Answering {
  readonly res: ServerResponse;
  readonly requestId: string;
  readonly wire: Wire;
}

export function sendJson({ res, wire }: Answering, status: number, body: JsonObject): void {
  res.writeHead(status, { ...wire.headers, ...JSON_HEADERS });
  res.end(JSON.stringify(body));
}

export function sendError(
  { res, requestId, wire }: Answering,
  error: SentError,
  script: ScriptedReply = {},
): void {
  const { status, headers, body } = wire.error(error, requestId, script.status);
  res.writeHead(status, { ...wire.headers, ...headers, ...script.headers });
  res.end(JSON.stringify(body));
}

/** @returns whether the client stayed */
export function sendMessage(
  to: Answering,
  message: SentMessage,
  script: ScriptedReply,
): Promise<boolean> {
  const headers = { ...to.wire.messageHeaders(message), ...script.headers };
  return sendParts(to, { status: script.status, headers }, [JSON.stringify(message)], script);
}

/** @returns whether the stream was sent whole: not cut, stalled or ended with an error */
export async function sendStream(
  to: Answering,
  message: SentMessage,
  script: ScriptedReply,
): Promise<boolean> {
  const { res, wire } = to;
  const { streamError, cut, stallAfterEvents, garbage, lineEnd = '\n' } = script;
  const of = { message, lineEnd };
  const events = script.events ?? eventsOf({ message, script });
  const written = events.map((event) => wire.event(event, of));
  const headers = { ...wire.streamHeaders, ...script.headers };
  if (streamError !== undefined) {
    const { type, message: text = 'Scripted error', afterEvents } = streamError;
    const shown = written.slice(0, afterEvents);
    const error = wire.streamError({ type, message: text }, of);
    await sendParts(to, { headers }, [...shown, error], script);
    return false;
  }
  if (garbage !== undefined) written.splice(garbage.afterEvents, 0, garbage.bytes);
  const limit = cut?.afterEvents ?? stallAfterEvents;
  if (limit === undefined)
    return sendParts(to, { status: script.status, headers }, written, script);
  await sendParts(to, { headers }, written.slice(0, limit), { ...script, isOpenEnded: true });
  if (cut === undefined) return false;
  if (cut.how === 'reset') res.socket?.resetAndDestroy();
  else res.end();
  return false;
}

/** Writes the parts with the script's delays and splits. @returns whether the client stayed */
export async function sendParts(
  { res, wire }: Answering,
  { status = 200, headers }: { readonly status?: number | undefined; readonly headers: Headers },
  parts: readonly (string | Uint8Array)[],
  script: ScriptedReply & { readonly isOpenEnded?: boolean },
): Promise<boolean> {
  res.writeHead(status, { ...wire.headers, ...headers });
  const { eventDelayMs: delayMs = 0, splitBytes } = script;
  if (delayMs === 0 && splitBytes === undefined) {
    const [only = '', ...others] = parts;
    const whole = others.length === 0 ? only : joined(parts);
    if (script.isOpenEnded === true) res.write(whole);
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

function joined(parts: readonly (string | Uint8Array)[]): string | Uint8Array {
  const isText = parts.every((part) => typeof part === 'string');
  return isText ? parts.join('') : Buffer.concat(parts.map((part) => Buffer.from(part)));
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
