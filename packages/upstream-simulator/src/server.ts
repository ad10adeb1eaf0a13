/** The HTTP server and its routes. */

import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { billedTokens } from './message/billed-usage.js';
import {
  BINDING_CONTROLS,
  checkThinking,
  createSignatures,
  withoutDropped,
} from './message/bound-thinking.js';
import type { Signatures } from './message/bound-thinking.js';
import type { InputTransformation } from './message/bound-thinking.js';
import {
  INVALID_JSON,
  betasOf,
  headersWithoutCredentials,
  isAuthorized,
  parseRequest,
  problemOf,
  readBody,
} from './client-request.js';
import { createJournal } from './journal.js';
import type { Journal, JournalWriter } from './journal.js';
import { asArray, asObject, isObject } from './message/message.js';
import type { JsonObject } from './message/message.js';
import { MODEL_IDS, inferenceGeo, modelInfo, traitsOf } from './models/models.js';
import type { UpstreamSimulatorOptions } from './options.js';
import { createPromptCache } from './prompt-cache.js';
import type { PromptCache } from './prompt-cache.js';
import { composeReply, idOf } from './reply.js';
import type { Reply } from './reply.js';
import { isReport, serveReport } from './reports.js';
import type { ScriptedReport } from './reports.js';
import { JSON_HEADERS, sendError, sendJson, sendParts, sendStream } from './message/responses.js';
import type { SentMessage } from './message/responses.js';
import { lenientRules } from './rules/rules.js';
import { createScriptChoice } from './script-choice.js';
import type { ScriptChoice } from './script-choice.js';
import { resolveScript } from './message/script.js';
import type { ScriptedReply } from './message/script.js';

export interface UpstreamSimulator {
  /** Without a path: `http://127.0.0.1:<port>`. */
  readonly url: string;
  readonly port: number;
  readonly journal: Journal;
  /** Uses this reply for the next request for a message. Each call adds one to the queue. */
  script(reply: ScriptedReply): void;
  /** Uses this reply for all requests that match `when`, until {@link UpstreamSimulator.reset}. */
  scriptWhen(when: (request: JsonObject) => boolean, reply: ScriptedReply): void;
  /** Uses this reply for the next request for a report. Each call adds one to the queue. */
  scriptReport(reply: ScriptedReport): void;
  /** Clears the scripts, the journal and the prompt cache. */
  reset(): void;
  close(): Promise<void>;
}

const MAX_JOURNAL_ENTRIES = 200_000;

/** The state that all requests share. */
interface Simulation {
  readonly options: UpstreamSimulatorOptions;
  readonly models: ReadonlySet<string>;
  readonly lenient: ReadonlySet<string>;
  readonly journal: JournalWriter;
  readonly cache: PromptCache;
  readonly signatures: Signatures;
  readonly scripts: ScriptChoice;
  readonly reportScripts: ScriptedReport[];
  requestCount: number;
}

/** One request whose body was read, and the response to it. */
interface Incoming {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly requestId: string;
  readonly body: Buffer;
}

