/** The main thread's side of a ledger thread: starts it, calls its operations and stops it. */

import { MessageChannel, Worker, receiveMessageOnPort } from 'node:worker_threads';
import { LedgerArchiveError, LedgerMoveError } from '../../errors.js';
import { StoreUnavailableError } from '../../store.js';
import { unavailable } from '../base/reaching-database.js';
import { withTimeout } from '../base/timeout.js';
import { THREAD_LIMITS, memoryErrorOf } from './background-thread.js';
import { STOP } from './messages.js';
import type { Answer, Progress, Request, StartedThreadData } from './messages.js';
import { decode, encode } from './thread-codec.js';

/** The operations of a thread by name. */
export type Operations<All> = { readonly [Name in keyof All]: (...args: never[]) => unknown };

type OnProgress = (progress: never) => void;

/** A ledger thread. It starts with its first call. If it dies, the next call starts a new one. */
export interface LedgerThread<All extends Operations<All>> {
  /**
   * @param onProgress - Passed to the operation as its last argument.
   * @throws {StoreUnavailableError} when the database cannot be used now, the thread has died, or
   * no answer came in time. The work may have been done.
   * @throws {BackgroundWorkError} when a thread that reads has reached its limit of memory.
   * @throws {RangeError} when a value is refused, and a `DataCloneError` when an argument cannot be
   * sent: nothing was done.
   */
  call<Name extends keyof All & string>(
    operation: Name,
    args: Parameters<All[Name]>,
    timeoutMs: number | undefined,
    onProgress?: OnProgress,
  ): Promise<Awaited<ReturnType<All[Name]>>>;
  /** Handles the answers that have arrived now, not when the event loop gets to them. */
  receive(): void;
  /** Whether no call is in progress. */
  isIdle(): boolean;
  /** Waits until the thread has ended. Work page by page is given up; later calls fail. */
  stop(): Promise<void>;
}

/** What a thread runs. */
export interface ThreadCode {
  /** A file of JavaScript that calls `serveThread`. */
  readonly file: URL;
  /** Added to the thread's `workerData`. */
  readonly data: object;
  /** Whether it may have written what it was called for when it dies; false when absent. */
  readonly writes?: boolean;
}

/** @typeParam Report - See `Answer`. */
export interface ThreadOptions<Report = never> {
  /**
   * Ends the thread after this time without a new call, unless a call is still in progress. Never
   * when absent.
   */
  readonly idleTimeoutMs?: number;
  /** Of the thread's heap; {@link THREAD_LIMITS} when absent. */
  readonly limits?: typeof THREAD_LIMITS;
  /**
   * The operations whose arguments and results the port copies as they are, because they are large
   * and frequent: this takes a fifth of the time of encoding them (3 instead of 17 µs per charge).
   */
  readonly copied?: ReadonlySet<string>;
  /** Called with each commit that the thread reports, in their order. */
  readonly onCommit?: (commit: Report) => void;
}

export function createThread<All extends Operations<All>, Report = never>(
  code: ThreadCode,
  options: ThreadOptions<Report>,
): LedgerThread<All> {
  const { idleTimeoutMs, limits = THREAD_LIMITS, copied, onCommit = () => undefined } = options;
  let running: RunningThread | undefined;
  let idleTimer: NodeJS.Timeout | undefined;
  let isStopped = false;

  function send(
    operation: string,
    args: readonly unknown[],
    onProgress: OnProgress | undefined,
  ): Promise<unknown> {
    if (isStopped) return Promise.reject(new StoreUnavailableError('the store is closed'));
    if (running?.hasEnded() !== false) running = startThread(code, { limits, onCommit });
    const isCopied = copied?.has(operation) === true;
    const answer = running.send({ operation, args, isCopied, onProgress });
    if (idleTimeoutMs !== undefined) {
      clearTimeout(idleTimer);
      idleTimer = setTimeout(stopIfIdle, idleTimeoutMs).unref();
    }
    return answer;
  }

  function stopIfIdle(): void {
    if (running?.isIdle() === false) {
      idleTimer?.refresh();
      return;
    }
    void running?.stop();
    // The next call starts another thread.
    running = undefined;
  }

  return {
    call: (operation, args, timeoutMs, onProgress) => {
      const answer = send(operation, args, onProgress);
      const answered =
        timeoutMs === undefined ? answer : withTimeout(answer, timeoutMs, unavailable);
      return answered as Promise<never>;
    },
    receive() {
      running?.receive();
    },
    isIdle: () => running?.isIdle() !== false,
    async stop() {
      isStopped = true;
      clearTimeout(idleTimer);
      await running?.stop();
    },
  };
}

