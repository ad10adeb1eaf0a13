/**
 * Finds the charge of a request by any id that its client can know: the gateway's request id, or
 * the id of the message, in the form in which one of the formats shows it (docs/decisions/0057).
 */

import type { BalanceStore, LedgerEntry } from '@gateway/balance-store';

export type ChargeEntry = Extract<LedgerEntry, { readonly kind: 'charge' }>;

export type FoundCharge =
  | { readonly outcome: 'found'; readonly charge: ChargeEntry }
  /** Several requests have a message with this id, so none of them is meant for certain. */
  | { readonly outcome: 'several'; readonly requestIds: readonly string[] }
  | { readonly outcome: 'none' };

/** The charges that may be found: those of one key, or all. */
export interface ChargeSource {
  byId(requestId: string): Promise<LedgerEntry | undefined>;
  /** Newest first, at most {@link MOST_OF_ONE_ID}. */
  byMessage(upstreamId: string): Promise<readonly LedgerEntry[]>;
}

/** An upstream that gives many messages one id is not Anthropic's. */
const MOST_OF_ONE_ID = 20;

/** @param scope - Only the charges of this account and key; by default all. */
export function chargesOf(
  store: Pick<BalanceStore, 'findEntries' | 'listEntries'>,
  scope: { readonly accountId?: string | undefined; readonly keyId?: string | undefined } = {},
): ChargeSource {
  const { accountId, keyId } = scope;
  const filter = {
    ...(accountId === undefined ? {} : { accountId }),
    ...(keyId === undefined ? {} : { keyId }),
  };
  return {
    async byId(requestId) {
      const [entry] = await store.findEntries([requestId]);
      if (entry?.kind !== 'charge') return undefined;
      const isOfAccount = accountId === undefined || entry.accountId === accountId;
      const isOfKey = keyId === undefined || entry.keyId === keyId;
      return isOfAccount && isOfKey ? entry : undefined;
    },
    byMessage: async (upstreamId) =>
      (await store.listEntries({ ...filter, upstreamId, limit: MOST_OF_ONE_ID })).entries,
  };
}

export async function findCharge(shownId: string, source: ChargeSource): Promise<FoundCharge> {
  const byId = await source.byId(requestIdOf(shownId));
  if (byId?.kind === 'charge') return { outcome: 'found', charge: byId };
  const found = await Promise.all(messageIdsOf(shownId).map((id) => source.byMessage(id)));
  const charges = new Map<string, ChargeEntry>();
  for (const entry of found.flat()) {
    // The parts of a response have its message's id, and ids that end in `.2`, `.3` and so on.
    const requestId = entry.id.replace(/\.\d+$/, '');
    if (entry.kind === 'charge' && (entry.id === requestId || !charges.has(requestId))) {
      charges.set(requestId, entry);
    }
  }
  const [charge, ...others] = charges.values();
  if (charge === undefined) return { outcome: 'none' };
  if (others.length > 0) return { outcome: 'several', requestIds: [...charges.keys()] };
  return { outcome: 'found', charge };
}

/** @returns the request id of a response that began before its message, otherwise what is given */
export function requestIdOf(shownId: string): string {
  return shownId.replace(/^resp_(?=req_)/, '');
}

/** A message's own id, `msg_X`, is `chatcmpl-msg_X` in chat and `resp_X` in the Responses API. */
function messageIdsOf(shownId: string): readonly string[] {
  const bare = shownId.replace(/^(chatcmpl-|resp_)/, '');
  return shownId.startsWith('resp_') ? [`msg_${bare}`, bare] : [bare];
}
