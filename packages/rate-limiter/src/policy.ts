/** Limits as plain numbers. They travel with each call, so changing a key's limits needs no restart. */

export interface Policy {
  /** Leases at once. */
  readonly concurrency: number;
  /** Permits that may be taken at once after a pause. */
  readonly burst: number;
  /** Rate at which permits come back. */
  readonly requestsPerMinute: number;
}

export interface LogPolicy {
  readonly limit: number;
  readonly windowMs: number;
}
