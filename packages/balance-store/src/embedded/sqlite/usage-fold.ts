/** Adds the charges of a batch to the sums of their hour, in one statement for each sum. */

import { rateTextsOf } from '../../ledger/rate-texts.js';
import { countsOf } from '../../ledger-entry.js';
import type { SettledRates } from '../../ledger-entry.js';
import type { Settlement } from '../../store.js';
import type { Connection } from './connection.js';
import { textOf, unitsOf } from './money.js';

export const HOUR_MS = 3_600_000;

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
}

/** @param now - Milliseconds since the epoch, the time of all charges of the batch. */
export function createUsageFold(connection: Connection, now: number) {
  const sums = new Map<string, Sum>();
  return {
    add(settlement: Settlement, accountId: string, writtenOff: bigint): void {
      const { keyId, model, endpoint, upstreamAccount = '', rates, usage } = settlement;
      const id = `${keyId}\0${model}\0${endpoint}\0${upstreamAccount}\0${rateTextsOf(rates).id}`;
      const counts = countsOf(usage);
      const sum = sums.get(id);
      if (sum === undefined) {
        const of = { accountId, keyId, model, endpoint, upstreamAccount, rates };
        sums.set(id, { ...of, requests: 1, counts, writtenOff });
        return;
      }
      sum.requests += 1;
      counts.forEach((count, index) => {
        sum.counts[index] = (sum.counts[index] ?? 0) + count;
      });
      sum.writtenOff += writtenOff;
    },
    finish(): void {
      const hour = Math.floor(now / HOUR_MS);
      for (const sum of sums.values()) addSum(connection, sum, hour);
    },
  };
}

// The amount is text, which SQLite cannot add: a write-off is rare and adds it by itself.
const ADD_SUM =
  'INSERT INTO usage_hour (account_id, hour, key_id, model, endpoint, upstream_account, ' +
  'rates_id, requests, ' +
  'input_tokens, output_tokens, cache_read_input_tokens, cache_creation_input_tokens, ' +
  'cache_creation_1h_input_tokens, input_rate, output_rate, cache_read_rate, ' +
  'cache_write_5m_rate, cache_write_1h_rate, written_off) ' +
  "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, '0.00000000000000') " +
  'ON CONFLICT DO UPDATE SET requests = requests + excluded.requests, ' +
  'input_tokens = input_tokens + excluded.input_tokens, ' +
  'output_tokens = output_tokens + excluded.output_tokens, ' +
  'cache_read_input_tokens = cache_read_input_tokens + excluded.cache_read_input_tokens, ' +
  'cache_creation_input_tokens = ' +
  'cache_creation_input_tokens + excluded.cache_creation_input_tokens, ' +
  'cache_creation_1h_input_tokens = ' +
  'cache_creation_1h_input_tokens + excluded.cache_creation_1h_input_tokens';

const OF_SUM =
  'WHERE account_id = ? AND hour = ? AND key_id = ? AND model = ? AND endpoint = ? ' +
  'AND upstream_account = ? AND rates_id = ?';

function addSum(connection: Connection, sum: Sum, hour: number): void {
  const { numerics, id: ratesId } = rateTextsOf(sum.rates);
  const { accountId, keyId, model, endpoint, upstreamAccount } = sum;
  const primary = [accountId, hour, keyId, model, endpoint, upstreamAccount, ratesId];
  connection.run(
    ADD_SUM,
    ...primary,
    sum.requests,
    ...sum.counts,
    numerics.inputPerToken,
    numerics.outputPerToken,
    numerics.cacheReadPerToken,
    numerics.cacheWrite5mPerToken,
    numerics.cacheWrite1hPerToken,
  );
  if (sum.writtenOff === 0n) return;
  const row = connection.get<{ readonly written_off: string }>(
    `SELECT written_off FROM usage_hour ${OF_SUM}`,
    ...primary,
  );
  connection.run(
    `UPDATE usage_hour SET written_off = ? ${OF_SUM}`,
    textOf(unitsOf(row?.written_off ?? '') + sum.writtenOff),
    ...primary,
  );
}
