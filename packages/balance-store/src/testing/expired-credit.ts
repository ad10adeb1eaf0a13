/** Makes a credit one whose expiry has passed, as far as a test of a real database can wait. */

import type { StoreUnderTest } from './subject.js';

/**
 * Puts the expiry of the accounts' credits that expire at this time into the last second, also
 * where the trail and transfers between them state it. Nothing is booked. May replace the store.
 */
export async function letCreditExpire(
  { tamper, literal }: Pick<StoreUnderTest, 'tamper' | 'literal'>,
  accountId: string,
  expiresAt: Date,
  ...others: readonly string[]
): Promise<void> {
  const passedMs = Date.now() - 1;
  const [before, passed] = [expiresAt, new Date(passedMs)].map(literal.time);
  const set = (table: string, column: string, id: string) =>
    `UPDATE ${table} SET ${column} = ${passed ?? ''} WHERE ${id} IN (${accountIds}) ` +
    `AND ${column} = ${before ?? ''}`;
  const accountIds = [accountId, ...others].map((id) => `'${id}'`).join(', ');
  const replaced = (table: string, column: string) =>
    `UPDATE ${table} SET ${column} = replace(${column}, ${texts}) WHERE account_id IN (${accountIds})`;
  const texts = [expiresAt, new Date(passedMs)].map((time) => `'${time.toISOString()}'`).join(', ');
  await tamper(
    [
      set('ledger', 'expires_at', 'account_id'),
      set('credit_lot', 'expires_at', 'account_id'),
      set('account', 'next_expiry_at', 'id'),
      replaced('trail', 'details'),
      replaced('ledger', 'lots'),
    ].join('; '),
    'disabled',
  );
}
