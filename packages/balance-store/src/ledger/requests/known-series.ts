/** Which series this process has written, so that it need not write them with each block. */

import { HOUR_MS } from '../base/hours.js';

const MAX_KNOWN = 50_000;

export class KnownSeries {
  readonly #now: () => number;
  /** With its account. */
  readonly #known = new Map<number, string | null>();
  #since: number;

  constructor(now: () => number) {
    this.#now = now;
    this.#since = now();
  }

  has(series: number): boolean {
    // Another process may have deleted the row of one that was not used for days.
    if (this.#now() - this.#since >= HOUR_MS) this.clear();
    return this.#known.has(series);
  }

  add(series: number, accountId: string | null): void {
    if (this.#known.size >= MAX_KNOWN) this.clear();
    this.#known.set(series, accountId);
  }

  /** Forgets the series of an account, and returns them. */
  forget(accountId: string): readonly number[] {
    const forgotten = [...this.#known].filter(([, its]) => its === accountId).map(([id]) => id);
    for (const id of forgotten) this.#known.delete(id);
    return forgotten;
  }

  clear(): void {
    this.#known.clear();
    this.#since = this.#now();
  }
}
