/** Operations on audits that run as jobs, and one that shows all facts about a request. */

import { z } from 'zod';
import { formatUsd } from '@gateway/billing';
import { newRefusal } from '../../base/errors/refusal.js';
import { anchor } from '../../endpoints/fields.js';
import { OperationError, notFound } from '../../endpoints/operation-error.js';
import * as schema from '../../endpoints/schemas.js';
import { chargeLines } from '../../endpoints/statement/statement-facts.js';
import { line } from '../../endpoints/storable.js';
import { entryView } from '../../endpoints/schemas/entries.js';
import { keyView } from '../../endpoints/schemas/keys.js';
import { withUse } from '../../ledger/used-by-keys.js';
import { accountView } from '../../endpoints/schemas/accounts.js';
import { holdView } from '../../endpoints/schemas/ledger.js';
import { auditView } from '../../endpoints/views.js';
import { requestIdOf } from '../../ledger/find-charge.js';
import type { AuditJob } from './audit-jobs.js';
import { chargeShownAs, whereElse } from './ledger.js';
import type { LiveGateway } from './live.js';
import { list, operation } from './operation.js';
import type { OperationContext } from './operation.js';

/**
 * The store cannot find a hold by the id of its request. `showRequest` therefore searches this many
 * of the newest live holds, and as many orphaned ones. There are normally fewer, so reading them is
 * cheap.
 */
const HOLDS_TO_SEARCH = 1_000;

export const auditOperations = {
  startAudit: operation({
    method: 'post',
    path: '/admin/ledger/audits',
    summary: 'Starts an audit, or returns the one that is running',
    right: 'read',
    input: z.strictObject({ anchor: anchor.optional() }),
    output: schema.auditJob,
    async run({ anchor }, context) {
      const job = await liveOf(context).audits.start(anchor);
      if (job !== undefined) return jobView(job);
      throw new OperationError(newRefusal('other_audit_runs'));
    },
  }),

  listAudits: operation({
    method: 'get',
    path: '/admin/ledger/audits',
    summary: 'Audits since the gateway started, newest first',
    right: 'read',
    input: z.strictObject({}),
    output: schema.listOf(schema.auditJob),
    run: (_input, context) =>
      Promise.resolve(list(liveOf(context).audits.list().map(jobView), undefined)),
  }),

  showAudit: operation({
    method: 'get',
    path: '/admin/ledger/audits/:audit_id',
    summary: 'One audit: its progress, or its report',
    right: 'read',
    input: z.strictObject({ audit_id: line.min(1).max(100) }),
    output: schema.auditJob,
    run({ audit_id }, context) {
      const job = liveOf(context).audits.find(audit_id);
      if (job === undefined) throw notFound('audit_id', 'audit');
      return Promise.resolve(jobView(job));
    },
  }),

  showRequest: operation({
    method: 'get',
    path: '/admin/requests/:request_id',
    summary:
      'One request: its charge or its hold, its key and its account. By its id, or by the id of its message as any format shows it',
    right: 'read',
    input: z.strictObject({ request_id: line.min(1).max(200) }),
    output: schema.request,
    async run({ request_id }, { store }) {
      const [charge, live, orphaned] = await Promise.all([
        chargeShownAs('request_id', request_id, store),
        store.listHolds({ state: 'live', limit: HOLDS_TO_SEARCH }),
        store.listHolds({ state: 'orphaned', limit: HOLDS_TO_SEARCH }),
      ]);
      const requestId = charge?.id ?? requestIdOf(request_id);
      const hold = [...live, ...orphaned].find((each) => each.requestId === requestId);
      const keyId = charge?.keyId ?? hold?.keyId;
      const key = keyId === undefined ? undefined : await store.getKey(keyId);
      if (key === undefined) {
        throw notFound('request_id', `charge or hold${await whereElse(request_id, store)}`);
      }
      const account = await store.getAccount(key.accountId);
      return {
        object: 'request' as const,
        request_id: requestId,
        /**
         * `charged`; `in_flight`: its hold is live; `orphaned`: its hold expired, because the
         * process that served it ended or lost the database before it was charged. The upstream may
         * have done work that nobody was charged for.
         */
        state:
          charge !== undefined
            ? ('charged' as const)
            : hold?.orphanedAt === null
              ? ('in_flight' as const)
              : ('orphaned' as const),
        entry: charge === undefined ? null : entryView(charge),
        lines: charge === undefined ? [] : chargeLines(charge),
        list_price_usd: charge === undefined ? null : formatUsd(charge.writtenOff - charge.delta),
        hold: hold === undefined ? null : holdView(hold),
        key: keyView(await withUse(key, store)),
        account: account === undefined ? null : accountView(account),
      };
    },
  }),
} as const;

/** @throws {OperationError} on the command line, which would end before the job */
function liveOf({ live }: OperationContext): LiveGateway {
  if (live === undefined) {
    throw new OperationError(newRefusal('audit_jobs_need_gateway'));
  }
  return live;
}

function jobView({ id, startedAt, entries, expectedEntries, result }: AuditJob) {
  return {
    object: 'audit_job' as const,
    id,
    state: result.state,
    started_at: startedAt.toISOString(),
    finished_at: result.state === 'running' ? null : result.finishedAt.toISOString(),
    entries,
    expected_entries: Math.max(expectedEntries, entries),
    report: result.state === 'done' ? auditView(result.report) : null,
    reason: result.state === 'failed' ? result.reason : null,
  };
}
