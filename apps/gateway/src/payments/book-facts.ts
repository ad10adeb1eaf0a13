/**
 * Books the facts that a provider reports, each once, because every ledger id is derived from the
 * provider's id. Facts may be repeated, or come in parallel and in any order; the resulting ledger
 * is the same, except that of two payments with one origin the first to arrive is credited.
 */

import type { PaymentFact } from '@gateway/payments';
import { bookDispute, bookRefund } from './book-money-back.js';
import { bookPaid } from './book-paid.js';
import { record } from './fact-books.js';
import type { FactBooks, FactOutcome } from './fact-books.js';
import { changeDocument, findDocument } from './payment-ledger.js';
import type { DocumentOf } from './payment-ledger.js';

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
