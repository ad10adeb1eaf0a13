/** What only a running gateway knows. The command line, beside a gateway, does without. */

import type { LedgerSummary } from '@gateway/balance-store';
import type { AuditJobs } from './audit-jobs.js';

export interface LiveGateway {
  /** As last read; `undefined` before the first time. */
  readonly ledger: () => LedgerSummary | undefined;
  readonly traffic: () => Promise<TrafficToday>;
  readonly audits: AuditJobs;
}

/** Of this replica, all of its processes together, since `since`. */
export interface TrafficToday {
  /** 00:00 UTC, or the start of the gateway if that was later. */
  readonly since: Date;
  /** Requests of clients by the status that they were answered with. */
  readonly requests: ReadonlyMap<string, number>;
  /** Responses that may have cost the operator and were charged to nobody, by reason. */
  readonly unbilled: ReadonlyMap<string, number>;
  /** Responses of the upstream by status; `none`: the connection failed before one came. */
  readonly upstreamResponses: ReadonlyMap<string, number>;
  /** How often the upstream refused the operator's own credential or account. */
  readonly upstreamRefusals: number;
  /** Until the first byte of the upstream's response. Estimates; `null` without a response. */
  readonly firstByteMs: { readonly p50: number | null; readonly p95: number | null };
}
