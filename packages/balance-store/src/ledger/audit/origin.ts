/**
 * Proves that each entry has an origin: a credit, an adjustment, a fee and each half of a transfer
 * has its row in the trail, which says the same of it, and each such row has its entry. Both halves
 * of a transfer carry the same credits. Entries that follow from a rule have no row: expiries,
 * those that open an account, and allowances, whose amount someone must have set for the account.
 * What a provider's notification credited has its payment, too.
 *
 * Both sides are kept as numbers of 8 bytes, which are hashes, and compared at the end. Only what
 * differs is then read again, to name it.
 */

import { hash } from 'node:crypto';
import type { AuditDifference } from '../../audit.js';
import { SEALED_TRAIL } from '../../generated/tables.js';
import type { SealedTrail } from '../../generated/tables.js';
import { numericFromUnits } from '../../numeric.js';
import { allowanceMonthOf } from '../rules/allowance.js';
import { entryId, isAllowance } from '../rules/entry-ids.js';
import type { AuditSource } from './audit-source.js';

export interface BookedFacts {
  readonly id: string;
  readonly accountId: string;
  readonly kind: string;
  readonly reason: string | null;
  readonly delta: bigint;
  readonly source: string | null;
  readonly expiresAtMs: string | null;
  readonly counter: string | null;
  readonly tax: bigint;
  readonly fee: bigint;
  readonly reference: string | null;
  readonly actor: string | null;
  readonly reverses: string | null;
  readonly createdAtMs: number;
}

/** A booking as its entry and the trail both state it. */
type Fact = readonly string[];

const HALF = /^transfer:(.*):(out|in)$/s;

/** @returns `undefined` for an entry that follows from a rule */
export function factOfEntry(entry: BookedFacts): Fact | undefined {
  const { id, accountId, kind, reason, delta, fee, reference } = entry;
  if (kind === 'expiry' || reason === 'opening' || isRenewal(entry)) return undefined;
  // The id of a first credit names its account. The trail of earlier versions lacks it.
  if (id.startsWith(`topup:initial:${accountId}:`) && entry.counter === null) {
    return ['initial', accountId, numericFromUnits(delta)];
  }
  const [, transfer, half] = (reason === 'transfer' ? HALF.exec(id) : null) ?? [];
  if (transfer !== undefined) {
    const isOut = half === 'out';
    const between = isOut ? [accountId, reference ?? ''] : [reference ?? '', accountId];
    return [half ?? '', transfer, ...between, numericFromUnits(isOut ? -delta : delta)];
  }
  const amount = numericFromUnits(reason === 'fee' ? fee : delta);
  return [id, accountId, amount, ...termsOfEntry(entry)];
}

/** An allowance of the month of its entry. */
function isRenewal({ id, accountId, kind, createdAtMs }: BookedFacts): boolean {
  if (kind !== 'top_up' || !isAllowance(id)) return false;
  return id === entryId.allowance(accountId, allowanceMonthOf(new Date(createdAtMs)).name);
}

const NO_AMOUNT = numericFromUnits(0n);

/** Rows of the trail of earlier versions have no `counter`, and their entries neither. */
function termsOfEntry(entry: BookedFacts): Fact {
  const { counter, tax, fee, kind, source, expiresAtMs, reason, reference, reverses } = entry;
  if (counter === null) return [];
  const isFee = reason === 'fee';
  return [
    counter,
    numericFromUnits(tax),
    numericFromUnits(isFee ? 0n : fee),
    (kind === 'top_up' ? source : isFee ? null : reason) ?? '',
    expiresAtMs === null ? '' : new Date(Number(expiresAtMs)).toISOString(),
    reference ?? '',
    reverses ?? '',
  ];
}

function termsOfTrail(details: Details): Fact {
  const { counter, tax = NO_AMOUNT, source, reason, expires_at, reference, reverses } = details;
  if (counter === undefined) return [];
  const kind = source ?? reason ?? '';
  return [counter, tax, NO_AMOUNT, kind, expires_at ?? '', reference ?? '', reverses ?? ''];
}

/** Of a credit by a provider: its payment. By hand, an operator may credit money of a provider. */
function paymentOf({ kind, counter, actor, reference, accountId }: BookedFacts): Fact | undefined {
  const isByProvider = kind === 'top_up' && counter === `cash:${actor ?? ''}`;
  return isByProvider ? ['payment', reference ?? '', accountId] : undefined;
}

