/** Finished requests that wait until they are recorded. */

import type { RequestBatch, RequestRecord } from '@gateway/balance-store';
import { HOUR_MS } from '../../base/times.js';

/** More requests of one account in one hour are only counted, so that it cannot displace others. */
export const MAX_OF_ACCOUNT = 20_000;

export class WaitingRequests {
  readonly #kept: RequestRecord[] = [];
  readonly #counted: RequestRecord[] = [];
  #ofAccounts = new Map<string, number>();
  #hour = 0;

  get count(): number {
    return this.#kept.length + this.#counted.length;
  }

  /**
   * Takes out the latest request of the account that would have the most if `request` waited as
   * well, so that no account displaces others while nothing can be written.
   *
   * @returns the request that is not recorded; `request` itself if its account has the most
   */
  displace(request: RequestRecord): RequestRecord {
    const lists = [this.#counted, this.#kept];
    const counts = new Map([[request.accountId, 1]]);
    for (const { accountId } of lists.flat()) {
      counts.set(accountId, (counts.get(accountId) ?? 0) + 1);
    }
    let largest = request.accountId;
    for (const [accountId, count] of counts) {
      if (count > (counts.get(largest) ?? 0)) largest = accountId;
    }
    if (largest === request.accountId) return request;
    for (const list of lists) {
      const at = list.findLastIndex(({ accountId }) => accountId === largest);
      const [displaced] = at === -1 ? [] : list.splice(at, 1);
      if (displaced !== undefined) return displaced;
    }
    return request;
  }

  add(request: RequestRecord): void {
    (this.#hasRoom(request) ? this.#kept : this.#counted).push(request);
  }

  /** Adds a request of which only the sums are recorded. */
  addCounted(request: RequestRecord): void {
    this.#counted.push(request);
  }

  /** Takes the oldest ones, at most so many. */
  take(most: number): RequestBatch {
    const kept = this.#kept.splice(0, most);
    return { kept, counted: this.#counted.splice(0, most - kept.length) };
  }

  #hasRoom({ accountId = '', endedAt }: RequestRecord): boolean {
    const hour = Math.floor(endedAt / HOUR_MS);
    if (hour !== this.#hour) {
      this.#hour = hour;
      this.#ofAccounts = new Map();
    }
    const count = (this.#ofAccounts.get(accountId) ?? 0) + 1;
    this.#ofAccounts.set(accountId, count);
    return count <= MAX_OF_ACCOUNT;
  }
}
