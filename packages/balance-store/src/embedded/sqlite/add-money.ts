/** Adds to the sums of what an account's entries moved in one hour. */

import type { Side } from '../../ledger/rules/sides.js';
import type { Connection } from './connection.js';
import { textOf } from './money.js';

const ADD =
  'INSERT INTO money_hour (account_id, hour, side, amount) VALUES (?, ?, ?, ?) ' +
  'ON CONFLICT DO UPDATE SET amount = add_usd(amount, excluded.amount)';

/** @param hour - In hours since 1970-01-01 UTC. */
export function addMoney(
  connection: Connection,
  { accountId, hour }: { readonly accountId: string; readonly hour: number },
  sides: readonly Side[],
): void {
  for (const { side, amount } of sides) connection.run(ADD, accountId, hour, side, textOf(amount));
}
