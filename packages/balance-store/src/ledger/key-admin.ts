/** The operator's methods for keys: create, read, change. None of them changes a balance. */

import { randomBytes } from 'node:crypto';
import { generateCredential, hashCredential, hintOf, pepperIdOf } from '../credential.js';
import type { PrismaClient } from '../generated/client.js';
import type { KeyLimits, KeyRecord, NewKey } from '../key.js';
import type { BalanceStore } from '../store.js';
import { keyRecordOf } from './key-record.js';
import { throughPrisma } from './prisma-faults.js';

export type KeyAdmin = Pick<
  BalanceStore,
  'createKey' | 'getKey' | 'listKeys' | 'suspendKey' | 'resumeKey' | 'revokeKey' | 'updateKey'
>;

export interface KeyAdminOptions {
  readonly prisma: PrismaClient;
  readonly pepper: string;
  /** Called after each change to a key. */
  readonly onChange: (keyId: string) => void;
}

export function createKeyAdmin({ prisma, pepper, onChange }: KeyAdminOptions): KeyAdmin {
  const newKeyId = createKeyIds(Date.now);

  async function getKey(keyId: string): Promise<KeyRecord | undefined> {
    const row = await throughPrisma(() => prisma.keyStanding.findUnique({ where: { id: keyId } }));
    return row === null ? undefined : recordOf(row);
  }

  /** Changes a key if it still matches `where`, and returns its current record. */
  async function change(
    where: { readonly id: string; readonly state?: string | { readonly not: string } },
    data: {
      readonly state?: string;
      readonly name?: string;
      readonly expiresAt?: Date | null;
    } & Partial<KeyLimits>,
  ): Promise<KeyRecord | undefined> {
    await throughPrisma(() => prisma.apiKey.updateMany({ where, data }));
    onChange(where.id);
    return getKey(where.id);
  }

  return {
    async createKey({ name, limits, expiresAt }: NewKey) {
      assertLimits(limits);
      const credential = generateCredential();
      const id = newKeyId();
      const { concurrency, burst, requestsPerMinute } = limits;
      await throughPrisma(() =>
        prisma.apiKey.create({
          data: {
            id,
            name,
            hint: hintOf(credential),
            credentialHmac: new Uint8Array(hashCredential(credential, pepper)),
            pepperId: pepperIdOf(pepper),
            expiresAt,
            concurrency,
            burst,
            requestsPerMinute,
          },
          select: { id: true },
        }),
      );
      const record = await getKey(id);
      if (record === undefined) throw new Error(`key ${id} was not found after its creation`);
      return { record, credential };
    },

    getKey,

    async listKeys({ limit, after }) {
      const rows = await throughPrisma(() =>
        prisma.keyStanding.findMany({
          where: after === undefined ? {} : { id: { lt: after } },
          orderBy: { id: 'desc' },
          take: limit,
        }),
      );
      return rows.map(recordOf);
    },

    suspendKey: (keyId) => change({ id: keyId, state: 'active' }, { state: 'suspended' }),
    resumeKey: (keyId) => change({ id: keyId, state: 'suspended' }, { state: 'active' }),
    revokeKey: (keyId) => change({ id: keyId }, { state: 'revoked' }),

    async updateKey(keyId, { limits, expiresAt, name }) {
      if (limits !== undefined) assertLimits(limits);
      return change(
        { id: keyId },
        {
          ...limits,
          ...(expiresAt === undefined ? {} : { expiresAt }),
          ...(name === undefined ? {} : { name }),
        },
      );
    },
  };
}

type PrismaKeyRow = Awaited<ReturnType<PrismaClient['keyStanding']['findFirstOrThrow']>>;

function recordOf(row: PrismaKeyRow): KeyRecord {
  return keyRecordOf({
    ...row,
    balance: row.balance.toFixed(),
    spent: row.spent.toFixed(),
    credited: row.credited.toFixed(),
    writtenOff: row.writtenOff.toFixed(),
  });
}

/**
 * Makes ids that sort by creation: a time in milliseconds that always increases within this
 * process, then 64 random bits.
 */
function createKeyIds(now: () => number): () => string {
  let last = 0;
  return () => {
    last = Math.max(now(), last + 1);
    return `key_${last.toString(16).padStart(12, '0')}${randomBytes(8).toString('hex')}`;
  };
}

const MAX_INTEGER = 2 ** 31 - 1;

function assertLimits({ concurrency, burst, requestsPerMinute }: Partial<KeyLimits>): void {
  for (const [name, count] of Object.entries({ concurrency, burst })) {
    if (count === undefined) continue;
    if (!Number.isInteger(count) || count < 1 || count > MAX_INTEGER) {
      throw new RangeError(`${name} is ${String(count)}, not an integer above 0`);
    }
  }
  if (requestsPerMinute === undefined) return;
  if (!(requestsPerMinute > 0 && requestsPerMinute < Infinity)) {
    throw new RangeError(`requestsPerMinute is ${String(requestsPerMinute)}, not a number above 0`);
  }
}