export async function startUpstreamSimulator(
  options: UpstreamSimulatorOptions = {},
): Promise<UpstreamSimulator> {
  const journal = createJournal({
    maxEntries: options.maxJournalEntries ?? MAX_JOURNAL_ENTRIES,
    file: options.journalFile,
  });
  const cache = createPromptCache(options.minCachedTokens);
  const scripts = createScriptChoice(options);
  const models = new Set(options.models ?? MODEL_IDS);
  const lenient = new Set(lenientRules(options.lenient));
  const reportScripts: ScriptedReport[] = [];
  const simulation = {
    options,
    models,
    lenient,
    journal,
    cache,
    signatures: createSignatures(),
    scripts,
    reportScripts,
    requestCount: 0,
  };

  const server = createServer((req, res) => {
    serve(simulation, req, res).catch((error: unknown) => {
      if (res.headersSent) res.destroy();
      else sendError(res, 'req_unknown', { type: 'api_error', message: describe(error) });
    });
  });
  server.keepAliveTimeout = 60_000;
  await listen(server, options);
  const { address, port } = server.address() as AddressInfo;

  return {
    url: `http://${address.includes(':') ? `[${address}]` : address}:${String(port)}`,
    port,
    journal,
    script(reply) {
      scripts.add(reply);
    },
    scriptWhen(when, reply) {
      scripts.addRule(when, reply);
    },
    scriptReport(reply) {
      reportScripts.push(reply);
    },
    reset() {
      scripts.clear();
      reportScripts.length = 0;
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

async function serve(
  simulation: Simulation,
  req: IncomingMessage,
  res: ServerResponse,
): Promise<void> {
  const { options, journal, models } = simulation;
  // Counts before the first `await`, so that simultaneous requests get different ids.
  simulation.requestCount += 1;
  const url = req.url ?? '';
  const requestId = idOf('req', String(simulation.requestCount), url);
  const body = await readBody(req);
  const { pathname } = new URL(url, 'http://simulator');
  journal.addRequest({
    id: requestId,
    method: req.method ?? '',
    path: url,
    headers: headersWithoutCredentials(req),
    body: (options.keepBodies ?? true) ? body : undefined,
    bytes: body?.length ?? 0,
  });
  res.setHeader('request-id', requestId);
  if (body === undefined) {
    res.writeHead(413, { 'content-type': 'text/html' }).end('<html>413 Payload Too Large</html>');
    return;
  }
  if (req.method === 'GET' && isReport(pathname)) {
    const script = simulation.reportScripts.shift();
    await serveReport({ req, res, requestId }, journal.billed(), { options, script });
    return;
  }
  if (!isAuthorized(req, options.apiKey)) {
    sendError(res, requestId, { type: 'authentication_error', message: 'invalid x-api-key' });
    return;
  }
  const exchange = { req, res, requestId, body };
  if (req.method === 'GET' && pathname.startsWith('/v1/models')) {
    serveModels(models, exchange, decodeURIComponent(pathname.slice('/v1/models/'.length)));
  } else if (req.method === 'POST' && pathname === '/v1/messages') {
    await serveMessage(simulation, exchange);
  } else if (req.method === 'POST' && pathname === '/v1/messages/count_tokens') {
    serveCount(simulation, exchange);
  } else {
    sendError(res, requestId, { type: 'not_found_error', message: 'Not found' });
  }
}

function serveModels(models: ReadonlySet<string>, { res, requestId }: Incoming, id: string): void {
  if (id === '') {
    const data = [...models].map(modelInfo);
    const ids = { first_id: data[0]?.['id'] ?? null, last_id: data.at(-1)?.['id'] ?? null };
    sendJson(res, 200, { data, has_more: false, ...ids });
  } else if (models.has(id)) {
    sendJson(res, 200, modelInfo(id));
  } else {
    sendError(res, requestId, { type: 'not_found_error', message: `model: ${id}` });
  }
}

function serveCount(
  { models, lenient }: Simulation,
  { req, res, requestId, body }: Incoming,
): void {
  const request = parseRequest(body);
  const problem = problemOf(req, request, { endpoint: 'count_tokens', models, lenient });
  if (problem !== undefined) sendError(res, requestId, problem);
  else sendJson(res, 200, { input_tokens: countTokens(request ?? {}) });
}

async function serveMessage(
  { options, models, lenient, journal, cache, signatures, scripts }: Simulation,
  { req, res, requestId, body }: Incoming,
): Promise<void> {
  const request = parseRequest(body);
  const chosen = resolveScript(scripts.choose(req, request ?? {}));
  const script = { ...chosen, eventDelayMs: chosen.eventDelayMs ?? options.eventDelayMs ?? 0 };
  await pause(script.delayMs ?? options.latencyMs ?? 0);
  if (script.body !== undefined) {
    const headers = { ...JSON_HEADERS, ...script.headers };
    await sendParts(res, script.status ?? 200, headers, [script.body], script);
    return;
  }
  if (script.error !== undefined) {
    sendError(res, requestId, { message: 'Scripted error', ...script.error }, script);
    return;
  }
  const problem = problemOf(req, request, { endpoint: 'messages', models, lenient });
  if (request === undefined || problem !== undefined) {
    sendError(res, requestId, problem ?? INVALID_JSON);
    return;
  }
  const check = checkThinking(request);
  const { signature } = check;
  const isBound = traitsOf(String(request['model']))?.bindsThinking === true;
  const forged = isBound || lenient.has('bound-thinking') ? undefined : signatures.problem(request);
  if (forged !== undefined) {
    sendError(res, requestId, { type: 'invalid_request_error', message: forged });
    return;
  }
  const dropped = isBound ? check.dropped : [];
  const reply = composeReply(withoutDropped(request, dropped), cache, signature);
  const transformations = betasOf(req).includes(BINDING_CONTROLS) ? dropped : undefined;
  const message = composeMessage(request, script, { requestId, reply, transformations });
  signatures.remember(asArray(message['content']));
  const isStream = request['stream'] === true;
  const isBilled = !isUnbilledRefusal(message) && (!isStream || script.streamError === undefined);
  const tokens = isBilled ? billedTokens(message.usage, reply.usage, script.billed) : undefined;
  // Before the bytes are sent, so that a client that has them finds the message in the reports.
  if (tokens !== undefined) {
    journal.addBilled({
      atMs: (options.now ?? Date.now)(),
      model: String(message['model']),
      tokens,
    });
  }
  const isComplete = isStream
    ? await sendStream(res, message, script)
    : await sendParts(
        res,
        script.status ?? 200,
        { ...JSON_HEADERS, ...script.headers },
        [JSON.stringify(message)],
        script,
      );
  if (!isComplete || !isObject(message.usage)) return;
  journal.addUsage({
    requestId,
    messageId: String(message['id']),
    model: String(message['model']),
    streamed: isStream,
    usage: message.usage,
  });
}

/** The only categories of refusals before any output that the provider bills. */
const BILLED_REFUSALS: readonly unknown[] = ['bio', 'frontier_llm', 'reasoning_extraction'];

function isUnbilledRefusal(message: JsonObject): boolean {
  const { stop_reason: reason, content, stop_details: details } = message;
  const isEmpty = asArray(content).every((block) => asObject(block)['type'] === 'fallback');
  return (
    reason === 'refusal' && isEmpty && !BILLED_REFUSALS.includes(asObject(details)['category'])
  );
}

interface ComposedFrom {
  readonly requestId: string;
  readonly reply: Reply;
  /** Only if the client asked for a report. */
  readonly transformations: readonly InputTransformation[] | undefined;
}

function composeMessage(
  request: JsonObject,
  script: ScriptedReply,
  { requestId, reply, transformations }: ComposedFrom,
): SentMessage {
  const content = script.content ?? reply.content;
  const stopReason = script.stopReason ?? reply.stopReason;
  const isEmptyRefusal = stopReason === 'refusal' && content.length === 0;
  const usage = {
    ...reply.usage,
    // What the API counts for a refusal before any output.
    ...(isEmptyRefusal ? { output_tokens: 1, output_tokens_details: { thinking_tokens: 0 } } : {}),
    service_tier: 'standard',
    inference_geo: inferenceGeo(request),
    ...script.usage,
  };
  return {
    model: request['model'],
    id: idOf('msg', requestId),
    type: 'message',
    role: 'assistant',
    content,
    container: null,
    stop_reason: stopReason,
    stop_sequence: script.stopSequence === undefined ? reply.stopSequence : script.stopSequence,
    stop_details: script.stopDetails ?? reply.stopDetails,
    ...(script.withoutUsage === true ? {} : { usage }),
    diagnostics: null,
    ...(transformations === undefined ? {} : { input_transformations: transformations }),
  };
}

function countTokens(request: JsonObject): number {
  const counted = createPromptCache().account(request);
  return (
    counted.input_tokens + counted.cache_creation_input_tokens + counted.cache_read_input_tokens
  );
}

async function pause(ms: number): Promise<void> {
  if (ms > 0) await sleep(ms);
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
