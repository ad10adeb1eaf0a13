/** Ends the payments that a closed account has begun, so that nobody pays for it any more. */

import type { PaymentProvider } from '@gateway/payments';
import type { PaymentLedger } from '../ledger/open-store.js';
import { changeDocument, knownAs } from './payment-ledger.js';

const KIND = 'payment';
const PAGE = 100;

/**
 * Ends the pages on which somebody could still pay. A payment that was made before, and is reported
 * later, is kept as unbooked, with an alarm. Repeating the call has no further effect.
 *
 * @throws {PaymentProviderError} Some pages may still be open: repeat the call.
 */
export async function endPages(
  { ledger, provider }: { readonly ledger: PaymentLedger; readonly provider: PaymentProvider },
  accountId: string,
): Promise<void> {
  let before: bigint | undefined;
  do {
    const page = await ledger.listDocuments({ kind: KIND, accountId, before, limit: PAGE });
    for (const document of page) {
      const { id, data } = knownAs(KIND, document);
      if (data.state !== 'open' || data.checkout_id === null) continue;
      if ((await provider.endCheckout(data.checkout_id)) === 'closed') continue;
      await changeDocument(ledger, { kind: KIND, id }, ({ data: now }) =>
        now.state === 'open' ? { data: { ...now, state: 'expired', url: null } } : undefined,
      );
    }
    before = page.length < PAGE ? undefined : page.at(-1)?.seq;
  } while (before !== undefined);
}
