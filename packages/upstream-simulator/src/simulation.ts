/** What all requests to one simulator share, and the server that receives them. */

import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { headersWithoutCredentials, readBody } from './client-request.js';
import { createJournal } from './journal.js';
import type { Journal, JournalWriter } from './journal.js';
import { createSignatures } from './message/bound-thinking.js';
import type { Signatures } from './message/bound-thinking.js';
import type { JsonObject } from './message/message.js';
import { sendError } from './message/responses.js';
import type { Answering } from './message/responses.js';
import type { ScriptedReply } from './message/script.js';
import type { Wire } from './message/wire.js';
import { MODEL_IDS } from './models/models.js';
import type { UpstreamSimulatorOptions } from './options.js';
import { createPromptCache } from './prompt-cache.js';
import type { PromptCache } from './prompt-cache.js';
import type { ScriptedReport } from './reports.js';
import { lenientRules } from './rules/rules.js';
import { createScriptChoice } from './script-choice.js';
import type { ScriptChoice } from './script-choice.js';

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

/** The state that all requests share. */
export interface Simulation {
  readonly options: UpstreamSimulatorOptions;
  readonly models: ReadonlySet<string>;
  readonly lenient: ReadonlySet<string>;
  readonly journal: JournalWriter;
  readonly cache: PromptCache;
  readonly signatures: Signatures;
  readonly scripts: ScriptChoice;
  readonly reportScripts: ScriptedReport[];
}

/** One request whose body was read, and the response to it. */
export interface Incoming extends Answering {
  readonly req: IncomingMessage;
  readonly body: Buffer;
  readonly pathname: string;
}

/** A place that serves messages: Anthropic's own API, or a cloud. */
export interface Place {
  /** How it writes what is not about a message. */
  readonly wire: Wire;
  /** The header of each response that has the id of the request. */
  readonly requestIdHeader: string;
  /** @param count - How many requests there were with this one. */
  requestId(count: number, url: string): string;
  /** Answers a request that is larger than the API accepts. */
  refuseLarge(to: Answering): void;
  serve(simulation: Simulation, incoming: Incoming): Promise<void>;
}

const MAX_JOURNAL_ENTRIES = 200_000;

export async function startSimulation(
  place: Place,
  options: UpstreamSimulatorOptions,
): Promise<UpstreamSimulator> {
  const simulation: Simulation = {
    options,
    models: new Set(options.models ?? MODEL_IDS),
    lenient: new Set(lenientRules(options.lenient)),
    journal: createJournal({
      maxEntries: options.maxJournalEntries ?? MAX_JOURNAL_ENTRIES,
      file: options.journalFile,
    }),
    cache: createPromptCache(options.minCachedTokens),
    signatures: createSignatures(),
    scripts: createScriptChoice(options),
    reportScripts: [],
  };
  const { scripts, reportScripts, journal, cache } = simulation;
  let requestCount = 0;
  const server = createServer((req, res) => {
    // Counts before the first `await`, so that simultaneous requests get different ids.
    requestCount += 1;
    const requestId = place.requestId(requestCount, req.url ?? '');
    receive(place, simulation, { req, res, requestId }).catch((error: unknown) => {
      if (res.headersSent) res.destroy();
      else {
        const to = { res, requestId, wire: place.wire };
        sendError(to, { type: 'api_error', message: describe(error) });
      }
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
    close: () => closed(server),
  };
}

async function receive(
  place: Place,
  simulation: Simulation,
  { req, res, requestId }: { req: IncomingMessage; res: ServerResponse; requestId: string },
): Promise<void> {
  const url = req.url ?? '';
  const body = await readBody(req);
  simulation.journal.addRequest({
    id: requestId,
    method: req.method ?? '',
    path: url,
    headers: headersWithoutCredentials(req),
    body: (simulation.options.keepBodies ?? true) ? body : undefined,
    bytes: body?.length ?? 0,
  });
  res.setHeader(place.requestIdHeader, requestId);
  const to = { res, requestId, wire: place.wire };
  if (body === undefined) {
    place.refuseLarge(to);
    return;
  }
  const { pathname } = new URL(url, 'http://simulator');
  await place.serve(simulation, { ...to, req, body, pathname });
}

/** Starts to accept connections. */
export function listen(
  server: Server,
  { port = 0, host = '127.0.0.1' }: { readonly port?: number; readonly host?: string },
): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
}

/** Stops the server and closes its connections. */
export function closed(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => {
      resolve();
    });
    server.closeAllConnections();
  });
}

function describe(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
