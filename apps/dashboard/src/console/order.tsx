/** The order of a list of accounts or keys, kept in the address. The gateway sorts. */

import { Choice, optionOf } from '../shared/parts.js';
import { changeQuery, route } from '../shared/router.js';

/** The orders, as the admin API names them, each with its label. */
const ORDERS = [
  ['newest', 'Newest'],
  ['spent', 'Most spent'],
  ['balance', 'Lowest balance'],
  ['last_charged', 'Last used'],
] as const;

export function orderNow() {
  return optionOf(ORDERS, route.value.query['order']);
}

export function OrderChoice() {
  return (
    <Choice
      label="Order"
      value={orderNow()}
      options={ORDERS}
      onValue={(order) => {
        changeQuery({ order });
      }}
    />
  );
}
