/**
 * Prepares small requests on the main thread and large ones in a worker thread. Size is counted in
 * bytes and JSON values, not in time, so the same body is always prepared in the same place.
 */

import { extname } from 'node:path';
import { Piscina } from 'piscina';
import type { KeyRecord } from '@gateway/balance-store';
import { errorCode } from '../../base/error-code.js';
import { newRefusal } from '../../base/errors/refusal.js';
import type {
  Preparation,
  PreparationJob,
  PreparationRules,
  ThreadLimits,
} from './prepare-request.js';
import { createReferringPreparer } from './refer-or-prepare.js';
import type { Referral } from './refer-or-prepare.js';

export interface RequestPreparer {
  /**
   * @param job.body - Do not use it after the call: its memory may have been transferred to another
   * thread.
   * @param key - At most one request of an account waits for the worker thread or runs in it, so
   * that other accounts get their turn. The keys of an account take turns in the same way.
   */
  prepare(
    job: PreparationJob,
    key: Pick<KeyRecord, 'id' | 'accountId'>,
  ): Preparation | Referral | Promise<Preparation | Referral>;
}

/** What the worker thread gets. */
export interface ThreadJob {
  readonly job: PreparationJob;
  readonly rules: PreparationRules;
  /** Equal for equal rules. */
  readonly rulesId: number;
}

/** The worker thread that all preparers of a process share, whatever their rules. */
export interface PreparationThread {
  run(job: ThreadJob, key: Pick<KeyRecord, 'id' | 'accountId'>): Promise<Preparation | Referral>;
  close(): Promise<void>;
}

/**
 * At worst some 30 ms of CPU: for scanning native bodies, and for parsing and translating other
 * bodies.
 */
const MAIN_THREAD_LIMITS: ThreadLimits = {
  nativeValues: 40_000,
  nativeBytes: 4 * 1024 * 1024,
  chatValues: 8_000,
  chatBytes: 1024 * 1024,
};
const IDLE_TIMEOUT_MS = 30_000;
/**
 * Memory of the worker thread: for its code, and for a parsed and translated body of the largest
 * size.
 */
const THREAD_MEGABYTES = 64;
const MEGABYTES_PER_BODY_MEGABYTE = 10;
/** By default it may be 48, and for a large body all of them would be used. */
const YOUNG_MEGABYTES = 12;

/** Has a status that clients do not retry, because the same body would need the same memory. */
const TOO_MUCH_MEMORY = newRefusal('body_takes_too_much_memory');

/** Tests run the sources; the worker thread needs the built file in any case. */
const THREAD_FILE = new URL(
  extname(import.meta.url) === '.ts' ? '../../../dist/prepare-thread.js' : './prepare-thread.js',
  import.meta.url,
);

export interface ThreadOptions {
  readonly maxBodyBytes: number;
  /** Heap of the worker thread. Default: enough for a body of the largest size. */
  readonly heapMegabytes?: number;
}

export function createPreparationThread({
  maxBodyBytes,
  heapMegabytes = THREAD_MEGABYTES +
    Math.ceil(maxBodyBytes / 2 ** 20) * MEGABYTES_PER_BODY_MEGABYTE,
}: ThreadOptions): PreparationThread {
  // The pool starts no thread before the first job.
  const pool = new Piscina({
    filename: THREAD_FILE.href,
    minThreads: 0,
    maxThreads: 1,
    idleTimeout: IDLE_TIMEOUT_MS,
    resourceLimits: {
      maxOldGenerationSizeMb: heapMegabytes,
      maxYoungGenerationSizeMb: YOUNG_MEGABYTES,
    },
  });
  // If its thread fails to start, the pool emits an error and keeps the job. The job would then
  // wait forever.
  let failJob: (error: unknown) => void = ignore;
  pool.on('error', (error) => {
    failJob(error);
  });
  const inTurn = createTurns();
  const inTurnOfKey = createTurns();

  async function run({ job, ...by }: ThreadJob): Promise<Preparation | Referral> {
    const body = withOwnMemory(job.body);
    const failed = new Promise<never>((_resolve, reject) => (failJob = reject));
    try {
      const done = pool.run({ job: { ...job, body }, ...by }, { transferList: [body.buffer] });
      return (await Promise.race([done, failed])) as Preparation | Referral;
    } catch (error) {
      if (errorCode(error) !== 'ERR_WORKER_OUT_OF_MEMORY') throw error;
      return { outcome: 'refused', refusal: TOO_MUCH_MEMORY };
    }
  }

  return {
    run: (job, { id, accountId }) =>
      inTurnOfKey(id, () => inTurn(accountId, () => inTurn(THREAD, () => run(job)))),
    close: () => pool.destroy(),
  };
}

let lastRulesId = 0;

export function createRequestPreparer(
  rules: PreparationRules,
  thread: Pick<PreparationThread, 'run'>,
): RequestPreparer {
  const prepareHere = createReferringPreparer(rules);
  const rulesId = ++lastRulesId;
  return {
    prepare(job, key) {
      const preparation = prepareHere(job, MAIN_THREAD_LIMITS);
      return preparation.outcome === 'too_large'
        ? thread.run({ job, rules, rulesId }, key)
        : preparation;
    },
  };
}

/**
 * All jobs wait for their turn under this name, not in the queue of the pool: the pool starts no
 * other thread for queued jobs when its thread dies.
 */
const THREAD = Symbol('thread');

/** @returns a function that runs one piece of work per name at a time, in the order of the calls */
function createTurns() {
  const lastOf = new Map<string | symbol, Promise<unknown>>();
  return async <Result>(name: string | symbol, work: () => Promise<Result>): Promise<Result> => {
    const before = lastOf.get(name);
    const mine = before === undefined ? work() : before.then(work);
    const settled = mine.then(ignore, ignore);
    lastOf.set(name, settled);
    try {
      return await mine;
    } finally {
      if (lastOf.get(name) === settled) lastOf.delete(name);
    }
  };
}

/** Small buffers share one block of memory, which cannot be transferred. */
function withOwnMemory(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const { buffer, byteLength } = bytes;
  const isOwn = buffer instanceof ArrayBuffer && buffer.byteLength === byteLength;
  return isOwn ? new Uint8Array(buffer) : new Uint8Array(bytes);
}

function ignore(): void {
  // The caller of the work handles its error.
}
