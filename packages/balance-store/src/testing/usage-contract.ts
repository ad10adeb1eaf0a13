/** The part of the contract about sums of usage. */

import { DAY_MS, HOUR_MS } from '../ledger/base/hours.js';
import assert from 'node:assert/strict';
import { USAGE_DIMENSIONS } from '../usage.js';
import type { UsageDimension, UsageQuery, UsageSum } from '../usage.js';
import type { ChargeEntry, SettledRates } from '../ledger-entry.js';
import { sumOfFees } from '../ledger/rows/pricing-text.js';
import { chargeOf, settlement } from './samples.js';
import { USD } from './subject.js';
import type { ContractPart } from './subject.js';

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
            ...(tokens % 3 === 0 && {
              pricing: {
                terms: { speed: 'fast' },
                fees: [{ what: 'web_search_requests', units: tokens, perUnit: 11n }],
              },
            }),
            ...(tokens % 4 > 0 && { cost: BigInt(tokens) * 13n }),
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

  describe('sums of usage', () => {
    it('by one dimension, several or none equal those of the entries, also across a change of price', async () => {
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

    it('have every figure of charges that are settled at once', async () => {
      const { accountId, keyIds } = await newAccount(60_000_000_000n, {});
      const [keyId = ''] = keyIds;
      const charges = [1, 2, 3].map((units) =>
        settlement(keyId, {
          overdraft: 'none',
          pricing: { terms: {}, fees: [{ what: 'web_search_requests', units, perUnit: 11n }] },
          cost: BigInt(units) * 13n,
        }),
      );
      await Promise.all(charges.map(settle));
      const settled = await chargesOf(accountId);
      assert.equal(settled.length, 3);
      assert.deepEqual(await read({ accountId }), sumsOf(settled, [], false));
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
      // Refused, because a range is never rounded in silence.
      await assert.rejects(total({ from: new Date(hour + 1), until }), /from is not a whole hour/);
      await assert.rejects(total({ from, until: new Date(hour + 1) }), /until is not a whole hour/);
      assert.equal(await total({ from: until, until: new Date(hour + 2 * HOUR_MS) }), 0);
      assert.deepEqual(await read({ by: ['day'], from: until, until: from }), []);
      assert.deepEqual(await read({ accountId: 'acct_none' }), []);
    });

    // F153: the largest of any number of sums of usage: the database sorts; the answer is exact,
    // and equal sums have a fixed order.
    it('begin with the largest, and equal ones keep their order, whichever figure they are sorted by', async () => {
      await someCharges();
      // Two keys with the same sums, and one that costs more with fewer tokens.
      const { keyIds } = await newAccount(USD, {}, {}, {});
      const [one = '', two = '', three = ''] = keyIds;
      for (const keyId of [one, two]) await settle(settlement(keyId, { rates: OLD_RATES }));
      const usage = { outputTokens: 109 };
      await settle(settlement(three, { rates: NEW_RATES, usage }));
      await settle(settlement(three, { rates: OLD_RATES, usage: { outputTokens: 1 } }));
      const valuesOf = {
        charged: (sum: UsageSum) => sum.listPrice - sum.writtenOff,
        requests: (sum: UsageSum) => BigInt(sum.requests),
        tokens: ({ usage: { cacheCreation1hInputTokens: _part, ...counts } }: UsageSum) =>
          Object.values(counts).reduce((total, count) => total + count, 0n),
      };
      const combinations = [...USAGE_DIMENSIONS.map((dimension) => [dimension]), ['key', 'model']];
      for (const by of combinations as UsageDimension[][]) {
        const all = await read({ by });
        assert.deepEqual(await read({ by, top: 2 }), all.slice(0, 2));
        for (const sort of ['charged', 'requests', 'tokens'] as const) {
          const valueOf = valuesOf[sort];
          const sorted = all.toSorted((a, b) => Number(valueOf(b) - valueOf(a)));
          assert.deepEqual(await read({ by, sort }), sorted);
          for (const top of [1, 3, all.length, 10_000]) {
            assert.deepEqual(await read({ by, sort, top }), sorted.slice(0, top));
          }
        }
      }
    });

    it('are refused if there are more than the query allows', async () => {
      const [accountId] = await someCharges();
      const all = await read({ by: ['key', 'model'], byRates: true, accountId });
      const query = { by: ['key', 'model'], accountId } as const;
      assert.equal((await read({ ...query, maxSums: all.length })).length, all.length / 2);
      await assert.rejects(read({ ...query, maxSums: all.length - 1 }), RangeError);
    });

    it('count once against the limit of sums, however many of their charges have write-offs', async () => {
      const { accountId, keyIds } = await newAccount(1n, {});
      for (const model of ['model-a', 'model-b', 'model-c']) {
        await settle(settlement(keyIds[0] ?? '', { model, overdraft: 'none' }));
      }
      const charges = await chargesOf(accountId);
      assert.equal(charges.filter(({ writtenOff }) => writtenOff > 0n).length, 3);
      const [sum, ...others] = await read({ by: [], accountId, maxSums: 1 });
      assert.equal(others.length, 0);
      assert.equal(
        sum?.writtenOff,
        charges.reduce((total, { writtenOff }) => total + writtenOff, 0n),
      );
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

    it('are exact above the largest safe integer of JavaScript', async () => {
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

    // F132: a charge comes to an hour after its roll-up, or during the roll-up: every sum has it
    // once, before and after the next roll-up.
    it('are the same for hours that are rolled up, and for charges that come late', async () => {
      const { store } = subject();
      const [accountId] = await someCharges();
      const [keyId = ''] = (await chargesOf(accountId)).map((charge) => charge.keyId);
      const expectSame = async () => {
        const charges = await chargesOf(accountId);
        const [start, end] = [hourOf(charges.at(-1)), hourOf(charges[0]) + HOUR_MS];
        for (const by of [
          [],
          ['model', 'endpoint'],
          ['day', 'key'],
          ['hour', 'upstream'],
        ] as const) {
          for (const ofKey of [undefined, keyId]) {
            const own = charges.filter((charge) => ofKey === undefined || charge.keyId === ofKey);
            const query = { by, byRates: true, accountId, keyId: ofKey };
            const expected = sortedSums(sumsOf(own, by, true));
            assert.deepEqual(sortedSums(await read(query)), expected);
            // These ranges begin or end within a day: with the charges, before them, after them.
            const cut = { ...query, from: new Date(start), until: new Date(end) };
            assert.deepEqual(sortedSums(await read(cut)), expected);
            assert.deepEqual(await read({ ...cut, from: new Date(0), until: new Date(start) }), []);
            assert.deepEqual(await read({ ...cut, from: new Date(end), until: ALWAYS.until }), []);
          }
        }
      };
      await store.rollUpUsage();
      await expectSame();
      assert.ok((await store.rollUpUsage({ before: ALWAYS.until })) > 0);
      await expectSame();
      for (const charge of await chargesOf(accountId)) {
        const { model, rates, upstreamAccount } = charge;
        await settle(
          settlement(charge.keyId, { model, rates, upstreamAccount, overdraft: 'none' }),
        );
      }
      await expectSame();
      assert.ok((await store.rollUpUsage({ before: ALWAYS.until })) > 0);
      await expectSame();
      assert.equal(await store.rollUpUsage({ before: ALWAYS.until }), 0);
      await assert.rejects(store.rollUpUsage({ before: new Date(NaN) }), RangeError);
    });

    // F132
    it('stay exact while hours are rolled up and charged at the same time', async () => {
      const { store } = subject();
      const owners = await Promise.all([1, 2, 3].map(() => newAccount(USD, {}, {})));
      const keyIds = owners.flatMap((owner) => owner.keyIds);
      let isCharging = true;
      const rollUps = [1, 2].map(async () => {
        while (isCharging) await store.rollUpUsage({ before: ALWAYS.until });
      });
      for (let round = 0; round < 20; round += 1) {
        await Promise.all(keyIds.map((keyId) => settle(settlement(keyId))));
      }
      isCharging = false;
      await Promise.all(rollUps);
      for (const { accountId } of owners) {
        const [sum] = await read({ accountId });
        assert.equal(sum?.requests, 40);
        assert.deepEqual([sum], sumsOf(await chargesOf(accountId), [], false));
      }
      const { differences } = await store.audit();
      assert.deepEqual(
        differences.filter(({ check }) => check === 'usage'),
        [],
      );
    });

    it('of any range are the same before and after hours are rolled up into whole days', async () => {
      const { store } = subject();
      const [a, b] = [await newAccount(USD, {}, {}), await newAccount(USD, {})];
      const owners = [a, b].flatMap(({ accountId, keyIds }) =>
        keyIds.map((keyId) => [accountId, keyId] as const),
      );
      const first = Date.parse('1999-12-30T00:00:00Z') / HOUR_MS;
      const rows = owners.flatMap(([accountId, keyId], owner) =>
        [0, 5, 23, 24, 40, 47, 48, 71, 72, 80].map((hour) => ({
          accountId,
          keyId,
          hour: first + hour,
          model: hour % 2 === 0 ? 'model-a' : 'model-b',
          requests: 1 + owner + hour,
        })),
      );
      const inserts = rows.map(
        ({ accountId, keyId, hour, model, requests }) =>
          'INSERT INTO usage_hour (account_id, hour, key_id, model, endpoint, upstream_account, ' +
          'rates_id, requests, input_tokens, output_tokens, cache_read_input_tokens, ' +
          'cache_creation_input_tokens, cache_creation_1h_input_tokens, input_rate, output_rate, ' +
          'cache_read_rate, cache_write_5m_rate, cache_write_1h_rate, written_off) VALUES (' +
          `'${accountId}', ${String(hour)}, '${keyId}', '${model}', 'messages', '', 'id', ` +
          `${String(requests)}, 0, 0, 0, 0, 0, ${"'0.00000000000001', ".repeat(5)}` +
          "'0.00000000000002')",
      );
      const expectSame = async () => {
        for (const from of [-1, 0, 1, 24, 30]) {
          for (const until of [5, 24, 25, 48, 60, 72, 81, 96, 100]) {
            for (const by of [[], ['day'], ['account'], ['model', 'key']] as const) {
              for (const filter of [{}, { accountId: a.accountId }, { keyId: b.keyIds[0] }]) {
                const range = [first + from, first + until] as const;
                const [start, end] = range.map((hour) => new Date(hour * HOUR_MS));
                const sums = await read({ by, ...filter, from: start!, until: end! });
                const isGiven = (row: (typeof rows)[number]) =>
                  row.hour >= range[0] &&
                  row.hour < range[1] &&
                  (!('accountId' in filter) || row.accountId === filter.accountId) &&
                  (!('keyId' in filter) || row.keyId === filter.keyId);
                const given = rows.filter(isGiven);
                const groups = new Set(given.map((row) => groupOf(row, by)));
                const requests = given.reduce((sum, row) => sum + row.requests, 0);
                assert.equal(sums.length, groups.size, JSON.stringify({ from, until, by, filter }));
                assert.equal(
                  sums.reduce((sum, one) => sum + one.requests, 0),
                  requests,
                );
                assert.equal(
                  sums.reduce((sum, one) => sum + one.writtenOff, 0n),
                  2n * BigInt(given.length),
                );
              }
            }
          }
        }
      };
      await subject().tamper(inserts.join('; '));
      try {
        await expectSame();
        await store.rollUpUsage({ before: new Date((first + 41) * HOUR_MS) });
        await expectSame();
        await store.rollUpUsage({ before: new Date((first + 72) * HOUR_MS) });
        await expectSame();
        await store.rollUpUsage();
        await expectSame();
      } finally {
        await subject().tamper(
          `DELETE FROM usage_hour WHERE hour < ${String(first + 96)}; ` +
            `DELETE FROM usage_day WHERE day < ${String(first / 24 + 4)}`,
        );
      }
    });
  });
}

function hourOf(charge: ChargeEntry | undefined): number {
  return Math.floor((charge?.createdAt.getTime() ?? 0) / HOUR_MS) * HOUR_MS;
}

function groupOf(
  row: {
    readonly hour: number;
    readonly accountId: string;
    readonly keyId: string;
    readonly model: string;
  },
  by: readonly UsageDimension[],
): string {
  const { accountId: account, keyId: key, model } = row;
  const parts = { day: Math.floor(row.hour / 24), account, key, model };
  return JSON.stringify(by.map((dimension) => parts[dimension as keyof typeof parts]));
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
      listPrice: sum(
        ({ usage, rates, pricing }) => chargeOf(usage, rates) + sumOfFees(pricing?.fees),
      ),
      writtenOff: sum(({ writtenOff }) => writtenOff),
      fees: sum(({ pricing }) => sumOfFees(pricing?.fees)),
      cost: sum(({ cost }) => cost ?? 0n),
      costed: all.filter(({ cost }) => cost !== undefined).length,
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
