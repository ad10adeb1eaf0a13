/** The HTTP server: routes, credentials, and the delays and faults of scripts. */

import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { eventsOf, writeEvent } from './events.js';
import { createJournal } from './journal.js';
import type { Journal } from './journal.js';
import { isObject } from './message.js';
import type { ContentBlock, JsonObject } from './message.js';
import { MODEL_IDS, MODEL_RULES, inferenceGeo, modelInfo } from './models.js';
import { createPromptCache } from './prompt-cache.js';
import { composeReply, idOf, lastUserText } from './reply.js';
import { ERROR_STATUS, readScript, resolveScript } from './script.js';
import type { ErrorType, ScriptedReply } from './script.js';
import { validateRequest } from './validate.js';

export interface UpstreamSimulatorOptions {
  readonly host?: string;
  /** Default: 0, which takes a free port. */
  readonly port?: number;
  /** The expected credential, in `x-api-key` or `authorization`. Without it any is accepted. */
  readonly apiKey?: string;
  /** Ids of the known models. Default: all current ones. Other models get a 404. */
  readonly models?: readonly string[];
  /** Delay before each response. */
  readonly latencyMs?: number;
  /** Delay between two events of a stream. */
  readonly eventDelayMs?: number;
  /** Reads a {@link ScriptedReply} as JSON from the header `x-simulator-script`. */
  readonly allowScriptHeader?: boolean;
  /** Reads a script from a user's text that begins with `[[script:{…}]]`. */
  readonly allowScriptText?: boolean;
  /** Whether the journal keeps the bytes of request bodies. Default: true. */
  readonly keepBodies?: boolean;
  /** Number of requests, and of usages, that the journal keeps in memory. Default: 200,000. */
  readonly maxJournalEntries?: number;
  /** Path of a file that receives every journal entry as a line of JSON. */
  readonly journalFile?: string;
}

export interface UpstreamSimulator {
  /** Without a path: `http://127.0.0.1:<port>`. */
  readonly url: string;
  readonly port: number;
  readonly journal: Journal;
  /** Uses this reply for the next request. Each call adds one to the queue. */
  script(reply: ScriptedReply): void;
  /** Uses this reply for all requests that match `when`, until {@link UpstreamSimulator.reset}. */
  scriptWhen(when: (request: JsonObject) => boolean, reply: ScriptedReply): void;
  /** Clears the scripts, the journal and the prompt cache. */
  reset(): void;
  close(): Promise<void>;
}

const MAX_BODY_BYTES = 32 * 1024 * 1024;
const MAX_JOURNAL_ENTRIES = 200_000;

