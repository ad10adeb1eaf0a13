/** What the clouds' answers have in common. */

import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { JsonObject } from '../../message/message.js';
import type { Answering } from '../../message/responses.js';
import { JSON_HEADERS } from '../../message/wire.js';
import type { WrittenError } from '../../message/wire.js';
import { modelInfo } from '../../models/models.js';
import { countTokens } from '../../serve-message.js';

/** Sends an error that no rule of the API raised, but the cloud in front of it. */
export function sendRefusal(
  { res, wire }: Answering,
  { status, headers, body }: WrittenError,
): void {
  res.writeHead(status, { ...wire.headers, ...JSON_HEADERS, ...headers });
  res.end(JSON.stringify(body));
}

/** Makes an id such as `msg_bdrk_01…` from one of the API. */
export function idWith(infix: string, native: string): string {
  return native.replace(/^([a-z]+)_01/, `$1_${infix}_01`);
}

/** Makes an id in the form of a random UUID: the same parts give the same id. */
export function uuidOf(...parts: readonly string[]): string {
  const hex = createHash('sha256').update(parts.join('\0')).digest('hex');
  const [a, b, c, d] = [hex.slice(0, 8), hex.slice(8, 12), hex.slice(13, 16), hex.slice(17, 20)];
  return `${a}-${b}-4${c}-8${d}-${hex.slice(20, 32)}`;
}

export function bearerOf({ headers }: IncomingMessage): string | undefined {
  return /^Bearer (.+)$/i.exec(headers.authorization ?? '')?.[1];
}

/** The API's refusal of a prompt that is longer than the context window of its model. */
export function promptTooLong(request: JsonObject | undefined, bytes: number): string | undefined {
  const window = Number(modelInfo(String(request?.['model']))['max_input_tokens']);
  // A token has at least one byte.
  if (request === undefined || bytes <= window) return undefined;
  const tokens = countTokens(request);
  return tokens <= window
    ? undefined
    : `prompt is too long: ${String(tokens)} tokens > ${String(window)} maximum`;
}
