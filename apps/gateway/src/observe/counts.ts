/** Amounts that wait until the registry of metrics is read, by at most two values of labels. */

type Sums = Map<string, { waiting: number }>;

export class Counts {
  readonly #total = { waiting: 0 };
  readonly #bySecond = new Map<string, Sums>();
  readonly #labels: number;

  /** @param labels - How many values each amount has. */
  constructor(labels: number) {
    if (labels > 2) throw new RangeError(`labels: ${String(labels)} is more than 2`);
    this.#labels = labels;
  }

  add(amount: number, first = '', second = ''): void {
    if (this.#labels === 0) {
      this.#total.waiting += amount;
      return;
    }
    let sums = this.#bySecond.get(second);
    if (sums === undefined) {
      sums = new Map<string, { waiting: number }>();
      this.#bySecond.set(second, sums);
    }
    const sum = sums.get(first);
    if (sum === undefined) sums.set(first, { waiting: amount });
    else sum.waiting += amount;
  }

  /** Calls `take` once for all values that were ever added, with what was added since the last. */
  take(take: (values: readonly string[], amount: number) => void): void {
    if (this.#labels === 0) {
      take([], this.#total.waiting);
      this.#total.waiting = 0;
    }
    for (const [second, sums] of this.#bySecond) {
      for (const [first, sum] of sums) {
        take(this.#labels === 1 ? [first] : [first, second], sum.waiting);
        sum.waiting = 0;
      }
    }
  }
}
