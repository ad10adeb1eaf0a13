/**
 * The money of the simulated Stripe: the tax of a page, and the balance transactions with their
 * fees. The figures are those of Stripe's documents: 2.9 % and 30 cents for a card, 15.00 for a
 * dispute, which are returned if it is won.
 *
 * https://docs.stripe.com/api/balance_transactions/object
 */

import type Stripe from 'stripe';
import { newId } from './objects.js';
import type { Base } from './objects.js';

/** A tax that applies to the customers who pay from now on. */
export interface SimulatedTax {
  readonly percent: number;
  /** Two letters. */
  readonly country: string;
  /** The part of the amount that is taxed; all of it when absent. */
  readonly taxableShare?: number;
}

/** The balance of the operator: its currency, and what one unit of others is worth in it. */
export interface SimulatedSettlement {
  readonly currency: string;
  readonly rates: Readonly<Record<string, number>>;
}

const CARD_FEE_SHARE = 0.029;
const CARD_FEE_CENTS = 30;
const DISPUTE_FEE_CENTS = 1_500;

export interface SimulatedMoney {
  readonly transactions: Map<string, Stripe.BalanceTransaction>;
  setTaxes(taxes: readonly SimulatedTax[]): void;
  setSettlement(settlement: SimulatedSettlement): void;
  /** What an amount is taxed with, on a page or in a calculation. */
  taxOf(amount: number, behavior: 'inclusive' | 'exclusive'): readonly TaxLine[];
  move(movement: Movement): Stripe.BalanceTransaction;
}

type TaxLine = Stripe.Checkout.Session.TotalDetails.Breakdown.Tax;

interface Movement {
  readonly category: 'charge' | 'refund' | 'refund_failure' | 'dispute' | 'dispute_reversal';
  readonly type: Stripe.BalanceTransaction['type'];
  readonly source: string;
  /** Negative if the operator pays. */
  readonly amount: number;
  readonly currency: string;
}

export function createMoney(base: () => Base): SimulatedMoney {
  const transactions = new Map<string, Stripe.BalanceTransaction>();
  let settlement: SimulatedSettlement = { currency: 'usd', rates: {} };
  let taxes: readonly SimulatedTax[] = [];

  function exchanged(amount: number, currency: string) {
    if (currency === settlement.currency) return { amount, rate: null };
    const rate = settlement.rates[currency];
    // Without a rate, the operator has a balance in this currency, too.
    if (rate === undefined) return { amount, rate: null, currency };
    return { amount: Math.round(amount * rate), rate };
  }

  return {
    transactions,
    setTaxes(next) {
      taxes = next;
    },
    setSettlement(next) {
      settlement = next;
    },
    taxOf(amount, behavior) {
      const percents = taxes.reduce((sum, { percent }) => sum + percent, 0);
      const net = behavior === 'exclusive' ? amount : (amount * 100) / (100 + percents);
      return taxes.map(({ percent, country, taxableShare = 1 }) => ({
        amount: Math.round((net * taxableShare * percent) / 100),
        rate: newTaxRate(base(), { percentage: percent, country, isInclusive: behavior }),
        taxability_reason: 'standard_rated',
        taxable_amount: Math.round(net * taxableShare),
      }));
    },
    move({ category, type, source, amount, currency }) {
      const { created } = base();
      const settled = exchanged(amount, currency);
      const fee = feeOf(category, settled.amount);
      const transaction: Stripe.BalanceTransaction = {
        id: newId('txn'),
        object: 'balance_transaction',
        amount: settled.amount,
        available_on: created,
        balance_type: 'payments',
        created,
        currency: settled.currency ?? settlement.currency,
        description: null,
        exchange_rate: settled.rate,
        fee,
        fee_details: [],
        net: settled.amount - fee,
        reporting_category: category,
        source,
        status: 'pending',
        type,
      };
      transactions.set(transaction.id, transaction);
      return transaction;
    },
  };
}

function feeOf(category: Movement['category'], amount: number): number {
  switch (category) {
    case 'charge':
      return Math.round(amount * CARD_FEE_SHARE) + CARD_FEE_CENTS;
    case 'dispute':
      return DISPUTE_FEE_CENTS;
    case 'dispute_reversal':
      return -DISPUTE_FEE_CENTS;
    case 'refund':
    case 'refund_failure':
      return 0;
  }
}

function newTaxRate(
  base: Base,
  given: {
    readonly percentage: number;
    readonly country: string;
    readonly isInclusive: 'inclusive' | 'exclusive';
  },
): Stripe.TaxRate {
  return {
    ...base,
    id: newId('txr'),
    object: 'tax_rate',
    active: true,
    country: given.country,
    description: null,
    display_name: 'VAT',
    effective_percentage: given.percentage,
    flat_amount: null,
    inclusive: given.isInclusive === 'inclusive',
    jurisdiction: null,
    jurisdiction_level: 'country',
    metadata: {},
    percentage: given.percentage,
    rate_type: 'percentage',
    state: null,
    tax_type: 'vat',
  };
}
