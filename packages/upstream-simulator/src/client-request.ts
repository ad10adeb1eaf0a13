/** Reads a client's HTTP request: its credential, its body, and the API's reasons to refuse it. */

import type { IncomingMessage } from 'node:http';
import { isObject } from './message/message.js';
import type { JsonObject } from './message/message.js';
import { traitsOf } from './models/models.js';
import type { RequestError } from './rules/rule.js';
import { requestProblem } from './rules/rules.js';

const CREDENTIALS = ['authorization', 'x-api-key', 'api-key', 'x-amz-security-token'];
const MAX_BODY_BYTES = 32 * 1024 * 1024;

export const INVALID_JSON: RequestError = {
  type: 'invalid_request_error',
  message: 'The request body is not valid JSON.',
};

export function isAuthorized(req: IncomingMessage, apiKey: string | undefined): boolean {
  const { authorization } = req.headers;
  const given = req.headers['x-api-key'] ?? authorization?.replace(/^Bearer /, '');
  return apiKey === undefined ? given !== undefined : given === apiKey;
}

function betasOf(req: IncomingMessage): readonly string[] {
  const header = req.headers['anthropic-beta'];
  return header === undefined ? [] : String(header).split(/\s*,\s*/);
}

export function headersWithoutCredentials(req: IncomingMessage): Record<string, string> {
  const kept = Object.entries(req.headers).filter(([name]) => !CREDENTIALS.includes(name));
  return Object.fromEntries(kept.map(([name, value]) => [name, String(value)]));
}

/** Returns `undefined` if the body is larger than the API accepts. */
export async function readBody(req: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of req as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes <= MAX_BODY_BYTES) chunks.push(chunk);
  }
  return bytes > MAX_BODY_BYTES ? undefined : Buffer.concat(chunks);
}

export function parseRequest(body: Buffer): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(body.toString());
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Which API a request is for. */
export interface ApiVersion {
  readonly version: string;
  readonly betas: readonly string[];
}

/** As the headers of a request say it. */
export function apiVersionOf(req: IncomingMessage): ApiVersion {
  return { version: String(req.headers['anthropic-version'] ?? ''), betas: betasOf(req) };
}

const VERSIONS = ['2023-01-01', '2023-06-01', '2026-10-21'];

/** @returns the API's refusal of a request; `undefined` for a valid one */
export function problemOf(
  request: JsonObject | undefined,
  { version, betas }: ApiVersion,
  {
    endpoint,
    models,
    lenient,
  }: {
    readonly endpoint: 'messages' | 'count_tokens';
    readonly models: ReadonlySet<string>;
    readonly lenient: ReadonlySet<string>;
  },
): RequestError | undefined {
  if (request === undefined) return INVALID_JSON;
  if (!VERSIONS.includes(version)) {
    return { type: 'invalid_request_error', message: 'anthropic-version: header is required' };
  }
  const model = typeof request['model'] === 'string' ? request['model'] : '';
  const context = { model, traits: traitsOf(model), models, version, betas, endpoint };
  return requestProblem(request, context, lenient);
}