export async function startUpstreamSimulator(
  options: UpstreamSimulatorOptions = {},
): Promise<UpstreamSimulator> {
  const journal = createJournal({
    maxEntries: options.maxJournalEntries ?? MAX_JOURNAL_ENTRIES,
    file: options.journalFile,
  });
  const cache = createPromptCache();
  const models = new Set(options.models ?? MODEL_IDS);
  let queue: ScriptedReply[] = [];
  let rules: { when: (request: JsonObject) => boolean; reply: ScriptedReply }[] = [];
  let requestCount = 0;

  const server = createServer((req, res) => {
    serve(req, res).catch((error: unknown) => {
      if (!res.headersSent) sendError(res, 'req_unknown', 'api_error', describe(error));
      else res.destroy();
    });
  });
  server.keepAliveTimeout = 60_000;
  await listen(server, options);
  const { address, port } = server.address() as AddressInfo;

  async function serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
    // Counts before the first `await`, so that simultaneous requests get different ids.
    requestCount += 1;
    const url = req.url ?? '';
    const requestId = idOf('req', String(requestCount), url);
    const body = await readBody(req);
    const { pathname } = new URL(url, 'http://simulator');
    journal.addRequest({
      id: requestId,
      method: req.method ?? '',
      path: url,
      headers: withoutCredentials(req),
      body: (options.keepBodies ?? true) ? body : undefined,
      bytes: body?.length ?? 0,
    });
    res.setHeader('request-id', requestId);
    if (body === undefined) {
      res.writeHead(413, { 'content-type': 'text/html' }).end('<html>413 Payload Too Large</html>');
      return;
    }
    if (!isAuthorized(req, options.apiKey)) {
      sendError(res, requestId, 'authentication_error', 'invalid x-api-key');
      return;
    }
    if (req.method === 'GET' && pathname.startsWith('/v1/models')) {
      serveModels(res, requestId, decodeURIComponent(pathname.slice('/v1/models/'.length)));
    } else if (req.method === 'POST' && pathname === '/v1/messages') {
      await serveMessage(req, res, requestId, body);
    } else if (req.method === 'POST' && pathname === '/v1/messages/count_tokens') {
      serveCount(req, res, requestId, body);
    } else {
      sendError(res, requestId, 'not_found_error', 'Not found');
    }
  }

  function serveModels(res: ServerResponse, requestId: string, id: string): void {
    if (id === '') {
      const data = [...models].map(modelInfo);
      const ids = { first_id: data[0]?.['id'] ?? null, last_id: data.at(-1)?.['id'] ?? null };
      sendJson(res, 200, { data, has_more: false, ...ids });
    } else if (models.has(id)) {
      sendJson(res, 200, modelInfo(id));
    } else {
      sendError(res, requestId, 'not_found_error', `model: ${id}`);
    }
  }

  function serveCount(
    req: IncomingMessage,
    res: ServerResponse,
    requestId: string,
    body: Buffer,
  ): void {
    const request = parseRequest(body);
    const problem = problemOf(req, request, 'count_tokens');
    if (problem !== undefined) sendError(res, requestId, problem.type, problem.message);
    else sendJson(res, 200, { input_tokens: countTokens(request ?? {}) });
  }

  async function serveMessage(
    req: IncomingMessage,
    res: ServerResponse,
    requestId: string,
    body: Buffer,
  ): Promise<void> {
    const request = parseRequest(body);
    const script = resolveScript(chooseScript(req, request ?? {}));
    await pause(script.delayMs ?? options.latencyMs ?? 0);
    if (script.body !== undefined) {
      const headers = { 'content-type': 'application/json', ...script.headers };
      await send(res, script.status ?? 200, headers, [script.body], script);
      return;
    }
    if (script.error !== undefined) {
      const { type, message = 'Scripted error', errorCode } = script.error;
      sendError(res, requestId, type, message, script, errorCode);
      return;
    }
    const problem = problemOf(req, request, 'messages');
    if (request === undefined || problem !== undefined) {
      const { type, message } = problem ?? INVALID_JSON;
      sendError(res, requestId, type, message);
      return;
    }
    const message = composeMessage(request, script, requestId);
    const isStream = request['stream'] === true;
    const isComplete = isStream
      ? await sendStream(res, message, script)
      : await send(res, script.status ?? 200, JSON_HEADERS, [JSON.stringify(message)], script);
    if (!isComplete || !isObject(message.usage)) return;
    journal.addUsage({
      requestId,
      messageId: String(message['id']),
      model: String(message['model']),
      streamed: isStream,
      usage: message.usage,
      isComplete,
    });
  }

  function composeMessage(
    request: JsonObject,
    script: ScriptedReply,
    requestId: string,
  ): JsonObject & { content: readonly ContentBlock[]; usage?: JsonObject } {
    const reply = composeReply(request, cache);
    const usage = {
      ...reply.usage,
      service_tier: 'standard',
      inference_geo: inferenceGeo(request),
      ...script.usage,
    };
    return {
      model: request['model'],
      id: idOf('msg', requestId),
      type: 'message',
      role: 'assistant',
      content: script.content ?? reply.content,
      container: null,
      stop_reason: script.stopReason ?? reply.stopReason,
      stop_sequence: script.stopSequence ?? reply.stopSequence,
      stop_details: script.stopDetails ?? reply.stopDetails,
      ...(script.withoutUsage === true ? {} : { usage }),
      diagnostics: null,
    };
  }

  async function sendStream(
    res: ServerResponse,
    message: JsonObject & { content: readonly ContentBlock[]; usage?: JsonObject },
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
      await send(res, 200, headers, [...shown, writeEvent(error, lineEnd)], script);
      return false;
    }
    if (garbage !== undefined) written.splice(garbage.afterEvents, 0, garbage.bytes);
    const limit = cut?.afterEvents ?? stallAfterEvents;
    if (limit === undefined) return send(res, script.status ?? 200, headers, written, script);
    await send(res, 200, headers, written.slice(0, limit), { ...script, isOpenEnded: true });
    if (cut === undefined) return false;
    if (cut.how === 'reset') res.socket?.resetAndDestroy();
    else res.end();
    return false;
  }

  /**
   * Writes the parts with the script's delays and splits. @returns whether the client is still
   * there.
   */
  async function send(
    res: ServerResponse,
    status: number,
    headers: Readonly<Record<string, string>>,
    parts: readonly (string | Uint8Array)[],
    script: ScriptedReply & { readonly isOpenEnded?: boolean },
  ): Promise<boolean> {
    res.writeHead(status, { ...RATE_LIMIT_HEADERS, ...headers });
    const delayMs = script.eventDelayMs ?? options.eventDelayMs ?? 0;
    const { splitBytes } = script;
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

  function chooseScript(req: IncomingMessage, request: JsonObject): ScriptedReply {
    const queued = queue.shift();
    if (queued !== undefined) return queued;
    const rule = rules.find(({ when }) => when(request));
    if (rule !== undefined) return rule.reply;
    const header = req.headers['x-simulator-script'];
    const inHeader =
      options.allowScriptHeader === true && typeof header === 'string'
        ? readScript(header, 'header')
        : undefined;
    const inText =
      options.allowScriptText === true ? readScript(lastUserText(request), 'text') : undefined;
    return inHeader ?? inText ?? {};
  }

  function problemOf(
    req: IncomingMessage,
    request: JsonObject | undefined,
    endpoint: 'messages' | 'count_tokens',
  ): { readonly type: ErrorType; readonly message: string } | undefined {
    if (request === undefined) return INVALID_JSON;
    const version = String(req.headers['anthropic-version'] ?? '');
    if (version !== '2023-06-01' && version !== '2026-10-21') {
      return { type: 'invalid_request_error', message: 'anthropic-version: header is required' };
    }
    const { model } = request;
    if (typeof model === 'string' && !models.has(model)) {
      return { type: 'not_found_error', message: `model: ${model}` };
    }
    const betas = String(req.headers['anthropic-beta'] ?? '').split(/\s*,\s*/);
    const message = validateRequest(request, { ...MODEL_RULES, version, betas, endpoint });
    return message === undefined ? undefined : { type: 'invalid_request_error', message };
  }

  function countTokens(request: JsonObject): number {
    const counted = createPromptCache().account(request);
    return (
      counted.input_tokens + counted.cache_creation_input_tokens + counted.cache_read_input_tokens
    );
  }

  return {
    url: `http://${address.includes(':') ? `[${address}]` : address}:${String(port)}`,
    port,
    journal,
    script(reply) {
      queue.push(reply);
    },
    scriptWhen(when, reply) {
      rules.push({ when, reply });
    },
    reset() {
      queue = [];
      rules = [];
      journal.clear();
      cache.clear();
    },
    close() {
      return new Promise((resolve) => {
        server.close(() => {
          resolve();
        });
        server.closeAllConnections();
      });
    },
  };
}

