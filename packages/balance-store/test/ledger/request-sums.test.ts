/** How the sums of the record of requests are made. */

import { expect, it } from '@jest/globals';
import { BlockSums } from '../../src/ledger/requests/block-sums.js';
import { encodeBatch, readBlock } from '../../src/ledger/requests/batch.js';
import { requestRecord } from '../../src/testing/samples.js';

const KEYS = 2_000;
const DAY_MS = 86_400_000;
const endedAt = 20_000 * DAY_MS;

// F294: holders use thousands of keys: the sums of their requests are written in small parts, so
// that nobody waits while they are encoded. They took 80 ms in one part.
it('sums are written in parts, each sum once', () => {
  const kept = Array.from({ length: KEYS }, (_, key) =>
    requestRecord({ id: `req_${String(key)}`, keyId: `key_${String(key)}`, endedAt }),
  );
  const { blocks } = encodeBatch({ kept, counted: [] }, 'batch', { has: () => false });
  const all = new BlockSums();
  for (const { requests } of blocks) all.add(readBlock(requests), 'kept');
  const series = all.series().map(([id]) => id);
  expect(series).toEqual([...series].sort((a, b) => a - b));
  const parts = [...all.parts(new Set(series))];
  expect(Math.max(...parts.map(({ sums }) => sums.length))).toBeLessThan(KEYS / 4);
  expect(Math.max(...parts.map(({ labels }) => labels.length))).toBeLessThan(KEYS / 4);
  // By five minutes, by hour and by day.
  const names = parts.flatMap(({ sums }) =>
    sums.map(({ minutes, series: of }) => `${String(minutes)} ${String(of)}`),
  );
  expect([names.length, new Set(names).size]).toEqual([3 * KEYS, 3 * KEYS]);
  const labels = parts.flatMap((part) => part.labels.map(({ series: of }) => of));
  expect([labels.length, new Set(labels).size]).toEqual([KEYS, KEYS]);
});
