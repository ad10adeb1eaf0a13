/**
 * Group commit: combines the settlements that wait in this process into batches. Each batch is one
 * transaction.
 *
 * A settlement is sent until its outcome is known or its deadline has passed. If the connection
 * broke around the commit, the outcome is unknown: the same settlements are sent again under the
 * same ids, and the ledger does not charge them twice.
 */

import { StoreUnavailableError } from '../../store.js';
import type { Settlement, SettleOutcome } from '../../store.js';
import { Batches } from '../base/batches.js';
import { settlementProblem } from './settlement-check.js';
import { LONGEST_TIMER_MS } from '../base/timeout.js';

/** The database operations that the committer uses. */
export interface SettleDriver {
  /** Settles all or none. Returns one outcome per settlement, in the given order. */
  settleBatch(batch: readonly Settlement[]): Promise<readonly SettleOutcome[]>;
  /** Durably sets a settlement aside. A second call changes nothing. */
  quarantine(settlement: Settlement, reason: string): Promise<void>;
  /**
   * `retry`: the same batch may succeed later. `refused`: one of its rows is at fault, so the batch
   * will always fail; {@link isValueError} says so for errors that are not the database's own.
   * `raced`: another replica has inserted one of its ids in the meantime.
   */
  classify(error: unknown): 'retry' | 'refused' | 'raced';
}

/**
 * Not `TypeError`: a driver may throw one while its connection breaks, and a charge must not be set
 * aside for that. The embedded ledger reports a value that it cannot bind as a `RangeError`.
 */
const VALUE_ERRORS = new Set(['RangeError', 'SyntaxError', 'DataCloneError']);

/**
 * Whether a value could not be sent, written or read, whatever the state of the database: an
 * argument that cannot be copied to a thread, or a stored amount that is damaged. All other errors
 * are retried: besides a database that cannot be reached, they report what an operator can repair
 * while charges wait, such as a missing right or a ledger that was moved.
 */
export function isValueError(error: unknown): boolean {
  // By name: a `DataCloneError` has no class of its own, and errors of a thread lose theirs.
  if (typeof error !== 'object' || error === null || !('name' in error)) return false;
  return typeof error.name === 'string' && VALUE_ERRORS.has(error.name);
}

export interface CommitterOptions {
  readonly driver: SettleDriver;
  /** Batches in flight at once. */
  readonly maxInFlight: number;
  /** 500 when absent. */
  readonly maxBatchRows?: number | undefined;
  /** The longest queue of waiting settlements. If it is reached, `settle` rejects at once. */
  readonly maxWaiting?: number;
  /** Called when an attempt has failed and may be repeated. */
  readonly onFault?: () => void;
  readonly random?: () => number;
  /** Monotonic milliseconds. */
  readonly now?: () => number;
}

interface Waiting {
  /** Those of one request: in one transaction, unless one of them is refused. */
  readonly settlements: readonly Settlement[];
  /** Whether none of them has a problem for which it is set aside instead of charged. */
  readonly isWellFormed: boolean;
  /** Milliseconds of the committer's clock. */
  readonly deadlineAt: number;
  readonly resolve: (outcomes: readonly SettleOutcome[]) => void;
  readonly reject: (error: StoreUnavailableError) => void;
  /** Of which this is one settlement, tried alone because the whole was refused. */
  readonly whole?: Waiting;
  /** Resolved or rejected: must not be sent again. */
  isDone: boolean;
}

const GATHER_MS = 10;
const FIRST_BACKOFF_MS = 50;
const MAX_BACKOFF_MS = 1_000;
/** A batch that loses more races than this is treated as refused. */
const MAX_RACES = 5;

export class Committer {
  readonly #driver: SettleDriver;
  readonly #maxWaiting: number;
  readonly #onFault: () => void;
  readonly #random: () => number;
  readonly #now: () => number;
  readonly #batches: Batches<Waiting>;
  /**
   * Settlements that are accepted and neither resolved nor rejected yet.
   *
   * A counter rather than a Set: when a Set is rehashed, its old table still references its entries
   * and the new table. Once such a table is in the old generation, it keeps them from being freed
   * by a minor GC (decision 0015).
   */
  #pendingCount = 0;
  /**
   * One timer for all deadlines, because most settlements are durable long before their deadline.
   */
  #deadlineTimer: { readonly timeout: NodeJS.Timeout; readonly dueAt: number } | undefined;
  #isClosed = false;
  /** When attempts began to fail; undefined after a success. */
  #failingSince: number | undefined;
  #lastFault: unknown;
  #whenIdle: (() => void)[] = [];
  readonly #backoffs = new Set<() => void>();

