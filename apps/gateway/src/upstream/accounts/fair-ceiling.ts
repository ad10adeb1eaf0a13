/**
 * A ceiling for requests and tokens per minute that the accounts of customers share fairly: while
 * several accounts wait, each gets an equal share, however many requests or keys one of them has
 * waiting. Within an account, the keys that wait take turns. An account gains no larger share by
 * having been idle. Of the requests that it made while nobody waited, only the last one can delay
 * its turn.
 *
 * Two buckets fill continuously. A request passes while both hold at least 1. It may take the
 * bucket of tokens below zero; otherwise a request larger than that bucket could never pass.
 * Accounts that wait are served in the order of their virtual time, as in start-time fair queueing:
 * each request advances its account's time by the part of a minute's ceiling that it uses.
 */

import { MINUTE_MS } from '../../base/times.js';
import type { CeilingLimits } from '../../config/upstream-target.js';

export type Passage =
  | { readonly outcome: 'passed' }
  /** The request has waited for the maximum time. */
  | { readonly outcome: 'late'; readonly retryAfterMs: number };

/** Who makes a request. */
export interface CeilingUser {
  readonly accountId: string;
  readonly keyId: string;
}

export interface CeilingOptions {
  readonly maxWaitMs: number;
  /** Milliseconds from any origin. */
  readonly now: () => number;
}

/** The capacity of a bucket is what fills it in this time, but at least 1. */
const BURST_MS = 2_000;

interface Waiter extends CeilingUser {
  readonly tokens: number;
  readonly settle: (passage: Passage) => void;
  readonly timer: NodeJS.Timeout;
}

/**
 * The requests of an account that wait: those of each key in order, and the keys in the order of
 * their turns.
 */
type Queue = Map<string, Waiter[]>;

export class FairCeiling {
  readonly #limits: CeilingLimits;
  readonly #maxWaitMs: number;
  readonly #requests: Bucket;
  readonly #tokens: Bucket;
  /** Accounts that wait. */
  readonly #queues = new Map<string, Queue>();
  /**
   * The virtual time at which each account's next request may start. Times in the past are dropped.
   */
  readonly #starts = new Map<string, number>();
  #virtualNow = 0;
  #waiting = 0;
  #wakeUp: NodeJS.Timeout | undefined;

  constructor(limits: CeilingLimits, { maxWaitMs, now }: CeilingOptions) {
    this.#limits = limits;
    this.#maxWaitMs = maxWaitMs;
    this.#requests = createBucket(limits.requestsPerMinute, now);
    this.#tokens = createBucket(limits.tokensPerMinute, now);
  }

  /** Requests that wait. */
  get waiting(): number {
    return this.#waiting;
  }

  /**
   * @param tokens - The tokens that the request is expected to use.
   * @returns at once if nobody waits and there is room
   */
  pass(from: CeilingUser, tokens: number): Passage | Promise<Passage> {
    if (this.#waiting === 0 && this.#waitMs() <= 0) {
      this.#spend(from.accountId, tokens);
      return { outcome: 'passed' };
    }
    return this.#wait(from, tokens);
  }

