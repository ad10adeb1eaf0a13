/** What the record of requests needs of a database. */

import type {
  RecordedPart,
  RequestPage,
  RequestPruning,
  RequestQuery,
  RequestSum,
  RequestSumQuery,
} from '../../request-record.js';
import type { StoredBatch } from './batch.js';

export interface RequestTables {
  record(batch: StoredBatch): Promise<void>;
  list(query: RequestQuery): Promise<RequestPage>;
  sums(query: RequestSumQuery): Promise<readonly RequestSum[]>;
  recordedFrom(of: RecordedPart): Promise<Date | undefined>;
  /** Deletes a limited number. */
  prune(pruning: RequestPruning): Promise<{ readonly isDone: boolean }>;
  erase(accountId: string): Promise<void>;
  /** The accounts that were erased since `since`, in rows of the trail after this number. */
  erasuresAfter(seq: bigint, since: Date): Promise<FoundErasures>;
}

export interface FoundErasures {
  readonly accountIds: readonly string[];
  /** The number of the last row of the trail. */
  readonly last: bigint;
}