  constructor(options: CommitterOptions) {
    this.#driver = options.driver;
    this.#maxWaiting = options.maxWaiting ?? 50_000;
    this.#onFault = options.onFault ?? (() => undefined);
    this.#random = options.random ?? Math.random;
    this.#now = options.now ?? (() => performance.now());
    this.#batches = new Batches<Waiting>({
      send: (batch) => this.#send(batch),
      maxInFlight: options.maxInFlight,
      gatherMs: GATHER_MS,
      maxSize: options.maxBatchRows ?? 500,
      sizeOf: ({ settlements }) => settlements.length,
      now: this.#now,
    });
  }

  /** The number of accepted settlements that are neither durable nor given up. */
  get pending(): number {
    return this.#pendingCount;
  }

  /**
   * For how long commits have been failing while settlements wait; 0 if the last attempt succeeded.
   * A database that answers reads may still refuse writes: its disk is full, or it is a standby.
   */
  get failingForMs(): number {
    if (this.#pendingCount === 0 || this.#failingSince === undefined) return 0;
    return this.#now() - this.#failingSince;
  }

  /** The error of the last attempt that failed and may be retried. */
  get lastFault(): unknown {
    return this.#lastFault;
  }

  /** {@link Committer.settleTogether} with one settlement. */
  async settle(
    settlement: Settlement,
    options: { readonly deadlineMs: number },
  ): Promise<SettleOutcome> {
    const [outcome] = await this.settleTogether([settlement], options);
    if (outcome === undefined) throw new Error('a settlement has no outcome');
    return outcome;
  }

  /**
   * Resolves when the outcome of each is durable, in the order given.
   *
   * @param options.deadlineMs - `Infinity`: never gives up.
   * @throws {RangeError} when `deadlineMs` is not above 0: nothing was charged.
   * @throws {StoreUnavailableError} after `deadlineMs`: the charge may or may not be durable. At
   * once when too many settlements wait or the committer is closed: nothing was charged.
   */
  settleTogether(
    settlements: readonly Settlement[],
    { deadlineMs }: { readonly deadlineMs: number },
  ): Promise<readonly SettleOutcome[]> {
    if (!(deadlineMs > 0)) {
      return Promise.reject(
        new RangeError(`deadlineMs is ${String(deadlineMs)}, not a number above 0`),
      );
    }
    if (this.#isClosed) return Promise.reject(new StoreUnavailableError('the store is closed'));
    if (this.#batches.waiting >= this.#maxWaiting) {
      return Promise.reject(new StoreUnavailableError('too many settlements are waiting'));
    }
    if (settlements.length === 0) return Promise.resolve([]);
    return new Promise((resolve, reject) => {
      const deadlineAt = this.#now() + deadlineMs;
      const waiting: Waiting = {
        settlements,
        isWellFormed: settlements.every(isWellFormed),
        deadlineAt,
        resolve,
        reject,
        isDone: false,
      };
      this.#pendingCount += 1;
      this.#batches.add(waiting);
      this.#watchDeadline(deadlineAt);
    });
  }

  /** Ends the current pauses between retries. */
  retryNow(): void {
    for (const endBackoff of this.#backoffs) endBackoff();
  }

  /** Accepts no more settlements and waits for the pending ones. Each keeps its own deadline. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.retryNow();
    if (this.#pendingCount === 0) return;
    await new Promise<void>((resolve) => {
      this.#whenIdle.push(resolve);
    });
  }

  /**
   * A deadline that is further away than the longest timer is looked at again when that has ended.
   */
  #watchDeadline(deadlineAt: number): void {
    if (this.#deadlineTimer !== undefined && this.#deadlineTimer.dueAt <= deadlineAt) return;
    clearTimeout(this.#deadlineTimer?.timeout);
    const now = this.#now();
    const waitMs = Math.min(Math.max(0, deadlineAt - now), LONGEST_TIMER_MS);
    const dueAt = Math.min(deadlineAt, now + waitMs);
    const timeout = setTimeout(() => {
      this.#deadlineTimer = undefined;
      this.#giveUp(dueAt);
    }, waitMs);
    // Connections and back-off timers keep the process alive while settlements are pending.
    timeout.unref();
    this.#deadlineTimer = { timeout, dueAt };
  }

  /** @param dueAt - The time that the timer waited for. */
  #giveUp(dueAt: number): void {
    const pending = this.#batches.items().filter(isLive);
    let next = Infinity;
    for (const waiting of pending) {
      if (waiting.deadlineAt > dueAt) {
        next = Math.min(next, waiting.deadlineAt);
        continue;
      }
      this.#finish(waiting, () => {
        waiting.reject(
          new StoreUnavailableError(
            'the settlement was not confirmed before its deadline; it may or may not be charged',
          ),
        );
      });
    }
    this.#batches.keep(isLive);
    if (next < Infinity) this.#watchDeadline(next);
  }

  /** Malformed settlements are never in a transaction with others. */
  async #send(batch: readonly Waiting[]): Promise<void> {
    const malformed = batch.filter((waiting) => !waiting.isWellFormed);
    if (malformed.length === 0) return this.#commit(batch);
    await Promise.all([
      this.#commit(batch.filter((waiting) => waiting.isWellFormed)),
      ...malformed.map((waiting) => this.#settleAlone(waiting)),
    ]);
  }

  async #commit(batch: readonly Waiting[]): Promise<void> {
    let races = 0;
    for (let attempt = 0; ; attempt += 1) {
      const live = batch.filter(isLive);
      if (live.length === 0) return;
      try {
        const outcomes = await this.#driver.settleBatch(
          live.flatMap(({ settlements }) => settlements),
        );
        this.#failingSince = undefined;
        let from = 0;
        for (const waiting of live) {
          const of = outcomes.slice(from, from + waiting.settlements.length);
          from += waiting.settlements.length;
          if (of.length < waiting.settlements.length) {
            throw new Error('the driver returned too few outcomes');
          }
          this.#finish(waiting, () => {
            waiting.resolve(of);
          });
        }
        return;
      } catch (error) {
        const fault = this.#driver.classify(error);
        if (fault === 'raced') races += 1;
        if (fault === 'refused' || races > MAX_RACES) return this.#divide(live, error);
        if (fault === 'retry' && this.#pendingCount > 0) {
          this.#failingSince ??= this.#now();
          this.#lastFault = error;
          this.#onFault();
        }
        await this.#backoff(attempt);
      }
    }
  }

  /** Halves a refused batch until the malformed row is alone in its batch. */
  async #divide(batch: readonly Waiting[], error: unknown): Promise<void> {
    const [first] = batch;
    if (batch.length === 1 && first !== undefined) {
      return this.#settleAlone(first, error instanceof Error ? error.message : String(error));
    }
    const middle = Math.ceil(batch.length / 2);
    await this.#commit(batch.slice(0, middle));
    await this.#commit(batch.slice(middle));
  }

  /**
   * Settles each settlement of a refused whole alone, so that only the malformed ones are set
   * aside.
   *
   * @param reason - Why the whole was refused.
   */
  async #settleAlone(whole: Waiting, reason?: string): Promise<void> {
    const { settlements, deadlineAt, reject } = whole;
    const outcomes: SettleOutcome[] = [];
    for (const settlement of settlements) {
      const problem =
        settlementProblem(settlement) ?? (settlements.length === 1 ? reason : undefined);
      const part: Waiting = {
        settlements: [settlement],
        isWellFormed: problem === undefined,
        deadlineAt,
        resolve: (of) => outcomes.push(...of),
        reject,
        whole,
        isDone: false,
      };
      if (problem === undefined) await this.#commit([part]);
      else await this.#setAside(part, settlement, problem);
    }
    this.#finish(whole, () => {
      whole.resolve(outcomes);
    });
  }

  async #setAside(waiting: Waiting, settlement: Settlement, reason: string): Promise<void> {
    for (let attempt = 0; isLive(waiting); attempt += 1) {
      try {
        await this.#driver.quarantine(settlement, reason);
        this.#finish(waiting, () => {
          waiting.resolve([{ outcome: 'quarantined', reason }]);
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
    if (waiting.whole === undefined) this.#pendingCount -= 1;
    answer();
    if (this.#pendingCount > 0) return;
    this.#failingSince = undefined;
    for (const resolve of this.#whenIdle.splice(0)) resolve();
  }
}

function isLive({ isDone, whole }: Waiting): boolean {
  return !isDone && whole?.isDone !== true;
}

function isWellFormed(settlement: Settlement): boolean {
  return settlementProblem(settlement) === undefined;
}
