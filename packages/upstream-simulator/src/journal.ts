/**
 * Records the requests that the simulator received, the usages it sent and the tokens it bills.
 * Tests about money use it as an external witness. Keeps a bounded number in memory. Requests and
 * usages are also appended to a file if one is given, one JSON line each.
 */

import { appendFileSync } from 'node:fs';
import type { BilledUsage } from './message/billed-usage.js';

export interface JournaledRequest {
  readonly id: string;
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  /** Lower-case names, without credentials. */
  readonly headers: Readonly<Record<string, string>>;
  /** The bytes as they arrived; `undefined` when bodies are not kept. */
  readonly body: Buffer | undefined;
  readonly bytes: number;
}

/** The usage of a response that was sent whole. Responses that were cut off have none. */
export interface ServedUsage {
  /** Id of the request in this journal. */
  readonly requestId: string;
  /** `id` of the message. */
  readonly messageId: string;
  readonly model: string;
  readonly streamed: boolean;
  /** `usage` of the whole message. A script may have put any JSON into it. */
  readonly usage: Readonly<Record<string, unknown>>;
}

export interface Journal {
  /**
   * What the provider bills: the latest messages, also those whose response was cut off, but no
   * stream that ended with an error event. The usage report and the cost report count these.
   */
  billed(): readonly BilledUsage[];
  requests(): readonly JournaledRequest[];
  usages(): readonly ServedUsage[];
}

export interface JournalWriter extends Journal {
  addRequest(request: JournaledRequest): void;
  addUsage(usage: ServedUsage): void;
  addBilled(usage: BilledUsage): void;
  clear(): void;
}

export function createJournal(options: {
  readonly maxEntries: number;
  readonly file: string | undefined;
}): JournalWriter {
  const requests: JournaledRequest[] = [];
  const usages: ServedUsage[] = [];
  const billed: BilledUsage[] = [];

  function keep<Entry>(list: Entry[], entry: Entry): void {
    list.push(entry);
    // Drops old entries in large steps, because removing the first item of a list moves all others.
    if (list.length > options.maxEntries * 2) list.splice(0, options.maxEntries);
  }

  function append(kind: string, entry: object): void {
    if (options.file === undefined) return;
    appendFileSync(options.file, `${JSON.stringify({ kind, ...entry })}\n`);
  }

  return {
    requests: () => requests.slice(-options.maxEntries),
    usages: () => usages.slice(-options.maxEntries),
    billed: () => billed.slice(-options.maxEntries),
    addRequest(request) {
      keep(requests, request);
      append('request', { ...request, body: request.body?.toString('base64') });
    },
    addUsage(usage) {
      keep(usages, usage);
      append('usage', usage);
    },
    addBilled(usage) {
      keep(billed, usage);
    },
    clear() {
      requests.length = 0;
      usages.length = 0;
      billed.length = 0;
    },
  };
}
