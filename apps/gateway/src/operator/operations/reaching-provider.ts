/** Work that asks the payment provider, with its faults as errors of an operation. */

import { PaymentProviderError } from '@gateway/payments';
import { newRefusal } from '../../base/errors/refusal.js';
import { OperationError } from '../../endpoints/operation-error.js';

export async function reachingProvider<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof PaymentProviderError)) throw error;
    if (error.reason === 'reused') throw new OperationError(newRefusal('refund_id_used'));
    throw new OperationError(newRefusal('payment_provider_failed', { reason: error.message }));
  }
}
