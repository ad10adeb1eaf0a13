/** Accounts with a tree of groups, members, keys and budgets on every level. */

import { toUsd } from '../teams/operators.mjs';

const LEVELS = 4;
const GROUPS = 2 ** LEVELS - 1;
const KEYS_OF_EACH_KIND = 4;
const ZONES = ['Europe/Berlin', 'America/New_York', 'Asia/Kathmandu'];
/** What a request of the torture costs on average, in units of 10^-14 USD. Some hold 0.0016 USD. */
const AVERAGE = 7n * 10n ** 10n;
/** A budget that could not hold a few requests would be empty from the start. */
export const LEAST = 40n * 10n ** 10n;

/**
 * @param {object} options
 * @param {import('../repeated-calls.mjs').RepeatedCalls['callAdmin']} options.callAdmin
 * @param {number} options.accountCount
 * @param {number} options.membersPerAccount
 * @param {readonly string[]} options.tags - each has a budget
 * @param {readonly string[]} options.runs - one of them has a budget
 * @param {number} options.requests - of all clients, so that each budget is half as large as what
 * would be used of it without any, and grows later
 */
export async function createAccounts(
  { callAdmin, accountCount, membersPerAccount, tags, runs, requests },
  random,
) {
  /** Half of a share of what an account's requests cost: `count` parts of `of`. */
  function share(count, of) {
    const cost = (AVERAGE * BigInt(requests) * BigInt(count)) / BigInt(2 * accountCount * of);
    return cost > LEAST ? cost : LEAST;
  }
  const create = async (path, body) => {
    const { status, value } = await callAdmin('POST', path, body);
    if (status !== 200) throw new Error(`${path}: ${status} ${JSON.stringify(value)}`);
    return value;
  };
  const limits = { concurrency: 20, burst: 100_000, requests_per_minute: 1_000_000 };

  async function createAccount(number) {
    const { id } = await create('accounts', {
      name: `a-${number}`,
      idempotency_key: `a-${number}`,
    });
    await create(`accounts/${id}/top-ups`, { top_up_id: id, amount_usd: '1000', anyway: true });
    let ids = 0;
    const nextId = () => `${number}-${(ids += 1)}`;
    const groups = await createTree(id, nextId);
    const members = await inBatches(membersPerAccount, async (index) => {
      const externalId = `person-${number}-${index}`;
      const group = random.chance(0.9) ? random.pick(groups) : undefined;
      const { id: memberId } = await create('members', {
        account_id: id,
        name: externalId,
        external_id: externalId,
        ...(group && { group_id: group.id }),
        idempotency_key: nextId(),
      });
      // Every group that the member was in, because a charge may have been admitted in any of them.
      return { id: memberId, externalId, paths: new Set([group?.path ?? '']) };
    });
    /** @type {{ id: string, groups: any[], members: any[], keys: any[], budgets: any[] }} */
    const account = { id, groups, members, keys: [], budgets: [] };
    const keyOf = async (body) => {
      const { id: keyId, api_key: credential } = await create('keys', {
        account_id: id,
        name: nextId(),
        ...limits,
        idempotency_key: nextId(),
        ...body,
      });
      return { id: keyId, credential };
    };
    for (let index = 0; index < KEYS_OF_EACH_KIND; index += 1) {
      const key = await keyOf({ names_members: { unknown: 'refuse' } });
      account.keys.push({ ...key, account });
    }
    for (let index = 0; index < KEYS_OF_EACH_KIND; index += 1) {
      const member = random.pick(members);
      const key = await keyOf({ member_id: member.id });
      account.keys.push({ ...key, account, memberId: member.id });
    }
    account.budgets = await createBudgets(account, nextId);
    return account;
  }

  /** Each group has two below it, down to the last level. */
  async function createTree(accountId, nextId) {
    const groups = [];
    const grow = async (parent, level) => {
      const { id } = await create('groups', {
        account_id: accountId,
        name: `level ${level}`,
        ...(parent && { parent_id: parent.id }),
        idempotency_key: nextId(),
      });
      const group = { id, path: `${parent?.path ?? '/'}${id}/`, level };
      groups.push(group);
      for (let below = 0; level < LEVELS && below < 2; below += 1) await grow(group, level + 1);
    };
    await grow(undefined, 1);
    return groups;
  }

  async function createBudgets({ id, groups, keys }, nextId) {
    const budgets = [];
    const add = async (amount, body) => {
      const period = random.pick(['day', 'week', 'month', 'once']);
      const { id: budgetId } = await create('budgets', {
        account_id: id,
        name: nextId(),
        amount_usd: toUsd(amount),
        period,
        time_zone: random.pick(ZONES),
        idempotency_key: nextId(),
        ...body,
      });
      budgets.push({
        id: budgetId,
        first: amount,
        amount,
        current: amount,
        most: amount,
        raises: [],
      });
    };
    await add(share(1, 1), { scope: 'account' });
    for (const group of groups) {
      const below = 2 ** (LEVELS - group.level + 1) - 1;
      await add(share(below, GROUPS), { scope: 'group', subject: group.id });
    }
    await add(share(1, membersPerAccount), { scope: 'member' });
    const some = random.pick(groups).id;
    await add(share(1, 2 * membersPerAccount), { scope: 'member', within_group: some });
    await add(share(1, 2 * KEYS_OF_EACH_KIND), { scope: 'key', subject: keys[0]?.id });
    // Every second request names a run, and every second one a tag.
    await add(share(1, 2 * runs.length), { scope: 'run' });
    await add(share(1, 4 * runs.length), { scope: 'run', subject: random.pick(runs) });
    for (const tag of tags) await add(share(1, 2 * tags.length), { scope: 'tag', subject: tag });
    return budgets;
  }

  const accounts = [];
  for (let number = 0; number < accountCount; number += 1) {
    accounts.push(await createAccount(number));
  }
  return accounts;
}

/** Sixteen calls at once. */
async function inBatches(count, make) {
  const made = [];
  for (let first = 0; first < count; first += 16) {
    const indexes = Array.from({ length: Math.min(16, count - first) }, (_, each) => first + each);
    made.push(...(await Promise.all(indexes.map(make))));
  }
  return made;
}
