/**
 * Group commit: settlements that wait in this process are folded into batches, and each batch is one
 * transaction.
 *
 * There is no timer: a batch leaves when the one before it is committed, so it grows with load and is a
 * batch of one without. Further lanes are for a database that is slow, and for more than a batch can hold. A settlement leaves memory only when its outcome is known. When the outcome is not known
 * (the connection broke around the commit) the same settlements are sent again under the same ids,
 * which the ledger answers without charging twice.
 */

import { StoreUnavailableError } from './store.js';
import type { Settlement, SettleOutcome } from './store.js';

/** What the committer needs from a database. */
export interface SettleDriver {
  /** Settles all or none, and answers in the order given. */
  settleBatch(batch: readonly Settlement[]): Promise<readonly SettleOutcome[]>;
  /** Durably sets a settlement aside. Doing so again changes nothing. */
  quarantine(settlement: Settlement, reason: string): Promise<void>;
  /**
   * `retry`: trying the same batch again may succeed. `refused`: one of its rows is malformed and the
   * batch will fail for ever. `raced`: another replica entered one of its ids meanwhile.
   */
  classify(error: unknown): 'retry' | 'refused' | 'raced';
}

export interface CommitterOptions {
  readonly driver: SettleDriver;
  /** Batches in flight at once. */
  readonly lanes: number;
  readonly maxBatchRows?: number;
  /** Settlements that may wait; more are refused at once. */
  readonly maxWaiting?: number;
  readonly random?: () => number;
  /** Monotonic milliseconds. */
  readonly now?: () => number;
}

interface Waiting {
  readonly settlement: Settlement;
  /** Milliseconds of the committer's clock. */
  readonly deadlineAt: number;
  readonly resolve: (outcome: SettleOutcome) => void;
  readonly reject: (error: StoreUnavailableError) => void;
  /** Answered, one way or the other: not to be sent again. */
  isDone: boolean;
}

/** Settlements gather behind a batch that has taken no longer than this: it is about to be committed. */
const PROMPT_MS = 10;
const FIRST_BACKOFF_MS = 50;
const MAX_BACKOFF_MS = 1_000;
/** Races lost in a row before they are taken for a row that can never be entered. */
const MAX_RACES = 5;

export class Committer {
  readonly #driver: SettleDriver;
  readonly #lanes: number;
  readonly #maxBatchRows: number;
  readonly #maxWaiting: number;
  readonly #random: () => number;
  readonly #now: () => number;
  #queue: Waiting[] = [];
  /** Batches that are on their way, at most one in each lane. */
  readonly #lanesBusy: (readonly Waiting[])[] = [];
  #lastBatchAt = 0;
  /**
   * How many are taken and not answered yet: all in the queue and some of each batch. They are not kept in a Set,
   * which leaves an old table with every change of size. Those tables refer to the next one each and to what was in
   * them, so one that grew old keeps all that followed it from being collected young.
   */
  #pendingCount = 0;
  /** One for all: most settlements are answered long before it is due. */
  #deadlineTimer: { readonly timeout: NodeJS.Timeout; readonly dueAt: number } | undefined;
  #isPumping = false;
  #isClosed = false;
  /** When the first of the attempts failed that no success has followed. */
  #failingSince: number | undefined;
  #lastFault: unknown;
  #whenIdle: (() => void)[] = [];
  readonly #backoffs = new Set<() => void>();

  constructor(options: CommitterOptions) {
    this.#driver = options.driver;
    this.#lanes = options.lanes;
    this.#maxBatchRows = options.maxBatchRows ?? 500;
    this.#maxWaiting = options.maxWaiting ?? 50_000;
    this.#random = options.random ?? Math.random;
    this.#now = options.now ?? (() => performance.now());
  }

  /** Settlements taken but neither durable nor given up. */
  get pending(): number {
    return this.#pendingCount;
  }

