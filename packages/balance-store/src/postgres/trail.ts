/** Lists the trail through Prisma. */

import type { PrismaClient } from '../generated/client.js';
import { trailEntryOf } from '../ledger/rows/stored-trail.js';
import type { TrailEntry, TrailFilter } from '../trail.js';
import { personalTextsOf } from './personal-texts.js';
import { throughPrisma } from './prisma-faults.js';

export async function listTrail(
  prisma: PrismaClient,
  { limit, before, accountId, keyId }: TrailFilter,
): Promise<readonly TrailEntry[]> {
  const rows = await throughPrisma(() =>
    prisma.trail.findMany({
      where: {
        ...(before === undefined ? {} : { seq: { lt: before } }),
        ...(accountId === undefined ? {} : { accountId }),
        ...(keyId === undefined ? {} : { keyId }),
      },
      orderBy: { seq: 'desc' },
      take: limit,
    }),
  );
  const texts = await personalTextsOf(
    prisma,
    rows.map(({ personalId }) => personalId),
  );
  return rows.map((row) => trailEntryOf(row, texts.get(row.personalId ?? '')));
}
