/** Reads ledger entries through Prisma: one, or pages of them. */

import type { Prisma, PrismaClient } from '../generated/client.js';
import type { EntryPosition } from '../ledger/entry-cursor.js';
import type { EntryTable } from '../ledger/ledger-database.js';
import type { EntryFilter, LedgerEntry } from '../ledger-entry.js';
import { unitsFromNumeric } from '../numeric.js';
import { throughPrisma } from './prisma-faults.js';

export function createEntryTable(prisma: PrismaClient): EntryTable {
  return {
    async find(keyId, id) {
      const row = await throughPrisma(() => prisma.ledger.findFirst({ where: { id, keyId } }));
      return row === null ? undefined : entryOf(row);
    },

    async findMany(ids) {
      const rows = await throughPrisma(() =>
        prisma.ledger.findMany({ where: { id: { in: [...ids] } } }),
      );
      return rows.map(entryOf);
    },

    async list(filter, before) {
      const rows = await throughPrisma(() =>
        prisma.ledger.findMany({
          where: { AND: [conditionsOf(filter), conditionsBefore(before)] },
          // One index serves the order by number, another the order by time.
          orderBy:
            filter.keyId === undefined ? [{ createdAt: 'desc' }, { id: 'desc' }] : { seq: 'desc' },
          take: filter.limit,
        }),
      );
      return rows.map(entryOf);
    },
  };
}

function conditionsOf({
  keyId,
  kind,
  model,
  from,
  until,
}: Omit<EntryFilter, 'cursor'>): Prisma.LedgerWhereInput {
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

function conditionsBefore(position: EntryPosition | undefined): Prisma.LedgerWhereInput {
  if (position === undefined) return {};
  if ('seq' in position) return { seq: { lt: position.seq } };
  const { createdAt, id } = position;
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
