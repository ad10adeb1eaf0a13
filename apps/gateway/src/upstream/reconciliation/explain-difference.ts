/** Finds the requests that may explain why the provider and the ledger differ on a day. */

import type { BalanceStore, ChargeEntry } from '@gateway/balance-store';
import { formatUsd } from '@gateway/billing';
import { DAY_MS, HOUR_MS } from '../../base/times.js';
import { entriesOf } from '../../ledger/ledger-entries.js';
import { WRITTEN_OFF } from './compare-usage.js';
import type { ComparedModel } from './compare-usage.js';

export const CAUSES = [
  /** Charged soon after midnight: the provider may have counted it on the day before. */
  'in_flight_at_midnight',
  'written_off',
  /** Its usage could not be charged and was quarantined. */
  'set_aside',
  /** Its hold was neither charged nor released. */
  'hold_open',
  /** A log says that nothing was charged. */
  'not_charged',
  /** A log says that it was charged, but the ledger does not have the charge. */
  'not_in_ledger',
  /** A log has other counts than the ledger. */
  'other_counts',
] as const;
export type Cause = (typeof CAUSES)[number];

export interface ExplainingRequest {
  readonly cause: Cause;
  readonly request_id: string;
  readonly key_id: string;
  readonly at: string;
  readonly detail: string;
}

export interface Explanation {
  readonly requests: readonly ExplainingRequest[];
  /** Whether there are more than these. */
  readonly has_more: boolean;
}

/**
 * Requests are assumed to take at most this long: one may begin on the day before its charge. A
 * stream of 128,000 tokens takes about half an hour.
 */
export const IN_FLIGHT_MS = HOUR_MS;
/** The most requests that are listed: enough to see the cause. */
const MAX_REQUESTS = 100;
const PAGE = 1_000;

type Ledger = Pick<BalanceStore, 'listEntries' | 'listQuarantined' | 'listHolds'>;

/** The charges of some upstream accounts. */
interface ChargesOf {
  readonly store: Ledger;
  readonly isOfAccounts: (upstreamAccount: string | undefined) => boolean;
}

/** Requests without a charge are not filtered, because the ledger does not know who served them. */
export async function explainDifference(
  { day, model, differences }: ComparedModel,
  store: Ledger,
  isOfAccounts: (upstreamAccount: string | undefined) => boolean,
): Promise<Explanation> {
  const of = { store, isOfAccounts };
  if (model === null) return { requests: [], has_more: false };
  const start = new Date(`${day}T00:00:00Z`).getTime();
  const ofTokens = differences.filter(({ item }) => item !== WRITTEN_OFF);
  const hasProviderMore = ofTokens.some(
    ({ providerTokens: theirs, ledgerTokens: ours, providerCost, ledgerCost }) =>
      theirs > ours || (theirs === ours && providerCost > ledgerCost),
  );
  const hasLedgerMore = ofTokens.some((sums) => sums.ledgerTokens > sums.providerTokens);
  const found: ExplainingRequest[] = [];
  if (hasLedgerMore) found.push(...(await chargesAfter(start, model, of)));
  if (hasProviderMore) {
    found.push(...(await chargesAfter(start + DAY_MS, model, of)));
    found.push(...(await setAside(start, model, store)));
    found.push(...(await openHolds(start, store)));
  }
  if (differences.some(({ item }) => item === WRITTEN_OFF)) {
    found.push(...(await writtenOff(start, model, of)));
  }
  return {
    requests: found.slice(0, MAX_REQUESTS),
    has_more: found.length > MAX_REQUESTS,
  };
}

/** @param midnight - In milliseconds since the epoch. */
async function chargesAfter(
  midnight: number,
  model: string,
  { store, isOfAccounts }: ChargesOf,
): Promise<readonly ExplainingRequest[]> {
  const { entries } = await store.listEntries({
    kind: 'charge',
    model,
    from: new Date(midnight),
    until: new Date(midnight + IN_FLIGHT_MS),
    limit: MAX_REQUESTS + 1,
  });
  const own = entries.filter(isCharge).filter((entry) => isOfAccounts(entry.upstreamAccount));
  return own.map((entry) => {
    const seconds = (entry.createdAt.getTime() - midnight) / 1000;
    return ofCharge('in_flight_at_midnight', entry, `charged ${String(seconds)} s after midnight`);
  });
}

async function setAside(
  start: number,
  model: string,
  store: Ledger,
): Promise<readonly ExplainingRequest[]> {
  const rows = await store.listQuarantined({
    from: new Date(start),
    until: new Date(start + DAY_MS + IN_FLIGHT_MS),
    limit: PAGE,
  });
  return rows
    .filter((row) => row.model === model)
    .map((row) => ({
      cause: 'set_aside',
      request_id: row.requestId,
      key_id: row.keyId,
      at: row.createdAt.toISOString(),
      detail: row.reason,
    }));
}

/** A hold does not name the model. */
async function openHolds(start: number, store: Ledger): Promise<readonly ExplainingRequest[]> {
  const [live, orphaned] = await Promise.all([
    store.listHolds({ state: 'live', limit: PAGE }),
    store.listHolds({ state: 'orphaned', limit: PAGE }),
  ]);
  return [...live, ...orphaned]
    .filter(({ createdAt }) => {
      const at = createdAt.getTime();
      return at >= start - IN_FLIGHT_MS && at < start + DAY_MS;
    })
    .map((hold) => ({
      cause: 'hold_open',
      request_id: hold.requestId,
      key_id: hold.keyId,
      at: hold.createdAt.toISOString(),
      detail: `${formatUsd(hold.amount)} USD held, ${hold.orphanedAt === null ? 'in flight' : 'orphaned'}`,
    }));
}

async function writtenOff(
  start: number,
  model: string,
  { store, isOfAccounts }: ChargesOf,
): Promise<readonly ExplainingRequest[]> {
  const range = { from: new Date(start), until: new Date(start + DAY_MS) };
  const found: ExplainingRequest[] = [];
  for await (const entry of entriesOf(store, { ...range, kind: 'charge', model })) {
    if (!isCharge(entry) || entry.writtenOff === 0n) continue;
    if (!isOfAccounts(entry.upstreamAccount)) continue;
    const price = entry.writtenOff - entry.delta;
    const detail = `${formatUsd(entry.writtenOff)} of ${formatUsd(price)} USD`;
    found.push(ofCharge('written_off', entry, detail));
    if (found.length > MAX_REQUESTS) break;
  }
  return found;
}

function isCharge(entry: { readonly kind: string }): entry is ChargeEntry {
  return entry.kind === 'charge';
}

function ofCharge(cause: Cause, entry: ChargeEntry, detail: string): ExplainingRequest {
  return {
    cause,
    request_id: entry.id,
    key_id: entry.keyId,
    at: entry.createdAt.toISOString(),
    detail,
  };
}
