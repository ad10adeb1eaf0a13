/**
 * What a payment was paid as, and what is credited for it: in USD what was paid without its tax, in
 * another currency what the provider settled it as, or what it is worth at a rate that an operator
 * stated.
 */

import { formatUsd, parseUsd } from '@gateway/billing';
import { minorDigitsOf } from '@gateway/payments';
import type { PaidFact, PaymentDetails, PaymentProvider, PaymentTax } from '@gateway/payments';
import { unitsFromCents } from '../config/cents.js';
import type { DocumentOf } from './payment-ledger.js';
import type { Whole } from './proportions.js';
import type { UnbookedReason } from './unbooked-payments.js';

export type PaidMoney = NonNullable<DocumentOf<'payment'>['paid']>;

const NO_TAX: PaymentTax = { amountCents: 0, percent: undefined, country: undefined };
/** The decimals of a rate that an operator states: with them, every credit is exact. */
export const RATE_DECIMALS = 10;

/**
 * @param started - The payment as it was started.
 * @returns the reason why the ledger cannot book it, or the money
 */
export async function paidMoneyOf(
  provider: Pick<PaymentProvider, 'readDetails'>,
  fact: PaidFact,
  started: DocumentOf<'payment'>,
): Promise<PaidMoney | UnbookedReason> {
  const isUsd = fact.currency === 'usd';
  if (isUsd && (started.tax === null || started.tax === 'off')) {
    if (fact.amountCents !== started.amount_cents) return 'other_amount';
    return moneyOf(fact, { tax: NO_TAX, gross: unitsFromCents(fact.amountCents), rate: null });
  }
  const details = await provider.readDetails(fact.providerPaymentId);
  if (details === undefined) return 'not_settled';
  const { tax, paid } = details;
  if (fact.currency !== paid.currency) return 'other_currency';
  if (fact.amountCents !== paid.amountCents || tax.amountCents >= paid.amountCents) {
    return 'other_amount';
  }
  if (isUsd) {
    const asked = started.tax === 'added' ? fact.amountCents - tax.amountCents : fact.amountCents;
    if (asked !== started.amount_cents) return 'other_amount';
    return moneyOf(fact, { tax, gross: unitsFromCents(fact.amountCents), rate: null });
  }
  const worth = worthOf(details, started.stated_rate);
  return typeof worth === 'string' ? worth : moneyOf(fact, { tax, ...worth });
}

interface Worth {
  /** In units of 10^-14 USD. */
  readonly gross: bigint;
  readonly rate: { readonly text: string; readonly by: 'provider' | 'operator' } | null;
}

function worthOf({ paid, settled }: PaymentDetails, statedRate: string | null) {
  if (settled?.currency === 'usd') {
    const rate =
      settled.exchangeRate === undefined
        ? null
        : ({ text: settled.exchangeRate, by: 'provider' } as const);
    return { gross: unitsFromCents(settled.amountCents), rate };
  }
  if (statedRate !== null) {
    const rate = { text: statedRate, by: 'operator' } as const;
    return { gross: unitsAt(statedRate, paid), rate };
  }
  return settled === undefined ? 'not_settled' : 'other_currency';
}

/** Exact: a rate has at most {@link RATE_DECIMALS} decimals. */
function unitsAt(
  rate: string,
  { amountCents, currency }: { readonly amountCents: number; readonly currency: string },
): bigint {
  return (BigInt(amountCents) * parseUsd(rate)) / 10n ** BigInt(minorDigitsOf(currency));
}

function moneyOf(
  { amountCents, currency }: PaidFact,
  { tax, gross, rate }: Worth & { readonly tax: PaymentTax },
): PaidMoney {
  const taxUsd = (gross * BigInt(tax.amountCents)) / BigInt(amountCents);
  return {
    amount_cents: amountCents,
    currency,
    tax_cents: tax.amountCents,
    tax_percent: tax.percent ?? null,
    tax_country: tax.country ?? null,
    credited_usd: formatUsd(gross - taxUsd),
    tax_usd: formatUsd(taxUsd),
    rate: rate?.text ?? null,
    rate_by: rate?.by ?? null,
  };
}

/** A payment of which refunds and disputes take parts back. */
export function wholeOf(paid: PaidMoney): Whole {
  return {
    amountCents: paid.amount_cents,
    credited: parseUsd(paid.credited_usd),
    tax: parseUsd(paid.tax_usd),
    grain: paid.currency === 'usd' ? unitsFromCents(1) : 1n,
  };
}
