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
  /** Adds a limited number of blocks to the sums, each once, whichever process wrote them. */
  addToSums(): Promise<Summed>;
  list(query: RequestQuery): Promise<RequestPage>;
  sums(query: RequestSumQuery): Promise<readonly RequestSum[]>;
  recordedFrom(of: RecordedPart): Promise<Date | undefined>;
  /** Deletes a limited number. */
  prune(pruning: RequestPruning): Promise<{ readonly isDone: boolean }>;
  /** @param series - Some of the account's, whose rows another process may have deleted. */
  erase(accountId: string, series: readonly number[]): Promise<void>;
  /** The accounts that were erased since `since`, in rows of the trail after this number. */
  erasuresAfter(seq: bigint, since: Date): Promise<FoundErasures>;
}

export interface Summed {
  /** How many blocks were added. */
  readonly added: number;
  readonly isDone: boolean;
}

export interface FoundErasures {
  readonly accountIds: readonly string[];
  /** The number of the last row of the trail. */
  readonly last: bigint;
}
