/**
 * Books refunds and disputes of payments. Each takes its part of the credit and of the tax. A
 * refund that failed and a dispute that was won reverse exactly the entry that took the money.
 */

import type { AdjustmentOutcome, ReversalOutcome } from '@gateway/balance-store';
import { formatUsd, parseUsd } from '@gateway/billing';
import { decimalOf } from '@gateway/payments';
import type { DisputeFact, RefundFact } from '@gateway/payments';
import { unitsFromCents } from '../config/cents.js';
import { bookPaid } from './book-paid.js';
import { actorOf, cashOf, findEntry, recordOnce, unbooked } from './fact-books.js';
import type { FactBooks, FactOutcome } from './fact-books.js';
import { creditId, grossOf, idOf, impliedEntries, taxOf } from './implied-entries.js';
import type { ImpliedEntry } from './implied-entries.js';
import { wholeOf } from './paid-money.js';
import { changeDocument, findPaymentOf } from './payment-ledger.js';
import type { DocumentOf, Known } from './payment-ledger.js';
import { nextPart } from './proportions.js';
import { stopBeforeDebit } from './stop-auto-top-up.js';
import type { UnbookedReason } from './unbooked-payments.js';

type MoneyBack = RefundFact | DisputeFact;
/** `undefined`: an operator credited the payment, or an earlier version did. It has no tax. */
type Taxed = Known<'payment'> | undefined;

export async function bookRefund(books: FactBooks, fact: RefundFact): Promise<FactOutcome> {
  const credited = await creditedBy(books, fact);
  if (typeof credited === 'string') return credited;
  const { refundId, providerPaymentId } = fact;
  const outcome = await bookEntries(books, fact, credited, 'refund');
  if (outcome !== 'unbooked') {
    await recordOnce(books, 'refund.created', refundId, credited.accountId, {
      refund_id: refundId,
      provider_payment_id: providerPaymentId,
      ...(await takenBy(books, fact)),
    });
  }
  return outcome;
}

export async function bookDispute(books: FactBooks, fact: DisputeFact): Promise<FactOutcome> {
  const credited = await creditedBy(books, fact);
  if (typeof credited === 'string') return credited;
  const { accountId } = credited;
  const { disputeId, providerPaymentId, status, state } = fact;
  const outcome =
    state === 'inquiry' ? 'noted' : await bookEntries(books, fact, credited, 'chargeback');
  if (outcome === 'unbooked') return outcome;
  const data = {
    dispute_id: disputeId,
    provider_payment_id: providerPaymentId,
    ...(await takenBy(books, fact)),
  };
  await recordOnce(books, 'dispute.opened', disputeId, accountId, data);
  if (['won', 'lost', 'warning_closed'].includes(status)) {
    const closing = `${disputeId}_${status}`;
    await recordOnce(books, 'dispute.closed', closing, accountId, { ...data, status });
  }
  return outcome;
}

/** The amounts of an event: what the customer got back, and what the balance and the tax lost. */
async function takenBy({ ledger, provider }: FactBooks, fact: MoneyBack) {
  const id = `adjustment:${provider.name}:${idOf(fact)}`;
  const entry = await findEntry(ledger, id);
  const paid = { paid: decimalOf(fact), currency: fact.currency };
  return entry === undefined
    ? { ...paid, amount: fact.currency === 'usd' ? decimalOf(fact) : '0', tax: '0' }
    : { ...paid, amount: formatUsd(-entry.delta), tax: formatUsd(-taxOf(entry)) };
}

interface CreditedPayment {
  readonly accountId: string;
  readonly payment: Taxed;
}

/** The account that a payment was credited to. If it is not credited yet, it is credited first. */
async function creditedBy(
  books: FactBooks,
  fact: MoneyBack,
): Promise<CreditedPayment | 'foreign' | 'unbooked'> {
  const { ledger, provider } = books;
  const { providerPaymentId, currency } = fact;
  const entryId = creditId(provider.name, providerPaymentId);
  let accountId = (await findEntry(ledger, entryId))?.accountId;
  if (accountId === undefined) {
    const paid = await provider.findPaid(providerPaymentId);
    if (paid?.origin === undefined) return 'foreign';
    if ((await bookPaid(books, paid)) === 'unbooked') {
      return unbooked(books, fact, 'payment_unbooked');
    }
    accountId = (await findEntry(ledger, entryId))?.accountId;
  }
  if (accountId === undefined) throw new Error(`the credit ${entryId} is not in the ledger`);
  const payment = await findPaymentOf(ledger, accountId, providerPaymentId);
  if (currency === (payment?.data.paid?.currency ?? 'usd')) return { accountId, payment };
  return unbooked(books, fact, 'other_currency');
}

