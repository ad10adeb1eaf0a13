/** Makes a credit one whose expiry has passed, as far as a test of a real database can wait. */

import type { StoreUnderTest } from './subject.js';

/**
 * Puts the expiry of the account's credits that expire at this time into the last second. Nothing
 * is booked. May replace the store.
 */
export async function letCreditExpire(
  { tamper, literal }: Pick<StoreUnderTest, 'tamper' | 'literal'>,
  accountId: string,
  expiresAt: Date,
): Promise<void> {
  const [before, passed] = [expiresAt, new Date(Date.now() - 1)].map(literal.time);
  const set = (table: string, column: string, id: string) =>
    `UPDATE ${table} SET ${column} = ${passed ?? ''} WHERE ${id} = '${accountId}' ` +
    `AND ${column} = ${before ?? ''}`;
  await tamper(
    [
      set('ledger', 'expires_at', 'account_id'),
      set('credit_lot', 'expires_at', 'account_id'),
      set('account', 'next_expiry_at', 'id'),
    ].join('; '),
    'disabled',
  );
}
