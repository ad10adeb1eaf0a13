/** The part of the contract about sums of usage. */

import assert from 'node:assert/strict';
import { USAGE_DIMENSIONS } from '../usage.js';
import type { UsageDimension, UsageQuery, UsageSum } from '../usage.js';
import type { ChargeEntry, SettledRates } from '../ledger-entry.js';
import { chargeOf, settlement } from './samples.js';
import { USD } from './subject.js';
import type { ContractPart } from './subject.js';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const ALWAYS = { from: new Date(0), until: new Date('2200-01-01T00:00:00Z') };

const OLD_RATES: SettledRates = {
  inputPerToken: 300_000_000n,
  outputPerToken: 1_500_000_001n,
  cacheReadPerToken: 30_000_000n,
  cacheWrite5mPerToken: 375_000_000n,
  cacheWrite1hPerToken: 600_000_000n,
};
const NEW_RATES: SettledRates = { ...OLD_RATES, outputPerToken: 1_200_000_000n };

export function usageContract({ runner, subject, newAccount, settle }: ContractPart): void {
  const { describe, it } = runner;
  const chargesOf = async (accountId: string): Promise<readonly ChargeEntry[]> =>
    (await subject().store.listEntries({ accountId, kind: 'charge', limit: 1_000 })).entries.filter(
      (entry) => entry.kind === 'charge',
    );
  const read = (query: Partial<UsageQuery>) =>
    subject().store.readUsage({ by: [], ...ALWAYS, ...query });
  /** Two accounts with charges of several keys, models, endpoints and rates, and write-offs. */
  async function someCharges() {
    const [a, b] = [await newAccount(USD, {}, {}), await newAccount(3_000_000_000n, {})];
    let tokens = 0;
    for (const keyId of [...a.keyIds, ...b.keyIds]) {
      for (const model of ['model-a', 'model "b" \\ 🙂']) {
        for (const rates of [OLD_RATES, NEW_RATES]) {
          tokens += 7;
          const charge = settlement(keyId, {
            model,
            rates,
            endpoint: tokens % 2 === 0 ? 'messages' : 'chat.completions',
            upstreamAccount: ['eu', undefined, 'us'][tokens % 3],
            overdraft: 'none',
            usage: {
              inputTokens: tokens,
              outputTokens: 1,
              cacheReadInputTokens: 2,
              cacheCreationInputTokens: 5,
              cacheCreation1hInputTokens: 3,
            },
          });
          assert.equal((await settle(charge)).outcome, 'settled');
        }
      }
    }
    return [a.accountId, b.accountId] as const;
  }

  describe('usage', () => {
    it('sums by every set of dimensions are those of the entries, also across a change of price', async () => {
      const [accountA, accountB] = await someCharges();
      const charges = [...(await chargesOf(accountA)), ...(await chargesOf(accountB))];
      assert.equal(charges.length, 12);
      assert.ok(charges.some(({ writtenOff }) => writtenOff > 0n));
      const sets: readonly (readonly UsageDimension[])[] = [
        [],
        ...USAGE_DIMENSIONS.map((dimension) => [dimension]),
        ['day', 'model'],
        ['model', 'key', 'endpoint'],
        ['upstream', 'model'],
        ['account', 'hour', 'model', 'endpoint', 'key'],
      ];
      for (const by of sets) {
        for (const byRates of [false, true]) {
          for (const accountId of [accountA, accountB]) {
            const sums = await read({ by, byRates, accountId });
            const own = charges.filter((charge) => charge.accountId === accountId);
            assert.deepEqual(sortedSums(sums), sortedSums(sumsOf(own, by, byRates)));
            const starts = sums.map(({ start }) => start?.getTime() ?? 0);
            assert.deepEqual(
              starts,
              [...starts].sort((x, y) => x - y),
            );
          }
        }
      }
      const models = (await read({ by: ['model'], accountId: accountA })).map(({ model }) => model);
      assert.deepEqual(models, ['model "b" \\ 🙂', 'model-a']);
    });

    it('are limited to a range of hours, an account, a key and a model', async () => {
      const [accountA] = await someCharges();
      const charges = await chargesOf(accountA);
      const [{ keyId, createdAt } = { keyId: '', createdAt: new Date(0) }] = charges;
      const total = async (query: Partial<UsageQuery>) =>
        (await read({ accountId: accountA, ...query })).reduce(
          (sum, { requests }) => sum + requests,
          0,
        );
      assert.equal(await total({}), 8);
      assert.equal(await total({ keyId }), 4);
      assert.equal(await total({ keyId, model: 'model-a' }), 2);
      assert.equal(await total({ model: 'none' }), 0);
      const hour = Math.floor(createdAt.getTime() / HOUR_MS) * HOUR_MS;
      const next = charges.filter((charge) => charge.createdAt.getTime() >= hour);
      const [from, until] = [new Date(hour), new Date(hour + HOUR_MS)];
      assert.equal(await total({ from, until }), next.length);
      // Rounded down to whole hours.
      assert.equal(await total({ from: new Date(hour + 1), until }), next.length);
      assert.equal(await total({ from: until, until: new Date(hour + 2 * HOUR_MS) }), 0);
      assert.deepEqual(await read({ by: ['day'], from: until, until: from }), []);
      assert.deepEqual(await read({ accountId: 'acct_none' }), []);
    });

    it('do not count a replay, a conflict, or what was quarantined', async () => {
      const { accountId, keyIds } = await newAccount(USD, {});
      const charge = settlement(keyIds[0] ?? '');
      await settle(charge);
      await Promise.all([settle(charge), settle({ ...charge, model: 'other' })]);
      await settle(settlement(keyIds[0] ?? '', { amount: -1n }));
      const [sum, ...others] = await read({ by: ['model'], accountId });
      assert.equal(others.length, 0);
      assert.deepEqual([sum?.requests, sum?.listPrice], [1, charge.amount]);
    });

    it('hold more tokens than an integer of JavaScript is exact for', async () => {
      const { accountId, keyIds } = await newAccount(USD, {});
      const rates = { ...OLD_RATES, inputPerToken: 10n ** 12n + 1n };
      const usage = { inputTokens: 2 ** 31 - 1 };
      const charges = Array.from({ length: 9 }, () =>
        settlement(keyIds[0] ?? '', { rates, usage }),
      );
      await Promise.all(charges.map(settle));
      const [sum] = await read({ accountId });
      assert.equal(sum?.usage.inputTokens, 9n * (2n ** 31n - 1n));
      assert.equal(sum.listPrice, 9n * (2n ** 31n - 1n) * rates.inputPerToken);
    });
  });
}