async function bookEntries(
  books: FactBooks,
  fact: MoneyBack,
  credited: CreditedPayment,
  reason: 'refund' | 'chargeback',
): Promise<'booked' | 'known' | 'unbooked'> {
  let outcome: 'booked' | 'known' = 'known';
  for (const entry of impliedEntries(books.provider.name, fact)) {
    const done = await bookEntry(books, fact, { ...credited, entry, reason });
    if (done !== 'booked' && done !== 'known') return unbooked(books, fact, done);
    if (done === 'booked') outcome = done;
  }
  return outcome;
}

type EntryOutcome =
  'booked' | 'known' | Extract<UnbookedReason, 'conflict' | 'account_gone' | 'account_closed'>;

async function bookEntry(
  books: FactBooks,
  fact: MoneyBack,
  given: CreditedPayment & {
    readonly entry: ImpliedEntry;
    readonly reason: 'refund' | 'chargeback';
  },
): Promise<EntryOutcome> {
  const { ledger, provider } = books;
  const { accountId, payment, entry, reason } = given;
  const { entryId, bookingId: adjustmentId, cents, reverses } = entry;
  if (reverses !== undefined) await returnPart(books, fact, payment);
  const known = await findEntry(ledger, entryId);
  if (known !== undefined) {
    const isSame = fact.currency !== 'usd' || grossOf(known) === unitsFromCents(cents);
    return isSame && known.accountId === accountId ? 'known' : 'conflict';
  }
  const common = {
    adjustmentId,
    accountId,
    reference: fact.providerPaymentId,
    by: actorOf(provider),
  };
  if (reverses !== undefined) return outcomeOf(await ledger.reverse({ ...common, reverses }));
  const part = await takePart(books, fact, payment);
  await stopBeforeDebit(ledger, { entryId, accountId, reason });
  return outcomeOf(await ledger.adjust({ ...common, ...part, reason, counter: cashOf(provider) }));
}

function outcomeOf({ outcome }: AdjustmentOutcome | ReversalOutcome): EntryOutcome {
  switch (outcome) {
    case 'adjusted':
      return 'booked';
    case 'replayed':
      return 'known';
    case 'conflict':
    case 'not_reversible':
      return 'conflict';
    case 'unknown_account':
      return 'account_gone';
    case 'account_closed':
      return outcome;
  }
}

/**
 * Takes the part of a refund or a dispute from the payment, once, before its entry is booked: parts
 * that are taken at the same time must not count the same tax.
 */
async function takePart({ ledger }: FactBooks, fact: MoneyBack, payment: Taxed) {
  const whole = payment?.data.paid == null ? undefined : wholeOf(payment.data.paid);
  if (payment === undefined || whole === undefined) {
    return { amount: -unitsFromCents(fact.amountCents), tax: 0n };
  }
  const id = idOf(fact);
  const changed = await changeDocument(
    ledger,
    { kind: 'payment', id: payment.id },
    ({ data: { parts, ...data } }) => {
      if (parts.some((part) => part.id === id)) return undefined;
      const taken = parts.filter((part) => !part.is_undone).map(amountsOf);
      const next = nextPart(whole, taken, fact.amountCents);
      const part = {
        id,
        amount_cents: next.amountCents,
        credited_usd: formatUsd(next.credited),
        tax_usd: formatUsd(next.tax),
        is_undone: false,
      };
      return { data: { ...data, parts: [...parts, part] } };
    },
  );
  const part = changed?.data.parts.find((each) => each.id === id);
  if (part === undefined) throw new Error(`the payment ${payment.id} is gone`);
  const { credited, tax } = amountsOf(part);
  return { amount: -credited, tax: -tax };
}

function amountsOf(part: DocumentOf<'payment'>['parts'][number]) {
  return {
    amountCents: part.amount_cents,
    credited: parseUsd(part.credited_usd),
    tax: parseUsd(part.tax_usd),
  };
}

/** The part counts no longer as taken back. */
async function returnPart({ ledger }: FactBooks, fact: MoneyBack, payment: Taxed): Promise<void> {
  if (payment === undefined) return;
  const id = idOf(fact);
  const isTaken = (part: DocumentOf<'payment'>['parts'][number]) =>
    part.id === id && !part.is_undone;
  await changeDocument(ledger, { kind: 'payment', id: payment.id }, ({ data }) =>
    data.parts.some(isTaken)
      ? {
          data: {
            ...data,
            parts: data.parts.map((part) => (isTaken(part) ? { ...part, is_undone: true } : part)),
          },
        }
      : undefined,
  );
}
