/**
 * Follows the commits of the writing thread: for the memory of the main thread, and for the rows
 * that the thread itself keeps.
 */

import { isNextCommit } from '../files/commit-mark.js';
import type { CommitMark, ReadMark } from '../files/commit-mark.js';
import { noRows } from '../sqlite/charge-rows.js';
import type { KeptRows } from '../sqlite/charge-rows.js';
import type { ChangedRows } from '../sqlite/settle.js';
import type { CommitReport } from './messages.js';

export interface CommitReports {
  /** As a transaction that has begun would read them. */
  readonly kept: KeptRows;
  /** Call within a transaction: nobody else can commit until it ends. */
  readonly begun: () => void;
  readonly committed: () => void;
  /**
   * Call when an operation has committed once, and knows all that it changed of keys and accounts.
   * Otherwise its commit is not reported, and no row is kept.
   */
  readonly knows: (changed: ChangedRows | undefined) => void;
  /** The report of the operation that has ended. */
  readonly take: () => CommitReport | undefined;
}

/** A key takes about 1 KB. */
const MAX_KEPT_KEYS = 5_000;

export function createCommitReports(readMark: ReadMark | undefined): CommitReports {
  const kept = noRows();
  /** The state of the file that the kept rows belong to. */
  let keptAt: CommitMark | undefined;
  let from: CommitMark | undefined;
  let to: CommitMark | undefined;
  let report: CommitReport | undefined;
  return {
    kept,
    begun() {
      from = readMark?.();
      if (from === undefined || from !== keptAt || kept.keys.size > MAX_KEPT_KEYS) {
        kept.keys.clear();
        kept.accounts.clear();
        kept.spenders.clear();
        kept.budgets.clear();
      }
      // Until the transaction has succeeded.
      keptAt = undefined;
    },
    committed() {
      to = readMark?.();
    },
    knows(changed) {
      if (from === undefined || to === undefined || !isNextCommit(from, to)) return;
      keptAt = to;
      report = { from, to, changed };
    },
    take() {
      const taken = report;
      from = to = report = undefined;
      return taken;
    },
  };
}
