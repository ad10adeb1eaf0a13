import type { PrismaClient } from '../generated/client.js';
import { throughPrisma } from './prisma-faults.js';

/** @returns texts by id, without those that were erased */
export async function personalTextsOf(
  prisma: PrismaClient,
  ids: readonly (string | null)[],
): Promise<ReadonlyMap<string, string>> {
  const wanted = ids.filter((id) => id !== null);
  if (wanted.length === 0) return new Map();
  const rows = await throughPrisma(() =>
    prisma.personalText.findMany({ where: { id: { in: wanted } } }),
  );
  return new Map(rows.map(({ id, text }) => [id, text]));
}
