/**
 * Ends orders for auto top-up. It needs no payment provider, so that an account can also be erased
 * from the command line.
 */

import type { Actor } from '@gateway/balance-store';
import type { PaymentLedger } from '../ledger/open-store.js';
import { changeDocument, findDocument } from './payment-ledger.js';

const KIND = 'auto_top_up';

/** Ends an order and forgets its method. A charge in progress is still booked. */
export async function cancelAutoTopUp(
  ledger: Pick<PaymentLedger, 'getDocument' | 'writeDocument'>,
  accountId: string,
  by: Actor,
): Promise<boolean> {
  const before = await findDocument(ledger, KIND, accountId);
  if (before === undefined) return false;
  const { outcome } = await ledger.writeDocument({
    kind: KIND,
    id: accountId,
    accountId,
    version: before.version,
    data: {
      ...before.data,
      state: 'needs_method',
      setup_id: '',
      earlier_setup_ids: [],
      customer_id: null,
      method_id: null,
    },
    trail: { action: 'auto_top_up.cancel', by, details: {} },
  });
  return outcome === 'conflict' ? cancelAutoTopUp(ledger, accountId, by) : true;
}

/**
 * Stops an order before money that was paid back is taken from the balance. Otherwise the lower
 * balance would charge the customer again. If the ledger already has the entry of this debit, the
 * order is not stopped, because a person may have placed it again since.
 */
export async function stopBeforeDebit(
  ledger: Pick<PaymentLedger, 'findEntries' | 'getDocument' | 'writeDocument'>,
  debit: {
    readonly entryId: string;
    readonly accountId: string;
    readonly reason: 'refund' | 'chargeback';
  },
): Promise<void> {
  const { entryId, accountId, reason } = debit;
  if ((await ledger.findEntries([entryId])).length > 0) return;
  await changeDocument(ledger, { kind: KIND, id: accountId }, ({ data }) =>
    data.state === 'on'
      ? { data: { ...data, state: 'stopped', stopped_code: reason }, balanceBelow: null }
      : undefined,
  );
}
