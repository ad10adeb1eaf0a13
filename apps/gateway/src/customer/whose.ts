/** Whose requests and usage a query asks for, and whether the key may see them. */

import { z } from 'zod';
import type { KeyRecord } from '@gateway/balance-store';
import { ofKey } from '../endpoints/fields.js';
import type { CustomerParts } from './customer-parts.js';
import { needsManage } from './scope.js';
import { maySeeAccount } from './statement.js';

/**
 * `account`: those of all keys of the account, for a key that may see them. `key_id`: those
 * of one of them.
 */
export const whose = { of: z.enum(['key', 'account']).default('key'), key_id: ofKey } as const;

type Whose = z.output<z.ZodObject<typeof whose>>;

/** @returns `undefined` if the key may not see them */
export async function scopeOf(
  { of, key_id: asked }: Whose,
  key: KeyRecord,
  parts: CustomerParts,
): Promise<{ readonly accountId: string; readonly keyId?: string } | undefined> {
  const { accountId } = key;
  const keyId = asked ?? (of === 'key' ? key.id : undefined);
  if (keyId !== key.id && !(await maySeeAccount(key, parts))) return undefined;
  return keyId === undefined ? { accountId } : { accountId, keyId };
}

/** Names the field that asks for what the key may not see. */
export function refusalOfScope({ key_id: keyId }: Whose) {
  return needsManage(keyId === undefined ? 'of' : 'key_id');
}
