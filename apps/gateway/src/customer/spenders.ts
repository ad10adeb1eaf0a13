/**
 * `/v1/dashboard/members/*`, `/groups/*` and `/budgets/*`: a key with the scope `manage` manages
 * who spends the money of its account, and how much. The operations are those of operators, for one
 * account. Budgets that an operator created stay as they are.
 */

import { z } from 'zod';
import type { KeyRecord } from '@gateway/balance-store';
import { newRefusal } from '../base/errors/refusal.js';
import { MINUTE_MS } from '../base/times.js';
import type { Declared } from '../endpoints/endpoint.js';
import { OperationError, notFound } from '../endpoints/operation-error.js';
import { budgetOperations } from '../endpoints/spenders/budgets.js';
import { memberOperations } from '../endpoints/spenders/members.js';
import type { SpenderOperation } from '../endpoints/spenders/spender-operation.js';
import { invalidQuery, refusalOfQuery } from '../http/query-refusal.js';
import type { CustomerParts } from './customer-parts.js';
import type { KeyEndpoint } from './key-route.js';
import { givenIdOf, managed } from './managed.js';
import { assertOfHolder, assertStillCounted } from './operator-budgets.js';

const operations = { ...memberOperations, ...budgetOperations } as const;
type Operations = typeof operations;
type OperationName = keyof Operations;

const ROUTE = {
  credential: 'bearer',
  name: 'members',
  limit: { limit: 120, windowMs: MINUTE_MS },
} as const satisfies Partial<KeyEndpoint>;

/** What the key of a request decides: a holder has one account, and a header for repetitions. */
type Decided = 'account_id' | 'idempotency_key';

/** An operation as an endpoint for holders. */
type ForHolders<Of> =
  Of extends SpenderOperation<infer Input, infer Output, infer By, `/admin/${infer Path}`>
    ? Declared<
        typeof ROUTE & {
          readonly method: By;
          readonly path: `/v1/dashboard/${Path}`;
          readonly id: string;
          readonly summary: string;
          readonly result: Output;
        } & {
          readonly [Each in By extends 'get' ? 'query' : 'body']: z.ZodType<
            unknown,
            Omit<z.input<Input>, Decided>
          >;
        } & ('idempotency_key' extends keyof z.input<Input>
            ? { readonly isRepeatable: true }
            : unknown),
        CustomerParts
      >
    : never;

export const spenderEndpoints = (Object.keys(operations) as OperationName[]).map(
  forHolders,
) as readonly unknown[] as readonly ForHolders<Operations[OperationName]>[];

function forHolders(name: OperationName) {
  const { method, path, summary, input, output, run } = operations[
    name
  ] as SpenderOperation<z.ZodObject>;
  const { account_id: ofAccount, idempotency_key: repeatable, ...fields } = input.shape;
  const inPath = [...path.matchAll(/:(\w+)/g)].map(([, field = '']) => field);
  const given = z.strictObject(fields);
  return managed(
    {
      ...ROUTE,
      method,
      path: path.replace('/admin/', '/v1/dashboard/'),
      id: name.replace(/^show/, 'get'),
      summary,
      ...(method === 'get' ? { query: given } : { body: given }),
      ...(repeatable === undefined ? {} : { isRepeatable: true as const }),
      result: output,
    },
    async ({ parts, key, req, by }) => {
      const asked = (method === 'get' ? req.query : (req.body ?? {})) as object;
      const wrong = ['account_id', 'idempotency_key', ...inPath].find((field) => field in asked);
      if (wrong !== undefined) {
        return { refusal: invalidQuery(wrong, 'is not a parameter of this endpoint') };
      }
      const repeated = repeatable === undefined ? { id: undefined } : givenIdOf(req);
      if ('refusal' in repeated) return repeated;
      const parsed = input.safeParse({
        ...asked,
        ...req.params,
        ...(ofAccount === undefined ? {} : { account_id: key.accountId }),
        ...(repeated.id === undefined ? {} : { idempotency_key: repeated.id }),
      });
      if (!parsed.success) return { refusal: refusalOfQuery(parsed.error) };
      const { store, now } = parts;
      for (const field of inPath) await assertOwn(field, parsed.data[field], key, parts);
      await CHECKS[name]?.(parsed.data, key, parts);
      return { json: await run(parsed.data, { store, now, by }) };
    },
  );
}

/** @throws {OperationError} This account has no such record, whether or not another one has it. */
async function assertOwn(
  field: string,
  given: unknown,
  { accountId }: KeyRecord,
  { store }: CustomerParts,
): Promise<void> {
  const id = String(given);
  const [what = ''] = field.split('_');
  const record =
    what === 'member'
      ? await store.getMember(id)
      : what === 'group'
        ? await store.getGroup(id)
        : await store.getBudget(id);
  if (record?.accountId !== accountId) throw notFound(field, what);
}

type Input = Readonly<Record<string, unknown>>;
type Check = (input: Input, key: KeyRecord, parts: CustomerParts) => Promise<void>;

/** What holders may not do, although operators may. Called for records of their own account. */
const CHECKS: Readonly<Partial<Record<OperationName, Check>>> = {
  createBudget: assertOwnReserve,
  async updateBudget(...asked) {
    await assertOwnBudget(...asked);
    await assertOwnReserve(...asked);
  },
  endBudget: assertOwnBudget,
  raiseBudget: assertOwnBudget,
  async updateMember({ member_id: id, group_id: groupId }, { accountId }, parts) {
    if (groupId === undefined) return;
    const [member, group] = await Promise.all([
      parts.store.getMember(String(id)),
      typeof groupId === 'string' ? parts.store.getGroup(groupId) : undefined,
    ]);
    // The operation itself refuses a group that the account does not have.
    if (member === undefined || (groupId !== null && group?.accountId !== accountId)) return;
    const { id: memberId } = member;
    const before = { memberId, groups: member.groups };
    const after = { memberId, groups: group?.path };
    await assertStillCounted(accountId, { before, after }, 'group_id', parts);
  },
  endMember({ member_id: id }, { memberId }) {
    return memberId === id
      ? Promise.reject(new OperationError(newRefusal('own_member')))
      : Promise.resolve();
  },
};

async function assertOwnBudget(input: Input, _key: KeyRecord, { store }: CustomerParts) {
  const budget = await store.getBudget(String(input['budget_id']));
  if (budget !== undefined) assertOfHolder(budget, 'budget_id');
}

/** A reserve of the operator is for what the operator lets it pay. */
async function assertOwnReserve(
  { then: id }: Input,
  { accountId }: KeyRecord,
  { store }: CustomerParts,
) {
  const reserve = typeof id === 'string' ? await store.getBudget(id) : undefined;
  // The operation itself refuses one that the account does not have.
  if (reserve?.accountId === accountId) assertOfHolder(reserve, 'then');
}
