/** The first credit of a new account or key: its fields, and its part of the result. */

import { z } from 'zod';
import type { Creation } from '@gateway/balance-store';
import { formatUsd } from '@gateway/billing';
import { amountUsd, help, time } from '../../endpoints/fields.js';
import { invalidInput } from '../../endpoints/operation-error.js';
import type { OperationError } from '../../endpoints/operation-error.js';

export const creditSource = z
  .enum(['paid', 'promotional'])
  .default('paid')
  .register(help, { says: 'the credit is a gift, not paid for' });

/** When the unused part of a credit expires. */
export const creditExpiry = time
  .optional()
  .register(help, { says: 'when the unused part of the credit expires' });

export const firstCreditFields = {
  balance_usd: amountUsd.optional().register(help, { says: 'first credit, such as 5 or 0.25' }),
  credit_source: creditSource,
  credit_expires_at: creditExpiry,
};

/**
 * @returns `undefined` if there is no first credit
 * @throws {OperationError} if the input describes a first credit without its amount
 */
export function firstCreditOf(input: {
  readonly balance_usd?: bigint | undefined;
  readonly credit_source: 'paid' | 'promotional';
  readonly credit_expires_at?: Date | undefined;
}): Creation['credit'] {
  if (input.balance_usd === undefined) {
    if (input.credit_source === 'promotional') throw withoutAmount('credit_source');
    if (input.credit_expires_at !== undefined) throw withoutAmount('credit_expires_at');
    return undefined;
  }
  return {
    amount: input.balance_usd,
    source: input.credit_source,
    expiresAt: input.credit_expires_at,
  };
}

function withoutAmount(field: string): OperationError {
  const message = `${field}: describes a first credit, so balance_usd is required`;
  return invalidInput(message);
}

/** A repetition has the same credit as the creation that it repeats. */
export function firstCreditView(credit: Creation['credit']) {
  if (credit === undefined) return null;
  return {
    amount_usd: formatUsd(credit.amount),
    source: credit.source,
    expires_at: credit.expiresAt?.toISOString() ?? null,
  };
}
