/**
 * Keeps requests of an erased account out of the record if they ended before the erasure and were
 * still waiting: in this process or, if another one erased the account, in any.
 *
 * A process looks for erasures after it has written, and deletes again. An erasure deletes after
 * its row of the trail is committed. So of a request that is written meanwhile, one of both sees
 * the other.
 */

import type { RequestBatch, RequestRecord } from '../../request-record.js';
import type { RequestTables } from './request-tables.js';
import type { KnownSeries } from './known-series.js';

/** What waits for a database that is away is given up after this time at the latest. */
const LONGEST_WAIT_MS = 24 * 3_600_000;

export class Erasures {
  readonly #tables: Pick<RequestTables, 'erase' | 'erasuresAfter'>;
  readonly #known: Pick<KnownSeries, 'forget'>;
  readonly #now: () => number;
  /** When this process learned of each erasure, by account; the earliest first. */
  readonly #learnedAt = new Map<string, number>();
  /** The number of the last row of the trail that was looked at. */
  #seen = 0n;
  readonly #since: Date;

  constructor(
    tables: Pick<RequestTables, 'erase' | 'erasuresAfter'>,
    known: Pick<KnownSeries, 'forget'>,
    now: () => number,
  ) {
    this.#tables = tables;
    this.#known = known;
    this.#now = now;
    // Earlier ones are of no matter: nothing of this process waits for so long.
    this.#since = new Date(now() - LONGEST_WAIT_MS);
  }

  /** The batch without the requests that ended before their account was erased. */
  without(batch: RequestBatch): RequestBatch {
    if (this.#learnedAt.size === 0) return batch;
    const isKept = ({ accountId = '', endedAt }: RequestRecord) =>
      endedAt > (this.#learnedAt.get(accountId) ?? -Infinity);
    return { kept: batch.kept.filter(isKept), counted: batch.counted.filter(isKept) };
  }

  /** Deletes what is recorded of the account, and what waits to be. */
  async erase(accountId: string): Promise<void> {
    this.#learnedAt.delete(accountId);
    this.#learnedAt.set(accountId, this.#now());
    for (const [known, at] of this.#learnedAt) {
      if (at > this.#now() - LONGEST_WAIT_MS) break;
      this.#learnedAt.delete(known);
    }
    await this.#tables.erase(accountId, this.#known.forget(accountId));
  }

  /** Deletes again for each erasure since the last call, by whomever. */
  async eraseAgain(): Promise<void> {
    const { accountIds, last } = await this.#tables.erasuresAfter(this.#seen, this.#since);
    for (const accountId of new Set(accountIds)) await this.erase(accountId);
    this.#seen = last;
  }
}
