/**
 * Decides whether refusals of the upstream are about the operator's account. The refusal of one
 * customer's request may be due to that request, such as to a model or a beta that the operator's
 * organization may not use. Refusals of several customers, while nothing is served, are not.
 */

import { MINUTE_MS } from '../base/times.js';

export interface RefusalWitness {
  /**
   * A request of this customer was refused.
   *
   * @param customer - The account of the ledger.
   * @returns whether a request of another customer was refused in the last minute, and no request
   * was served since
   */
  refused(customer: string): boolean;
  /**
   * A request was served.
   *
   * @param sentAt - When it was sent. Later refusals stay remembered.
   */
  answered(sentAt: number): void;
}

const WINDOW_MS = MINUTE_MS;

/** @param now - Milliseconds from any origin. */
export function createRefusalWitness(now: () => number): RefusalWitness {
  /** When the two customers that were refused last were refused. Two are enough to compare. */
  const refusedAt = new Map<string, number>();
  return {
    refused(customer) {
      const at = now();
      refusedAt.delete(customer);
      for (const [each, since] of refusedAt) if (at - since > WINDOW_MS) refusedAt.delete(each);
      const [earlier, another] = refusedAt.keys();
      if (earlier !== undefined && another !== undefined) refusedAt.delete(earlier);
      refusedAt.set(customer, at);
      return refusedAt.size > 1;
    },
    answered(sentAt) {
      if (refusedAt.size === 0) return;
      for (const [each, since] of refusedAt) if (since <= sentAt) refusedAt.delete(each);
    },
  };
}
