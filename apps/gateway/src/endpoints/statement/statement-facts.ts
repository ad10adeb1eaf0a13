/**
 * The statement of an account for a month: the opening balance, the bookings, the charges with
 * their tokens and rates, and the closing balance. The amounts are exact and add up.
 */

import type {
  AccountRecord,
  BalanceStore,
  ChargeEntry,
  LedgerEntry,
  SettledRates,
  UsageSum,
} from '@gateway/balance-store';
import { formatUsd } from '@gateway/billing';
import { readEntries } from '../../ledger/ledger-entries.js';
import { findPaymentOf } from '../../payments/payment-ledger.js';
import type { Month } from '../fields.js';
import { creditView } from '../schemas/entries.js';
import { ratesView } from '../schemas/models.js';

type Booking = Exclude<LedgerEntry, ChargeEntry>;

export type StatementStore = Pick<
  BalanceStore,
  | 'readBalanceAt'
  | 'readUsage'
  | 'readSpending'
  | 'listEntries'
  | 'getAccount'
  | 'listKeys'
  | 'listMembers'
  | 'listDocuments'
>;
/** Who issues statements. */
export interface Issuer {
  readonly name: string;
  readonly contact: string | null;
  readonly address: readonly string[];
  readonly note: string | null;
}

export interface StatementOf {
  readonly month: Month;
  /** In which the month begins and ends. */
  readonly zone: string;
  readonly issuer: Issuer | undefined;
}

/** Without the lines for people. */
export type StatementFacts = Awaited<ReturnType<typeof readFacts>>;

export async function readFacts(
  store: StatementStore,
  accountId: string,
  { month, zone, issuer }: StatementOf,
) {
  const { from, until } = month;
  const [account, opening, entries, charges, totals, byMember] = await Promise.all([
    store.getAccount(accountId),
    store.readBalanceAt(accountId, from),
    readEntries(store, { accountId, withoutCharges: true, withoutFees: true, from, until }),
    store.readUsage({ by: ['day', 'model'], byRates: true, from, until, accountId }),
    store.readUsage({ by: ['key', 'model'], from, until, accountId }),
    readByMember(store, accountId, month),
  ]);
  const bookings = entries.filter((entry) => entry.kind !== 'charge').toReversed();
  const booked = bookings.reduce((sum, { delta }) => sum + delta, 0n);
  const charged = charges.reduce(
    (sum, { listPrice, writtenOff }) => sum + listPrice - writtenOff,
    0n,
  );
  const names =
    totals.length === 0
      ? undefined
      : await namesOf((after) => store.listKeys({ accountId, limit: NAMES_PER_PAGE, after }));
  return {
    object: 'statement' as const,
    ...partiesOf(accountId, account, issuer),
    month: month.month,
    zone,
    period: periodText(month.month, zone),
    from: from.toISOString(),
    until: until.toISOString(),
    opening_balance_usd: formatUsd(opening),
    /** Oldest first. */
    bookings: await withTaxRates(store, accountId, bookings),
    charges: charges.map((sum) => ({
      day: dayOf(sum),
      model: sum.model ?? '',
      requests: sum.requests,
      lines: linesOf(sum),
      ...(sum.fees === 0n ? {} : { fees_usd: formatUsd(sum.fees) }),
      written_off_usd: formatUsd(sum.writtenOff),
      amount_usd: formatUsd(sum.writtenOff - sum.listPrice),
    })),
    booked_usd: formatUsd(booked),
    /** Paid beside the credits. */
    tax_usd: formatUsd(bookings.reduce((sum, { tax }) => sum + tax, 0n)),
    charged_usd: formatUsd(charged),
    closing_balance_usd: formatUsd(opening + booked - charged),
    ...(byMember === undefined ? {} : { by_member: byMember }),
    by_model: totalsBy(totals, ({ model = '' }) => model).map(([model, total]) => ({
      model,
      ...total,
    })),
    by_key: totalsBy(totals, ({ keyId = '' }) => keyId).map(([id, total]) => ({
      key_id: id,
      name: names?.get(id) ?? id,
      ...total,
    })),
  };
}

/** @returns `undefined` if no charge names a member */
async function readByMember(
  store: Pick<StatementStore, 'readSpending' | 'listMembers'>,
  accountId: string,
  { from, until }: Month,
) {
  const sums = await store.readSpending({
    by: ['member'],
    from,
    until,
    accountId,
    sort: 'charged',
  });
  if (sums.every(({ memberId }) => memberId == null)) return undefined;
  const names = await namesOf((after) =>
    store.listMembers({ accountId, limit: NAMES_PER_PAGE, after }),
  );
  return sums.map(({ memberId = null, requests, charged }) => ({
    member_id: memberId,
    name: memberId === null ? null : (names.get(memberId) ?? memberId),
    requests,
    amount_usd: formatUsd(-charged),
  }));
}