/** The sums of these entries, computed without the store. */
function sumsOf(
  charges: readonly ChargeEntry[],
  by: readonly UsageDimension[],
  byRates: boolean,
): readonly UsageSum[] {
  const groups = new Map<string, { readonly of: Partial<UsageSum>; readonly all: ChargeEntry[] }>();
  for (const charge of charges) {
    const of: Partial<UsageSum> = {
      ...Object.fromEntries(by.map((dimension) => partOf(charge, dimension))),
      ...(byRates ? { rates: charge.rates } : {}),
    };
    const id = textOf(of);
    const group = groups.get(id);
    if (group === undefined) groups.set(id, { of, all: [charge] });
    else group.all.push(charge);
  }
  return [...groups.values()].map(({ of, all }) => {
    const sum = (value: (charge: ChargeEntry) => bigint | number) =>
      all.reduce((total, charge) => total + BigInt(value(charge)), 0n);
    return {
      ...of,
      requests: all.length,
      usage: {
        inputTokens: sum(({ usage }) => usage.inputTokens),
        outputTokens: sum(({ usage }) => usage.outputTokens),
        cacheReadInputTokens: sum(({ usage }) => usage.cacheReadInputTokens),
        cacheCreationInputTokens: sum(({ usage }) => usage.cacheCreationInputTokens),
        cacheCreation1hInputTokens: sum(({ usage }) => usage.cacheCreation1hInputTokens),
      },
      listPrice: sum(({ usage, rates }) => chargeOf(usage, rates)),
      writtenOff: sum(({ writtenOff }) => writtenOff),
    };
  });
}

function partOf(
  { createdAt, model, accountId, keyId, endpoint, upstreamAccount }: ChargeEntry,
  dimension: UsageDimension,
): readonly [string, unknown] {
  const ms = createdAt.getTime();
  switch (dimension) {
    case 'day':
      return ['start', new Date(Math.floor(ms / DAY_MS) * DAY_MS)];
    case 'hour':
      return ['start', new Date(Math.floor(ms / HOUR_MS) * HOUR_MS)];
    case 'model':
      return ['model', model];
    case 'account':
      return ['accountId', accountId];
    case 'key':
      return ['keyId', keyId];
    case 'endpoint':
      return ['endpoint', endpoint];
    case 'upstream':
      return ['upstreamAccount', upstreamAccount ?? ''];
  }
}

function sortedSums(sums: readonly UsageSum[]): readonly UsageSum[] {
  return [...sums].sort((a, b) => (textOf(a) < textOf(b) ? -1 : 1));
}

/** A text that does not depend on the order of the members. */
function textOf(value: object): string {
  return JSON.stringify(
    Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)),
    (_name, part: unknown) => (typeof part === 'bigint' ? part.toString() : part),
  );
}
