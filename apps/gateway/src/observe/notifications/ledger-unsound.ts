/** Writes the event `ledger.unsound` when an audit finds differences. */

import { StoreUnavailableError } from '@gateway/balance-store';
import type { AuditOptions, AuditReport, BalanceStore } from '@gateway/balance-store';
import { formatUsd } from '@gateway/billing';

/** Audits the ledger. Writes one event if it is unsound. */
export async function auditWithEvent(
  store: Pick<BalanceStore, 'audit' | 'recordEvent'>,
  options: AuditOptions,
): Promise<AuditReport> {
  const report = await store.audit(options);
  if (!report.isSound) await record(store, report);
  return report;
}

async function record(
  store: Pick<BalanceStore, 'recordEvent'>,
  { differences, gap }: AuditReport,
): Promise<void> {
  const checks = [...new Set(differences.map(({ check }) => check))];
  try {
    await store.recordEvent({
      type: 'ledger.unsound',
      accountId: '',
      keyId: undefined,
      data: {
        differences: String(differences.length),
        checks: checks.join(' '),
        gap: formatUsd(gap),
      },
    });
  } catch (error) {
    // The caller still gets the report. A standby, for example, can be audited but not written to.
    if (!(error instanceof StoreUnavailableError)) throw error;
  }
}
