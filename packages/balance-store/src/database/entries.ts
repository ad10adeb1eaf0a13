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
          // Within a key, by number: exact, and one index serves it. Across keys, by time.
          orderBy:
            filter.keyId === undefined ? [{ createdAt: 'desc' }, { id: 'desc' }] : { seq: 'desc' },
          // One more than asked for tells whether there is a next page.
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

/** Where a page ends: the number of its last entry within a key; its time and id across keys. */
function cursorOf({ keyId }: EntryFilter, last: LedgerEntry): string {
  const position =
    keyId === undefined ? `${String(last.createdAt.getTime())}:${last.id}` : last.seq.toString();
  return Buffer.from(position).toString('base64url');
}

/** @throws {RangeError} when the cursor is none that a page of such a filter ended with. */
function afterCursor({ keyId, cursor }: EntryFilter): Prisma.LedgerWhereInput {
  if (cursor === undefined) return {};
  const position = Buffer.from(cursor, 'base64url').toString();
  if (keyId !== undefined && /^\d{1,18}$/.test(position)) return { seq: { lt: BigInt(position) } };
  const [, time, id] = /^(\d{1,15}):([^]+)$/.exec(position) ?? [];
  if (keyId !== undefined || time === undefined || id === undefined) {
    throw new RangeError('the cursor is none of a page of these entries');
  }
  const createdAt = new Date(Number(time));
  // The first condition follows from the second, and is the one an index can serve.
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

/** `toFixed` without digits prints a decimal exactly, however many digits it has. */
function unitsOf(decimal: Prisma.Decimal): bigint {
  return unitsFromNumeric(decimal.toFixed());
}

/** A table constraint makes sure of these columns for each kind of entry. */
function recorded<Value>(value: Value | null): Value {
  if (value === null) throw new Error('a ledger entry lacks a column of its kind');
  return value;
}
