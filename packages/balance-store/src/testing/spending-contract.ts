/** The part of the contract about sums of charges by who spent. */

import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { DAY_MS, HOUR_MS } from '../ledger/base/hours.js';
import type { ChargeEntry } from '../ledger-entry.js';
import type { Spender } from '../spender.js';
import { SPENDING_DIMENSIONS } from '../spending.js';
import type { SpendingDimension, SpendingQuery, SpendingSum } from '../spending.js';
import { settlement } from './samples.js';
import { TESTS, USD } from './subject.js';
import type { ContractPart } from './subject.js';

const ALWAYS = { from: new Date(0), until: new Date('2200-01-01T00:00:00Z') };
const CHARGES = 60;

export function spendingContract({ runner, subject, newAccount, settle }: ContractPart): void {
  const { describe, it } = runner;
  const read = (query: Partial<SpendingQuery>) =>
    subject().store.readSpending({ by: [], ...ALWAYS, ...query });
  const chargesOf = async (accountId: string): Promise<readonly ChargeEntry[]> =>
    (await subject().store.listEntries({ accountId, kind: 'charge', limit: 1_000 })).entries.filter(
      (entry) => entry.kind === 'charge',
    );

  async function newGroup(accountId: string, parentId?: string) {
    const group = { accountId, name: 'group', parentId };
    const created = await subject().store.createGroup(group, { by: TESTS });
    assert.ok(created.outcome === 'created');
    return created.record;
  }

  /** Random charges of two keys: more than the balance, one of nobody, some without a cost. */
  async function someCharges() {
    const { accountId, keyIds } = await newAccount(8_000_000_000_000n, {}, {});
    const course = await newGroup(accountId);
    const groups = [undefined, course, await newGroup(accountId, course.id)];
    const spenders: Spender[] = [];
    for (const group of groups) {
      for (const name of ['Ada', 'Bea']) {
        const member = { accountId, name, groupId: group?.id };
        const created = await subject().store.createMember(member, { by: TESTS });
        assert.ok(created.outcome === 'created');
        spenders.push({ memberId: created.record.id, groups: group?.path });
      }
    }
    const charges = Array.from({ length: CHARGES }, (_, index) => {
      const spender: Spender =
        index === 0
          ? {}
          : {
              ...oneOf([{}, ...spenders]),
              ...oneOf([{}, { tag: 'customer "17" \\ 🙂' }, { tag: 'é' }]),
              ...oneOf([{}, { run: 'run-1' }, { run: 'run-2' }]),
            };
      return settlement(oneOf(keyIds), {
        spender: Object.keys(spender).length === 0 ? undefined : spender,
        model: oneOf(['model-a', 'model-b']),
        overdraft: 'none',
        ...oneOf([{}, { cost: 7n }]),
        usage: {
          inputTokens: randomInt(1_000),
          outputTokens: randomInt(100),
          cacheReadInputTokens: randomInt(100),
          cacheCreationInputTokens: 5,
        },
      });
    });
    await Promise.all(charges.map(settle));
    return { accountId, keyIds, course, spenders, charges: await chargesOf(accountId) };
  }

  describe('sums by who spent', () => {
    it('by each dimension and by several equal those of the entries, and add up to all usage', async () => {
      const { accountId, charges } = await someCharges();
      assert.equal(charges.length, CHARGES);
      assert.ok(charges.some(({ writtenOff }) => writtenOff > 0n));
      assert.ok(charges.some(({ spender }) => spender === undefined));
      const [usage] = await subject().store.readUsage({ by: [], ...ALWAYS, accountId });
      assert.ok(usage !== undefined);
      const combinations: readonly (readonly SpendingDimension[])[] = [
        [],
        ...SPENDING_DIMENSIONS.filter((each) => each !== 'metadata').map((each) => [each]),
        ['day', 'member'],
        ['hour', 'group', 'model'],
        ['account', 'key', 'tag'],
        ['member', 'tag', 'run'],
        ['run', 'model', 'group', 'key'],
      ];
      for (const by of combinations) {
        const sums = await read({ by, accountId });
        assert.deepEqual(sorted(sums), sorted(sumsOf(charges, by)));
        const total = (figure: (sum: SpendingSum) => bigint | number) =>
          sums.reduce((sum, each) => sum + BigInt(figure(each)), 0n);
        assert.deepEqual(
          [
            total(({ charged }) => charged),
            total(({ writtenOff }) => writtenOff),
            total(({ requests }) => requests),
            total(({ cost }) => cost),
            total((sum) => sum.usage.inputTokens),
          ],
          [
            usage.listPrice - usage.writtenOff,
            usage.writtenOff,
            BigInt(usage.requests),
            usage.cost,
            usage.usage.inputTokens,
          ],
        );
      }
    });

    it('are limited to a member, a group with all below it, a tag, a run, a key and a model', async () => {
      const { accountId, keyIds, course, spenders, charges } = await someCharges();
      const [member] = spenders.filter(({ groups }) => groups === course.path);
      const cases: readonly [Partial<SpendingQuery>, (charge: ChargeEntry) => boolean][] = [
        [{ memberId: member?.memberId }, ({ spender }) => member?.memberId === spender?.memberId],
        [{ groupId: course.id }, ({ spender }) => spender?.groups?.includes(course.id) === true],
        [{ tag: 'é' }, ({ spender }) => spender?.tag === 'é'],
        [{ run: 'run-2' }, ({ spender }) => spender?.run === 'run-2'],
        [{ keyId: keyIds[0] }, ({ keyId }) => keyId === keyIds[0]],
        [{ model: 'model-b' }, ({ model }) => model === 'model-b'],
        [
          { groupId: course.id, run: 'run-1', keyId: keyIds[1] },
          ({ spender, keyId }) =>
            spender?.groups?.includes(course.id) === true &&
            spender.run === 'run-1' &&
            keyId === keyIds[1],
        ],
      ];
      for (const [filter, isIncluded] of cases) {
        for (const by of [[], ['member'], ['tag', 'model']] as const) {
          const sums = await read({ by, accountId, ...filter });
          assert.deepEqual(sorted(sums), sorted(sumsOf(charges.filter(isIncluded), by)));
        }
      }
      for (const filter of [{ memberId: 'mem_none' }, { groupId: '%' }, { tag: 'none' }]) {
        assert.deepEqual(await read({ by: ['member'], accountId, ...filter }), []);
      }
    });

    it('name the first of their names, and sum all others with how many they are', async () => {
      const { accountId, charges } = await someCharges();
      for (const names of [['member'], ['tag', 'run']] as const) {
        for (const sort of ['charged', 'requests', 'tokens'] as const) {
          const all = await read({ by: names, accountId, sort });
          const figure = ({ charged, requests, usage }: SpendingSum) =>
            ({
              charged,
              requests: BigInt(requests),
              tokens: Object.values(usage).reduce((sum, count) => sum + count, 0n),
            })[sort];
          assert.deepEqual(
            all.map(figure),
            all.map(figure).toSorted((a, b) => (a < b ? 1 : a > b ? -1 : 0)),
          );
          const named = all.filter((sum) => names.some((name) => valueOf(sum, name) !== null));
          const best = new Set(named.slice(0, 2).map((sum) => nameOf(sum, names)));
          for (const by of [names, ['model', ...names] as const]) {
            const rest = (sum: SpendingSum) =>
              !best.has(nameOf(sum, names)) && names.some((name) => valueOf(sum, name) !== null);
            const apart = sumsOf(charges, by);
            const expected = [
              ...apart.filter((sum) => !rest(sum)),
              ...merged(apart.filter(rest), names),
            ];
            const found = await read({ by, accountId, sort, top: 2 });
            assert.deepEqual(sorted(found), sorted(expected));
            const isRest = found.map(({ others }) => others > 0);
            assert.deepEqual(isRest, isRest.toSorted());
          }
          assert.deepEqual(await read({ by: names, accountId, sort, top: 100 }), all);
        }
      }
    });

    it('are of whole hours, and refused if they are more than the query allows', async () => {
      const { accountId, charges } = await someCharges();
      const first = Math.min(...charges.map(({ createdAt }) => createdAt.getTime()));
      const hour = Math.floor(first / HOUR_MS) * HOUR_MS;
      const [from, until] = [new Date(hour), new Date(hour + HOUR_MS)];
      const within = charges.filter(({ createdAt }) => createdAt < until);
      const of = { by: ['member'], accountId } as const;
      assert.deepEqual(sorted(await read({ ...of, from, until })), sorted(sumsOf(within, of.by)));
      assert.deepEqual(await read({ ...of, until: from }), []);
      await assert.rejects(read({ ...of, from: new Date(hour + 1) }), /from is not a whole hour/);
      const all = await read(of);
      assert.equal((await read({ ...of, maxSums: all.length })).length, all.length);
      await assert.rejects(read({ ...of, maxSums: all.length - 1 }), RangeError);
    });

    it('are exact for amounts of any size', async () => {
      const { accountId, keyIds } = await newAccount(10n ** 20n * USD, {});
      const amounts = [1n, 10_000n * USD - 1n, 10_000n * USD, 987_654_321_098_765n * USD + 7n];
      for (const inputPerToken of amounts) {
        const rates = { ...settlement('').rates, inputPerToken };
        const spender = { tag: 'large' };
        const usage = { inputTokens: 1 };
        await settle(settlement(keyIds[0] ?? '', { spender, rates, usage }));
      }
      const total = amounts.reduce((sum, amount) => sum + amount, 0n);
      for (const top of [undefined, 1]) {
        const sums = await read({ by: ['tag'], accountId, top });
        assert.deepEqual(
          sums.map(({ tag, charged }) => [tag, charged]),
          [['large', total]],
        );
      }
    });

    it('are known from the first charge that names its spender', async () => {
      const { store } = subject();
      const { accountId, keyIds } = await newAccount(USD, {});
      await settle(settlement(keyIds[0] ?? ''));
      assert.equal(await store.spendingNamedSince(accountId), undefined);
      const [without] = await read({ by: ['tag'], accountId });
      assert.deepEqual([without?.tag, without?.requests], [null, 1]);
      await settle(settlement(keyIds[0] ?? '', { spender: { tag: 'one' } }));
      const since = await store.spendingNamedSince(accountId);
      const [newest] = await chargesOf(accountId);
      const hour = Math.floor((newest?.createdAt.getTime() ?? 0) / HOUR_MS) * HOUR_MS;
      assert.deepEqual(since, new Date(hour));
      assert.ok(((await store.spendingNamedSince()) ?? ALWAYS.until) <= new Date(hour));
    });

    it('by metadata are those of the members or groups that have the same value now', async () => {
      const { store } = subject();
      const { accountId, keyIds } = await newAccount(USD, {});
      const course = await newGroup(accountId);
      await store.updateGroup(course.id, { metadata: { 'cost centre': 'G' } }, TESTS);
      const centres = ['17', '17', 'é "4"', undefined];
      for (const [index, centre] of centres.entries()) {
        const metadata = { other: 'x', ...(centre === undefined ? {} : { 'cost centre': centre }) };
        const groupId = index === 0 ? course.id : undefined;
        const member = { accountId, name: 'member', metadata, groupId };
        const created = await store.createMember(member, { by: TESTS });
        assert.ok(created.outcome === 'created');
        const { id: memberId, groups } = created.record;
        await settle(settlement(keyIds[0] ?? '', { spender: { memberId, groups } }));
      }
      await settle(settlement(keyIds[0] ?? ''));
      const metadataOf = async (of: 'member' | 'group', name: string, top?: number) => {
        const metadata = { of, name };
        const by = ['metadata'] as const;
        const sums = await read({ by, metadata, accountId, sort: 'requests', top });
        return sums.map((sum) => [sum.metadata, sum.requests, sum.others]);
      };
      assert.deepEqual(await metadataOf('member', 'cost centre'), [
        [null, 2, 0],
        ['17', 2, 0],
        ['é "4"', 1, 0],
      ]);
      assert.deepEqual(await metadataOf('member', 'cost centre', 1), [
        [null, 2, 0],
        ['17', 2, 0],
        [null, 1, 1],
      ]);
      assert.deepEqual(await metadataOf('group', 'cost centre'), [
        [null, 4, 0],
        ['G', 1, 0],
      ]);
      assert.deepEqual(await metadataOf('member', 'none'), [[null, 5, 0]]);
      await assert.rejects(read({ by: ['metadata'], accountId }), /^RangeError: metadata: /);
    });

    it('of the same member are together after the member has changed its group', async () => {
      const { store } = subject();
      const { accountId, keyIds } = await newAccount(USD, {});
      const [one, other] = [await newGroup(accountId), await newGroup(accountId)];
      const member = { accountId, name: 'Ada', groupId: one.id };
      const created = await store.createMember(member, { by: TESTS });
      assert.ok(created.outcome === 'created');
      const memberId = created.record.id;
      for (const groups of [one.path, other.path]) {
        await settle(settlement(keyIds[0] ?? '', { spender: { memberId, groups } }));
      }
      const byMember = await read({ by: ['member'], accountId });
      assert.deepEqual(
        byMember.map((sum) => [sum.memberId, sum.requests]),
        [[memberId, 2]],
      );
      const byGroup = await read({ by: ['group'], accountId });
      assert.deepEqual(
        byGroup.map((sum) => [sum.groupId, sum.requests]),
        [one.id, other.id].toSorted().map((id) => [id, 1]),
      );
    });
  });
}