/** The bookings that a row of the trail records. */
export function factsOfTrail(row: SealedTrail): readonly Fact[] {
  const action = row[SEALED_TRAIL.action];
  if (!BOOKING_ACTIONS.has(action)) return [];
  const accountId = row[SEALED_TRAIL.accountId] ?? '';
  const details = detailsOf(row[SEALED_TRAIL.details]);
  const { entry, amount, credit, transfer, to } = details;
  if (action === 'account.create' || action === 'key.create') {
    const { entry: first, ...terms } = creditedIn(row[SEALED_TRAIL.details]);
    if (credit === undefined) return [];
    return first === undefined
      ? [['initial', accountId, credit]]
      : [[first, accountId, credit, ...termsOfTrail(terms)]];
  }
  if (action === 'balance.transfer') {
    const parts = [transfer ?? '', accountId, to ?? '', amount ?? ''];
    return [
      ['out', ...parts],
      ['in', ...parts],
    ];
  }
  return [[entry ?? '', accountId, amount ?? '', ...termsOfTrail(details)]];
}

const BOOKING_ACTIONS = new Set([
  'account.create',
  'key.create',
  'credit.add',
  'balance.adjust',
  'balance.transfer',
  'fee.book',
]);

type Details = Readonly<Record<string, string | undefined>>;

function detailsOf(text: string): Details {
  try {
    return JSON.parse(text) as Details;
  } catch {
    return {};
  }
}

/** Of a creation with a credit, unless it is of an earlier version: its entry and its terms. */
function creditedIn(text: string): Details {
  const { credited } = detailsOf(text) as { readonly credited?: Details };
  return credited ?? {};
}

/** The allowance that a row of the trail gives an account. */
function allowanceOfTrail(row: SealedTrail): string | undefined {
  const text = row[SEALED_TRAIL.details];
  if (!text.includes('"allowance"')) return undefined;
  // A change has what was before and after.
  const { allowance } = detailsOf(text) as { readonly allowance?: unknown };
  const after =
    typeof allowance === 'object' && allowance !== null && 'after' in allowance
      ? allowance.after
      : allowance;
  return typeof after === 'string' ? after : undefined;
}

function numberOf(fact: Fact): bigint {
  return BigInt(`0x${hash('sha256', JSON.stringify(fact), 'hex').slice(0, 16)}`);
}

/** Numbers of 8 bytes that need no more room than that. */
class Numbers {
  #kept = new BigUint64Array(1_024);
  #count = 0;

