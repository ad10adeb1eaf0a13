/**
 * The way to the payment provider's page and back. That page opens in the same tab, so the id of
 * the payment is kept in the tab's storage meanwhile. The id is not a secret: without the key, it
 * shows nothing.
 */

import { signal } from '@preact/signals';

const STORED = 'gateway-payment';

/** The payment for which this tab last left the page. */
export const payingId = signal<string | undefined>(undefined);
/** How the person came back from the provider's page, if they did. */
export const returned = signal<'paid' | 'canceled' | undefined>(undefined);

/** Reads how the person came back, and removes it from the address. Call it before rendering. */
export function restorePaying(): void {
  payingId.value = sessionStorage.getItem(STORED) ?? undefined;
  const search = new URLSearchParams(location.search);
  const end = search.get('top_up');
  if (end === null) return;
  if (end === 'paid' || end === 'canceled') returned.value = end;
  search.delete('top_up');
  const rest = search.size === 0 ? '' : `?${search.toString()}`;
  history.replaceState(null, '', `${location.pathname}${rest}${location.hash}`);
}

/**
 * Opens the provider's page in this tab.
 *
 * @param url - The address of the page, as the gateway sent it.
 * @param paymentId - The id of the payment; `undefined` for a page that saves a payment method.
 */
export function leaveToPay(url: string, paymentId: string | undefined): void {
  if (paymentId !== undefined) {
    sessionStorage.setItem(STORED, paymentId);
    payingId.value = paymentId;
  }
  returned.value = undefined;
  location.assign(url);
}

export function forgetPaying(): void {
  sessionStorage.removeItem(STORED);
  payingId.value = undefined;
  returned.value = undefined;
}
