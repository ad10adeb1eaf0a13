/**
 * Records finished requests, beside the requests themselves: in batches, once a second. A request
 * never waits for its record and never fails because of it. While nothing can be stored, requests
 * wait; those that find no room are recorded as a gap: their number, times and sums. A metric
 * counts them. See docs/decisions/0080.
 */

import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import { Counter } from 'prom-client';
import type { Registry } from 'prom-client';
import { StoreUnavailableError } from '@gateway/balance-store';
import type { BalanceStore, RequestBatch, RequestRecord } from '@gateway/balance-store';
import { reasonOf } from '../../base/error-code.js';
import { Gaps } from './gaps.js';
import { RefusalFloods } from './refusal-floods.js';
import { WaitingRequests } from './waiting-requests.js';

export interface RequestRecorder {
  /** @param isRefusal - Whether it was refused before anything was sent upstream. */
  record(request: RequestRecord, isRefusal: boolean): void;
  /** Writes what is waiting. Later requests are dropped. */
  stop(): Promise<void>;
}

export interface RecorderOptions {
  readonly store: Pick<BalanceStore, 'recordRequests'>;
  readonly registry: Registry;
  readonly log: Logger;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

const PERIOD_MS = 1_000;
/**
 * A batch of this size is written at once, and none is larger: while one is encoded, no request is
 * served.
 */
export const BATCH = 512;
/** While the database is slow or away, more requests than this become gaps. */
export const MAX_WAITING = 4_096;
/** After a failure, nothing is written for this time. */
const PAUSE_MS = 10_000;
/** Kinds of requests that are counted together while nothing can be written. */
const MAX_GAPS = 2_000;

export function createRequestRecorder(options: RecorderOptions): RequestRecorder {
  const { store, registry, log, now } = options;
  const dropped = unrecordedCounter(registry);
  const floods = new RefusalFloods();
  const waiting = new WaitingRequests();
  const gaps = new Gaps(MAX_GAPS);
  /** A batch whose writing had no answer. */
  let unanswered: RequestBatch | undefined;
  let timer: NodeJS.Timeout | undefined;
  let writing: Promise<void> | undefined;
  let pausedUntil = 0;
  let isStopped = false;

  function add(request: RequestRecord, as: 'kept' | 'counted' = 'kept'): void {
    hold(request, as);
    if (waiting.count >= BATCH) flush();
    else if (waiting.count > 0) timer ??= setTimeout(flush, PERIOD_MS).unref();
  }

  function hold(request: RequestRecord, as: 'kept' | 'counted' = 'kept'): void {
    if (isStopped) {
      dropped.inc(request.count);
      return;
    }
    if (waiting.count >= MAX_WAITING) {
      const displaced = waiting.displace(request);
      dropped.inc(displaced.count);
      gaps.add(displaced);
      if (displaced === request) return;
    }
    if (as === 'kept') waiting.add(request);
    else waiting.addCounted(request);
  }

  function refuse(request: RequestRecord): void {
    switch (floods.take(request)) {
      case 'first':
        add(request);
        return;
      case 'combined':
        return;
      case 'too_many_kinds':
        add(request, 'counted');
    }
  }

  function flush(): void {
    clearTimeout(timer);
    timer = undefined;
    writing ??= write().finally(() => {
      writing = undefined;
      if (!isStopped && (floods.size > 0 || hasMore())) {
        timer ??= setTimeout(flush, PERIOD_MS).unref();
      }
    });
  }

  async function write(): Promise<void> {
    for (const more of floods.end(now())) hold(more);
    do {
      if (now() < pausedUntil || !hasMore()) return;
      await writeBatch();
    } while (waiting.count >= BATCH);
  }

  function hasMore(): boolean {
    return unanswered !== undefined || waiting.count > 0 || gaps.count > 0;
  }

  async function writeBatch(): Promise<void> {
    const batch = unanswered ?? nextBatch(waiting, gaps);
    unanswered = undefined;
    try {
      await store.recordRequests(batch);
    } catch (error) {
      pausedUntil = now() + PAUSE_MS;
      log.warn({ reason: reasonOf(error) }, 'requests cannot be recorded');
      if (error instanceof StoreUnavailableError) unanswered = batch;
      // It would be refused again.
      else drop(batch);
    }
  }

  function drop({ kept, counted }: RequestBatch): void {
    for (const { count } of [...kept, ...counted]) dropped.inc(count);
  }

  return {
    record(request, isRefusal) {
      if (isRefusal) refuse(request);
      else add(request);
    },
    async stop() {
      for (const more of floods.end(Infinity)) hold(more);
      await writing;
      pausedUntil = 0;
      while (hasMore() && now() >= pausedUntil) {
        flush();
        await writing;
      }
      isStopped = true;
      clearTimeout(timer);
      if (unanswered !== undefined) drop(unanswered);
      drop(waiting.take(Infinity));
    },
  };
}

/** What waits comes first, so that a gap is recorded after what was before it. */
function nextBatch(waiting: WaitingRequests, gaps: Gaps): RequestBatch {
  const of = waiting.count > 0 ? waiting.take(BATCH) : { kept: gaps.take(BATCH), counted: [] };
  return { ...of, id: randomUUID() };
}

function unrecordedCounter(registry: Registry): Counter {
  const counter = new Counter({
    name: 'gateway_requests_unrecorded_total',
    help: 'Finished requests that the record of requests lacks, or has only as the sums of a gap',
    registers: [registry],
  });
  counter.inc(0);
  return counter;
}
