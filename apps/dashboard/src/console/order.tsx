/** The order of a list of accounts or keys, kept in the address. The gateway sorts. */

import { Choice } from '../shared/parts.js';
import { changeQuery, route } from '../shared/router.js';

/** As the admin API names them. */
const ORDERS = [
  ['newest', 'Newest'],
  ['spent', 'Most spent'],
  ['balance', 'Lowest balance'],
  ['last_charged', 'Last used'],
] as const;
type Order = (typeof ORDERS)[number][0];

export function orderNow(): Order {
  const known = ORDERS.find(([order]) => order === route.value.query['order']);
  return known?.[0] ?? 'newest';
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
