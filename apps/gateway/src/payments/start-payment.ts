/**
 * Starts a payment: writes a document with the expected amount and account, then requests the
 * provider's page.
 */

import { createHash } from 'node:crypto';
import { PaymentProviderError } from '@gateway/payments';
import type { PaymentProvider, TaxMode } from '@gateway/payments';
import type { PaymentLedger } from '../ledger/open-store.js';
import { changeDocument, findDocument } from './payment-ledger.js';
import type { DocumentOf, Known } from './payment-ledger.js';

export interface NewPayment {
  readonly accountId: string;
  readonly amountCents: number;
  /** Chosen by the caller. The same key starts only one payment of an account. */
  readonly requestKey: string;
  readonly by: Extract<DocumentOf<'payment'>['by'], 'key' | 'operator'>;
  readonly startedBy: string;
  /** The address to which the customer returns, without the query. */
  readonly returnUrl: string;
}

export type StartOutcome =
  | { readonly outcome: 'started' | 'replayed'; readonly payment: Known<'payment'> }
  /** The request key was used before for another amount or return address. */
  | { readonly outcome: 'conflict' };

/**
 * @throws {PaymentProviderError | StoreUnavailableError} Repeat the call with the same
 * `requestKey`.
 */
export async function startPayment(
  {
    ledger,
    provider,
    tax,
  }: {
    readonly ledger: PaymentLedger;
    readonly provider: PaymentProvider;
    readonly tax: TaxMode;
  },
  { accountId, amountCents, requestKey, by, startedBy, returnUrl }: NewPayment,
): Promise<StartOutcome> {
  const id = paymentIdOf(accountId, requestKey);
  const kind = 'payment';
  const { outcome } = await ledger.writeDocument({
    kind,
    id,
    accountId,
    version: 0,
    data: openPayment({ by, started_by: startedBy, amount_cents: amountCents, tax }),
  });
  const known = await findDocument(ledger, kind, id);
  if (known?.data.amount_cents !== amountCents) return { outcome: 'conflict' };
  const { url, state } = known.data;
  // A page was made before, or is no longer needed.
  if (url !== null || state !== 'open') return { outcome: 'replayed', payment: known };
  const page = await provider
    .startCheckout({
      origin: { paymentId: id, accountId },
      amountCents,
      // That of the first attempt, whose page may have been made.
      tax: known.data.tax ?? 'off',
      ...returnUrls(returnUrl, 'top_up'),
    })
    .catch((error: unknown) => {
      if (error instanceof PaymentProviderError && error.reason === 'reused') return undefined;
      throw error;
    });
  // The page was made before with another return address, and its URL was not kept.
  if (page === undefined) return { outcome: 'conflict' };
  await changeDocument(ledger, { kind, id }, ({ data }) =>
    data.state === 'open'
      ? {
          data: {
            ...data,
            url: page.url,
            checkout_id: page.checkoutId,
            expires_at: page.expiresAt.toISOString(),
          },
        }
      : undefined,
  );
  const payment = await findDocument(ledger, kind, id);
  if (payment === undefined) throw new Error(`the payment ${id} is gone`);
  return { outcome: outcome === 'written' ? 'started' : 'replayed', payment };
}

export function openPayment(
  given: Pick<DocumentOf<'payment'>, 'by' | 'started_by' | 'amount_cents' | 'tax'>,
): DocumentOf<'payment'> {
  return {
    ...given,
    state: 'open',
    url: null,
    checkout_id: null,
    expires_at: null,
    provider_payment_id: null,
    code: null,
    paid: null,
    stated_rate: null,
    parts: [],
    fees: [],
  };
}

/** Includes the account, because other accounts may use the same request key. */
function paymentIdOf(accountId: string, requestKey: string): string {
  const hash = createHash('sha256').update(`${accountId}\n${requestKey}`).digest('hex');
  return `pay_${hash.slice(0, 32)}`;
}

/**
 * The addresses to which the customer returns. From the parameter the dashboard reads what the
 * customer did: paid, or saved a payment method for auto top-up.
 */
export function returnUrls(returnUrl: string, what: 'top_up' | 'auto_top_up') {
  const done = what === 'top_up' ? 'paid' : 'saved';
  return {
    successUrl: `${returnUrl}?${what}=${done}`,
    cancelUrl: `${returnUrl}?${what}=canceled`,
  };
}
