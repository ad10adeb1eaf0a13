/**
 * Books the facts that a provider reports, each once, because every ledger id is derived from the
 * provider's id. Facts may be repeated, or come in parallel and in any order; the resulting ledger
 * is the same, except that of two payments with one origin the first to arrive is credited.
 */

import type { Logger } from 'pino';
import type { Actor, EventType } from '@gateway/balance-store';
import { formatUsd } from '@gateway/billing';
import type {
  DisputeFact,
  PaidFact,
  PaymentFact,
  PaymentProvider,
  RefundFact,
} from '@gateway/payments';
import { unitsFromCents } from '../config/cents.js';
import type { PaymentLedger } from '../ledger/open-store.js';
import { creditId, idOf, impliedEntries } from './implied-entries.js';
import type { MoneyFact } from './implied-entries.js';
import { changeDocument, findDocument } from './payment-ledger.js';
import type { DocumentOf } from './payment-ledger.js';
import { stopBeforeDebit } from './stop-auto-top-up.js';
import { keepUnbooked } from './unbooked-payments.js';
import type { UnbookedReason } from './unbooked-payments.js';

/**
 * `booked`: the fact is now in the ledger. `known`: it already was. `noted`: no money moved.
 * `foreign`: it belongs to something else that uses the provider's account. `unbooked`: the ledger
 * cannot book the money.
 */
export const FACT_OUTCOMES = ['booked', 'known', 'noted', 'foreign', 'unbooked'] as const;
export type FactOutcome = (typeof FACT_OUTCOMES)[number];

export interface FactBooks {
  readonly ledger: PaymentLedger;
  readonly provider: Pick<PaymentProvider, 'name' | 'mode' | 'findPaid'>;
  readonly log: Logger;
}

/**
 * @throws {StoreUnavailableError | PaymentProviderError} The fact may or may not be booked: repeat
 * the call.
 */
export function bookFact(
  books: FactBooks,
  fact: Exclude<PaymentFact, { readonly kind: 'method_saved' }>,
): Promise<FactOutcome> {
  switch (fact.kind) {
    case 'paid':
      return bookPaid(books, fact);
    case 'refund':
      return bookRefund(books, fact);
    case 'dispute':
      return bookDispute(books, fact);
    case 'pending':
      return note(books, fact.origin.paymentId, { state: 'pending' });
    case 'expired':
      return note(books, fact.origin.paymentId, { state: 'expired' });
    case 'failed':
      return noteFailure(books, fact.origin, fact.code);
  }
}

async function bookPaid(books: FactBooks, fact: PaidFact): Promise<FactOutcome> {
  const { ledger, provider } = books;
  const { origin, providerPaymentId } = fact;
  if (origin === undefined) return 'foreign';
  const started = await findDocument(ledger, 'payment', origin.paymentId);
  if (started === undefined) return unbooked(books, fact, 'unknown_payment');
  if (fact.mode !== provider.mode) return unbooked(books, fact, 'other_mode');
  if (fact.currency !== 'usd') return unbooked(books, fact, 'other_currency');
  if (fact.amountCents !== started.data.amount_cents) {
    return unbooked(books, fact, 'other_amount');
  }
  const { accountId } = started;
  if (origin.accountId !== accountId) return unbooked(books, fact, 'other_account');
  // A payment can be paid only once. The first fact to arrive claims it.
  const claimed = await changeDocument(ledger, { kind: 'payment', id: started.id }, ({ data }) =>
    data.provider_payment_id === null
      ? { data: { ...data, state: 'paid', provider_payment_id: providerPaymentId, url: null } }
      : undefined,
  );
  if (claimed?.data.provider_payment_id !== providerPaymentId) {
    return unbooked(books, fact, 'second_payment');
  }
  const amount = unitsFromCents(fact.amountCents);
  const credited = await ledger.topUp({
    topUpId: `${provider.name}:${providerPaymentId}`,
    to: { accountId },
    amount,
    source: 'paid',
    reference: providerPaymentId,
    by: actorOf(books),
  });
  if (credited.outcome === 'unknown') return unbooked(books, fact, 'account_gone');
  if (credited.outcome === 'conflict') return unbooked(books, fact, 'conflict');
  await recordOnce(books, 'payment.succeeded', providerPaymentId, accountId, {
    payment_id: started.id,
    provider_payment_id: providerPaymentId,
    amount: formatUsd(amount),
    balance: formatUsd(credited.balance),
  });
  return credited.outcome === 'credited' ? 'booked' : 'known';
}

