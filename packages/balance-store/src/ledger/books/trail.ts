/** Writes the trail of who changed what. */

import type { Actor } from '../../account.js';
import { detailsText } from '../rows/stored-trail.js';
import { personalText } from './personal-text.js';
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

/** {@link recordChanges} of one. */
export function recordChange(transaction: LedgerTransaction, change: Change): Promise<void> {
  return recordChanges(transaction, [change]);
}

/**
 * Must be called after all other writes of a transaction, because it locks the trail until the
 * transaction ends.
 */
export async function recordChanges(
  transaction: LedgerTransaction,
  changes: readonly Change[],
): Promise<void> {
  if (changes.length === 0) return;
  const written = changes.map(({ accountId, personal = {}, ...change }) => ({
    accountId,
    ...change,
    personal:
      Object.keys(personal).length === 0
        ? undefined
        : personalText(accountId, detailsText(personal)),
  }));
  const texts = written.flatMap(({ personal }) => personal ?? []);
  if (texts.length > 0) await transaction.insertPersonalTexts(texts);
  await transaction.appendTrail(
    written.map(({ action, accountId, keyId, by, at, details, personal }) => ({
      createdAt: at,
      actor: by.name,
      address: by.address ?? null,
      action,
      accountId,
      keyId: keyId ?? null,
      details: detailsText(details),
      personalId: personal?.id ?? null,
    })),
  );
}

/** The given members of `change`, each with its value before and after. */
export function beforeAndAfter(before: object, change: object): Readonly<Record<string, unknown>> {
  const former = new Map<string, unknown>(Object.entries(before));
  return Object.fromEntries(
    Object.entries(change)
      .filter(([, after]) => after !== undefined)
      .map(([name, after]: [string, unknown]) => [
        name,
        { before: former.get(name) ?? null, after },
      ]),
  );
}
