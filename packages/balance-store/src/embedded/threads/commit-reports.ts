/** Collects what the operations of the writing thread commit, for the memory of the main thread. */

import type { CommitMark, ReadMark } from '../commit-mark.js';
import type { CommitReport } from './messages.js';

export interface CommitReports {
  /** Call within a transaction: nobody else can commit until it ends. */
  readonly begun: () => void;
  readonly committed: () => void;
  /**
   * Call when an operation has committed once, and knows all that it changed of the standing of
   * keys. Otherwise the commit is not reported.
   *
   * @param changed - Encoded.
   */
  readonly knows: (changed: string | undefined) => void;
  /** The report of the operation that has ended. */
  readonly take: () => CommitReport | undefined;
}

export function createCommitReports(readMark: ReadMark | undefined): CommitReports {
  let from: CommitMark | undefined;
  let to: CommitMark | undefined;
  let report: CommitReport | undefined;
  return {
    begun() {
      from = readMark?.();
    },
    committed() {
      to = readMark?.();
    },
    knows(changed) {
      if (from !== undefined && to !== undefined) report = { from, to, changed };
    },
    take() {
      const taken = report;
      from = to = report = undefined;
      return taken;
    },
  };
}
