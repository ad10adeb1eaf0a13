/**
 * A ceiling for requests and tokens per minute that keys share fairly: while several keys wait,
 * each gets an equal share, however many requests one of them has waiting. A key gains no larger
 * share by having been idle. Of the requests that it made while nobody waited, only the last one
 * can delay its turn.
 *
 * Two buckets fill continuously. A request passes while both hold at least 1. It may take the
 * bucket of tokens below zero; otherwise a request larger than that bucket could never pass. Keys
 * that wait are served in the order of their virtual time, as in start-time fair queueing: each
 * request advances its key's time by the part of a minute's ceiling that it uses.
 */

export interface CeilingLimits {
  readonly requestsPerMinute: number | undefined;
  readonly tokensPerMinute: number | undefined;
}

export type Passage =
  | { readonly outcome: 'passed' }
  /** The request has waited for the maximum time. */
  | { readonly outcome: 'late'; readonly retryAfterMs: number };

export interface FairCeiling {
  /**
   * @param tokens - The tokens that the request is expected to use.
   * @returns at once if nobody waits and there is room
   */
  pass(key: string, tokens: number): Passage | Promise<Passage>;
  /**
   * Takes the difference between the used and the expected tokens from the bucket, once the usage
   * is known. A negative difference gives tokens back.
   */
  correct(difference: number): void;
  /** Requests that wait. */
  readonly waiting: number;
}

export interface CeilingOptions {
  readonly maxWaitMs: number;
  /** Milliseconds from any origin. */
  readonly now: () => number;
}

/** The capacity of a bucket is what fills it in this time, but at least 1. */
const BURST_MS = 2_000;
const MINUTE_MS = 60_000;

interface Waiter {
  readonly tokens: number;
  readonly settle: (passage: Passage) => void;
  readonly timer: NodeJS.Timeout;
}

export function createFairCeiling(
  { requestsPerMinute, tokensPerMinute }: CeilingLimits,
  { maxWaitMs, now }: CeilingOptions,
): FairCeiling {
  const requests = createBucket(requestsPerMinute, now);
  const tokens = createBucket(tokensPerMinute, now);
  /** Keys that wait, each with its requests in order. */
  const queues = new Map<string, Waiter[]>();
  /** The virtual time at which each key's next request may start. Times in the past are dropped. */
  const starts = new Map<string, number>();
  let virtualNow = 0;
  let waiting = 0;
  let wakeUp: NodeJS.Timeout | undefined;

  function startOf(key: string): number {
    return Math.max(virtualNow, starts.get(key) ?? 0);
  }

  function spend(key: string, used: number): void {
    requests.take(1);
    tokens.take(used);
    const start = startOf(key);
    virtualNow = start;
    const cost = Math.max(
      1 / (requestsPerMinute ?? Infinity),
      used / (tokensPerMinute ?? Infinity),
    );
    starts.set(key, start + cost);
    if (starts.size > 2 * (queues.size + 1)) dropOld();
  }

  function dropOld(): void {
    for (const [key, start] of starts) {
      if (start <= virtualNow && !queues.has(key)) starts.delete(key);
    }
  }

  function serve(): void {
    wakeUp = undefined;
    while (waiting > 0) {
      const waitMs = Math.max(requests.waitMs(), tokens.waitMs());
      if (waitMs > 0) {
        wakeUp = setTimeout(serve, Math.ceil(waitMs));
        return;
      }
      const key = nextKey();
      const [waiter] = queues.get(key) ?? [];
      if (waiter === undefined) throw new Error('a key waits without a request');
      remove(key, waiter);
      spend(key, waiter.tokens);
      waiter.settle({ outcome: 'passed' });
    }
  }

  function nextKey(): string {
    let chosen = '';
    let earliest = Infinity;
    for (const key of queues.keys()) {
      const start = startOf(key);
      if (start < earliest) [chosen, earliest] = [key, start];
    }
    return chosen;
  }

  function remove(key: string, waiter: Waiter): void {
    clearTimeout(waiter.timer);
    const queue = queues.get(key) ?? [];
    queue.splice(queue.indexOf(waiter), 1);
    if (queue.length === 0) queues.delete(key);
    waiting -= 1;
    if (waiting > 0) return;
    clearTimeout(wakeUp);
    wakeUp = undefined;
  }

  function wait(key: string, used: number): Promise<Passage> {
    return new Promise((settle) => {
      const timer = setTimeout(() => {
        remove(key, waiter);
        settle({ outcome: 'late', retryAfterMs: maxWaitMs });
      }, maxWaitMs);
      const waiter: Waiter = { tokens: used, settle, timer };
      const queue = queues.get(key);
      if (queue === undefined) queues.set(key, [waiter]);
      else queue.push(waiter);
      waiting += 1;
      if (wakeUp === undefined) serve();
    });
  }

  return {
    get waiting() {
      return waiting;
    },
    pass(key, used) {
      if (waiting === 0 && requests.waitMs() <= 0 && tokens.waitMs() <= 0) {
        spend(key, used);
        return { outcome: 'passed' };
      }
      return wait(key, used);
    },
    correct(difference) {
      tokens.take(difference);
      // The timer was set for the old level. Tokens that come back may let a request pass sooner.
      if (difference >= 0 || waiting === 0) return;
      clearTimeout(wakeUp);
      serve();
    },
  };
}

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
