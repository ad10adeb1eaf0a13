/** Which upstream accounts a request may go to, and in which order. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { readUpstreams } from '../../src/config/upstreams-file.js';
import { createRouteTable } from '../../src/upstream/routes/route-table.js';
import type { AskedOf } from '../../src/upstream/upstream.js';

let folder: string;
let file: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'routes-'));
  file = join(folder, 'upstreams.json');
});
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

const ACCOUNTS = [
  { name: 'us', place: 'us', labels: ['cheap'] },
  { name: 'eu1', place: 'eu', labels: ['cheap', 'contract'] },
  { name: 'eu2', place: 'eu', labels: ['contract'] },
  { name: 'asia' },
];

function read(routes: readonly object[], accounts: readonly object[] = ACCOUNTS) {
  const withKeys = accounts.map((account) => ({ api_key: 'k', ...account }));
  writeFileSync(file, JSON.stringify({ accounts: withKeys, routes }));
  return readUpstreams(file);
}

function table(...routes: readonly object[]) {
  const { accounts, routes: prepared = [] } = read(routes);
  const names = accounts.map(({ name }) => ({ name }));
  const ofTable = createRouteTable(prepared);
  const order = (by: By, keyId = 'key_1'): readonly string[] => {
    const call = { ...askedBy(by), keyId };
    return ofTable.inOrder(ofTable.within(names, call), call).map(({ name }) => name);
  };
  return { order };
}

interface By {
  readonly account?: string | undefined;
  readonly groups?: string | undefined;
  readonly tag?: string | undefined;
}

function askedBy({ account = 'acct_any', groups, tag }: By): AskedOf {
  const spender = { groups, tag };
  return { operation: 'messages', model: 'claude-opus-5', accountId: account, spender };
}

const keys = (count: number) => Array.from({ length: count }, (_, n) => `key_${String(n)}`);

describe('a route', () => {
  it('has its accounts in its order, and all others after them', () => {
    const { order } = table({ account: 'acct_1', order: ['asia', 'us'] });
    for (const key of keys(20)) {
      expect(order({ account: 'acct_1' }, key).slice(0, 2)).toEqual(['asia', 'us']);
      expect(order({ account: 'acct_1' }, key)).toHaveLength(4);
    }
  });

  it('names accounts by place or by label, among which each key has its own first one', () => {
    const { order } = table({ account: 'acct_1', order: ['label:contract', 'us'] });
    const firsts = keys(60).map((key) => order({ account: 'acct_1' }, key)[0]);
    expect(new Set(firsts)).toEqual(new Set(['eu1', 'eu2']));
    expect(keys(60).every((key) => order({ account: 'acct_1' }, key)[2] === 'us')).toBe(true);
  });

  it('has an account that several of its targets name at the first of them', () => {
    const { order } = table({ account: 'acct_1', order: ['eu2', 'label:contract', 'label:cheap'] });
    for (const key of keys(10)) {
      expect(order({ account: 'acct_1' }, key)).toEqual(['eu2', 'eu1', 'us', 'asia']);
    }
  });

  it('gives keys to accounts by weights, always the same ones', () => {
    const { order } = table({ account: 'acct_1', weights: { us: 3, eu1: 1 } });
    const firsts = keys(2_000).map((key) => order({ account: 'acct_1' }, key)[0]);
    const share = firsts.filter((name) => name === 'us').length / firsts.length;
    expect(share).toBeGreaterThan(0.71);
    expect(share).toBeLessThan(0.79);
    expect(firsts.every((name) => name === 'us' || name === 'eu1')).toBe(true);
    expect(keys(2_000).map((key) => order({ account: 'acct_1' }, key)[0])).toEqual(firsts);
  });

  it('moves only the keys of an account that is added or removed', () => {
    const before = table({ order: ['us', 'eu1'] });
    const weights = (names: readonly string[]) => Object.fromEntries(names.map((n) => [n, 2]));
    const two = table({ weights: weights(['us', 'eu1']) });
    const three = table({ weights: weights(['us', 'eu1', 'asia']) });
    for (const key of keys(200)) {
      expect(before.order({}, key)[0]).toBe('us');
      const [now] = three.order({}, key);
      expect([two.order({}, key)[0], 'asia']).toContain(now);
    }
  });
});

describe('the order', () => {
  const order = () =>
    table(
      { order: ['asia'] },
      { account: 'acct_1', order: ['us'] },
      { group: 'grp_top', order: ['eu1'] },
      { group: 'grp_below', order: ['eu2'] },
      { tag: 'night', order: ['asia', 'eu2'] },
      { account: 'acct_1', tag: 'night', order: ['eu1', 'asia'] },
    ).order;

  it.each([
    ['the tag of the account', { account: 'acct_1', groups: '/grp_top/', tag: 'night' }, 'eu1'],
    ['the tag', { account: 'acct_2', groups: '/grp_top/', tag: 'night' }, 'asia'],
    ['the nearest group', { account: 'acct_1', groups: '/grp_top/grp_below/' }, 'eu2'],
    ['a group above', { account: 'acct_1', groups: '/grp_top/grp_other/', tag: 'day' }, 'eu1'],
    ['the account', { account: 'acct_1', groups: '/grp_other/' }, 'us'],
    ['the default', { account: 'acct_2' }, 'asia'],
  ])('is that of %s', (_of, by, first) => {
    expect(order()(by)[0]).toBe(first);
  });
});

describe('a fence', () => {
  it('leaves only its accounts, and a tag leads none out of it', () => {
    const { order } = table(
      { account: 'acct_1', order: ['place:eu'], fence: true },
      { tag: 'fast', order: ['us', 'eu2'] },
    );
    expect(order({ account: 'acct_1', tag: 'fast' })).toEqual(['eu2', 'eu1']);
    expect(order({ account: 'acct_2', tag: 'fast' })[0]).toBe('us');
  });

  it('binds members of the groups below its own, whatever their own routes name', () => {
    const { order } = table(
      { group: 'grp_top', order: ['place:eu'], fence: true },
      { group: 'grp_below', order: ['us', 'eu2'] },
    );
    expect(order({ groups: '/grp_top/grp_below/' })).toEqual(['eu2', 'eu1']);
  });

  it('within another leaves what both admit, or nothing', () => {
    const { order } = table(
      { account: 'acct_1', order: ['place:eu'], fence: true },
      { tag: 'b', order: ['eu2', 'us'], fence: true },
      { tag: 'none', order: ['asia'], fence: true },
    );
    expect(order({ account: 'acct_1', tag: 'b' })).toEqual(['eu2']);
    expect(order({ account: 'acct_1', tag: 'none' })).toEqual([]);
  });

  it('holds for any routes, whatever a client names', () => {
    const target = fc.constantFrom('us', 'eu1', 'eu2', 'asia');
    const route = fc.record({
      of: fc.constantFrom({}, { account: 'acct_1' }, { group: 'grp_a' }, { tag: 't' }),
      order: fc.uniqueArray(target, { minLength: 1 }),
      fence: fc.boolean(),
    });
    const by = fc.record({
      groups: fc.constantFrom('/grp_a/', '/grp_a/grp_b/', '/grp_b/', ''),
      tag: fc.constantFrom('t', 'u'),
    });
    fc.assert(
      fc.property(
        fc.uniqueArray(route, { selector: ({ of }) => JSON.stringify(of) }),
        fc.uniqueArray(target, { minLength: 1 }),
        by,
        (routes, fenced, asked) => {
          const others = routes
            .filter(({ of }) => !('account' in of))
            .map(({ of, order, fence }) => ({
              ...of,
              order,
              fence: fence && Object.keys(of).length > 0,
            }));
          const { order } = table(...others, { account: 'acct_1', order: fenced, fence: true });
          const found = order({ account: 'acct_1', ...asked });
          const allowed: readonly string[] = fenced;
          expect(found.filter((name) => !allowed.includes(name))).toEqual([]);
        },
      ),
      { numRuns: 50 },
    );
  });
});

describe('the routes of UPSTREAMS', () => {
  const reserved = [...ACCOUNTS, { name: 'own', only_for: ['acct_9'] }];
  it.each([
    ['no accounts', [{ account: 'acct_1' }], 'routes.0: must have either order or weights'],
    ['both', [{ order: ['us'], weights: { us: 1 } }], 'routes.0: must have either order or'],
    ['an unknown account', [{ order: ['moon'] }], 'routes.0.order: "moon" is neither a name'],
    ['an unknown place', [{ weights: { 'place:mars': 1 } }], 'routes.0.weights: "place:mars" is'],
    [
      'two weights of an account',
      [{ weights: { eu1: 2, 'place:eu': 1 } }],
      'routes.0.weights: gives an account two weights',
    ],
    ['a weight of 0', [{ weights: { us: 0 } }], 'routes.0.weights.us: '],
    [
      'a group of an account',
      [{ account: 'acct_1', group: 'grp_1', order: ['us'] }],
      'routes.0: group',
    ],
    ['a fence for nobody', [{ order: ['us'], fence: true }], 'routes.0: fence: needs an account'],
    [
      'two defaults',
      [{ order: ['us'] }, { order: ['asia'] }],
      'routes.1: is for the same requests',
    ],
    ['an id of another kind', [{ account: 'key_1', order: ['us'] }], 'routes.0.account: must be'],
    [
      'accounts that are reserved for others',
      [{ account: 'acct_1', order: ['own'] }],
      'routes.0.order: names only accounts whose only_for lacks',
    ],
    [
      'accounts for one who has others of its own',
      [{ account: 'acct_9', order: ['us'] }],
      'routes.0.order: names only accounts whose only_for lacks',
    ],
  ])('with %s are refused, naming the place', (_what, routes, problem) => {
    expect(() => read(routes, reserved)).toThrow(`UPSTREAMS: ${problem}`);
  });

  it('are read', () => {
    expect(
      read([{ account: 'acct_9', weights: { own: 2 }, fence: true }], reserved).routes,
    ).toEqual([
      {
        account: 'acct_9',
        group: undefined,
        tag: undefined,
        steps: [[{ name: 'own', weight: 2 }]],
        isFence: true,
      },
    ]);
  });
});
