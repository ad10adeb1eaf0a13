/**
 * The statement of an account for a month: the opening balance, the bookings, the charges with
 * their tokens and rates, and the closing balance. The amounts are exact and add up.
 */

import type {
  BalanceStore,
  ChargeEntry,
  LedgerEntry,
  SettledRates,
  UsageSum,
} from '@gateway/balance-store';
import { formatUsd } from '@gateway/billing';
import { readEntries } from '../ledger-entries.js';
import { csvOf } from './csv.js';
import type { Month } from './fields.js';
import { holderEntryView, ratesView } from './views.js';

export interface Statement {
  readonly accountId: string;
  readonly month: Month;
  /** In units of 10^-14 USD. */
  readonly opening: bigint;
  /** Everything that is not a charge, the oldest first. */
  readonly bookings: readonly LedgerEntry[];
  /** By day, model and rates. */
  readonly charges: readonly UsageSum[];
  readonly charged: bigint;
  /** The opening balance, plus the bookings, minus the charges. */
  readonly closing: bigint;
}

type StatementStore = Pick<BalanceStore, 'readBalanceAt' | 'readUsage' | 'listEntries'>;

export async function readStatement(
  store: StatementStore,
  accountId: string,
  month: Month,
): Promise<Statement> {
  const { from, until } = month;
  const [opening, newestFirst, charges] = await Promise.all([
    store.readBalanceAt(accountId, from),
    readEntries(store, { accountId, withoutCharges: true, from, until }),
    store.readUsage({ by: ['day', 'model'], byRates: true, from, until, accountId }),
  ]);
  const charged = charges.reduce(
    (sum, { listPrice, writtenOff }) => sum + listPrice - writtenOff,
    0n,
  );
  const bookings = newestFirst.toReversed();
  const booked = bookings.reduce((sum, { delta }) => sum + delta, 0n);
  return {
    accountId,
    month,
    opening,
    bookings,
    charges,
    charged,
    closing: opening + booked - charged,
  };
}

export function statementView(statement: Statement) {
  const { month, bookings, charges } = statement;
  return {
    object: 'statement' as const,
    account_id: statement.accountId,
    month: month.month,
    from: month.from.toISOString(),
    until: month.until.toISOString(),
    opening_balance_usd: formatUsd(statement.opening),
    bookings: bookings.map(holderEntryView),
    charges: charges.map((sum) => ({
      day: dayOf(sum),
      model: sum.model ?? '',
      requests: sum.requests,
      lines: linesOf(sum),
      written_off_usd: formatUsd(sum.writtenOff),
      amount_usd: formatUsd(sum.writtenOff - sum.listPrice),
    })),
    charged_usd: formatUsd(statement.charged),
    closing_balance_usd: formatUsd(statement.closing),
  };
}

function dayOf({ start }: UsageSum): string {
  return start?.toISOString().slice(0, 10) ?? '';
}

function linesOf({ usage, rates }: UsageSum) {
  if (rates === undefined) throw new Error('a statement needs sums by rates');
  return tokenLines(usage, rates);
}

/** The lines add up to the list price of the charge. */
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
function tokenLines(usage: UsageSum['usage'], rates: SettledRates) {
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

const CSV_COLUMNS = [
  'line',
  'date',
  'description',
  'requests',
  'tokens',
  'rate_usd_per_million',
  'amount_usd',
] as const;

/** The last line is the sum of the amounts of all other lines. */
export function statementCsv(statement: Statement): string {
  return csvOf(CSV_COLUMNS, statementLines(statement));
}

interface StatementLine extends Readonly<Record<string, string | number | undefined>> {
  readonly line: string;
  readonly date: string;
  readonly description: string;
  readonly amount_usd: string;
}

export function statementLines(statement: Statement): readonly StatementLine[] {
  const view = statementView(statement);
  return [
    {
      line: 'opening balance',
      date: view.from.slice(0, 10),
      description: '',
      amount_usd: view.opening_balance_usd,
    },
    ...statement.bookings.map((entry) => ({
      line: entry.kind,
      date: entry.createdAt.toISOString(),
      description: describe(entry),
      amount_usd: formatUsd(entry.delta),
    })),
    ...view.charges.flatMap((charge) => [
      ...charge.lines.map((line) => ({
        line: 'charge',
        date: charge.day,
        description: `${charge.model}: ${line.class}`,
        requests: charge.requests,
        tokens: line.tokens,
        rate_usd_per_million: line.rate_usd_per_million,
        amount_usd: formatUsdNegated(line.amount_usd),
      })),
      ...(charge.written_off_usd === '0'
        ? []
        : [
            {
              line: 'not charged',
              date: charge.day,
              description: `${charge.model}: beyond the balance or a cap`,
              amount_usd: charge.written_off_usd,
            },
          ]),
    ]),
    {
      line: 'closing balance',
      date: view.until.slice(0, 10),
      description: '',
      amount_usd: view.closing_balance_usd,
    },
  ];
}

function formatUsdNegated(amount: string): string {
  return amount === '0' ? amount : `-${amount}`;
}

function describe(entry: LedgerEntry): string {
  switch (entry.kind) {
    case 'charge':
      return entry.model;
    case 'top_up':
      return [entry.source, entry.reference].filter(Boolean).join(' ');
    case 'adjustment':
      return [entry.reason, entry.reference].filter(Boolean).join(' ');
    case 'expiry':
      return `credit ${entry.reference ?? ''} expired`;
  }
}
