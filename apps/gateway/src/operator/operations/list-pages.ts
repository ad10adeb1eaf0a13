/** Reads a list to its end, page by page, wherever its operation runs. */

import { z } from 'zod';
import { ROWS_PER_PAGE } from '../../http/exports.js';
import { invalidInput } from '../../endpoints/operation-error.js';
import type { ListName } from './list-csv.js';
import { operations } from './operations.js';
import type { OperationInput, OperationOutput } from './operations.js';

/** Whether the list has pages, so that it is whole only when all of them are read. */
export function hasPages(name: ListName): boolean {
  return 'limit' in operations[name].input.shape;
}

/**
 * The pages of a list. Each row comes once: a page begins behind the last row of the one before.
 * Rows that are added meanwhile may be missing.
 *
 * @param input - Its cursor, if it has one, is where the first page begins.
 * @param ask - Reads one page.
 * @throws {OperationError} if the list cannot be read to its end
 */
export async function* pagesOf<Name extends ListName>(
  name: Name,
  input: OperationInput<Name>,
  ask: (input: OperationInput<Name>) => Promise<OperationOutput<Name>>,
): AsyncGenerator<OperationOutput<Name>, undefined> {
  const { shape } = operations[name].input;
  const size = 'limit' in shape ? { limit: ROWS_PER_PAGE } : {};
  for (let place = {}; ;) {
    const page = await ask({ ...input, ...size, ...place });
    const { next_cursor: next, has_more: hasMore } = page as PageEnd;
    if (next === null && hasMore) {
      const most = String(ROWS_PER_PAGE);
      throw invalidInput(`limit: must be given, because this list has more than ${most} rows`);
    }
    if (next !== null && hasMovingOrder(input)) {
      const reason = 'because rows move in it while a long list is read';
      throw invalidInput(`order: only with limit, ${reason}`);
    }
    yield page;
    if (next === null) return undefined;
    place = 'after' in shape ? { after: next } : { cursor: next };
  }
}

interface PageEnd {
  readonly next_cursor: string | null;
  readonly has_more: boolean;
}

const MOVING_ORDERS = z.object({ order: z.enum(['spent', 'balance', 'last_charged']) });

/** Whether the order is by something that changes while the list is read. */
function hasMovingOrder(input: unknown): boolean {
  return MOVING_ORDERS.safeParse(input).success;
}
