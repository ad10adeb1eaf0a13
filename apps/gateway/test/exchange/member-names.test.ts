/** Members by the names that requests give them. */

import { expect, it } from '@jest/globals';
import type { MemberFilter, MemberRecord, NewMember } from '@gateway/balance-store';
import { givenNames } from '../../src/exchange/spending/given-names.js';
import { createMemberNames } from '../../src/exchange/spending/member-names.js';

type Stored = Pick<MemberRecord, 'id' | 'accountId' | 'externalId' | 'email' | 'state'>;

/** A store that counts its queries. */
function storeOf(members: Stored[]) {
  let queries = 0;
  let creations = 0;
  const store = {
    getMember: (id: string) => {
      queries += 1;
      return Promise.resolve(members.find((one) => one.id === id) as MemberRecord | undefined);
    },
    listMembers: ({ accountId, externalId, email, state, limit }: MemberFilter) => {
      queries += 1;
      const found = members.filter(
        (one) =>
          one.accountId === accountId &&
          (externalId === undefined || one.externalId === externalId) &&
          (email === undefined || one.email === email) &&
          (state === undefined || one.state === state),
      );
      return Promise.resolve(found.slice(0, limit) as MemberRecord[]);
    },
    createMember: (member: NewMember) => {
      creations += 1;
      const { accountId, externalId = null, email = null } = member;
      if (members.some((one) => one.externalId === externalId)) {
        return Promise.resolve({ outcome: 'external_id_taken' as const });
      }
      const one = { id: 'mem_new', accountId, externalId, email, state: 'active' as const };
      members.push(one);
      return Promise.resolve({ outcome: 'created' as const, record: one as MemberRecord });
    },
  };
  return { store, queries: () => queries, creations: () => creations };
}

const of = (accountId: string, id: string, more: Partial<Stored> = {}): Stored => ({
  id,
  accountId,
  externalId: null,
  email: null,
  state: 'active',
  ...more,
});

it('are found by id, external id or address, only in their account, an active one first', async () => {
  const { store } = storeOf([
    of('a', 'mem_1', { externalId: 'ada', email: 'ada@x.org', state: 'ended' }),
    of('a', 'mem_2', { email: 'ada@x.org' }),
    of('a', 'mem_3', { externalId: 'bob@x.org' }),
    of('a', 'mem_4', { email: 'bob@x.org' }),
    of('a', 'mem_5', { email: 'two@x.org' }),
    of('a', 'mem_6', { email: 'two@x.org' }),
    of('a', 'mem_7', { email: 'gone@x.org', state: 'ended' }),
    of('b', 'mem_8', { externalId: 'eve', email: 'eve@x.org' }),
  ]);
  const names = createMemberNames(store);
  const found = async (name: string) => {
    const member = await names.find('a', name);
    return typeof member === 'object' ? member.id : member;
  };
  const given = ['mem_1', 'ada', 'ada@x.org', 'bob@x.org', 'two@x.org', 'gone@x.org'];
  expect(await Promise.all(given.map(found))).toEqual([
    'mem_1',
    'mem_1',
    'mem_2',
    'mem_3',
    'ambiguous',
    'mem_7',
  ]);
  const unknown = ['mem_8', 'eve', 'eve@x.org', 'mem_0', 'nobody'];
  expect(await Promise.all(unknown.map(found))).toEqual(unknown.map(() => undefined));
});

it('are looked up once a second, known or not, and a bounded number is remembered', async () => {
  let now = 0;
  const { store, queries } = storeOf([of('a', 'mem_1', { externalId: 'ada' })]);
  const names = createMemberNames(store, () => now);
  for (const name of ['ada', 'nobody']) await Promise.all([1, 2].map(() => names.find('a', name)));
  expect(queries()).toBe(2);
  now = 999;
  await names.find('a', 'ada');
  expect(queries()).toBe(2);
  now = 1_000;
  await names.find('a', 'ada');
  expect(queries()).toBe(3);
  for (let n = 0; n < 4_096; n += 1) await names.find('a', String(n));
  const before = queries();
  await names.find('a', 'ada');
  expect(queries()).toBe(before + 1);
  await names.find('a', '4095');
  expect(queries()).toBe(before + 1);
});

it('are created once for requests at the same time, and read again if another process was first', async () => {
  const { store, creations } = storeOf([of('a', 'mem_1', { externalId: 'theirs' })]);
  const names = createMemberNames(store);
  expect(await names.find('a', 'ada')).toBeUndefined();
  const ada = { accountId: 'a', name: 'Ada', externalId: 'ada' };
  const made = await Promise.all([1, 2, 3].map(() => names.create(ada, { name: 'key_1' })));
  expect(made.map((one) => (typeof one === 'object' ? one.id : one))).toEqual(
    made.map(() => 'mem_new'),
  );
  expect(creations()).toBe(1);
  expect(await names.find('a', 'ada')).toMatchObject({ id: 'mem_new' });
  const theirs = await names.create({ ...ada, externalId: 'theirs' }, { name: 'key_1' });
  expect(theirs).toMatchObject({ id: 'mem_1' });
});

it('are asked for again after a fault of the ledger', async () => {
  const { store } = storeOf([of('a', 'mem_1', { externalId: 'ada' })]);
  let isBroken = true;
  const names = createMemberNames({
    ...store,
    listMembers: (filter) =>
      isBroken ? Promise.reject(new Error('down')) : store.listMembers(filter),
  });
  await expect(names.find('a', 'ada')).rejects.toThrow('down');
  isBroken = false;
  expect(await names.find('a', 'ada')).toMatchObject({ id: 'mem_1' });
});

it.each([
  [{ 'x-gateway-member': ['ada'], 'x-claude-gateway-user-id': ['other'] }, 'user', ['ada']],
  [
    { 'x-claude-gateway-user-id': ['id'], 'x-claude-gateway-user-email': ['a@x.org'] },
    undefined,
    ['id', 'a@x.org'],
  ],
  [{ 'x-gateway-member': [' '], 'x-claude-gateway-user-email': ['a@x.org'] }, 'u', ['a@x.org']],
  [{}, ' u ', ['u']],
  [{}, ' ', []],
  [{}, undefined, []],
  // The bytes of a header are UTF-8 if they can be.
  [{ 'x-gateway-member': [Buffer.from('Jörg').toString('latin1')] }, undefined, ['Jörg']],
  [{ 'x-gateway-member': ['one', 'two'] }, undefined, 'x-gateway-member'],
  [{ 'x-claude-gateway-user-id': ['x'.repeat(201)] }, undefined, 'x-claude-gateway-user-id'],
  [{ 'x-gateway-member': ['a\u0085b'] }, undefined, 'x-gateway-member'],
  [{}, 'a\nb', 'user'],
  [{}, 'x'.repeat(201), 'user'],
])('of %j and user %j are %j', (headersDistinct: Record<string, string[]>, user, expected) => {
  const headers = Object.fromEntries(
    Object.entries(headersDistinct).map(([name, values]) => [name, values.join(', ')]),
  );
  const given = givenNames({ headers, headersDistinct }, user);
  if ('refusal' in given) {
    expect(given.refusal).toMatchObject({ status: 400, param: expected });
    expect(given.refusal.message).toBe(
      `${String(expected)}: must be one name of 1 to 200 printable characters`,
    );
  } else expect(given.names.map(({ text }) => text)).toEqual(expected);
});
