/**
 * The events that a change of an account's balance causes: once when the balance becomes low, the
 * account exhausted or a share of it used, not for each change after that. `settle_batch` has the
 * same rules for charges on PostgreSQL.
 */

import type { NewEvent } from '../event.js';
import { numericFromUnits } from '../numeric.js';
import { reachedShares } from './notice-shares.js';

interface Funds {
  readonly balance: bigint;
  readonly uncovered: bigint;
}

/** @param account - After the change. */
export function balanceEvents(
  account: Funds & {
    readonly id: string;
    readonly lowBalance: bigint | null;
    readonly noticeShares: readonly number[];
    readonly noticeBase: bigint;
  },
  before: Funds,
): readonly NewEvent[] {
  const { id, lowBalance, noticeShares, noticeBase, balance, uncovered } = account;
  const event = { accountId: id, keyId: undefined };
  const events: NewEvent[] = [];
  if (lowBalance !== null && before.balance > lowBalance && balance <= lowBalance) {
    const data = { balance: numericFromUnits(balance), threshold: numericFromUnits(lowBalance) };
    events.push({ ...event, type: 'balance.low', data });
  }
  const wasFunded = before.balance > 0n && before.uncovered === 0n;
  if (wasFunded && (balance <= 0n || uncovered > 0n)) {
    events.push({
      ...event,
      type: 'balance.exhausted',
      data: { balance: numericFromUnits(balance) },
    });
  }
  const used = {
    whole: noticeBase,
    before: noticeBase - before.balance,
    after: noticeBase - balance,
  };
  for (const share of reachedShares(noticeShares, used)) {
    const [now, full] = [numericFromUnits(balance), numericFromUnits(noticeBase)];
    const data = { share: String(share), balance: now, full };
    events.push({ ...event, type: 'balance.share', data });
  }
  return events;
}
