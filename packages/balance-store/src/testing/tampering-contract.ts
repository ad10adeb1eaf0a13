/**
 * The part of the contract about audits of the sums and rows that transactions keep beside the
 * ledger.
 */

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { AuditDifference } from '../audit.js';
import type { ChargeEntry } from '../ledger-entry.js';
import { pricingTextOf } from '../ledger/rows/pricing-text.js';
import { settlement } from './samples.js';
import { TESTS, USD } from './subject.js';
import type { ContractPart } from './subject.js';

/** Undoes each change that it makes with `tamper`. */
export function tamperingContract(part: ContractPart): void {
  const { runner, subject, newAccount, settle } = part;
  const { describe, it } = runner;

  describe('audit', () => {
    // F133
    it('names keys, credits, totals of usage and rows of the trail that were changed', async () => {
      const { store, literal } = subject();
      const { accountId, keyIds } = await newAccount(USD, {}, {});
      const { accountId: otherId } = await newAccount(USD);
      const [first = '', second = ''] = keyIds;
      const expiresAt = new Date('2200-01-01T00:00:00.000Z');
      const later = literal.time(new Date('2300-01-01T00:00:00.000Z'));
      const topUpId = randomUUID();
      const lot = `topup:${topUpId}`;
      await store.topUp({ topUpId, to: { accountId }, amount: 50n, expiresAt, by: TESTS });
      // Each charge below costs one unit.
      const rates = {
        inputPerToken: 1n,
        outputPerToken: 0n,
        cacheReadPerToken: 0n,
        cacheWrite5mPerToken: 0n,
        cacheWrite1hPerToken: 0n,
      };
      await settle(settlement(first, { usage: { inputTokens: 1 }, rates }));
      const pricing = { terms: {}, fees: [{ what: 'web_search_requests', units: 1, perUnit: 0n }] };
      const paid = settlement(second, { usage: { inputTokens: 1 }, rates, pricing, cost: 3n });
      await settle(paid);
      await store.sealEntries({ all: true });
      const [entry] = await store.listTrail({ accountId, limit: 1 });
      const number = entry?.seq.toString() ?? '';
      const known = new Set((await store.audit()).differences.map(textOf));
      const newDifferences = async () =>
        (await store.audit()).differences.filter((difference) => !known.has(textOf(difference)));
      const of = {
        first: { table: 'api_key', where: `id = '${first}'`, keyId: first },
        second: { table: 'api_key', where: `id = '${second}'`, keyId: second },
        usageOfFirst: { table: 'usage_hour', where: `key_id = '${first}'`, keyId: first },
        usageOfSecond: { table: 'usage_hour', where: `key_id = '${second}'`, keyId: second },
        lot: { table: 'credit_lot', where: `entry_id = '${lot}'`, entryId: lot },
        trail: { table: 'trail', where: `seq = ${number}`, entryId: `trail:${number}` },
      } as const;
      const tampering = [
        [of.first, 'key_totals', 'spent', "'0.00000000000002'", "'0.00000000000001'"],
        [of.second, 'key_totals', 'written_off', "'0.00000000000001'", "'0.00000000000000'"],
        [of.usageOfFirst, 'usage', 'requests', 'requests + 1', 'requests - 1'],
        [of.usageOfFirst, 'usage', 'input_tokens', 'input_tokens + 1', 'input_tokens - 1'],
        [of.usageOfSecond, 'usage', 'hour', 'hour - 1000', 'hour + 1000'],
        [of.usageOfSecond, 'usage', 'written_off', "'0.00000000000001'", "'0.00000000000000'"],
        [of.usageOfSecond, 'usage', 'fees', "'0.00000000000001'", "'0.00000000000000'"],
        [of.usageOfSecond, 'usage', 'cost', "'0.00000000000004'", "'0.00000000000003'"],
        [of.usageOfSecond, 'usage', 'costed', 'costed + 1', 'costed - 1'],
        [of.lot, 'credit_left', 'remaining', "'0.00000000000051'", "'0.00000000000050'"],
        // The charges have used two units of this credit, but they are not subtracted in the row
        // yet, so the original value is still 50.
        [of.lot, 'credit_left', 'remaining', "'0.00000000000000'", "'0.00000000000050'"],
        [of.lot, 'credit_left', 'expires_at', later, literal.time(expiresAt)],
        [of.lot, 'credit_left', 'expires_at', 'NULL', literal.time(expiresAt)],
        [of.lot, 'credit_left', 'source', "'promotional'", "'paid'"],
        [of.lot, 'credit_left', 'account_id', `'${otherId}'`, `'${accountId}'`],
        [of.trail, 'seal', 'actor', "'nobody'", `'${TESTS.name}'`],
      ] as const;
      const changedOfLot = tampering
        .filter(([row]) => row === of.lot)
        .map(([, , column]) => column);
      assert.deepEqual(
        [...(await subject().columnsOf('credit_lot'))].sort(),
        [...new Set<string>(changedOfLot), 'entry_id'].sort(),
      );
      for (const [row, check, column, changed, original] of tampering) {
        const set = (value: string) =>
          subject().tamper(
            `UPDATE ${row.table} SET ${column} = ${value} WHERE ${row.where}`,
            'disabled',
          );
        await set(changed);
        const found = await newDifferences();
        await set(original);
        assert.ok(found.length > 0, `${row.table}.${column}`);
        const { keyId, entryId } = { keyId: undefined, entryId: undefined, ...row };
        for (const difference of found) {
          assert.deepEqual(
            [difference.check, difference.keyId, difference.entryId],
            [check, keyId, entryId],
          );
        }
      }
      const ofEntries = [
        ['pricing', `'{"terms":{},"fees":[["web_search_requests",1,"5"]]}'`, ['amount', 'usage']],
        ['pricing', "'no JSON'", []],
        ['cost', "'0.00000000000009'", ['usage']],
        ['cost', 'NULL', ['usage']],
      ] as const;
      const before = (await subject().store.findEntry(second, paid.requestId)) as ChargeEntry;
      for (const [column, changed, checks] of ofEntries) {
        const original = { pricing: pricingTextOf(before.pricing), cost: '0.00000000000003' };
        const set = (value: string) =>
          subject().tamper(
            `UPDATE ledger SET ${column} = ${value} WHERE id = '${paid.requestId}'`,
            'disabled',
          );
        await set(changed);
        const found = (await newDifferences()).map(({ check }) => check);
        await set(`'${original[column] ?? ''}'`);
        assert.deepEqual(found.sort(), [...checks, 'seal'].sort(), `${column} ${changed}`);
      }
      const renumber = (from: bigint, to: bigint) =>
        subject().tamper(
          `UPDATE trail SET seq = ${String(to)} WHERE seq = ${String(from)}`,
          'disabled',
        );
      await store.rollUpUsage({ before: expiresAt });
      const ofDays = [
        [`key_id = '${first}'`, 'requests', accountId, first],
        [`account_id = '${accountId}' AND key_id = ''`, 'day', accountId, undefined],
        [`account_id = ''`, 'output_tokens', undefined, undefined],
      ] as const;
      for (const [where, column, ofAccount, ofKey] of ofDays) {
        const add = (difference: string) =>
          subject().tamper(
            `UPDATE usage_day SET ${column} = ${column} ${difference} WHERE ${where}`,
          );
        await add('- 1000');
        const found = await newDifferences();
        await add('+ 1000');
        assert.ok(found.length > 0, `${where} ${column}`);
        for (const { check, accountId: account, keyId } of found) {
          assert.deepEqual([check, account, keyId], ['usage', ofAccount, ofKey]);
        }
      }
      const seq = entry?.seq ?? 0n;
      await renumber(seq, seq + 1_000n);
      const missing = await newDifferences();
      await renumber(seq + 1_000n, seq);
      assert.deepEqual(
        missing.map(({ check }) => check),
        ['seal'],
      );
      assert.match(missing[0]?.expected ?? '', new RegExp(`^entry ${number} of `));
      assert.deepEqual(await newDifferences(), []);
    });

    // F151: an audit of a day on which 60,000 keys were used: needs no more memory than that of a
    // quiet day.
    it('needs no more memory for a day on which many keys were used', async () => {
      const { store } = subject();
      const tamper = (sql: string) => subject().tamper(sql);
      const before = (await store.audit()).differences;
      // These accounts exist only in the totals, which agree with each other: 180,000 in all.
      const owners = 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ';
      const add = (table: string, columns: string, count: number, values: string, figure: string) =>
        tamper(
          `${owners}${String(count)}) INSERT INTO ${table} (${columns}, model, endpoint, ` +
            'upstream_account, rates_id, requests, input_tokens, output_tokens, ' +
            'cache_read_input_tokens, cache_creation_input_tokens, cache_creation_1h_input_tokens, ' +
            'input_rate, output_rate, cache_read_rate, cache_write_5m_rate, cache_write_1h_rate, ' +
            `written_off) SELECT ${values}, 'model', 'messages', '', 'rates', ${figure}, 0, 0, 0, ` +
            `0, 0, ${"'0.00000000000001', ".repeat(5)}'0.00000000000000' FROM n`,
        );
      const [day, keys] = [40_000, 60_000];
      const hour = `${String(day * 24)}, TRUE`;
      const name = "'zzz-' || i";
      try {
        await add(
          'usage_hour',
          'account_id, key_id, hour, rolled_up',
          keys,
          `${name}, ${name}, ${hour}`,
          '1',
        );
        await add(
          'usage_day',
          'account_id, key_id, day',
          keys,
          `${name}, ${name}, ${String(day)}`,
          '1',
        );
        await add('usage_day', 'account_id, key_id, day', keys, `${name}, '', ${String(day)}`, '1');
        await add(
          'usage_day',
          'account_id, key_id, day',
          1,
          `'', '', ${String(day)}`,
          String(keys),
        );
        assert.deepEqual((await subject().store.audit()).differences, before);
      } finally {
        await tamper(`DELETE FROM usage_hour WHERE hour = ${String(day * 24)}`);
        await tamper(`DELETE FROM usage_day WHERE day = ${String(day)}`);
      }
    });
  });
}

function textOf({ check, accountId, keyId, entryId, found }: AuditDifference): string {
  return JSON.stringify([check, accountId, keyId, entryId, found]);
}
