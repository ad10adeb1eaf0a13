/** Keys through Prisma, except for the look-up before each admission. */

import type { Pool } from 'pg';
import type { PrismaClient } from '../generated/client.js';
import type { KeyRecord } from '../key.js';
import type { KeyTable } from '../ledger/ledger-database.js';
import { keyRecordOf } from './key-record.js';
import type { KeyRow } from './key-record.js';
import { throughPrisma } from './prisma-faults.js';
import { READ_TIMEOUT_MS, queryRows, reachingDatabase } from './query.js';

export function createKeyTable(prisma: PrismaClient, hot: Pool): KeyTable {
  return {
    async insert({ limits, ...row }) {
      await throughPrisma(() =>
        prisma.apiKey.create({ data: { ...row, ...limits }, select: { id: true } }),
      );
    },

    async update(id, change, onlyInState) {
      const where = { id, ...(onlyInState === undefined ? {} : { state: onlyInState }) };
      await throughPrisma(() => prisma.apiKey.updateMany({ where, data: change }));
    },

    async get(id) {
      const row = await throughPrisma(() => prisma.keyStanding.findUnique({ where: { id } }));
      return row === null ? undefined : recordOf(row);
    },

    async list({ limit, after }) {
      const rows = await throughPrisma(() =>
        prisma.keyStanding.findMany({
          where: after === undefined ? {} : { id: { lt: after } },
          orderBy: { id: 'desc' },
          take: limit,
        }),
      );
      return rows.map(recordOf);
    },

    async find(credentialHmac) {
      const [row] = await reachingDatabase(() =>
        queryRows<KeyRow>(hot, { ...FIND_KEY, values: [credentialHmac] }),
      );
      return row === undefined ? undefined : keyRecordOf(row);
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

const FIND_KEY = {
  name: 'find_key',
  text:
    'SELECT id, name, hint, state, expires_at AS "expiresAt", concurrency, burst, ' +
    'requests_per_minute AS "requestsPerMinute", balance::text, spent::text, credited::text, ' +
    'written_off::text AS "writtenOff", ' +
    'created_at AS "createdAt", last_charged_at AS "lastChargedAt", standing ' +
    'FROM key_standing WHERE credential_hmac = $1',
  timeoutMs: READ_TIMEOUT_MS,
} as const;