interface Pending {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: Error) => void;
  readonly call: Call;
}

interface Call extends Pick<Request, 'operation' | 'args' | 'isCopied'> {
  readonly onProgress: OnProgress | undefined;
}

interface RunningThread {
  send(call: Call): Promise<unknown>;
  receive(): void;
  isIdle(): boolean;
  hasEnded(): boolean;
  /** Waits for the calls before it. */
  stop(): Promise<void>;
}

function startThread<Report>(
  { file, data, writes = false }: ThreadCode,
  { limits, onCommit }: Pick<Required<ThreadOptions<Report>>, 'limits' | 'onCommit'>,
): RunningThread {
  const { port1: port, port2 } = new MessageChannel();
  const worker = new Worker(file, {
    workerData: { ...data, port: port2 } satisfies StartedThreadData,
    transferList: [port2],
    resourceLimits: limits,
  });
  const pending = new Map<number, Pending>();
  let lastId = 0;
  let failure: Error | undefined;
  let isEnded = false;

  function handle(answer: Answer<Report> | Progress): void {
    const waiting = pending.get(answer.id);
    if ('progress' in answer) {
      waiting?.call.onProgress?.(decode(answer.progress) as never);
      return;
    }
    pending.delete(answer.id);
    if (pending.size === 0) worker.unref();
    if ('result' in answer) {
      if (answer.commit !== undefined) onCommit(answer.commit);
      waiting?.resolve(waiting.call.isCopied ? answer.result : decode(answer.result));
    } else waiting?.reject(errorOf(answer));
  }

  function receive(): void {
    for (;;) {
      const received = receiveMessageOnPort(port);
      if (received === undefined) return;
      handle(received.message as Answer<Report> | Progress);
    }
  }

  // Only calls in progress keep the process running.
  worker.unref();
  port.on('message', handle);
  port.unref();
  worker.on('error', (error: unknown) => {
    // What a writing thread was doing may be done, so its calls fail as if the disk had failed.
    failure = writes ? undefined : memoryErrorOf(error);
    failure ??= unavailable(error);
  });
  const ended = new Promise<void>((resolve) => {
    worker.once('exit', () => {
      isEnded = true;
      receive();
      port.close();
      const error = failure ?? unavailable('its thread has ended');
      for (const { reject } of pending.values()) reject(error);
      pending.clear();
      resolve();
    });
  });
  return {
    send: (call) =>
      new Promise((resolve, reject) => {
        const { operation, args, isCopied, onProgress } = call;
        lastId += 1;
        // Throws if an argument cannot be sent. Then there is no answer to wait for.
        port.postMessage({
          id: lastId,
          operation,
          args: isCopied ? args : args.map(encode),
          isCopied,
          reportsProgress: onProgress !== undefined,
        } satisfies Request);
        pending.set(lastId, { resolve, reject, call });
        worker.ref();
      }),
    receive,
    isIdle: () => pending.size === 0,
    hasEnded: () => isEnded,
    async stop() {
      if (isEnded) return;
      // Of the work that goes on, which the thread gives up.
      failure ??= new StoreUnavailableError('the store is closed');
      worker.ref();
      port.postMessage(STOP);
      await ended;
    },
  };
}

function errorOf({ fault, name, message }: Extract<Answer, { readonly fault: unknown }>): Error {
  switch (fault) {
    case 'unavailable':
      return new StoreUnavailableError(message);
    case 'refused':
      return new RangeError(message);
    case 'archive':
      return new LedgerArchiveError(message);
    case 'move':
      return new LedgerMoveError(message);
    case 'mistake':
      return Object.assign(new Error(message), { name });
  }
}
