/** Facts that only a running gateway has. The command line, which runs beside it, lacks them. */

import type { LedgerSummary } from '@gateway/balance-store';
import type { AuditJobs } from './audit-jobs.js';

export interface LiveGateway {
  /** The summary that was read last; `undefined` before the first one. */
  readonly ledger: () => LedgerSummary | undefined;
  readonly traffic: () => Promise<TrafficToday>;
  readonly audits: AuditJobs;
}

/** The traffic of this replica since `since`, in all of its processes together. */
export interface TrafficToday {
  /** 00:00 UTC, or the start of the gateway if that was later. */
  readonly since: Date;
  /** Requests for models by the status that clients got. Reads of the pages are not counted. */
  readonly requests: ReadonlyMap<string, number>;
  /** Responses that may have cost the operator and have no confirmed charge, by reason. */
  readonly unbilled: ReadonlyMap<string, number>;
  /** Responses of the upstream by status; `none`: no response came, or the request was not sent. */
  readonly upstreamResponses: ReadonlyMap<string, number>;
  /** How often the upstream refused the operator's own credential or account. */
  readonly upstreamRefusals: number;
  /**
   * Estimated times until the first byte of the body of the upstream's response; `null` if there
   * was none.
   */
  readonly firstByteMs: { readonly p50: number | null; readonly p95: number | null };
}
