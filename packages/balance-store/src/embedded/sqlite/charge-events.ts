/** Writes the events that a batch of charges causes. */

import { capUses } from '../../ledger/cap-windows.js';
import { reachedShares } from '../../ledger/notice-shares.js';
import type { CapUse } from '../../key.js';
import type { AccountFold, KeyFold } from './charge-rows.js';
import type { Connection } from './connection.js';
import { insertEvent } from './events.js';
import { textOf } from './money.js';

/**
 * Writes an event once when the balance becomes low, the account exhausted or a share of it used,
 * not for each charge after that.
 */
export function writeBalanceEvents(
  connection: Connection,
  account: AccountFold,
  now: number,
): void {
  const { id, lowBalance, noticeShares, noticeBase, before, balance, uncovered } = account;
  const event = { accountId: id, keyId: undefined };
  if (lowBalance !== null && before.balance > lowBalance && balance <= lowBalance) {
    const data = { balance: textOf(balance), threshold: textOf(lowBalance) };
    insertEvent(connection, { ...event, type: 'balance.low', data }, now);
  }
  const wasFunded = before.balance > 0n && before.uncovered === 0n;
  if (wasFunded && (balance <= 0n || uncovered > 0n)) {
    const data = { balance: textOf(balance) };
    insertEvent(connection, { ...event, type: 'balance.exhausted', data }, now);
  }
  const used = {
    whole: noticeBase,
    before: noticeBase - before.balance,
    after: noticeBase - balance,
  };
  for (const share of reachedShares(noticeShares, used)) {
    const data = { share: String(share), balance: textOf(balance), full: textOf(noticeBase) };
    insertEvent(connection, { ...event, type: 'balance.share', data }, now);
  }
}

export function writeCapEvents(connection: Connection, key: KeyFold, now: number): void {
  const more = key.spent + key.writtenOff - key.before.spent - key.before.writtenOff;
  const { id: keyId, account } = key;
  const event = { accountId: account.id, keyId };
  const uses = capUses(key.caps, key.used);
  const dataOf = ({ period, cap, used }: CapUse) => ({
    period,
    cap: textOf(cap),
    used: textOf(used),
  });
  for (const use of uses) {
    if (use.used < use.cap || use.used - more >= use.cap) continue;
    insertEvent(connection, { ...event, type: 'cap.reached', data: dataOf(use) }, now);
  }
  for (const use of uses) {
    const change = { whole: use.cap, before: use.used - more, after: use.used };
    for (const share of reachedShares(account.noticeShares, change)) {
      const data = { ...dataOf(use), share: String(share) };
      insertEvent(connection, { ...event, type: 'cap.share', data }, now);
    }
  }
}