/** With the rate and the country of a tax, which the document of the payment has. */
export async function withTaxRates(
  store: Pick<BalanceStore, 'listDocuments'>,
  accountId: string,
  bookings: readonly Booking[],
) {
  const rates = new Map<string, { tax_percent: string | null; tax_country: string | null }>();
  for (const { tax, reference } of bookings) {
    if (tax === 0n || reference === undefined || rates.has(reference)) continue;
    const paid = (await findPaymentOf(store, accountId, reference))?.data.paid;
    const { tax_percent = null, tax_country = null } = paid ?? {};
    rates.set(reference, { tax_percent, tax_country });
  }
  const none = { tax_percent: null, tax_country: null };
  return bookings.map((booking) => ({
    ...creditView(booking),
    ...(rates.get(booking.reference ?? '') ?? none),
  }));
}

function periodText(month: string, zone: string): string {
  const [year = 0, number = 0] = month.split('-').map(Number);
  const last = new Date(Date.UTC(year, number, 0)).getUTCDate();
  return `${month}-01 to ${month}-${String(last)} (${zone})`;
}

/** The issuer and the customer, as they are now. */
export function partiesOf(
  accountId: string,
  account: AccountRecord | undefined,
  issuer: Issuer | undefined,
) {
  const { address = '' } = account?.metadata ?? {};
  const lines = address.split(';').map((line) => line.trim());
  return {
    account_id: accountId,
    account_name: account?.name ?? '',
    account_address: lines.filter((line) => line !== ''),
    issuer: issuer === undefined ? null : { ...issuer, address: [...issuer.address] },
  };
}

/** Sums of charges by one dimension, the largest first. Each is at most 0, as in the ledger. */
function totalsBy(sums: readonly UsageSum[], nameOf: (sum: UsageSum) => string) {
  const totals = new Map<string, { requests: number; charged: bigint }>();
  for (const sum of sums) {
    const total = totals.get(nameOf(sum)) ?? { requests: 0, charged: 0n };
    total.requests += sum.requests;
    total.charged += sum.listPrice - sum.writtenOff;
    totals.set(nameOf(sum), total);
  }
  return [...totals]
    .sort(([, a], [, b]) => (a.charged < b.charged ? 1 : -Number(a.charged > b.charged)))
    .map(
      ([name, { requests, charged }]) =>
        [name, { requests, amount_usd: formatUsd(-charged) }] as const,
    );
}

const NAMES_PER_PAGE = 1_000;

/** The names of all keys or members of an account, also of revoked and ended ones, by ids. */
async function namesOf(
  readPage: (
    after: string | undefined,
  ) => Promise<readonly { readonly id: string; readonly name: string }[]>,
): Promise<ReadonlyMap<string, string>> {
  const names = new Map<string, string>();
  let after: string | undefined;
  do {
    const found = await readPage(after);
    for (const { id, name } of found) names.set(id, name);
    after = found.length < NAMES_PER_PAGE ? undefined : found.at(-1)?.id;
  } while (after !== undefined);
  return names;
}

function dayOf({ start }: UsageSum): string {
  return start?.toISOString().slice(0, 10) ?? '';
}

function linesOf({ usage, rates }: UsageSum) {
  if (rates === undefined) throw new Error('a statement needs sums by rates');
  return tokenLines(usage, rates);
}

/** With its fees, the lines add up to the list price of the charge. */
export function chargeLines({ usage, rates }: ChargeEntry) {
  return tokenLines(
    {
      inputTokens: BigInt(usage.inputTokens),
      outputTokens: BigInt(usage.outputTokens),
      cacheReadInputTokens: BigInt(usage.cacheReadInputTokens),
      cacheCreationInputTokens: BigInt(usage.cacheCreationInputTokens),
      cacheCreation1hInputTokens: BigInt(usage.cacheCreation1hInputTokens),
    },
    rates,
  );
}

/** Tokens x rate = amount, for each class with tokens. */
export function tokenLines(usage: UsageSum['usage'], rates: SettledRates) {
  const perMillion = ratesView(rates);
  const of5m = usage.cacheCreationInputTokens - usage.cacheCreation1hInputTokens;
  const classes: readonly [keyof typeof perMillion, bigint, keyof SettledRates][] = [
    ['input', usage.inputTokens, 'inputPerToken'],
    ['output', usage.outputTokens, 'outputPerToken'],
    ['cache_read', usage.cacheReadInputTokens, 'cacheReadPerToken'],
    ['cache_write_5m', of5m, 'cacheWrite5mPerToken'],
    ['cache_write_1h', usage.cacheCreation1hInputTokens, 'cacheWrite1hPerToken'],
  ];
  return classes
    .filter(([, tokens]) => tokens > 0n)
    .map(([name, tokens, rate]) => ({
      class: name,
      tokens: Number(tokens),
      rate_usd_per_million: perMillion[name],
      amount_usd: formatUsd(tokens * rates[rate]),
    }));
}
