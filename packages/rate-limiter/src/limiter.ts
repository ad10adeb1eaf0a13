/**
 * The interface of a limiter, the same for every backend.
 *
 * A denial is a value; it changes nothing and costs nothing. Methods of the memory backend answer
 * at once, those of Redis after one round trip. Callers `await` both.
 */

import type { LogPolicy, Policy } from './policy.js';
import type { Decision } from './decision.js';

export interface Limiter {
  /**
   * Takes one concurrency lease and one burst permit for `subject`, both or neither. With a group,
   * also one of each for the group: all four or none, decided in the same call.
   *
   * @param subject - The holder of the limit, such as an API key's id. Used unchanged. Always pass
   * the same group with the same subject.
   * @throws {RangeError} when a policy makes no sense, such as a burst of 0.
   */
  admit(subject: string, policy: Policy, group?: Group): Admission | Promise<Admission>;
  /**
   * Counts one event against a sliding log: at most `limit` in any window of `windowMs`.
   *
   * Logs and admissions are independent, even for the same subject.
   *
   * @throws {RangeError} when the policy makes no sense, such as a limit of 0.
   */
  record(subject: string, policy: LogPolicy): Decision | Promise<Decision>;
  /**
   * Leases of `subject` in flight, for tests and metrics.
   *
   * @param group - The name of the group with which the subject is admitted, if any.
   */
  leases(subject: string, group?: string): number | Promise<number>;
  /**
   * Gives back every lease that is still held and stops all timers. Do not call `admit` or `record`
   * afterwards.
   */
  close(): void | Promise<void>;
}

/**
 * A limit that several subjects share, in addition to the limit that each has. For example, the
 * limit of an account is shared by its API keys, however many there are.
 *
 * A group is a subject itself: `leases` and `admit` without a group also take its name.
 */
export interface Group {
  readonly subject: string;
  readonly policy: Policy;
}

export type Admission =
  | {
      readonly outcome: 'admitted';
      readonly lease: Lease;
      /**
       * The number of further permits that could be taken at once, such as for a header
       * `RateLimit-Remaining`. With a group, the smaller of both numbers.
       */
      readonly remaining: number;
    }
  | {
      readonly outcome: 'denied';
      /** Whose limit was reached. If both limits are, it is the subject's. */
      readonly of: 'subject' | 'group';
      readonly limit: 'concurrency' | 'rate';
      /**
       * How long to wait. Exact for this limit if it is `rate`; for `concurrency` a guess, at least
       * 1,000.
       */
      readonly retryAfterMs: number;
    };

export interface Lease {
  /** Gives the leases back. Calling it again does nothing; it never throws. */
  release(): void;
}
