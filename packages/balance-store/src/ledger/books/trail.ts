/** Writes the trail of who changed what. */

import type { Actor } from '../../account.js';
import { detailsText } from '../rows/stored-trail.js';
import { recordPersonalText } from './personal-text.js';
import type { LedgerTransaction } from './transaction.js';

export interface Change {
  readonly action: string;
  readonly accountId: string | null;
  readonly keyId?: string | undefined;
  readonly by: Actor;
  readonly at: Date;
  /** The values of the change; if it replaced others, those before and after. */
  readonly details: Readonly<Record<string, unknown>>;
  /** The same, for values that may be about a person. */
  readonly personal?: Readonly<Record<string, unknown>> | undefined;
}

/**
 * Must be called after all other writes of a transaction, because it locks the trail until the
 * transaction ends.
 */
export async function recordChange(transaction: LedgerTransaction, change: Change): Promise<void> {
  const { action, accountId, keyId, by, at, details, personal } = change;
  const isPersonal = personal !== undefined && Object.keys(personal).length > 0;
  await transaction.appendTrail({
    createdAt: at,
    actor: by.name,
    address: by.address ?? null,
    action,
    accountId,
    keyId: keyId ?? null,
    details: detailsText(details),
    personalId: await recordPersonalText(
      transaction,
      accountId,
      isPersonal ? detailsText(personal) : undefined,
    ),
  });
}