  /**
   * How long settlements that wait have failed to be committed, 0 if they have not. A database that
   * answers reads may still take no writes: a full disk, a standby.
   */
  get failingForMs(): number {
    if (this.#pendingCount === 0 || this.#failingSince === undefined) return 0;
    return this.#now() - this.#failingSince;
  }

  /** Why the last attempt failed that may be tried again. */
  get lastFault(): unknown {
    return this.#lastFault;
  }

  /**
   * Resolves when the outcome is durable.
   *
   * @throws {StoreUnavailableError} after `deadlineMs`, and at once when too many wait or the committer
   * is closed. Only in the last two cases is it certain that nothing was charged.
   */
  settle(
    settlement: Settlement,
    { deadlineMs }: { readonly deadlineMs: number },
  ): Promise<SettleOutcome> {
    if (this.#isClosed) return Promise.reject(new StoreUnavailableError('the store is closed'));
    if (this.#queue.length >= this.#maxWaiting) {
      return Promise.reject(new StoreUnavailableError('too many settlements are waiting'));
    }
    return new Promise((resolve, reject) => {
      const deadlineAt = this.#now() + deadlineMs;
      const waiting: Waiting = { settlement, deadlineAt, resolve, reject, isDone: false };
      this.#pendingCount += 1;
      this.#queue.push(waiting);
      this.#watchDeadline(deadlineAt);
      this.#schedulePump();
    });
  }

  /** Takes no more settlements and waits for those it has; each still has its own deadline. */
  async close(): Promise<void> {
    this.#isClosed = true;
    // Waiting out a pause would only delay the last attempt.
    for (const endBackoff of this.#backoffs) endBackoff();
    if (this.#pendingCount === 0) return;
    await new Promise<void>((resolve) => {
      this.#whenIdle.push(resolve);
    });
  }

  #watchDeadline(dueAt: number): void {
    if (this.#deadlineTimer !== undefined && this.#deadlineTimer.dueAt <= dueAt) return;
    clearTimeout(this.#deadlineTimer?.timeout);
    const timeout = setTimeout(
      () => {
        this.#deadlineTimer = undefined;
        this.#giveUp(dueAt);
      },
      Math.max(0, dueAt - this.#now()),
    );
    // What is pending is held by connections and pauses of their own.
    timeout.unref();
    this.#deadlineTimer = { timeout, dueAt };
  }

  #giveUp(dueAt: number): void {
    const pending = [...this.#lanesBusy.flat(), ...this.#queue].filter(isLive);
    let next = Infinity;
    for (const waiting of pending) {
      if (waiting.deadlineAt > dueAt) {
        next = Math.min(next, waiting.deadlineAt);
        continue;
      }
      this.#finish(waiting, () => {
        waiting.reject(new StoreUnavailableError('not durable when its deadline passed'));
      });
    }
    if (next < Infinity) this.#watchDeadline(next);
  }

  /** Settlements made in one turn of the event loop share a batch. */
  #schedulePump(): void {
    if (this.#isPumping || !this.#isLaneFree()) return;
    this.#isPumping = true;
    setImmediate(() => {
      this.#isPumping = false;
      this.#pump();
    });
  }

  #isLaneFree(): boolean {
    if (this.#lanesBusy.length === 0) return true;
    if (this.#lanesBusy.length >= this.#lanes) return false;
    return this.#queue.length >= this.#maxBatchRows || this.#now() - this.#lastBatchAt >= PROMPT_MS;
  }

  #pump(): void {
    while (this.#isLaneFree()) {
      const batch = this.#takeBatch();
      if (batch.length === 0) return;
      this.#lanesBusy.push(batch);
      this.#lastBatchAt = this.#now();
      void this.#commit(batch).finally(() => {
        this.#lanesBusy.splice(this.#lanesBusy.indexOf(batch), 1);
        this.#pump();
      });
    }
  }

  #takeBatch(): readonly Waiting[] {
    const taken = this.#queue.slice(0, this.#maxBatchRows);
    this.#queue = this.#queue.slice(taken.length);
    // Those past their deadline make room, so a batch may be smaller than it could be. Never empty
    // while others wait.
    const live = taken.filter(isLive);
    return live.length === 0 && this.#queue.length > 0 ? this.#takeBatch() : live;
  }

  async #commit(batch: readonly Waiting[]): Promise<void> {
    let races = 0;
    for (let attempt = 0; ; attempt += 1) {
      const live = batch.filter(isLive);
      if (live.length === 0) return;
      try {
        const outcomes = await this.#driver.settleBatch(live.map(({ settlement }) => settlement));
        this.#failingSince = undefined;
        live.forEach((waiting, index) => {
          const outcome = outcomes[index];
          if (outcome === undefined) throw new Error('the driver answered too few outcomes');
          this.#finish(waiting, () => {
            waiting.resolve(outcome);
          });
        });
        return;
      } catch (error) {
        const fault = this.#driver.classify(error);
        if (fault === 'raced') races += 1;
        if (fault === 'refused' || races > MAX_RACES) return this.#divide(live, error);
        if (fault === 'retry') {
          this.#failingSince ??= this.#now();
          this.#lastFault = error;
        }
        await this.#backoff(attempt);
      }
    }
  }

  /** Halves a batch that the database refuses until the malformed row stands alone. */
  async #divide(batch: readonly Waiting[], error: unknown): Promise<void> {
    const [first] = batch;
    if (batch.length === 1 && first !== undefined) return this.#setAside(first, error);
    const middle = Math.ceil(batch.length / 2);
    await this.#commit(batch.slice(0, middle));
    await this.#commit(batch.slice(middle));
  }

  async #setAside(waiting: Waiting, error: unknown): Promise<void> {
    const reason = error instanceof Error ? error.message : String(error);
    for (let attempt = 0; isLive(waiting); attempt += 1) {
      try {
        await this.#driver.quarantine(waiting.settlement, reason);
        this.#finish(waiting, () => {
          waiting.resolve({ outcome: 'quarantined', reason });
        });
      } catch {
        await this.#backoff(attempt);
      }
    }
  }

  #backoff(attempt: number): Promise<void> {
    const ceiling = Math.min(MAX_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** Math.min(attempt, 10));
    return new Promise((resolve) => {
      const end = () => {
        clearTimeout(timer);
        this.#backoffs.delete(end);
        resolve();
      };
      const timer = setTimeout(end, ceiling * (0.5 + this.#random() / 2));
      this.#backoffs.add(end);
    });
  }

  #finish(waiting: Waiting, answer: () => void): void {
    if (waiting.isDone) return;
    waiting.isDone = true;
    this.#pendingCount -= 1;
    answer();
    if (this.#pendingCount > 0) return;
    for (const resolve of this.#whenIdle.splice(0)) resolve();
  }
}

function isLive(waiting: Waiting): boolean {
  return !waiting.isDone;
}
