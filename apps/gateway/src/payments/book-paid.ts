/** Credits payments, each once, without the tax that the provider states. */

import { formatUsd, parseUsd } from '@gateway/billing';
import { decimalOf } from '@gateway/payments';
import type { PaidFact } from '@gateway/payments';
import { actorOf, cashOf, recordOnce, unbooked } from './fact-books.js';
import type { FactBooks, FactOutcome } from './fact-books.js';
import { paidMoneyOf } from './paid-money.js';
import type { PaidMoney } from './paid-money.js';
import { changeDocument, findDocument } from './payment-ledger.js';
import type { Known } from './payment-ledger.js';

export async function bookPaid(books: FactBooks, fact: PaidFact): Promise<FactOutcome> {
  const { ledger, provider } = books;
  const { origin, providerPaymentId } = fact;
  if (origin === undefined) return 'foreign';
  const started = await findDocument(ledger, 'payment', origin.paymentId);
  if (started === undefined) return unbooked(books, fact, 'unknown_payment');
  if (fact.mode !== provider.mode) return unbooked(books, fact, 'other_mode');
  const { accountId } = started;
  if (origin.accountId !== accountId) return unbooked(books, fact, 'other_account');
  const money = knownMoney(started, fact) ?? (await paidMoneyOf(provider, fact, started.data));
  if (typeof money === 'string') return unbooked(books, fact, money);
  // A payment can be paid only once. The first fact to arrive claims it, and decides what is
  // credited: the provider may state something else when it is asked again.
  const claimed = await changeDocument(ledger, { kind: 'payment', id: started.id }, ({ data }) =>
    data.provider_payment_id === null
      ? {
          data: {
            ...data,
            state: 'paid',
            provider_payment_id: providerPaymentId,
            url: null,
            paid: money,
          },
        }
      : undefined,
  );
  if (claimed?.data.provider_payment_id !== providerPaymentId) {
    return unbooked(books, fact, 'second_payment');
  }
  return credit(books, fact, { id: started.id, accountId, paid: claimed.data.paid ?? money });
}

/** What was decided before for the same payment. */
function knownMoney({ data }: Known<'payment'>, fact: PaidFact): PaidMoney | undefined {
  const { paid, provider_payment_id: id } = data;
  if (paid === null || id !== fact.providerPaymentId) return undefined;
  const isSame = paid.amount_cents === fact.amountCents && paid.currency === fact.currency;
  return isSame ? paid : undefined;
}

async function credit(
  books: FactBooks,
  fact: PaidFact,
  payment: { readonly id: string; readonly accountId: string; readonly paid: PaidMoney },
): Promise<FactOutcome> {
  const { ledger, provider } = books;
  const { providerPaymentId, amountCents, currency } = fact;
  const { id, accountId, paid } = payment;
  const credited = await ledger.topUp({
    topUpId: `${provider.name}:${providerPaymentId}`,
    to: { accountId },
    amount: parseUsd(paid.credited_usd),
    tax: parseUsd(paid.tax_usd),
    counter: cashOf(provider),
    source: 'paid',
    reference: providerPaymentId,
    by: actorOf(provider),
  });
  switch (credited.outcome) {
    case 'unknown':
      return unbooked(books, fact, 'account_gone');
    case 'account_closed':
    case 'conflict':
      return unbooked(books, fact, credited.outcome);
    case 'no_usable_key':
      // What a customer has paid is credited in any case.
      throw new Error('a payment was refused because no key can be used');
    case 'credited':
    case 'replayed':
      break;
  }
  await recordOnce(books, 'payment.succeeded', providerPaymentId, accountId, {
    payment_id: id,
    provider_payment_id: providerPaymentId,
    amount: paid.credited_usd,
    tax: paid.tax_usd,
    paid: decimalOf({ amountCents, currency }),
    currency,
    balance: formatUsd(credited.balance),
  });
  return credited.outcome === 'credited' ? 'booked' : 'known';
}
