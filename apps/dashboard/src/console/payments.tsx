/** Payments of all accounts, unbooked payments, the provider's payments, and promo codes. */

import { FilterForm } from '../shared/controls/filter-form.js';
import { route, to } from '../shared/api/router.js';
import { namedField } from './names.js';
import { PaymentList } from './payment-list.js';
import { PromoCodes } from './promo-codes.js';
import { Reconcile } from './reconcile.js';
import { Unbooked } from './unbooked.js';

const PARTS = [
  { path: 'list', label: 'Payments' },
  { path: 'unbooked', label: 'Unbooked' },
  { path: 'compare', label: 'Compare with the provider' },
  { path: 'codes', label: 'Promo codes' },
] as const;

export function PaymentPages({ part = 'list' }: { readonly part: string | undefined }) {
  return (
    <section class="card" aria-label="Payments">
      <h2>Payments</h2>
      <ul class="row plain-links" aria-label="Parts of the payments">
        {PARTS.map(({ path, label }) => (
          <li key={path}>
            <a href={to(['payments', path])} aria-current={path === part ? 'page' : undefined}>
              {label}
            </a>
          </li>
        ))}
      </ul>
      {part === 'list' && <AllPayments />}
      {part === 'unbooked' && <Unbooked />}
      {part === 'compare' && <Reconcile />}
      {part === 'codes' && <PromoCodes />}
    </section>
  );
}

function AllPayments() {
  const { account_id = '', payment_id = '' } = route.value.query;
  return (
    <>
      {payment_id !== '' && (
        <p>
          Only the payment <span class="id">{payment_id}</span>.{' '}
          <a href={to(['payments', 'list'])}>Show all payments</a>
        </p>
      )}
      <FilterForm fields={[namedField('account_id', 'Account')]} button="Filter" />
      <PaymentList accountId={account_id === '' ? undefined : account_id} />
    </>
  );
}
