/** The digests of sealed entries: those of older entries never change. */

import { describe, expect, it } from '@jest/globals';
import { chargeLineOf, chargeOfLine } from '../../src/ledger/archive/file-lines.js';
import { digestOfEntry } from '../../src/ledger/seals/hashes.js';
import type { SealedLedger } from '../../src/generated/tables.js';

/** A charge with the 33 columns that the first seals covered. */
const FIRST_COLUMNS: readonly (string | null)[] = [
  'req_1',
  'acct_1',
  '7',
  'charge',
  '-0.00000000000005',
  '1.00000000000000',
  '0.00000000000000',
  '0.00000000000000',
  'ab',
  '1795000000000',
  'key_1',
  'modèl',
  '1',
  '2',
  '3',
  '4',
  '0',
  ...Array.from({ length: 5 }, () => '0.00000000000001'),
  'messages',
  'true',
  ...Array.from({ length: 9 }, () => null),
];

describe('the digest of an entry', () => {
  it.each<[string, readonly (string | null)[], string]>([
    // SHA-256 over the fields, each with its length, computed in another language.
    ['of the first columns', FIRST_COLUMNS, '83dacbba66b1e348fe5999a36a5da7fb'],
    ['without the added ones', [...FIRST_COLUMNS, null, null], '83dacbba66b1e348fe5999a36a5da7fb'],
    ['with a pricing', [...FIRST_COLUMNS, '{}', null], '88a365577b19e11a50c13ad66799926e'],
    ['with a cost', [...FIRST_COLUMNS, null, '{}'], '32a6aab3cd88012f49fc7ea3c935c0c2'],
    ['with both', [...FIRST_COLUMNS, '{}', '0.5'], '2393aabf490257021177262888d30bdf'],
  ])('%s is the same on each version', (_what, fields, digest) => {
    expect(digestOfEntry(fields).toString('hex')).toBe(digest);
  });
});

describe('the line of a charge in an archive', () => {
  it.each([
    [null, null, null, 33],
    ['{}', null, null, 34],
    [null, '0.5', null, 35],
    [null, '0.5', '-0.1', 36],
  ])(
    'with the added columns %j, %j and %j has %d columns, and is read back',
    (pricing, cost, given, length) => {
      const ofBookings = Array.from({ length: 5 }, () => null);
      const ofSpenders = [null, null];
      const added = [pricing, cost, given, ...ofBookings, ...ofSpenders];
      const charge = [...FIRST_COLUMNS, ...added] as unknown as SealedLedger;
      const line = chargeLineOf(charge);
      expect(line.charge).toHaveLength(length);
      expect(chargeOfLine(line)).toEqual(charge);
    },
  );

  it.each([32, 44])('is not that of a charge with %d columns', (length) => {
    expect(chargeOfLine({ charge: Array.from({ length }, () => 'x') })).toBeUndefined();
  });
});
