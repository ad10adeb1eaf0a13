import { expect, it } from '@jest/globals';
import type { Pool } from 'pg';
import { generateCredential } from '../src/credential.js';
import { createKeyFinder } from '../src/database/key-finder.js';
import type { KeyRow } from '../src/database/key-record.js';

const ROW: KeyRow = {
  id: 'key',
  name: 'a key',
  hint: '...',
  state: 'active',
  expiresAt: null,
  concurrency: 1,
  burst: 1,
  requestsPerMinute: 1,
  balance: '1',
  spent: '0',
  credited: '1',
  writtenOff: '0',
  createdAt: new Date(0),
  lastChargedAt: null,
  standing: 'active',
};

/** A fake pool that returns these rows for each query, and counts the queries. */
function countingPool(rows: readonly KeyRow[]) {
  let queries = 0;
  const client = {
    query: () => Promise.resolve({ rows: (queries += 1) && rows }),
    release: () => undefined,
  };
  const pool = { connect: () => Promise.resolve(client) } as unknown as Pool;
  return { pool, queries: () => queries };
}

it.each([
  // Revoked keys are not cached. If they were, a second attempt would be refused faster than with
  // an unknown key, and the time would reveal that the key once existed.
  ['an unknown key', [], 3],
  ['a revoked key', [{ ...ROW, state: 'revoked', standing: 'revoked' }], 3],
  ['an active key', [ROW], 1],
  ['a suspended key', [{ ...ROW, state: 'suspended', standing: 'suspended' }], 1],
])(
  'caches an active or suspended key, but not an unknown or revoked one: %s',
  async (_, rows, asked) => {
    const { pool, queries } = countingPool(rows);
    const finder = createKeyFinder(pool, 'pepper', () => 0);
    const credential = generateCredential();
    for (let i = 0; i < 3; i += 1) await finder.find(credential);
    expect(queries()).toBe(asked);
  },
);