  /**
   * Takes the difference between the used and the expected tokens from the bucket, once the usage
   * is known. A negative difference gives tokens back.
   */
  correct(difference: number): void {
    this.#tokens.take(difference);
    // The timer was set for the old level. Tokens that come back may let a request pass sooner.
    if (difference >= 0 || this.#waiting === 0) return;
    clearTimeout(this.#wakeUp);
    this.#serve();
  }

  /** How long both buckets need until a request may pass. */
  #waitMs(): number {
    return Math.max(this.#requests.waitMs(), this.#tokens.waitMs());
  }

  #startOf(accountId: string): number {
    return Math.max(this.#virtualNow, this.#starts.get(accountId) ?? 0);
  }

  #spend(accountId: string, used: number): void {
    const { requestsPerMinute = Infinity, tokensPerMinute = Infinity } = this.#limits;
    this.#requests.take(1);
    this.#tokens.take(used);
    const start = this.#startOf(accountId);
    this.#virtualNow = start;
    const cost = Math.max(1 / requestsPerMinute, used / tokensPerMinute);
    this.#starts.set(accountId, start + cost);
    if (this.#starts.size > 2 * (this.#queues.size + 1)) this.#dropOld();
  }

  #dropOld(): void {
    for (const [accountId, start] of this.#starts) {
      if (start <= this.#virtualNow && !this.#queues.has(accountId)) this.#starts.delete(accountId);
    }
  }

  #serve(): void {
    this.#wakeUp = undefined;
    while (this.#waiting > 0) {
      const waitMs = this.#waitMs();
      if (waitMs > 0) {
        this.#wakeUp = setTimeout(() => {
          this.#serve();
        }, Math.ceil(waitMs));
        return;
      }
      const waiter = this.#nextWaiter();
      this.#remove(waiter);
      this.#spend(waiter.accountId, waiter.tokens);
      waiter.settle({ outcome: 'passed' });
    }
  }

  /** The first request of the key whose turn it is, of the account that is the earliest. */
  #nextWaiter(): Waiter {
    let chosen: Queue = new Map();
    let earliest = Infinity;
    for (const [accountId, queue] of this.#queues) {
      const start = this.#startOf(accountId);
      if (start < earliest) [chosen, earliest] = [queue, start];
    }
    for (const [keyId, [waiter]] of chosen) {
      if (waiter === undefined) break;
      // The account's next turn is that of its next key.
      const ofKey = chosen.get(keyId) ?? [];
      chosen.delete(keyId);
      chosen.set(keyId, ofKey);
      return waiter;
    }
    throw new Error('an account waits without a request');
  }

  #remove(waiter: Waiter): void {
    const { accountId, keyId, timer } = waiter;
    clearTimeout(timer);
    const queue = this.#queues.get(accountId);
    const ofKey = queue?.get(keyId) ?? [];
    ofKey.splice(ofKey.indexOf(waiter), 1);
    if (ofKey.length === 0) queue?.delete(keyId);
    if (queue?.size === 0) this.#queues.delete(accountId);
    this.#waiting -= 1;
    if (this.#waiting > 0) return;
    clearTimeout(this.#wakeUp);
    this.#wakeUp = undefined;
  }

  #wait({ accountId, keyId }: CeilingUser, tokens: number): Promise<Passage> {
    return new Promise((settle) => {
      const timer = setTimeout(() => {
        this.#remove(waiter);
        settle({ outcome: 'late', retryAfterMs: this.#maxWaitMs });
      }, this.#maxWaitMs);
      const waiter: Waiter = { accountId, keyId, tokens, settle, timer };
      const queue: Queue = this.#queues.get(accountId) ?? new Map<string, Waiter[]>();
      this.#queues.set(accountId, queue);
      const ofKey = queue.get(keyId);
      if (ofKey === undefined) queue.set(keyId, [waiter]);
      else ofKey.push(waiter);
      this.#waiting += 1;
      if (this.#wakeUp === undefined) this.#serve();
    });
  }
}

type Bucket = ReturnType<typeof createBucket>;

/** A bucket that fills continuously. Without a limit it is always full. */
function createBucket(perMinute: number | undefined, now: () => number) {
  const perMs = (perMinute ?? 0) / MINUTE_MS;
  const capacity = Math.max(1, perMs * BURST_MS);
  let level = capacity;
  let filledAt = now();

  function fill(): void {
    const at = now();
    level = Math.min(capacity, level + (at - filledAt) * perMs);
    filledAt = at;
  }

  return {
    take(amount: number): void {
      if (perMinute === undefined) return;
      fill();
      level = Math.min(capacity, level - amount);
    },
    /** How long until the bucket holds at least 1. */
    waitMs(): number {
      if (perMinute === undefined) return 0;
      fill();
      return level >= Math.min(1, capacity) ? 0 : (Math.min(1, capacity) - level) / perMs;
    },
  };
}
