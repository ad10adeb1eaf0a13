/** Writes the events that a batch of charges causes. */

import { balanceEvents } from '../../ledger/rules/balance-events.js';
import { capUses } from '../../ledger/rules/cap-windows.js';
import { reachedShares } from '../../ledger/rules/notice-shares.js';
import type { CapUse } from '../../key.js';
import type { AccountFold, KeyFold } from './charge-rows.js';
import type { Connection } from './connection.js';
import { insertEvent } from './events.js';
import { textOf } from './money.js';

export function writeBalanceEvents(
  connection: Connection,
  account: AccountFold,
  now: number,
): void {
  for (const event of balanceEvents(account, account.before)) insertEvent(connection, event, now);
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