function oneOf<Value>(values: readonly Value[]): Value {
  const value = values[randomInt(values.length)];
  if (value === undefined) throw new Error('there is none');
  return value;
}

/** The sums, computed from the entries. */
function sumsOf(
  charges: readonly ChargeEntry[],
  by: readonly SpendingDimension[],
): readonly SpendingSum[] {
  const groups = new Map<string, { of: Partial<SpendingSum>; all: ChargeEntry[] }>();
  for (const charge of charges) {
    const of = Object.fromEntries(by.map((dimension) => partOf(charge, dimension)));
    const group = groups.get(textOf(of));
    if (group === undefined) groups.set(textOf(of), { of, all: [charge] });
    else group.all.push(charge);
  }
  return [...groups.values()].map(({ of, all }) => {
    const sum = (value: (charge: ChargeEntry) => bigint | number) =>
      all.reduce((total, charge) => total + BigInt(value(charge)), 0n);
    return {
      ...of,
      others: 0,
      requests: all.length,
      usage: {
        inputTokens: sum(({ usage }) => usage.inputTokens),
        outputTokens: sum(({ usage }) => usage.outputTokens),
        cacheReadInputTokens: sum(({ usage }) => usage.cacheReadInputTokens),
        cacheCreationInputTokens: sum(({ usage }) => usage.cacheCreationInputTokens),
      },
      charged: sum(({ delta }) => -delta),
      writtenOff: sum(({ writtenOff }) => writtenOff),
      cost: sum(({ cost }) => cost ?? 0n),
      costed: all.filter(({ cost }) => cost !== undefined).length,
    };
  });
}

