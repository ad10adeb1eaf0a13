/** Reads ledger entries through Prisma: one, or pages of them. */

import type { Prisma, PrismaClient } from '../generated/client.js';
import type { EntryPosition } from '../ledger/queries/entry-cursor.js';
import type { EntryTable } from '../ledger/database/ledger-database.js';
import { ENTRY_MEMBERS, ledgerEntryOf } from '../ledger/rows/stored-entry.js';
import { spenderOf } from '../ledger/rows/spenders.js';
import type { Spender } from '../spender.js';
import { rowReader } from '../ledger/tables/tables.js';
import type { EntryFilter, LedgerEntry } from '../ledger-entry.js';
import { unitsFromDecimal } from './decimal.js';
import { personalTextsOf } from './personal-texts.js';
import { throughPrisma } from './prisma-faults.js';

export function createEntryTable(prisma: PrismaClient): EntryTable {
  async function read(args: Prisma.LedgerFindManyArgs): Promise<readonly LedgerEntry[]> {
    const rows = await throughPrisma(() => prisma.ledger.findMany(args));
    const notes = await personalTextsOf(
      prisma,
      rows.map(({ noteId }) => noteId),
    );
    const spenders = await spendersOf(
      prisma,
      rows.flatMap(({ spenderId }) => (spenderId === null ? [] : [spenderId])),
    );
    return rows.map((row) =>
      ledgerEntryOf(readEntry(row), notes.get(row.noteId ?? ''), spenders.get(row.spenderId ?? '')),
    );
  }

  return {
    async find(keyId, id) {
      const [entry] = await read({ where: { id } });
      if (entry === undefined) return undefined;
      if (entry.kind === 'charge') return entry.keyId === keyId ? entry : undefined;
      const owner = { id: keyId, accountId: entry.accountId };
      const isOwn = await throughPrisma(() => prisma.apiKey.count({ where: owner }));
      return isOwn === 1 ? entry : undefined;
    },
    findMany: (ids) => read({ where: { id: { in: [...ids] } } }),
    list: (filter, before) =>
      read({
        where: { AND: [conditionsOf(filter), conditionsBefore(before)] },
        // One index serves the order by number, another the order by time.
        orderBy:
          filter.accountId === undefined
            ? [{ createdAt: 'desc' }, { id: 'desc' }]
            : { seq: 'desc' },
        take: filter.limit,
      }),
  };
}

async function spendersOf(
  prisma: PrismaClient,
  ids: readonly string[],
): Promise<ReadonlyMap<string, Spender>> {
  if (ids.length === 0) return new Map();
  const where = { id: { in: [...new Set(ids)] } };
  const rows = await throughPrisma(() => prisma.spender.findMany({ where }));
  return new Map(rows.map((row) => [row.id, spenderOf(row)]));
}

const readEntry = rowReader('Ledger', ENTRY_MEMBERS, { amount: unitsFromDecimal });

function conditionsOf({
  accountId,
  keyId,
  kind,
  withoutCharges = false,
  withoutFees = false,
  model,
  upstreamId,
  from,
  until,
}: Omit<EntryFilter, 'cursor'>): Prisma.LedgerWhereInput {
  return {
    ...(accountId === undefined ? {} : { accountId }),
    ...(keyId === undefined ? {} : { OR: [{ keyId }, { kind: { not: 'charge' } }] }),
    AND: [
      ...(kind === undefined ? [] : [{ kind }]),
      ...(withoutCharges ? [{ kind: { not: 'charge' } }] : []),
      ...(withoutFees ? [{ OR: [{ kind: { not: 'adjustment' } }, { delta: { not: 0 } }] }] : []),
    ],
    ...(model === undefined ? {} : { model }),
    ...(upstreamId === undefined ? {} : { upstreamId }),
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
  // Together: an earlier time, or the same time and a smaller id. An index can serve the first
  // condition.
  return {
    AND: [
      { createdAt: { lte: createdAt } },
      { OR: [{ createdAt: { lt: createdAt } }, { id: { lt: id } }] },
    ],
  };
}
