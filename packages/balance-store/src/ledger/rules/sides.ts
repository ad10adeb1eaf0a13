/**
 * The sides of the books: between which accounts an entry moves money. An amount above zero is what
 * the operator owes or has earned, so the amounts of an entry always sum to 0.
 */

import type { CreditSource, EntryReason } from '../../account.js';

/** The two kinds of a customer's money. */
export const PAID = 'balance:paid';
export const GIVEN = 'balance:given';
/** The parts of charges that were paid from given money. */
export const REDEEMED = 'redeemed';
/** The other side of what earlier versions booked. */
export const UNKNOWN = 'unknown';
/** What was given for free, less what of it expired. */
export const GIFTS = 'given';
/** Paid credit that expired. */
export const BREAKAGE = 'breakage';
export const TRANSFERS = 'transfers';
const TAX = 'tax';
const FEES = 'fees';

export interface Side {
  readonly side: string;
  /** In units of 10^-14 USD. */
  readonly amount: bigint;
}

export interface Movement {
  readonly delta: bigint;
  readonly given: bigint;
  readonly counter: string;
  readonly tax: bigint;
  readonly fee: bigint;
}

/** Of an entry that is neither a charge nor `opening`. */
export function sidesOf({ delta, given, counter, tax, fee }: Movement): readonly Side[] {
  return moved([
    { side: PAID, amount: delta - given },
    { side: GIVEN, amount: given },
    { side: TAX, amount: tax },
    { side: FEES, amount: -fee },
    { side: counter, amount: fee - tax - delta },
  ]);
}

/** Of an entry `opening`. All that was spent before counts as paid: nobody recorded the rest. */
export function openingSides(account: {
  readonly balance: bigint;
  readonly spent: bigint;
  readonly given: bigint;
}): readonly Side[] {
  const { balance, spent, given } = account;
  return moved([
    { side: PAID, amount: balance + spent - given },
    { side: GIVEN, amount: given },
    { side: UNKNOWN, amount: -balance - spent },
  ]);
}

/** Of charges of which this part was paid from given money. */
export function redeemedSides(given: bigint): readonly Side[] {
  return moved([
    { side: GIVEN, amount: -given },
    { side: REDEEMED, amount: given },
  ]);
}

function moved(sides: readonly Side[]): readonly Side[] {
  return sides.filter(({ amount }) => amount !== 0n);
}

/** From where a credit comes if its caller does not say. */
export function counterOfCredit(source: CreditSource): string {
  return source === 'promotional' ? GIFTS : 'cash:manual';
}

/** The other side of an adjustment if its caller does not say. */
export const COUNTER_OF_REASON: Readonly<Record<Exclude<EntryReason, 'fee' | 'opening'>, string>> =
  {
    refund: 'refunds',
    chargeback: 'refunds',
    correction: 'corrections',
    goodwill: GIFTS,
    write_off: 'bad_debt',
    transfer: TRANSFERS,
  };
