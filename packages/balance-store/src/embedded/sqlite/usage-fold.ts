/**
 * Adds the charges of a batch to the hourly totals of usage: once for each total, not once for each
 * charge.
 */

import { sumOfFees } from '../../ledger/rows/pricing-text.js';
import { rateTextsOf } from '../../ledger/rows/rate-texts.js';
import { countsOf } from '../../ledger-entry.js';
import type { SettledRates } from '../../ledger-entry.js';
import type { Settlement } from '../../store.js';
import { addToSum } from './add-to-sum.js';
import type { Connection } from './connection.js';
import { HOUR_MS } from '../../ledger/base/hours.js';

interface Sum {
  readonly accountId: string;
  readonly keyId: string;
  readonly model: string;
  readonly endpoint: string;
  readonly upstreamAccount: string;
  readonly rates: SettledRates;
  requests: number;
  readonly counts: number[];
  writtenOff: bigint;
  fees: bigint;
  cost: bigint;
  costed: number;
}

/** @param now - Milliseconds since the epoch, the time of all charges of the batch. */
export function createUsageFold(connection: Connection, now: number) {
  const sums = new Map<string, Sum>();
  return {
    add(settlement: Settlement, accountId: string, writtenOff: bigint): void {
      const { keyId, model, endpoint, upstreamAccount = '', rates, usage } = settlement;
      const id = `${keyId}\0${model}\0${endpoint}\0${upstreamAccount}\0${rateTextsOf(rates).id}`;
      const counts = countsOf(usage);
      const fees = sumOfFees(settlement.pricing?.fees);
      const { cost = 0n } = settlement;
      const costed = settlement.cost === undefined ? 0 : 1;
      const sum = sums.get(id);
      if (sum === undefined) {
        const of = { accountId, keyId, model, endpoint, upstreamAccount, rates };
        sums.set(id, { ...of, requests: 1, counts, writtenOff, fees, cost, costed });
        return;
      }
      sum.requests += 1;
      counts.forEach((count, index) => {
        sum.counts[index] = (sum.counts[index] ?? 0) + count;
      });
      sum.writtenOff += writtenOff;
      sum.fees += fees;
      sum.cost += cost;
      sum.costed += costed;
    },
    finish(): void {
      const hour = Math.floor(now / HOUR_MS);
      for (const sum of sums.values()) addSum(connection, sum, hour);
    },
  };
}

const NOT_ROLLED_UP = 0;

function addSum(connection: Connection, sum: Sum, hour: number): void {
  const { numerics, id: ratesId } = rateTextsOf(sum.rates);
  const { accountId, keyId, model, endpoint, upstreamAccount } = sum;
  const of = [accountId, hour, keyId, model, endpoint, upstreamAccount, ratesId, NOT_ROLLED_UP];
  addToSum(connection, 'usage_hour', of, {
    requests: sum.requests,
    counts: sum.counts,
    rates: [
      numerics.inputPerToken,
      numerics.outputPerToken,
      numerics.cacheReadPerToken,
      numerics.cacheWrite5mPerToken,
      numerics.cacheWrite1hPerToken,
    ],
    writtenOff: sum.writtenOff,
    fees: sum.fees,
    cost: sum.cost,
    costed: sum.costed,
  });
}
