/**
 * Requests wait here for room that the holds of other requests take, at a balance, a cap or a
 * budget, so that requests that fit one after another are served although they come at once.
 *
 * Those of one account are tried again in the order in which they came, whenever a hold of this
 * process ends, and at short intervals, because other processes hold money too. Requests of other
 * accounts never wait for them.
 */

import type { ServerResponse } from 'node:http';
import { onLeaving } from '../../http/leaving-client.js';

/** That a request could not hold what it may cost. */
export interface LackOfRoom {
  readonly outcome: 'failed';
  /**
   * The balance, the cap or the budget that lacks room only because other requests hold money;
   * `undefined` if waiting for them is of no use.
   */
  readonly waitsFor?: string;
}

export interface WaitingRequest<Held, Failed> {
  readonly accountId: string;
  /** If its client leaves, or may have left, it stops waiting. */
  readonly res: ServerResponse;
  /** The least that it has to hold, in units of 10^-14 USD. */
  readonly least: bigint;
  /** Why it could not. */
  readonly failed: Failed;
  /** Tries to hold it again. */
  readonly attempt: () => Promise<Held | Failed>;
  /** Releases what an attempt held after the client had left. */
  readonly release: () => void;
}

export interface HoldLine {
  /**
   * Waits until an attempt succeeds, or fails for another reason than the holds of others. If there
   * are too many waiting requests, this one does not wait.
   *
   * @returns what was held; why nothing was, when the time was up; or that the client has left
   */
  readonly wait: <Held extends { readonly outcome: 'held' }, Failed extends LackOfRoom>(
    request: WaitingRequest<Held, Failed>,
  ) => Promise<Held | Failed | { readonly outcome: 'gone' }>;
  /** Must be called when a hold of this account has ended. */
  readonly onHoldEnd: (accountId: string) => void;
}

/** How long a request waits. Clients and proxies wait longer for the head of an answer. */
const WAIT_MS = 5_000;
const RETRY_MS = 200;
/**
 * Each waiting request keeps its body in memory, and its lease. These bound how many do so in one
 * process, and how much work the retries of an account are.
 */
const MAX_WAITING = 1_000;
const MAX_OF_ACCOUNT = 100;

interface Waiter {
  /** The level that lacks room. */
  level: string;
  readonly least: bigint;
  /** @returns the level that lacks room; `undefined` once the waiter is done */
  readonly retry: () => Promise<string | undefined>;
}

export function createHoldLine({ waitMs = WAIT_MS }: { readonly waitMs?: number } = {}): HoldLine {
  const lines = new Map<string, AccountLine>();
  let waiting = 0;

  function join(accountId: string, waiter: Waiter): () => void {
    let line = lines.get(accountId);
    if (line === undefined) {
      line = new AccountLine();
      lines.set(accountId, line);
    }
    const joined = line;
    joined.add(waiter);
    waiting += 1;
    return function leave() {
      waiting -= 1;
      if (joined.remove(waiter) === 0) lines.delete(accountId);
    };
  }

  return {
    wait(request) {
      const { accountId, failed } = request;
      const isFull = waiting >= MAX_WAITING || (lines.get(accountId)?.count ?? 0) >= MAX_OF_ACCOUNT;
      if (isFull || failed.waitsFor === undefined) return Promise.resolve(failed);
      return waitInLine(request, { level: failed.waitsFor, waitMs, join });
    },
    onHoldEnd(accountId) {
      lines.get(accountId)?.retryAll();
    },
  };
}

function waitInLine<Held extends { readonly outcome: 'held' }, Failed extends LackOfRoom>(
  { accountId, res, least, failed, attempt, release }: WaitingRequest<Held, Failed>,
  {
    level,
    waitMs,
    join,
  }: {
    readonly level: string;
    readonly waitMs: number;
    readonly join: (accountId: string, waiter: Waiter) => () => void;
  },
): Promise<Held | Failed | { readonly outcome: 'gone' }> {
  return new Promise((resolve) => {
    let last = failed;
    let isTrying = false;
    let isTimeUp = false;
    let isDone = false;
    const isOver = (): boolean => isDone;

    function finish(conclude: () => void): void {
      isDone = true;
      leave();
      stopListening();
      clearTimeout(timer);
      conclude();
    }

    const leave = join(accountId, {
      level,
      least,
      async retry() {
        if (isOver()) return undefined;
        isTrying = true;
        const attempted = attempt();
        try {
          const tried = await attempted;
          if (isFailed(tried)) {
            last = tried;
            if (isOver()) return undefined;
            if (tried.waitsFor !== undefined && !isTimeUp) return tried.waitsFor;
          } else if (isOver()) {
            release();
            return undefined;
          }
          finish(() => {
            resolve(tried);
          });
        } catch {
          if (isOver()) return undefined;
          finish(() => {
            // Which rejects.
            resolve(attempted);
          });
        } finally {
          isTrying = false;
        }
        return undefined;
      },
    });
    function giveUp(): void {
      isTimeUp = true;
      // An attempt that is under way decides.
      if (isTrying || isOver()) return;
      finish(() => {
        resolve(last);
      });
    }
    const timer = setTimeout(giveUp, waitMs);
    let stopListening = (): void => undefined;
    stopListening = onLeaving(res, {
      // If it reads on, it is told when to come back.
      onHalfClose: giveUp,
      onClose() {
        if (isOver()) return;
        finish(() => {
          resolve({ outcome: 'gone' });
        });
      },
    });
    if (isOver()) stopListening();
  });
}

function isFailed<Held extends { readonly outcome: 'held' }, Failed extends LackOfRoom>(
  tried: Held | Failed,
): tried is Failed {
  return tried.outcome === 'failed';
}

/** The waiting requests of one account. */
class AccountLine {
  /** In the order in which they came. */
  readonly #waiters = new Set<Waiter>();
  #timer: NodeJS.Timeout | undefined;
  #isRetrying = false;
  #isAskedAgain = false;

  get count(): number {
    return this.#waiters.size;
  }

  add(waiter: Waiter): void {
    this.#waiters.add(waiter);
    this.#timer ??= setInterval(() => {
      this.retryAll();
    }, RETRY_MS);
  }

  /** @returns how many are left */
  remove(waiter: Waiter): number {
    this.#waiters.delete(waiter);
    if (this.#waiters.size === 0) {
      clearInterval(this.#timer);
      this.#timer = undefined;
    }
    return this.#waiters.size;
  }

  retryAll(): void {
    if (this.#isRetrying) {
      this.#isAskedAgain = true;
      return;
    }
    this.#isRetrying = true;
    // No attempt rejects: its waiter does.
    void this.#retryInOrder().finally(() => {
      this.#isRetrying = false;
    });
  }

  async #retryInOrder(): Promise<void> {
    do {
      this.#isAskedAgain = false;
      /** The least amount that found no room at each level. */
      const lacking = new Map<string, bigint>();
      for (const waiter of this.#waiters) {
        const tooMuch = lacking.get(waiter.level);
        if (tooMuch !== undefined && waiter.least >= tooMuch) continue;
        const level = await waiter.retry();
        if (level === undefined) continue;
        waiter.level = level;
        const before = lacking.get(level);
        if (before === undefined || waiter.least < before) lacking.set(level, waiter.least);
      }
    } while (this.#isAskedAgain);
  }
}
