/**
 * Refusals for operations that need the scope `manage`, or a key that is not suspended or expired.
 */

import type { KeyRecord } from '@gateway/balance-store';
import { newRefusal } from '../base/errors/refusal.js';
import type { Refusal } from '../base/errors/refusal.js';
import type { CustomerParts } from './customer-parts.js';

/** @param param - The field or endpoint that is refused. The message begins with it. */
export function needsManage(param: string): Refusal {
  return newRefusal('needs_manage', { param });
}

/**
 * Refuses an operation of a key that is suspended or has expired. A key whose balance is used up is
 * not refused.
 *
 * @param param - The field or endpoint that is refused.
 */
export async function refusalOfStopped(
  param: string,
  { id }: KeyRecord,
  { store }: Pick<CustomerParts, 'store'>,
): Promise<Refusal | undefined> {
  const { standing } = await store.readStanding(id);
  if (standing !== 'suspended' && standing !== 'expired') return undefined;
  return newRefusal('key_stopped', { param, standing });
}

export function unknownKeyOfAccount(): Refusal {
  return newRefusal('unknown_key_of_account');
}
