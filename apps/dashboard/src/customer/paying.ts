/**
 * The way to the payment provider's page and back. That page opens in the same tab, so the id of
 * the payment is kept in the tab's storage meanwhile. The id is not a secret: without the key, it
 * shows nothing.
 */

import { signal } from '@preact/signals';
import { keep, readKept } from '../shared/api/browser-storage.js';

const STORED = 'gateway-payment';

/** The payment for which this tab last left the page. */
export const payingId = signal<string | undefined>(undefined);

/** What the person did on the provider's page. */
type ReturnedFrom =
  | { readonly page: 'payment'; readonly end: 'paid' | 'canceled' }
  /** The page that saves a method for auto top-up. */
  | { readonly page: 'method'; readonly end: 'saved' | 'canceled' };

/** How the person came back from the provider's page, if they did. */
export const returned = signal<ReturnedFrom | undefined>(undefined);

/** Reads how the person came back, and removes it from the address. Call it before rendering. */
export function restorePaying(): void {
  payingId.value = readKept('sessionStorage', STORED);
  const search = new URLSearchParams(location.search);
  const [payment, method] = [search.get('top_up'), search.get('auto_top_up')];
  if (payment === null && method === null) return;
  if (payment === 'paid' || payment === 'canceled') {
    returned.value = { page: 'payment', end: payment };
  } else if (method === 'saved' || method === 'canceled') {
    returned.value = { page: 'method', end: method };
  }
  search.delete('top_up');
  search.delete('auto_top_up');
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
  payingId.value = paymentId;
  keep('sessionStorage', STORED, paymentId);
  returned.value = undefined;
  location.assign(url);
}

/** Forgets the payment at the next load of the page. Until then it stays on the screen. */
export function endPaying(): void {
  keep('sessionStorage', STORED, undefined);
}

export function forgetPaying(): void {
  endPaying();
  payingId.value = undefined;
  returned.value = undefined;
}
