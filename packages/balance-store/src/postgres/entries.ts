/** Reading the ledger: one entry, or pages of them. */

import type { Prisma, PrismaClient } from '../generated/client.js';
import type { EntryFilter, EntryPage, LedgerEntry } from '../ledger-entry.js';
import { unitsFromNumeric } from '../numeric.js';
import type { BalanceStore } from '../store.js';
import { throughPrisma } from './prisma-faults.js';

export const TOP_UP_PREFIX = 'topup:';

export function createEntryReader(
  prisma: PrismaClient,
): Pick<BalanceStore, 'findEntry' | 'findEntries' | 'listEntries'> {
  return {
    async findEntry(keyId, requestId) {
      const row = await throughPrisma(() =>
        prisma.ledger.findFirst({ where: { id: requestId, keyId } }),
      );
      return row === null ? undefined : entryOf(row);
    },

    async findEntries(requestIds) {
      const rows = await throughPrisma(() =>
        prisma.ledger.findMany({ where: { id: { in: [...requestIds] } } }),
      );
      return rows.map(entryOf);
    },

    async listEntries(filter): Promise<EntryPage> {
      const { limit } = filter;
      const where = { AND: [conditionsOf(filter), afterCursor(filter)] };
      const rows = await throughPrisma(() =>
        prisma.ledger.findMany({
          where,
          // Entries of one key are ordered by number, which one index serves; those of all keys by
          // time.
          orderBy:
            filter.keyId === undefined ? [{ createdAt: 'desc' }, { id: 'desc' }] : { seq: 'desc' },
          // One row more than the page holds, to know whether there is a next page.
          take: limit + 1,
        }),
      );
      const entries = rows.slice(0, limit).map(entryOf);
      const last = entries.at(-1);
      if (rows.length <= limit || last === undefined) return { entries };
      return { entries, next: cursorOf(filter, last) };
    },
  };
}

function conditionsOf({ keyId, kind, model, from, until }: EntryFilter): Prisma.LedgerWhereInput {
  return {
    ...(keyId === undefined ? {} : { keyId }),
    ...(kind === undefined ? {} : { kind }),
    ...(model === undefined ? {} : { model }),
    ...(from === undefined && until === undefined
      ? {}
      : {
          createdAt: {
            ...(from === undefined ? {} : { gte: from }),
            ...(until === undefined ? {} : { lt: until }),
          },
        }),
  };
}

/** The position of a page's last entry: its number for one key, its time and id for all keys. */
function cursorOf({ keyId }: EntryFilter, last: LedgerEntry): string {
  const position =
    keyId === undefined ? `${String(last.createdAt.getTime())}:${last.id}` : last.seq.toString();
  return Buffer.from(position).toString('base64url');
}

/** @throws {RangeError} when the cursor was not returned for such a filter. */
function afterCursor({ keyId, cursor }: EntryFilter): Prisma.LedgerWhereInput {
  if (cursor === undefined) return {};
  const position = Buffer.from(cursor, 'base64url').toString();
  if (keyId !== undefined && /^\d{1,18}$/.test(position)) return { seq: { lt: BigInt(position) } };
  const [, time, id] = /^(\d{1,15}):([^]+)$/.exec(position) ?? [];
  if (keyId !== undefined || time === undefined || id === undefined) {
    throw new RangeError('the cursor does not belong to a page of these entries');
  }
  const createdAt = new Date(Number(time));
  // The second condition implies the first, but an index can serve only the first.
  return {
    AND: [
      { createdAt: { lte: createdAt } },
      { OR: [{ createdAt: { lt: createdAt } }, { id: { lt: id } }] },
    ],
  };
}

type LedgerRow = Awaited<ReturnType<PrismaClient['ledger']['findFirstOrThrow']>>;

function entryOf(row: LedgerRow): LedgerEntry {
  const common = {
    id: row.id,
    keyId: row.keyId,
    seq: row.seq,
    delta: unitsOf(row.delta),
    balanceAfter: unitsOf(row.balanceAfter),
    createdAt: row.createdAt,
  };
  if (row.kind === 'top_up') return { ...common, kind: 'top_up', actor: recorded(row.actor) };
  return {
    ...common,
    kind: 'charge',
    writtenOff: unitsOf(row.writtenOff),
    model: recorded(row.model),
    usage: {
      inputTokens: recorded(row.inputTokens),
      outputTokens: recorded(row.outputTokens),
      cacheReadInputTokens: recorded(row.cacheReadInputTokens),
      cacheCreationInputTokens: recorded(row.cacheCreationInputTokens),
      cacheCreation1hInputTokens: recorded(row.cacheCreation1hInputTokens),
    },
    rates: {
      inputPerToken: unitsOf(recorded(row.inputRate)),
      outputPerToken: unitsOf(recorded(row.outputRate)),
      cacheReadPerToken: unitsOf(recorded(row.cacheReadRate)),
      cacheWrite5mPerToken: unitsOf(recorded(row.cacheWrite5mRate)),
      cacheWrite1hPerToken: unitsOf(recorded(row.cacheWrite1hRate)),
    },
    endpoint: recorded(row.endpoint),
    streamed: recorded(row.streamed),
    upstreamId: row.upstreamId ?? undefined,
    remarks: row.remarks ?? undefined,
  };
}

/** `toFixed()` without an argument prints all digits of a decimal. */
function unitsOf(decimal: Prisma.Decimal): bigint {
  return unitsFromNumeric(decimal.toFixed());
}

/** Reads a column that a table constraint guarantees for this kind of entry. */
function recorded<Value>(value: Value | null): Value {
  if (value === null) throw new Error('a ledger entry lacks a column that its kind requires');
  return value;
}
