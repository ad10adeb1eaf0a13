/** How the sums of the record of requests are written. */

import { describe, expect, it } from '@jest/globals';
import type { RequestTables } from '../../src/ledger/requests/request-tables.js';
import type { StoredBatch } from '../../src/ledger/requests/batch.js';
import { createRequestRecord } from '../../src/ledger/store/requests.js';
import { StoreUnavailableError } from '../../src/store.js';
import { requestRecord } from '../../src/testing/samples.js';

const KEYS = 2_000;
const DAY_MS = 86_400_000;
const endedAt = 20_000 * DAY_MS;

function createTables(fails: () => boolean = () => false) {
  const written: StoredBatch[] = [];
  const tables: RequestTables = {
    record(batch) {
      if (fails()) return Promise.reject(new StoreUnavailableError('no room'));
      written.push(batch);
      return Promise.resolve();
    },
    list: () => Promise.resolve({ requests: [] }),
    sums: () => Promise.resolve([]),
    recordedFrom: () => Promise.resolve(undefined),
    prune: () => Promise.resolve({ isDone: true }),
    erase: () => Promise.resolve(),
    erasuresAfter: (last) => Promise.resolve({ accountIds: [], last }),
  };
  return { tables, written };
}

const kept = Array.from({ length: KEYS }, (_, key) =>
  requestRecord({ id: `req_${String(key)}`, keyId: `key_${String(key)}`, endedAt }),
);
const range = { from: new Date(0), until: new Date(endedAt + DAY_MS), by: [], maxSums: 10 };

describe('the sums of requests', () => {
  // F294: holders use thousands of keys: the sums of their requests are written in small parts, so
  // that nobody waits while they are encoded. They took 80 ms in one part.
  it('are written in parts, each sum once', async () => {
    const { tables, written } = createTables();
    const record = createRequestRecord(tables);
    await record.recordRequests({ kept, counted: [] });
    await record.sumRequests(range);
    const parts = written.filter(({ blocks }) => blocks.length === 0);
    expect(Math.max(...parts.map(({ sums }) => sums.length))).toBeLessThan(KEYS / 4);
    expect(Math.max(...parts.map(({ labels }) => labels.length))).toBeLessThan(KEYS / 4);
    // By five minutes, by hour and by day.
    const names = parts.flatMap(({ sums }) =>
      sums.map(({ minutes, series }) => `${String(minutes)} ${String(series)}`),
    );
    expect([names.length, new Set(names).size]).toEqual([3 * KEYS, 3 * KEYS]);
    const labels = parts.flatMap((part) => part.labels.map(({ series }) => series));
    expect(new Set(labels).size).toBe(KEYS);
    expect(parts.flatMap(({ labels: some }) => some)).toHaveLength(KEYS);
  });

  // F417
  it('have what the list has: nothing of a batch that was not written, all of one that was', async () => {
    let isFull = true;
    const { tables, written } = createTables(() => isFull);
    const record = createRequestRecord(tables);
    await expect(record.recordRequests({ kept, counted: [] })).rejects.toThrow('no room');
    isFull = false;
    await record.sumRequests(range);
    expect(written).toEqual([]);
    await record.recordRequests({ kept, counted: [] });
    isFull = true;
    await expect(record.sumRequests(range)).rejects.toThrow('no room');
    isFull = false;
    await record.sumRequests(range);
    const days = written.flatMap(({ sums }) => sums.filter(({ minutes }) => minutes === 1440));
    expect(days).toHaveLength(KEYS);
  });
});