  add(number: bigint): void {
    if (this.#count === this.#kept.length) {
      const larger = new BigUint64Array(this.#count * 2);
      larger.set(this.#kept);
      this.#kept = larger;
    }
    this.#kept[this.#count] = number;
    this.#count += 1;
  }

  sorted(): BigUint64Array {
    return this.#kept.subarray(0, this.#count).sort();
  }
}

function allowanceNumber({ accountId, delta }: BookedFacts): bigint {
  return numberOf(['allowance', accountId, numericFromUnits(delta)]);
}

interface OriginSource {
  /** Each entry that is no charge, with its fact; in the order of the audit. */
  readonly entries: () => AsyncIterable<BookedFacts>;
  readonly trail: () => AsyncIterable<SealedTrail>;
  readonly hasEntry: AuditSource['hasEntry'];
  readonly paymentsAfter: AuditSource['paymentsAfter'];
}

export function createOriginAudit(complain: (found: AuditDifference) => void) {
  const entries = new Numbers();
  const trail = new Numbers();
  const paid = new Numbers();
  /** Of each account and amount. */
  const renewed = new Set<bigint>();
  const allowed = new Set<bigint>();
  /** By transfer, the credits that the half carries whose other half did not come yet. */
  const halves = new Map<string, string>();
  return {
    /** @param carried - Of half a transfer: which credits it carried. */
    addEntry(entry: BookedFacts, carried: string | undefined): void {
      const fact = factOfEntry(entry);
      if (fact !== undefined) entries.add(numberOf(fact));
      else if (isRenewal(entry)) renewed.add(allowanceNumber(entry));
      const payment = paymentOf(entry);
      if (payment !== undefined) paid.add(numberOf(payment));
      const [, transfer] = HALF.exec(entry.id) ?? [];
      if (carried === undefined || transfer === undefined) return;
      const other = halves.get(transfer);
      if (other === undefined) {
        halves.set(transfer, carried);
        return;
      }
      halves.delete(transfer);
      if (other !== carried) complain(differenceOf(entry.accountId, entry.id, other, carried));
    },
    addTrail(row: SealedTrail): void {
      for (const fact of factsOfTrail(row)) trail.add(numberOf(fact));
      const allowance = allowanceOfTrail(row);
      if (allowance === undefined) return;
      allowed.add(numberOf(['allowance', row[SEALED_TRAIL.accountId] ?? '', allowance]));
    },
    async finish(source: OriginSource): Promise<void> {
      const { onlyFirst, onlySecond } = difference(entries.sorted(), trail.sorted());
      const payments = await paymentsOf(source);
      const unpaid = difference(paid.sorted(), payments.sorted()).onlyFirst;
      const areAllowed = [...renewed].every((number) => allowed.has(number));
      if (onlyFirst.size + unpaid.size > 0 || !areAllowed) {
        for await (const entry of source.entries()) {
          const lacks = (what: string, missing: Map<bigint, number>, fact: Fact | undefined) => {
            if (fact === undefined || !takeOne(missing, numberOf(fact))) return;
            complain(differenceOf(entry.accountId, entry.id, what, 'none'));
          };
          lacks('its row in the trail', onlyFirst, factOfEntry(entry));
          lacks('its payment', unpaid, paymentOf(entry));
          if (isRenewal(entry) && !allowed.has(allowanceNumber(entry))) {
            const { accountId, id } = entry;
            complain(differenceOf(accountId, id, 'an allowance that someone set', 'none'));
          }
        }
      }
      if (onlySecond.size === 0) return;
      for await (const row of source.trail()) {
        for (const fact of factsOfTrail(row)) {
          if (!takeOne(onlySecond, numberOf(fact))) continue;
          // It may have been booked since its account was read.
          if (await source.hasEntry(idsOf(fact))) continue;
          const accountId = row[SEALED_TRAIL.accountId] ?? undefined;
          const number = `trail:${row[SEALED_TRAIL.seq]}`;
          complain(differenceOf(accountId, number, `the entry ${fact.join(' ')}`, 'none'));
        }
      }
    },
  };
}

async function paymentsOf({ paymentsAfter }: OriginSource): Promise<Numbers> {
  const payments = new Numbers();
  for (let seq = 0n; ;) {
    const page = await paymentsAfter(seq, PAYMENTS_PER_PAGE);
    for (const { providerPaymentId, accountId } of page) {
      if (providerPaymentId !== null) {
        payments.add(numberOf(['payment', providerPaymentId, accountId]));
      }
    }
    if (page.length < PAYMENTS_PER_PAGE) return payments;
    seq = page.at(-1)?.seq ?? seq;
  }
}

const PAYMENTS_PER_PAGE = 1_000;

/** Of a first credit of an earlier version, the trail does not have the whole id. */
function idsOf([first = '', second = '']: Fact): {
  readonly from: string;
  readonly before: string;
} {
  if (first === 'initial') {
    const prefix = `topup:initial:${second}`;
    return { from: `${prefix}:`, before: `${prefix};` };
  }
  const id = first === 'out' || first === 'in' ? `transfer:${second}:${first}` : first;
  return { from: id, before: `${id} ` };
}

function differenceOf(
  accountId: string | undefined,
  entryId: string,
  expected: string,
  found: string,
): AuditDifference {
  return { check: 'origin', accountId, keyId: undefined, entryId, expected, found };
}

/** How often each number is in one list and not in the other. Both are sorted. */
function difference(first: BigUint64Array, second: BigUint64Array) {
  const onlyFirst = new Map<bigint, number>();
  const onlySecond = new Map<bigint, number>();
  for (let [a, b] = [0, 0]; a < first.length || b < second.length;) {
    const [one, other] = [first[a], second[b]];
    if (one === other) {
      a += 1;
      b += 1;
    } else if (other === undefined || (one !== undefined && one < other)) {
      onlyFirst.set(one ?? 0n, (onlyFirst.get(one ?? 0n) ?? 0) + 1);
      a += 1;
    } else {
      onlySecond.set(other, (onlySecond.get(other) ?? 0) + 1);
      b += 1;
    }
  }
  return { onlyFirst, onlySecond };
}

function takeOne(numbers: Map<bigint, number>, number: bigint): boolean {
  const count = numbers.get(number) ?? 0;
  if (count === 0) return false;
  numbers.set(number, count - 1);
  return true;
}
