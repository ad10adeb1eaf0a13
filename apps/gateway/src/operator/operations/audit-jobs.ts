/**
 * Audits that run in the background: an audit reads the whole ledger, which takes longer than a
 * request should. The store runs each in a thread with a limit of its own, so one that fails for
 * lack of memory is a failed job, and the gateway keeps serving. One audit runs at a time. Jobs are
 * kept in the memory of this process.
 */

import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import { BackgroundWorkError, StoreUnavailableError } from '@gateway/balance-store';
import type { AuditReport, BalanceStore, SealHead } from '@gateway/balance-store';
import { HOUR_MS } from '../../base/times.js';
import { auditWithEvent } from '../../observe/notifications/ledger-unsound.js';

export interface AuditJob {
  readonly id: string;
  readonly startedAt: Date;
  readonly anchor: SealHead | undefined;
  /** The number of entries that were read so far. */
  readonly entries: number;
  /** For a progress bar: the number of charges at the start. Other entries are not included. */
  readonly expectedEntries: number;
  readonly result:
    | { readonly state: 'running' }
    | { readonly state: 'done'; readonly finishedAt: Date; readonly report: AuditReport }
    | { readonly state: 'failed'; readonly finishedAt: Date; readonly reason: string };
}

export interface AuditJobs {
  /**
   * Starts an audit. If one with the same anchor is running, that one is returned.
   *
   * @returns `undefined` while one with another anchor is running
   */
  start(anchor: SealHead | undefined): Promise<AuditJob | undefined>;
  /** Newest first. At most ten are kept. */
  list(): readonly AuditJob[];
  find(id: string): AuditJob | undefined;
}

const MOST_JOBS = 10;
/** @param onFailure - Called for each audit that did not end with a report. */
export function createAuditJobs(
  store: Pick<BalanceStore, 'audit' | 'readUsage' | 'recordEvent'>,
  now: () => number,
  log: Pick<Logger, 'error'>,
  onFailure: () => void,
): AuditJobs {
  let jobs: readonly AuditJob[] = [];
  let starting: Promise<AuditJob> | undefined;

  function update(id: string, change: Partial<AuditJob>): void {
    jobs = jobs.map((job) => (job.id === id ? { ...job, ...change } : job));
  }

  /** Returns the audit that is running, or starts one. */
  async function begin(anchor: SealHead | undefined): Promise<AuditJob> {
    const running = jobs.find(({ result }) => result.state === 'running');
    if (running !== undefined) return running;
    const until = new Date((Math.floor(now() / HOUR_MS) + 1) * HOUR_MS);
    const everything = { by: [], from: new Date(0), until };
    const [charges] = await store.readUsage(everything);
    const job: AuditJob = {
      id: `audit_${randomUUID()}`,
      startedAt: new Date(now()),
      anchor,
      entries: 0,
      expectedEntries: charges?.requests ?? 0,
      result: { state: 'running' },
    };
    jobs = [job, ...jobs].slice(0, MOST_JOBS);
    void audit(job.id, anchor);
    return job;
  }

  async function audit(id: string, anchor: SealHead | undefined): Promise<void> {
    const onProgress = ({ entries }: { readonly entries: number }): void => {
      update(id, { entries });
    };
    try {
      const report = await auditWithEvent(store, { anchor, onProgress });
      const result = { state: 'done', finishedAt: new Date(now()), report } as const;
      update(id, { entries: report.entries, result });
    } catch (error) {
      const isOutage = error instanceof StoreUnavailableError;
      const reason = isOutage
        ? 'the ledger cannot be reached'
        : error instanceof BackgroundWorkError
          ? error.message
          : 'the audit failed';
      update(id, { result: { state: 'failed', finishedAt: new Date(now()), reason } });
      onFailure();
      if (isOutage) log.error({ fault: error.message }, 'audit failed');
      else log.error({ err: error }, 'audit crashed');
    }
  }

  return {
    async start(anchor) {
      starting ??= begin(anchor).finally(() => {
        starting = undefined;
      });
      const job = await starting;
      return isSame(job.anchor, anchor) ? job : undefined;
    },
    list: () => jobs,
    find: (id) => jobs.find((job) => job.id === id),
  };
}

function isSame(left: SealHead | undefined, right: SealHead | undefined): boolean {
  return left?.block === right?.block && left?.hash === right?.hash;
}
