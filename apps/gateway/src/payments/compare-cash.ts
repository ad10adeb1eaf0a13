/**
 * Compares the provider's transactions with the ledger's movements of the operator's money at the
 * provider, one by one and in sum. Each transaction has an entry for its money and one for its fee.
 */

import type { LedgerEntry } from '@gateway/balance-store';
import type { PaymentProvider } from '@gateway/payments';
import { entriesOf } from '../ledger/ledger-entries.js';
import type { PaymentLedger } from '../ledger/open-store.js';
import { cashOf } from './fact-books.js';
import { grossOf } from './implied-entries.js';
import { readTransactions } from './transactions.js';
import type { BookedTransaction } from './transactions.js';

/**
 * `missing`: the ledger lacks the entry. `extra`: the provider lacks the transaction. `different`:
 * both have it, with other amounts. `exchange`: other amounts, because a refund or a dispute in
 * another currency was exchanged at another rate than its payment; that is no fault.
 */
export const CASH_VERDICTS = ['missing', 'extra', 'different', 'exchange'] as const;

/** Amounts are in units of 10^-14 USD, negative if money was taken from the operator. */
export interface CashDifference {
  readonly verdict: (typeof CASH_VERDICTS)[number];
  readonly entryId: string;
  readonly transactionId: string | undefined;
  readonly accountId: string | undefined;
  /** `undefined`: not there, or its worth in USD is not known. */
  readonly provider: bigint | undefined;
  readonly ledger: bigint | undefined;
}

export interface CashComparison {
  /** Transactions of payments. */
  readonly compared: number;
  /** Transactions of no payment of the gateway, such as payouts. They are not in the sums. */
  readonly others: number;
  readonly provider: bigint;
  readonly ledger: bigint;
  readonly differences: readonly CashDifference[];
}

/** The account that entries of earlier versions are booked to. */
const UNKNOWN = 'unknown';

type Ledger = Pick<PaymentLedger, 'findEntries' | 'listEntries' | 'listDocuments'>;
type Provider = Pick<
  PaymentProvider,
  'name' | 'listTransactions' | 'findTransactions' | 'findPaid'
>;

export async function compareCash(
  { ledger, provider }: { readonly ledger: Ledger; readonly provider: Provider },
  range: { readonly from: Date; readonly until: Date },
): Promise<CashComparison> {
  const read = await readTransactions({ ledger, provider }, range);
  const differences: CashDifference[] = [];
  const ids = new Set<string>();
  const sums = { provider: 0n, ledger: 0n };
  let { others } = read;
  for (const booked of read.all) {
    if (booked.money === undefined && !(await isOwn(provider, booked))) {
      others += 1;
      continue;
    }
    for (const side of sidesOf(booked, provider)) {
      ids.add(side.entryId);
      sums.provider += side.provider ?? 0n;
      sums.ledger += side.ledger ?? 0n;
      const verdict = verdictOf(side, booked);
      if (verdict !== undefined) differences.push({ verdict, ...side });
    }
  }
  for await (const entry of entriesOf(ledger, { ...range, withoutCharges: true })) {
    const moved = movedBy(entry, provider);
    if (moved === undefined || ids.has(entry.id) || (await isElsewhere(provider, entry))) continue;
    sums.ledger += moved;
    differences.push({
      verdict: 'extra',
      entryId: entry.id,
      transactionId: undefined,
      accountId: entry.accountId,
      provider: undefined,
      ledger: moved,
    });
  }
  return { compared: read.all.length + read.others - others, others, ...sums, differences };
}

type Side = Omit<CashDifference, 'verdict'>;

function sidesOf(booked: BookedTransaction, provider: Provider): readonly Side[] {
  const { transaction, moneyId, feeId, money, fee, accountId, paidUsd, feeUsd } = booked;
  const { transactionId, feeCents } = transaction;
  const common = { transactionId, accountId };
  const moved = money === undefined ? undefined : movedBy(money, provider);
  const ofMoney = { ...common, entryId: moneyId, provider: paidUsd, ledger: moved };
  if (feeCents === 0 && fee === undefined) return [ofMoney];
  const taken = fee === undefined ? undefined : movedBy(fee, provider);
  const kept = feeUsd === undefined ? undefined : -feeUsd;
  return [ofMoney, { ...common, entryId: feeId, provider: kept, ledger: taken }];
}

function verdictOf(side: Side, { transaction, moneyId }: BookedTransaction) {
  if (side.ledger === undefined) return 'missing';
  if (side.ledger === side.provider) return undefined;
  const isExchanged = transaction.paid.currency !== 'usd' && transaction.kind !== 'payment';
  return isExchanged && side.entryId === moneyId ? 'exchange' : 'different';
}

/**
 * What an entry moved of the provider's cash; `undefined` if it is about another account. Earlier
 * versions did not record the account, but the ids of their entries name the provider.
 */
function movedBy(entry: LedgerEntry, { name }: Pick<PaymentProvider, 'name'>): bigint | undefined {
  if (entry.kind === 'charge') return undefined;
  const { counter = UNKNOWN, fee } = entry;
  const isCash =
    counter === UNKNOWN ? sourceOf(name, entry) !== undefined : counter === cashOf({ name });
  return isCash ? grossOf(entry) - fee : undefined;
}

/** Whether the gateway started the payment, so that the ledger should have its entry. */
async function isOwn(
  provider: Provider,
  { transaction, accountId }: BookedTransaction,
): Promise<boolean> {
  if (accountId !== undefined) return true;
  return (await provider.findPaid(transaction.providerPaymentId))?.origin !== undefined;
}

/** Whether the provider has the transaction of an entry at another time. */
async function isElsewhere(provider: Provider, entry: LedgerEntry): Promise<boolean> {
  const source = sourceOf(provider.name, entry);
  if (source === undefined) return false;
  return (await provider.findTransactions(source)).length > 0;
}

function sourceOf(provider: string, entry: LedgerEntry) {
  const [kind, by, id = ''] = entry.id.split(':');
  if (by !== provider) return undefined;
  if (kind === 'topup') return { kind: 'payment', id } as const;
  if (kind === 'fee') return { kind: 'transaction', id } as const;
  const isRefund = entry.kind === 'adjustment' && entry.reason === 'refund';
  return { kind: isRefund ? 'refund' : 'dispute', id } as const;
}