async function bookRefund(books: FactBooks, fact: RefundFact): Promise<FactOutcome> {
  const accountId = await accountOf(books, fact);
  if (typeof accountId !== 'object') return accountId;
  const { refundId, amountCents, providerPaymentId } = fact;
  const outcome = await adjustAll(books, fact, accountId.id, 'refund');
  if (outcome !== 'unbooked') {
    await recordOnce(books, 'refund.created', refundId, accountId.id, {
      refund_id: refundId,
      provider_payment_id: providerPaymentId,
      amount: formatUsd(unitsFromCents(amountCents)),
    });
  }
  return outcome;
}

async function bookDispute(books: FactBooks, fact: DisputeFact): Promise<FactOutcome> {
  const accountId = await accountOf(books, fact);
  if (typeof accountId !== 'object') return accountId;
  const { disputeId, amountCents, providerPaymentId, status, state } = fact;
  const outcome =
    state === 'inquiry' ? 'noted' : await adjustAll(books, fact, accountId.id, 'chargeback');
  if (outcome === 'unbooked') return outcome;
  const data = {
    dispute_id: disputeId,
    provider_payment_id: providerPaymentId,
    amount: formatUsd(unitsFromCents(amountCents)),
  };
  await recordOnce(books, 'dispute.opened', disputeId, accountId.id, data);
  if (['won', 'lost', 'warning_closed'].includes(status)) {
    const closing = `${disputeId}_${status}`;
    await recordOnce(books, 'dispute.closed', closing, accountId.id, { ...data, status });
  }
  return outcome;
}

/**
 * The account that a payment was credited to. If the payment is not credited yet, it is credited
 * first.
 */
async function accountOf(
  books: FactBooks,
  fact: RefundFact | DisputeFact,
): Promise<{ readonly id: string } | 'foreign' | 'unbooked'> {
  const { ledger, provider } = books;
  const { providerPaymentId } = fact;
  const entryId = creditId(provider.name, providerPaymentId);
  const find = async () => (await ledger.findEntries([entryId]))[0]?.accountId;
  let id = await find();
  if (id === undefined) {
    const paid = await provider.findPaid(providerPaymentId);
    if (paid?.origin === undefined) return 'foreign';
    if ((await bookPaid(books, paid)) === 'unbooked') {
      return unbooked(books, fact, 'payment_unbooked');
    }
    id = await find();
  }
  if (id === undefined) throw new Error(`the credit ${entryId} is not in the ledger`);
  return fact.currency === 'usd' ? { id } : unbooked(books, fact, 'other_currency');
}

async function adjustAll(
  books: FactBooks,
  fact: RefundFact | DisputeFact,
  accountId: string,
  reason: 'refund' | 'chargeback',
): Promise<'booked' | 'known' | 'unbooked'> {
  let outcome: 'booked' | 'known' = 'known';
  for (const { entryId, bookingId, cents } of impliedEntries(books.provider.name, fact)) {
    if (cents < 0) await stopBeforeDebit(books.ledger, { entryId, accountId, reason });
    const adjusted = await books.ledger.adjust({
      adjustmentId: bookingId,
      accountId,
      amount: unitsFromCents(cents),
      reason,
      reference: fact.providerPaymentId,
      by: actorOf(books),
    });
    switch (adjusted.outcome) {
      case 'conflict':
        return unbooked(books, fact, 'conflict');
      case 'unknown_account':
        return unbooked(books, fact, 'account_gone');
      case 'adjusted':
        outcome = 'booked';
        break;
      case 'replayed':
        break;
    }
  }
  return outcome;
}

