/**
 * What the simulator received and what it served: the external witness of tests about money. Kept in
 * memory up to a bound, and appended to a file line by line when one is given.
 */

import { appendFileSync } from 'node:fs';

export interface JournaledRequest {
  readonly id: string;
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  /** Lower-case names, without credentials. */
  readonly headers: Readonly<Record<string, string>>;
  /** The bytes as they arrived; absent when bodies are not kept. */
  readonly body: Buffer | undefined;
  readonly bytes: number;
}

export interface ServedUsage {
  /** Id of the request in this journal. */
  readonly requestId: string;
  /** `id` of the message. */
  readonly messageId: string;
  readonly model: string;
  readonly streamed: boolean;
  /** The final usage object as it was sent; anything a script made of it. */
  readonly usage: Readonly<Record<string, unknown>>;
  /** Whether the bytes that carry it were handed to the socket, all of them. */
  readonly isComplete: boolean;
}

export interface Journal {
  requests(): readonly JournaledRequest[];
  usages(): readonly ServedUsage[];
}

export interface JournalWriter extends Journal {
  addRequest(request: JournaledRequest): void;
  addUsage(usage: ServedUsage): void;
  clear(): void;
}

export function createJournal(options: {
  readonly maxEntries: number;
  readonly file: string | undefined;
}): JournalWriter {
  const requests: JournaledRequest[] = [];
  const usages: ServedUsage[] = [];

  function keep<Entry>(list: Entry[], entry: Entry): void {
    list.push(entry);
    // Dropped in large steps, because removing the first item of a long list moves all others.
    if (list.length > options.maxEntries * 2) list.splice(0, options.maxEntries);
  }

  function append(kind: string, entry: object): void {
    if (options.file === undefined) return;
    appendFileSync(options.file, `${JSON.stringify({ kind, ...entry })}\n`);
  }

  return {
    requests: () => requests.slice(-options.maxEntries),
    usages: () => usages.slice(-options.maxEntries),
    addRequest(request) {
      keep(requests, request);
      append('request', { ...request, body: request.body?.toString('base64') });
    },
    addUsage(usage) {
      keep(usages, usage);
      append('usage', usage);
    },
    clear() {
      requests.length = 0;
      usages.length = 0;
    },
  };
}
