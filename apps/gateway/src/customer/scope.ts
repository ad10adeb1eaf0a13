/**
 * Refusals for operations that need the scope `manage`, or a key that is not suspended or expired.
 */

import type { KeyRecord } from '@gateway/balance-store';
import type { Refusal } from '../http/refusal.js';
import type { CustomerParts } from './customer-parts.js';

/** @param param - The field or endpoint that is refused. The message begins with it. */
export function needsManage(param: string): Refusal {
  return {
    status: 403,
    type: 'permission_error',
    message: `${param}: needs a key with the scope "manage", which your operator can give`,
    param,
    code: 'needs_manage',
  };
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
  return { ...needsManage(param), message: `${param}: this key is ${standing}` };
}

export function unknownKeyOfAccount(): Refusal {
  return {
    status: 404,
    type: 'not_found_error',
    message: 'key_id: no key of this account has this id',
    param: 'key_id',
  };
}