/** Changes the displayed state of a payment that is not paid. */
async function note(
  { ledger }: FactBooks,
  paymentId: string,
  change: Pick<DocumentOf<'payment'>, 'state'> & Partial<DocumentOf<'payment'>>,
): Promise<'noted' | 'foreign'> {
  const known = await changeDocument(ledger, { kind: 'payment', id: paymentId }, ({ data }) =>
    isLater(data.state, change.state) ? { data: { ...data, ...change, url: null } } : undefined,
  );
  return known === undefined ? 'foreign' : 'noted';
}

/** A notification that arrives after a later one changes nothing. */
function isLater(
  now: DocumentOf<'payment'>['state'],
  next: DocumentOf<'payment'>['state'],
): boolean {
  return now === 'open' || (now === 'pending' && next === 'failed');
}

async function noteFailure(
  books: FactBooks,
  { paymentId, accountId }: { readonly paymentId: string; readonly accountId: string },
  code: string,
): Promise<'noted' | 'foreign'> {
  // The event comes first, because the process may end in between. A failure that was noted before
  // has no event again.
  const known = await findDocument(books.ledger, 'payment', paymentId);
  if (known !== undefined && isLater(known.data.state, 'failed')) {
    const data = { payment_id: paymentId, code };
    await record(books, 'payment.failed', paymentId, accountId, data);
  }
  return note(books, paymentId, { state: 'failed', code });
}

/** Keeps the fact, and raises an alarm. */
async function unbooked(
  { ledger, provider, log }: FactBooks,
  fact: MoneyFact,
  reason: UnbookedReason,
): Promise<'unbooked'> {
  const id = idOf(fact);
  const { providerPaymentId, amountCents, currency } = fact;
  const origin = 'origin' in fact ? fact.origin : undefined;
  const data = { fact: fact.kind, reason, provider_payment_id: providerPaymentId };
  const payment = { payment_id: origin?.paymentId ?? null, amount_cents: amountCents, currency };
  log.error({ ...data, ...payment, id }, 'payment not booked');
  const kept = await findDocument(ledger, 'unbooked_payment', id);
  if (kept?.data.reason !== reason) {
    await record({ ledger }, 'payment.unbooked', id, origin?.accountId ?? '', data);
  }
  await keepUnbooked(ledger, provider.name, fact, reason);
  return 'unbooked';
}

function actorOf({ provider }: FactBooks): Actor {
  return { name: provider.name };
}

/**
 * Writes an event unless it was ever written. It is also called for a fact that was booked before,
 * because the process may have ended before it wrote the event. The mark remains when the event is
 * deleted after 30 days: a dispute, for example, may change months later.
 */
async function recordOnce(
  { ledger }: Pick<FactBooks, 'ledger'>,
  ...[type, id, accountId, data]: EventOfFact
): Promise<void> {
  const mark = { kind: 'written_event', id: eventIdOf(type, id) } as const;
  if ((await findDocument(ledger, mark.kind, mark.id)) !== undefined) return;
  await record({ ledger }, type, id, accountId, data);
  await ledger.writeDocument({ ...mark, accountId, version: 0, data: {} });
}

/** Writes an event. Its id prevents a second one only until the first one is deleted. */
function record(
  { ledger }: Pick<FactBooks, 'ledger'>,
  ...[type, id, accountId, data]: EventOfFact
): Promise<void> {
  return ledger.recordEvent({ id: eventIdOf(type, id), type, accountId, keyId: undefined, data });
}

type EventOfFact = readonly [
  type: EventType,
  id: string,
  accountId: string,
  data: Readonly<Record<string, string>>,
];

function eventIdOf(type: EventType, id: string): string {
  return `evt_${type.replaceAll('.', '_')}_${id}`;
}
