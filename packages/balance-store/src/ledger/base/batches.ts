/**
 * Gathers items and sends them in batches, as database work is cheaper for many at once.
 *
 * No timer delays a batch. The items of one event-loop tick share a batch. A lone item is sent at
 * the end of its tick, and while a batch is in flight, items wait for its end, so batches grow with
 * the load. Another batch starts beside it only when it takes long or a full one is waiting.
 */

export interface BatchesOptions<Item> {
  /** Sends one batch, and settles when another one may take its place. Must not reject. */
  readonly send: (batch: readonly Item[]) => Promise<void>;
  /** Batches in flight at once. */
  readonly maxInFlight: number;
  /**
   * While the last batch is younger than this, items wait for it instead of starting another. It
   * will end soon, and one larger batch costs less than two.
   */
  readonly gatherMs: number;
  /** The largest sum of sizes in a batch of several items; unlimited when absent. */
  readonly maxSize?: number;
  /** 1 when absent. */
  readonly sizeOf?: (item: Item) => number;
  /** Monotonic milliseconds. */
  readonly now?: () => number;
}

export class Batches<Item> {
  readonly #send: BatchesOptions<Item>['send'];
  readonly #maxInFlight: number;
  readonly #gatherMs: number;
  readonly #maxSize: number;
  readonly #sizeOf: (item: Item) => number;
  readonly #now: () => number;
  #queue: Item[] = [];
  readonly #inFlight: (readonly Item[])[] = [];
  #lastBatchAt = 0;
  #isScheduled = false;

  constructor(options: BatchesOptions<Item>) {
    this.#send = options.send;
    this.#maxInFlight = options.maxInFlight;
    this.#gatherMs = options.gatherMs;
    this.#maxSize = options.maxSize ?? Infinity;
    this.#sizeOf = options.sizeOf ?? (() => 1);
    this.#now = options.now ?? (() => performance.now());
  }

  /** How many items are not yet in a batch. */
  get waiting(): number {
    return this.#queue.length;
  }

  /** The items in flight and those that wait, the oldest first. */
  items(): readonly Item[] {
    return [...this.#inFlight.flat(), ...this.#queue];
  }

  add(item: Item): void {
    this.#queue.push(item);
    this.#schedule();
  }

  /** Drops the items that wait and are no longer wanted. */
  keep(isWanted: (item: Item) => boolean): void {
    this.#queue = this.#queue.filter(isWanted);
  }

  #schedule(): void {
    if (this.#isScheduled || !this.#mayStart()) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.#sendAll();
    });
  }

  #sendAll(): void {
    while (this.#mayStart()) void this.#start();
  }

  #mayStart(): boolean {
    if (this.#queue.length === 0) return false;
    if (this.#inFlight.length === 0) return true;
    if (this.#inFlight.length >= this.#maxInFlight) return false;
    return this.#queue.length >= this.#maxSize || this.#now() - this.#lastBatchAt >= this.#gatherMs;
  }

  async #start(): Promise<void> {
    const batch = this.#takeBatch();
    this.#inFlight.push(batch);
    this.#lastBatchAt = this.#now();
    await this.#send(batch);
    this.#inFlight.splice(this.#inFlight.indexOf(batch), 1);
    this.#sendAll();
  }

  #takeBatch(): readonly Item[] {
    let [count, size] = [0, 0];
    for (const item of this.#queue) {
      size += this.#sizeOf(item);
      if (size > this.#maxSize && count > 0) break;
      count += 1;
    }
    const batch = this.#queue.slice(0, count);
    this.#queue = this.#queue.slice(count);
    return batch;
  }
}
