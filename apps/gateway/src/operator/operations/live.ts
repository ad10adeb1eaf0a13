/** Facts that only a running gateway has. The command line, which runs beside it, lacks them. */

import type { LedgerSummary } from '@gateway/balance-store';
import type { TrafficToday } from '../../observe/traffic-today.js';
import type { CredentialWatch } from '../../upstream/credential-watch.js';
import type { AuditJobs } from './audit-jobs.js';

export interface LiveGateway {
  /** The summary that was read last; `undefined` before the first one. */
  readonly ledger: () => LedgerSummary | undefined;
  readonly traffic: () => Promise<TrafficToday>;
  readonly credentials: CredentialWatch['latest'];
  readonly audits: AuditJobs;
}
