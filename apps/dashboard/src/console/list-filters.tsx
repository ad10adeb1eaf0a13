/** What the lists of accounts and of keys share: their filters, and the orders of the gateway. */

import { FilterForm } from '../shared/controls/filter-form.js';
import { changeQuery, route } from '../shared/api/router.js';

const FIELDS = [
  { name: 'name', label: 'Name contains' },
  { name: 'external_id', label: 'External id' },
] as const;

export function NameFilter() {
  return <FilterForm fields={FIELDS} button="Search" />;
}

/** The orders, as the admin API names them. */
const ORDERS = ['newest', 'spent', 'balance', 'last_charged'] as const;

export function orderNow() {
  return ORDERS.find((name) => name === route.value.query['order']) ?? 'newest';
}

export function changeOrder(order: string): void {
  changeQuery({ order });
}
