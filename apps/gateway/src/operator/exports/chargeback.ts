/**
 * What a day cost each member, group and tag, in the columns of FOCUS, and in further ones with
 * names, tokens and the operator's cost. Only a day that is over has one, so it is final.
 */

import type { BalanceStore, SpendingSum } from '@gateway/balance-store';
import { formatUsd } from '@gateway/billing';
import { DAY_MS, HOUR_MS } from '../../base/times.js';
import { csvOf } from '../../endpoints/csv.js';
import { invalidInput } from '../../endpoints/operation-error.js';
import { FOCUS_COLUMNS, MAX_SUMS, readById, readSpendingRows } from './focus.js';
import type { FocusRow } from './focus.js';

/** FOCUS lets providers add columns that begin so. */
const OWN_COLUMNS = [
  'x_Requests',
  'x_InputTokens',
  'x_OutputTokens',
  'x_CacheReadTokens',
  'x_CacheWriteTokens',
  'x_OperatorCost',
  'x_MemberId',
  'x_MemberName',
  'x_MemberExternalId',
  'x_GroupId',
  'x_GroupName',
  'x_GroupExternalId',
  'x_Tag',
] as const;

/** A charge may be recorded a little after the end of its day. */
const FINAL_AFTER_MS = HOUR_MS;

/** Whether nothing more is charged on this day. @param day - 00:00 UTC. */
export function isFinal(day: Date, now: number): boolean {
  return now >= day.getTime() + DAY_MS + FINAL_AFTER_MS;
}

type Store = Pick<
  BalanceStore,
  'readSpending' | 'getMember' | 'getGroup' | 'getAccount' | 'getKey'
>;

/** @throws {OperationError} The day is not final, or has more rows than one file may have. */
export async function readChargeback(
  store: Store,
  {
    day,
    accountId,
    provider,
    now,
  }: {
    /** 00:00 UTC. */
    readonly day: Date;
    readonly accountId: string | undefined;
    readonly provider: string;
    readonly now: number;
  },
) {
  if (!isFinal(day, now)) {
    throw invalidInput('day: is not final: a day is an hour after its end, in UTC');
  }
  const until = new Date(day.getTime() + DAY_MS);
  const [year, month] = [day.getUTCFullYear(), day.getUTCMonth()];
  const period = {
    from: new Date(Date.UTC(year, month)),
    until: new Date(Date.UTC(year, month + 1)),
  };
  const found = await readSpendingRows(store, {
    from: day,
    until,
    accountId,
    maxSums: MAX_SUMS,
    period,
    provider,
  }).catch((error: unknown) => {
    if (!(error instanceof RangeError)) throw error;
    throw invalidInput(
      `account_id: is needed, because the day has more than ${String(MAX_SUMS)} sums`,
    );
  });
  const sums = found.map(({ sum }) => sum);
  const accounts = await readById(
    sums,
    (of) => of.accountId,
    (id) => store.getAccount(id),
  );
  const keys = await readById(
    sums,
    (of) => of.keyId,
    (id) => store.getKey(id),
  );
  const rows = found.flatMap(({ sum, member, group, rows: own }) => {
    const [accountName, keyName] = [
      accounts.get(sum.accountId ?? '')?.name ?? '',
      keys.get(sum.keyId ?? '')?.name ?? '',
    ];
    const names = {
      BillingAccountName: accountName,
      ResourceName: keyName,
      SubAccountName: keyName,
      x_MemberId: sum.memberId ?? '',
      x_MemberName: member?.name ?? '',
      x_MemberExternalId: member?.externalId ?? '',
      x_GroupId: sum.groupId ?? '',
      x_GroupName: group?.name ?? '',
      x_GroupExternalId: group?.externalId ?? '',
      x_Tag: sum.tag ?? '',
    };
    // The rest of its rows take something of the same usage back.
    return own.map((row, index): FocusRow => ({
      ...row,
      ...names,
      ...(index === 0 ? figuresOf(sum) : {}),
    }));
  });
  const charged = sums.reduce((sum, { charged: amount }) => sum + amount, 0n);
  return { from: day, until, rows, charged };
}

function figuresOf({ requests, usage, cost, costed }: SpendingSum): FocusRow {
  return {
    x_Requests: requests,
    x_InputTokens: Number(usage.inputTokens),
    x_OutputTokens: Number(usage.outputTokens),
    x_CacheReadTokens: Number(usage.cacheReadInputTokens),
    x_CacheWriteTokens: Number(usage.cacheCreationInputTokens),
    // A cost that is known in part would look like the whole.
    ...(costed === requests ? { x_OperatorCost: formatUsd(cost) } : {}),
  };
}

/** The first column is empty, so no amount is in it. */
export function chargebackCsv({ rows }: { readonly rows: readonly FocusRow[] }): string {
  return csvOf([...FOCUS_COLUMNS, ...OWN_COLUMNS], rows);
}
