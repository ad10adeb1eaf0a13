/**
 * The events that a change of an account's balance causes: once when the balance becomes low, the
 * account exhausted or a share of it used, not for each change after that. `settle_batch` has the
 * same rules for charges on PostgreSQL.
 */

import type { NewEvent } from '../../event.js';
import type { EmptiedBy } from '../../account.js';
import { numericFromUnits } from '../../numeric.js';
import { reachedShares } from './notice-shares.js';

interface Funds {
  readonly balance: bigint;
  readonly uncovered: bigint;
}

/**
 * A fall that charges did not cause is not called use: its events name the cause, and there is one
 * event for all shares at most, so that a single booking is not reported again and again.
 *
 * @param account - After the change; its `noticeBase` is that of before.
 * @param cause - Absent for charges.
 */
export function balanceEvents(
  account: Funds & {
    readonly id: string;
    readonly lowBalance: bigint | null;
    readonly noticeShares: readonly number[];
    readonly noticeBase: bigint;
  },
  before: Funds,
  cause?: EmptiedBy,
): readonly NewEvent[] {
  const { id, lowBalance, noticeShares, noticeBase, balance, uncovered } = account;
  const event = { accountId: id, keyId: undefined };
  const named: Readonly<Record<string, string>> = cause === undefined ? {} : { cause };
  const events: NewEvent[] = [];
  if (lowBalance !== null && before.balance > lowBalance && balance <= lowBalance) {
    const data = { balance: numericFromUnits(balance), threshold: numericFromUnits(lowBalance) };
    events.push({ ...event, type: 'balance.low', data: { ...data, ...named } });
  }
  const wasFunded = before.balance > 0n && before.uncovered === 0n;
  const isExhausted = wasFunded && (balance <= 0n || uncovered > 0n);
  if (isExhausted) {
    const data = { balance: numericFromUnits(balance), ...named };
    events.push({ ...event, type: 'balance.exhausted', data });
  }
  const used = {
    whole: noticeBase,
    before: noticeBase - before.balance,
    after: noticeBase - balance,
  };
  const reached = reachedShares(noticeShares, used);
  const announced = cause === undefined ? reached : isExhausted ? [] : reached.slice(-1);
  for (const share of announced) {
    const [now, full] = [numericFromUnits(balance), numericFromUnits(noticeBase)];
    const data = { share: String(share), balance: now, full, ...named };
    events.push({ ...event, type: 'balance.share', data });
  }
  return events;
}