const JSON_HEADERS = { 'content-type': 'application/json' };
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
const INVALID_JSON = {
  type: 'invalid_request_error',
  message: 'The request body is not valid JSON.',
} as const;

function sendError(
  res: ServerResponse,
  requestId: string,
  type: ErrorType,
  message: string,
  script: ScriptedReply = {},
  errorCode?: string,
): void {
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

function sendJson(res: ServerResponse, status: number, body: JsonObject): void {
  res.writeHead(status, { ...RATE_LIMIT_HEADERS, ...JSON_HEADERS });
  res.end(JSON.stringify(body));
}

function isAuthorized(req: IncomingMessage, apiKey: string | undefined): boolean {
  const { authorization } = req.headers;
  const given = req.headers['x-api-key'] ?? authorization?.replace(/^Bearer /, '');
  return apiKey === undefined ? given !== undefined : given === apiKey;
}

function withoutCredentials(req: IncomingMessage): Record<string, string> {
  const kept = Object.entries(req.headers).filter(
    ([name]) => name !== 'authorization' && name !== 'x-api-key',
  );
  return Object.fromEntries(kept.map(([name, value]) => [name, String(value)]));
}

/** Returns `undefined` if the body is larger than the API accepts. */
async function readBody(req: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of req as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes <= MAX_BODY_BYTES) chunks.push(chunk);
  }
  return bytes > MAX_BODY_BYTES ? undefined : Buffer.concat(chunks);
}

function parseRequest(body: Buffer): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(body.toString());
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function split(part: string | Uint8Array, size: number): Buffer[] {
  const bytes = Buffer.from(part);
  const pieces: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += size) pieces.push(bytes.subarray(at, at + size));
  return pieces;
}

async function pause(ms: number): Promise<void> {
  if (ms > 0) await sleep(ms);
}

function drained(res: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    res.once('drain', resolve);
    res.once('close', resolve);
  });
}

function listen(server: Server, options: UpstreamSimulatorOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port ?? 0, options.host ?? '127.0.0.1', resolve);
  });
}

function describe(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
