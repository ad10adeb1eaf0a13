/**
 * Money that the provider reported and the ledger could not take. It is listed for the operator
 * until the ledger has its entries, or the provider has paid it back.
 */

import type { LedgerEntry } from '@gateway/balance-store';
import { unitsFromCents } from '../config/cents.js';
import type { PaymentLedger } from '../ledger/open-store.js';
import { grossOf, idOf, impliedEntries } from './implied-entries.js';
import type { MoneyFact } from './implied-entries.js';
import { changeDocument, findDocument, knownAs } from './payment-ledger.js';
import type { DocumentOf, Known } from './payment-ledger.js';

/** Why a fact about money is not in the ledger. */
export type UnbookedReason =
  | 'unknown_payment'
  | 'other_account'
  | 'other_amount'
  /** Settled in another currency than USD, and no operator has stated a rate. */
  | 'other_currency'
  /** Paid in another currency, and the provider has not stated its worth yet. */
  | 'not_settled'
  | 'other_mode'
  | 'second_payment'
  | 'account_gone'
  | 'account_closed'
  /** The ledger has an entry with this id, but with other contents. */
  | 'conflict'
  /** A refund or a dispute of a payment that is unbooked itself. */
  | 'payment_unbooked';

/** Documents that are read at a time. */
const BATCH = 100;

/**
 * Keeps a fact. If it is kept already, updates its reason and adds new entries. A refund or dispute
 * of an unbooked payment is also noted on that payment.
 */
export async function keepUnbooked(
  ledger: PaymentLedger,
  provider: string,
  fact: MoneyFact,
  reason: UnbookedReason,
): Promise<void> {
  const kind = 'unbooked_payment';
  const origin = 'origin' in fact ? fact.origin : undefined;
  const entries = Object.fromEntries(
    impliedEntries(provider, fact).map(({ entryId, cents }) => [entryId, cents]),
  );
  const { outcome } = await ledger.writeDocument({
    kind,
    id: idOf(fact),
    accountId: origin?.accountId ?? '',
    version: 0,
    data: {
      fact: fact.kind,
      reason,
      payment_id: origin?.paymentId ?? null,
      provider_payment_id: fact.providerPaymentId,
      amount_cents: fact.amountCents,
      currency: fact.currency,
      entries,
      taken_back: {},
    } satisfies DocumentOf<typeof kind>,
  });
  if (outcome === 'conflict') {
    await changeDocument(ledger, { kind, id: idOf(fact) }, ({ data }) =>
      data.reason === reason && hasAll(data.entries, entries)
        ? undefined
        : { data: { ...data, reason, entries: { ...data.entries, ...entries } } },
    );
  }
  if (reason !== 'payment_unbooked') return;
  await changeDocument(ledger, { kind, id: fact.providerPaymentId }, ({ data }) =>
    data.currency !== fact.currency || hasAll(data.taken_back, entries)
      ? undefined
      : { data: { ...data, taken_back: { ...data.taken_back, ...entries } } },
  );
}

/**
 * The facts that are not settled, newest first.
 *
 * The ledger is asked about every kept fact, because an entry can also come from the command line
 * or another process. Settled facts are read again each time; there are few, because each is an
 * exception that raised an alarm.
 */
export async function listUnbooked(
  ledger: PaymentLedger,
  page: { readonly before: bigint | undefined; readonly limit: number },
): Promise<readonly Known<'unbooked_payment'>[]> {
  const open: Known<'unbooked_payment'>[] = [];
  let { before } = page;
  let isLast = false;
  while (!isLast && open.length < page.limit) {
    const documents = await ledger.listDocuments({
      kind: 'unbooked_payment',
      before,
      limit: BATCH,
    });
    const known = documents.map((document) => knownAs('unbooked_payment', document));
    open.push(...(await unsettledOf(ledger, known)));
    before = documents.at(-1)?.seq;
    isLast = documents.length < BATCH;
  }
  return open.slice(0, page.limit);
}

async function unsettledOf(
  ledger: PaymentLedger,
  kept: readonly Known<'unbooked_payment'>[],
): Promise<readonly Known<'unbooked_payment'>[]> {
  const payments = new Map<string, DocumentOf<'unbooked_payment'>>();
  for (const { data } of kept) {
    const id = data.provider_payment_id;
    if (data.reason !== 'payment_unbooked' || payments.has(id)) continue;
    const payment = await findDocument(ledger, 'unbooked_payment', id);
    if (payment !== undefined) payments.set(id, payment.data);
  }
  const facts = [...kept.map(({ data }) => data), ...payments.values()];
  const ids = new Set(facts.flatMap(({ entries }) => Object.keys(entries)));
  const found = await ledger.findEntries([...ids]);
  const entries = new Map(found.map((entry) => [entry.id, entry]));
  return kept.filter(({ data }) => {
    if (isBooked(data, entries)) return false;
    if (data.fact === 'paid') return !isPaidBack(data);
    // If the payment was paid back in full before it was booked, its refunds have nothing to book.
    // Until then the payment may still be booked, and its refunds with it.
    const payment = payments.get(data.provider_payment_id);
    return payment === undefined || isBooked(payment, entries) || !isPaidBack(payment);
  });
}

/** If the reason is `conflict`, the ledger has the entry's id, but perhaps with another amount. */
function isBooked(
  { entries, reason, currency }: DocumentOf<'unbooked_payment'>,
  found: ReadonlyMap<string, LedgerEntry>,
): boolean {
  return Object.entries(entries).every(([id, cents]) => {
    const entry = found.get(id);
    if (entry === undefined) return false;
    // What an entry in another currency is worth is not known here.
    const isCompared = reason === 'conflict' && currency === 'usd';
    return !isCompared || grossOf(entry) === unitsFromCents(cents);
  });
}

/** Whether refunds and disputes took all of a payment from the operator. */
function isPaidBack({ amount_cents, taken_back }: DocumentOf<'unbooked_payment'>): boolean {
  return Object.values(taken_back).reduce((sum, cents) => sum + cents, amount_cents) <= 0;
}

function hasAll(
  record: Readonly<Record<string, number>>,
  part: Readonly<Record<string, number>>,
): boolean {
  return Object.keys(part).every((key) => Object.hasOwn(record, key));
}
