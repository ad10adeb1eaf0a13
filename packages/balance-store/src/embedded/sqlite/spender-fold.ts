/** Adds the charges of a batch to the hourly sums of their spenders. */

import { HOUR_MS } from '../../ledger/base/hours.js';
import type { Settlement } from '../../store.js';
import type { Connection } from './connection.js';
import { textOf } from './money.js';

interface Sum {
  readonly of: readonly [accountId: string, spenderId: string, keyId: string, model: string];
  requests: number;
  readonly counts: [input: number, output: number, cacheRead: number, cacheWrite: number];
  charged: bigint;
  writtenOff: bigint;
  cost: bigint;
  costed: number;
}

const ADD =
  'INSERT INTO spender_hour (account_id, hour, spender_id, key_id, model, requests, input_tokens, ' +
  'output_tokens, cache_read_tokens, cache_write_tokens, charged, written_off, cost, costed) ' +
  'VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET ' +
  'requests = requests + excluded.requests, input_tokens = input_tokens + excluded.input_tokens, ' +
  'output_tokens = output_tokens + excluded.output_tokens, ' +
  'cache_read_tokens = cache_read_tokens + excluded.cache_read_tokens, ' +
  'cache_write_tokens = cache_write_tokens + excluded.cache_write_tokens, ' +
  'charged = add_usd(charged, excluded.charged), ' +
  'written_off = add_usd(written_off, excluded.written_off), ' +
  'cost = add_usd(cost, excluded.cost), costed = costed + excluded.costed';

/** @param now - Milliseconds since the epoch, the time of all charges of the batch. */
export function createSpenderFold(connection: Connection, now: number) {
  const sums = new Map<string, Sum>();
  return {
    add(
      { keyId, model, usage, amount, cost }: Settlement,
      {
        account,
        spenderId,
        writtenOff,
      }: {
        readonly account: { readonly id: string };
        readonly spenderId: string;
        readonly writtenOff: bigint;
      },
    ): void {
      const name = `${spenderId}\0${keyId}\0${model}`;
      let sum = sums.get(name);
      if (sum === undefined) {
        const of = [account.id, spenderId, keyId, model] as const;
        const none = { charged: 0n, writtenOff: 0n, cost: 0n, costed: 0 };
        sum = { of, requests: 0, counts: [0, 0, 0, 0], ...none };
        sums.set(name, sum);
      }
      sum.requests += 1;
      sum.counts[0] += usage.inputTokens;
      sum.counts[1] += usage.outputTokens;
      sum.counts[2] += usage.cacheReadInputTokens;
      sum.counts[3] += usage.cacheCreationInputTokens;
      sum.charged += amount - writtenOff;
      sum.writtenOff += writtenOff;
      sum.cost += cost ?? 0n;
      if (cost !== undefined) sum.costed += 1;
    },
    finish(): void {
      const hour = Math.floor(now / HOUR_MS);
      for (const { of, requests, counts, charged, writtenOff, cost, costed } of sums.values()) {
        const [accountId, ...others] = of;
        const amounts = [charged, writtenOff, cost].map(textOf);
        connection.run(ADD, accountId, hour, ...others, requests, ...counts, ...amounts, costed);
      }
    },
  };
}
