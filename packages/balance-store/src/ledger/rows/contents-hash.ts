/**
 * The hash of the recorded contents of an entry. If an id is used again, the same hash means a
 * replay, and another hash means a conflict.
 */

import { hash } from 'node:crypto';
import type { Creation, NewAccount } from '../../account.js';
import type { Metadata } from '../../metadata.js';
import { CAP_PERIODS } from '../../key.js';
import type { NewKey } from '../../key.js';
import { countsOf } from '../../ledger-entry.js';
import type { SettledUsage } from '../../ledger-entry.js';
import type { Settlement } from '../../store.js';
import { DETAIL_MEMBERS } from './charge-details.js';
import { pricingTextOf } from './pricing-text.js';
import { rateTextsOf } from './rate-texts.js';
import { columnOf } from '../tables/tables.js';

/** Covers every recorded field but the cost, which may change until a replay. In hexadecimal. */
export function settlementHash(settlement: Settlement): string {
  const { usage, rates } = settlement;
  const contents: unknown[] = [
    'charge',
    settlement.keyId,
    settlement.amount.toString(),
    settlement.model,
    ...countsOf(usage),
    ...rateTextsOf(rates).units,
    settlement.endpoint,
    settlement.streamed,
    settlement.upstreamId ?? null,
  ];
  if (settlement.remarks !== undefined) contents.push(settlement.remarks);
  // What charges got later is left out if it is absent, so that earlier hashes stay the same.
  for (const member of HASHED_LATER) {
    const value = member === 'pricing' ? pricingTextOf(settlement.pricing) : settlement[member];
    if (value !== undefined && value !== null) contents.push({ [member]: value });
  }
  // Without the tag and the run, which are texts that may be erased.
  const { memberId, groups } = settlement.spender ?? {};
  if (memberId !== undefined) contents.push({ spender: [memberId, groups ?? ''] });
  return hashOf(contents);
}

const HASHED_LATER = [
  'upstreamAccount',
  ...DETAIL_MEMBERS.filter(
    (member): member is Exclude<typeof member, 'cost' | keyof SettledUsage> =>
      columnOf('Ledger', member).isAdded === true && member !== 'cost',
  ),
] as const;

/**
 * In hexadecimal. Callers leave out the operator and the note, so that another operator may replay
 * the booking.
 */
export function bookingHash(...contents: readonly (string | bigint | Date | null)[]): string {
  return hashOf(contents.map((part) => (typeof part === 'bigint' ? part.toString() : part)));
}

export function rotationHash(keyId: string, graceMs: number): string {
  return hashOf(['rotation', keyId, graceMs]);
}

/** Covers all contents of a creation, except its id and the operator. In hexadecimal. */
export function creationHash({ account, key, credit }: Creation): string {
  return hashOf([
    'creation',
    'id' in account ? [account.id] : contentsOfAccount(account),
    key === undefined ? null : contentsOfKey(key),
    credit === undefined
      ? null
      : [credit.amount.toString(), credit.source, credit.expiresAt ?? null],
  ]);
}

function contentsOfAccount(account: NewAccount): readonly unknown[] {
  const { name, externalId, metadata, lowBalance, ...later } = account;
  return [
    name,
    externalId ?? null,
    pairsOf(metadata),
    lowBalance?.toString() ?? null,
    ...givenOf(later),
  ];
}

function contentsOfKey(key: NewKey): readonly unknown[] {
  const { name, limits, expiresAt, externalId, metadata, scope, models, caps, ...later } = key;
  return [
    name,
    limits.concurrency,
    limits.burst,
    limits.requestsPerMinute,
    expiresAt,
    externalId ?? null,
    pairsOf(metadata),
    scope ?? 'use',
    models ?? null,
    CAP_PERIODS.map((period) => caps?.[period]?.toString() ?? null),
    ...givenOf(later),
  ];
}

/** What was added later is left out if it is absent, so that earlier hashes stay the same. */
function givenOf(later: object): readonly (readonly [string, unknown])[] {
  return Object.entries(later as Readonly<Record<string, unknown>>)
    .filter(([, value]) => (value ?? null) !== null)
    .map(([name, value]) => [name, typeof value === 'bigint' ? value.toString() : value] as const)
    .sort(([a], [b]) => (a < b ? -1 : 1));
}

function pairsOf(metadata: Metadata = {}): readonly (readonly [string, string])[] {
  return Object.entries(metadata).sort(([a], [b]) => (a < b ? -1 : 1));
}

function hashOf(contents: readonly unknown[]): string {
  return hash('sha256', JSON.stringify(contents), 'hex');
}
