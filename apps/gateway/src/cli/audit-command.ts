/** Audits, with their progress on a terminal. */

import { setTimeout as sleep } from 'node:timers/promises';
import { newRefusal } from '../base/errors/refusal.js';
import { OperationError } from '../endpoints/operation-error.js';
import type { CallOperation, OperationOutput } from '../operator/operations/operations.js';
import { showProgress } from './progress.js';

const POLL_MS = 500;

/**
 * If `ADMIN_URL` is set, the gateway there audits as a job, which has no time limit. Otherwise this
 * process audits.
 */
export async function auditWithProgress(
  anchor: string | undefined,
  call: CallOperation,
): Promise<OperationOutput<'auditLedger'>> {
  const started = await call('startAudit', { anchor }).catch((error: unknown) => {
    if (isWithoutGateway(error)) return undefined;
    throw error;
  });
  const audit =
    started === undefined ? await call('auditLedger', { anchor }) : await reportOf(started, call);
  showProgress(`${String(audit.entries)} entries`, true);
  return audit;
}

/** Whether this process has to audit, because no `ADMIN_URL` is set. */
function isWithoutGateway(error: unknown): boolean {
  return (
    error instanceof OperationError &&
    error.status === 409 &&
    error.message.startsWith('ADMIN_URL: ')
  );
}

async function reportOf(
  started: OperationOutput<'startAudit'>,
  call: CallOperation,
): Promise<OperationOutput<'auditLedger'>> {
  let job = started;
  while (job.state === 'running') {
    showProgress(`${String(job.entries)} of ${String(job.expected_entries)} entries`, false);
    await sleep(POLL_MS);
    job = await call('showAudit', { audit_id: job.id });
  }
  if (job.report !== null) return job.report;
  throw new OperationError(newRefusal('audit_failed', { reason: job.reason ?? 'failed' }));
}
