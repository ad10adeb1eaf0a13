/** Runs audits in a thread, so that requests are served meanwhile, whatever the audit needs. */

import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { AuditOptions, AuditReport } from '../audit.js';
import { BackgroundWorkError } from '../errors.js';
import { BACKGROUND_LIMITS, memoryErrorOf } from '../ledger/background-thread.js';
import { decode } from '../ledger/thread-codec.js';
import { StoreUnavailableError } from '../store.js';
import type { AuditThreadData, AuditThreadMessage } from './audit-thread.js';

export interface Auditor {
  /** @throws {StoreUnavailableError} @throws {BackgroundWorkError} */
  audit(options: AuditOptions): Promise<AuditReport>;
  /** Ends the audits in progress, which then fail. */
  close(): Promise<void>;
}

/** A thread always runs the built file, even when tests run the sources. */
function threadFile(): URL {
  const built = extname(import.meta.url) === '.ts' ? '../../dist/postgres/' : './';
  return new URL(`${built}audit-thread.js`, import.meta.url);
}

export function createAuditor(connectionString: string): Auditor {
  const running = new Set<Worker>();
  let isClosed = false;
  return {
    audit: ({ anchor, onProgress }) =>
      new Promise((resolve, reject) => {
        if (isClosed) {
          reject(new StoreUnavailableError('the store is closed'));
          return;
        }
        const worker = new Worker(threadFile(), {
          workerData: { connectionString, anchor } satisfies AuditThreadData,
          resourceLimits: BACKGROUND_LIMITS,
        });
        running.add(worker);
        worker.on('message', (message: AuditThreadMessage) => {
          if ('entries' in message) onProgress?.({ entries: message.entries });
          else if ('report' in message) resolve(decode(message.report) as AuditReport);
          else reject(new StoreUnavailableError(message.unavailable));
        });
        worker.on('error', (error: unknown) => {
          reject(memoryErrorOf(error) ?? (error as Error));
        });
        worker.on('exit', () => {
          running.delete(worker);
          // Has no effect if the audit has ended.
          reject(
            isClosed
              ? new StoreUnavailableError('the store is closed')
              : new BackgroundWorkError('the thread of the audit has ended'),
          );
        });
      }),
    async close() {
      isClosed = true;
      await Promise.all([...running].map((worker) => worker.terminate()));
    },
  };
}
