/** Writes the events that a batch of charges causes. */

import { capUses } from '../../ledger/cap-windows.js';
import type { AccountFold, KeyFold } from './charge-rows.js';
import type { Connection } from './connection.js';
import { insertEvent } from './events.js';
import { textOf } from './money.js';

/**
 * Writes an event once when the balance becomes low or the account exhausted, not for each charge
 * after that.
 */
export function writeBalanceEvents(
  connection: Connection,
  account: AccountFold,
  now: number,
): void {
  const { id, lowBalance, before, balance, uncovered } = account;
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
}

export function writeCapEvents(connection: Connection, key: KeyFold, now: number): void {
  const more = key.spent + key.writtenOff - key.before.spent - key.before.writtenOff;
  for (const { period, cap, used } of capUses(key.caps, key.used)) {
    if (used < cap || used - more >= cap) continue;
    const data = { period, cap: textOf(cap), used: textOf(used) };
    const { id, account } = key;
    insertEvent(connection, { type: 'cap.reached', accountId: account.id, keyId: id, data }, now);
  }
}
