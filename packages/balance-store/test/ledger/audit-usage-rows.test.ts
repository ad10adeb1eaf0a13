import { describe, expect, it } from '@jest/globals';
import type { UsageFields } from '../../src/ledger/scan/ledger-scan.js';
import { wholeSums } from '../../src/ledger/scan/usage-rows.js';

const sum = (hour: number, requests: bigint, rate = '1'): UsageFields => ({
  accountId: 'a',
  hour,
  keyId: 'k',
  model: 'm',
  endpoint: 'messages',
  upstreamAccount: '',
  ratesId: 'r',
  rates: [rate, '1', '1', '1', '1'],
  requests,
  counts: [requests, 0n, 0n, 0n, 1n],
  writtenOff: 2n,
  fees: 3n,
  cost: 5n,
  costed: requests,
});

describe('sums of usage that an audit reads', () => {
  it('add up the rolled-up sum of an hour and the sum of charges that came late', () => {
    expect(wholeSums([sum(1, 1n), sum(2, 2n), sum(2, 3n), sum(3, 4n)], 4)).toEqual([
      sum(1, 1n),
      { ...sum(2, 5n), counts: [5n, 0n, 0n, 0n, 2n], writtenOff: 4n, fees: 6n, cost: 10n },
      sum(3, 4n),
    ]);
  });

  it('leave out the last sum if there are more rows than the limit, because the next page may have the rest of that sum', () => {
    expect(wholeSums([sum(1, 1n), sum(2, 2n), sum(2, 3n)], 2)).toEqual([sum(1, 1n)]);
    expect(wholeSums([sum(1, 1n), sum(2, 2n), sum(3, 3n)], 2)).toEqual([sum(1, 1n), sum(2, 2n)]);
  });

  it('stay apart when their rates differ, so that the audit reports them', () => {
    expect(wholeSums([sum(1, 1n), sum(1, 1n, '2')], 9)).toHaveLength(2);
  });
});