function partOf(
  { createdAt, model, accountId, keyId, spender }: ChargeEntry,
  dimension: SpendingDimension,
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
    case 'member':
      return ['memberId', spender?.memberId ?? null];
    case 'group':
      return ['groupId', spender?.groups?.split('/').at(-2) ?? null];
    case 'tag':
      return ['tag', spender?.tag ?? null];
    case 'run':
      return ['run', spender?.run ?? null];
    case 'metadata':
      throw new Error('entries have no metadata');
  }
}

type Name = 'member' | 'tag' | 'run';

function valueOf(sum: SpendingSum, name: Name): string | null {
  return (name === 'member' ? sum.memberId : sum[name]) ?? null;
}

function nameOf(sum: SpendingSum, names: readonly Name[]): string {
  return JSON.stringify(names.map((name) => valueOf(sum, name)));
}

/** One sum of these for each model, if they have one. */
function merged(sums: readonly SpendingSum[], names: readonly Name[]): readonly SpendingSum[] {
  const rests = new Map<string, SpendingSum>();
  const none = Object.fromEntries(
    names.map((name) => [name === 'member' ? 'memberId' : name, null]),
  );
  for (const sum of sums) {
    const name = sum.model ?? '';
    const rest = rests.get(name);
    rests.set(name, {
      ...sum,
      ...none,
      others: (rest?.others ?? 0) + 1,
      requests: (rest?.requests ?? 0) + sum.requests,
      usage: {
        inputTokens: (rest?.usage.inputTokens ?? 0n) + sum.usage.inputTokens,
        outputTokens: (rest?.usage.outputTokens ?? 0n) + sum.usage.outputTokens,
        cacheReadInputTokens:
          (rest?.usage.cacheReadInputTokens ?? 0n) + sum.usage.cacheReadInputTokens,
        cacheCreationInputTokens:
          (rest?.usage.cacheCreationInputTokens ?? 0n) + sum.usage.cacheCreationInputTokens,
      },
      charged: (rest?.charged ?? 0n) + sum.charged,
      writtenOff: (rest?.writtenOff ?? 0n) + sum.writtenOff,
      cost: (rest?.cost ?? 0n) + sum.cost,
      costed: (rest?.costed ?? 0) + sum.costed,
    });
  }
  return [...rests.values()];
}

function sorted(sums: readonly SpendingSum[]): readonly SpendingSum[] {
  return [...sums].sort((a, b) => (textOf(a) < textOf(b) ? -1 : 1));
}

/** A text that does not depend on the order of the members. */
function textOf(value: object): string {
  return JSON.stringify(
    Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)),
    (_name, part: unknown) => (typeof part === 'bigint' ? part.toString() : part),
  );
}
