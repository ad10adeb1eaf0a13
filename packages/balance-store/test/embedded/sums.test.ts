/** Sums of money in SQLite: exact, and in memory that does not grow with the rows. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, describe, expect, it } from '@jest/globals';
import { openEmbeddedStore } from '../../src/embedded/index.js';
import { ledgerFile } from '../../src/embedded/open.js';
import { addSums, sumIsNotZero, sumUsd } from '../../src/embedded/sqlite/sums.js';
import type { ReadOperations } from '../../src/embedded/threads/operations.js';
import { createLedgerThread } from '../../src/embedded/threads/thread-client.js';
import { numericFromUnits } from '../../src/numeric.js';

const directory = mkdtempSync(join(tmpdir(), 'sums-'));
afterAll(() => {
  rmSync(directory, { recursive: true, force: true });
});

describe('a sum of amounts', () => {
  const database = new DatabaseSync(':memory:');
  addSums(database);
  database.exec('CREATE TABLE amounts (amount TEXT, sign INTEGER)');
  const sumOf = (amounts: readonly (readonly [units: bigint, sign: number])[]) => {
    database.exec('DELETE FROM amounts');
    const insert = database.prepare('INSERT INTO amounts VALUES (?, ?)');
    for (const [units, sign] of amounts) insert.run(numericFromUnits(units), sign);
    return database
      .prepare(
        `SELECT ${sumUsd('amount', 'sign')} AS sum, ${sumIsNotZero('amount', 'sign')} AS "isNotZero" FROM amounts`,
      )
      .get();
  };
  const LARGEST = 10n ** 38n - 1n;

  it.each<readonly (readonly [bigint, number])[]>([
    [],
    [[0n, 1]],
    [[-1n, 1]],
    [
      [LARGEST, 1],
      [LARGEST, 1],
      [-3n, 1],
    ],
    [
      [-LARGEST, -1],
      [LARGEST, -1],
    ],
    // The parts carry: 0.6 + 0.6 - 1.2, in each of them.
    ...[7n, 14n, 26n].map((digits): (readonly [bigint, number])[] => {
      const size = 10n ** digits;
      return [
        [(size * 6n) / 10n, 1],
        [(size * 6n) / 10n, 1],
        [(size * 12n) / 10n, -1],
      ];
    }),
    ...[7n, 14n, 26n].map((digits): (readonly [bigint, number])[] => [
      [10n ** digits, 1],
      [10n ** digits - 1n, -1],
    ]),
    Array.from({ length: 500 }, (_, index) => [
      (BigInt(index) * 98_765_432_109_876_543_210_987n) % LARGEST,
      index % 3 === 0 ? -1 : 1,
    ]),
  ])('is exact (%#)', (...amounts) => {
    const sum = amounts.reduce((total, [units, sign]) => total + units * BigInt(sign), 0n);
    expect(sumOf(amounts)).toEqual({ sum: numericFromUnits(sum), isNotZero: sum === 0n ? 0 : 1 });
  });
});

// F240: a sum of more rows than fit into the heap of its thread: no row stays in memory.
it('a sum of many rows is read in a small heap', async () => {
  const store = await openEmbeddedStore({ dataDir: directory, pepper: 'pepper of the tests' });
  const database = new DatabaseSync(ledgerFile(directory));
  database.exec(
    'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200000) ' +
      "INSERT INTO usage_hour SELECT 'account', 1, 'key ' || i, 'model', 'messages', '', '', " +
      `FALSE, 1, ${'0, '.repeat(5)}${"'0.00000000000001', ".repeat(8)}1 FROM n`,
  );
  database.close();
  const thread = createLedgerThread<ReadOperations>(
    { file: ledgerFile(directory), role: 'background', checkpoints: false },
    { limits: { maxOldGenerationSizeMb: 24, maxYoungGenerationSizeMb: 2 } },
  );
  const range = { from: new Date(0), until: new Date(7_200_000) };
  const sums = await thread.call('readUsage', [{ by: [], ...range }], undefined);
  expect(sums).toMatchObject([{ requests: 200_000, writtenOff: 200_000n }]);
  await thread.stop();
  await store.close();
});
