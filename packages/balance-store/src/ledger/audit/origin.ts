/**
 * Proves that each entry has an origin: a credit, an adjustment, a fee and each half of a transfer
 * has its row in the trail, with its id and amount, and each such row has its entry. Entries that
 * follow from a rule have none: expiries, allowances, and those that open an account. What a
 * provider's notification credited has its payment, too.
 *
 * Both sides are kept as numbers of 8 bytes, which are hashes, and compared at the end. Only what
 * differs is then read again, to name it.
 */

import { hash } from 'node:crypto';
import type { AuditDifference } from '../../audit.js';
import { SEALED_TRAIL } from '../../generated/tables.js';
import type { SealedTrail } from '../../generated/tables.js';
import { numericFromUnits } from '../../numeric.js';
import { isAllowance } from '../rules/entry-ids.js';
import type { AuditSource } from './audit-source.js';

export interface BookedFacts {
  readonly id: string;
  readonly accountId: string;
  readonly kind: string;
  readonly reason: string | null;
  readonly delta: bigint;
  readonly fee: bigint;
  readonly reference: string | null;
  readonly counter: string | null;
  readonly actor: string | null;
}

/** A booking as its entry and the trail both state it. */
type Fact = readonly string[];

const HALF = /^transfer:(.*):(out|in)$/s;

/** @returns `undefined` for an entry that follows from a rule */
export function factOfEntry(entry: BookedFacts): Fact | undefined {
  const { id, accountId, kind, reason, delta, fee, reference } = entry;
  if (kind === 'expiry' || reason === 'opening' || isAllowance(id)) return undefined;
  // The id of a first credit names its account. Its row in the trail is that of the creation.
  if (id.startsWith(`topup:initial:${accountId}:`)) {
    return ['initial', accountId, numericFromUnits(delta)];
  }
  const [, transfer, half] = (reason === 'transfer' ? HALF.exec(id) : null) ?? [];
  if (transfer !== undefined) {
    const isOut = half === 'out';
    const between = isOut ? [accountId, reference ?? ''] : [reference ?? '', accountId];
    return [half ?? '', transfer, ...between, numericFromUnits(isOut ? -delta : delta)];
  }
  return [id, accountId, numericFromUnits(reason === 'fee' ? fee : delta)];
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
  const { entry, amount, credit, transfer, to } = detailsOf(row[SEALED_TRAIL.details]);
  if (action === 'account.create' || action === 'key.create') {
    return credit === undefined ? [] : [['initial', accountId, credit]];
  }
  if (action === 'balance.transfer') {
    const parts = [transfer ?? '', accountId, to ?? '', amount ?? ''];
    return [
      ['out', ...parts],
      ['in', ...parts],
    ];
  }
  return [[entry ?? '', accountId, amount ?? '']];
}

const BOOKING_ACTIONS = new Set([
  'account.create',
  'key.create',
  'credit.add',
  'balance.adjust',
  'balance.transfer',
  'fee.book',
]);

function detailsOf(text: string): Readonly<Record<string, string | undefined>> {
  try {
    return JSON.parse(text) as Readonly<Record<string, string | undefined>>;
  } catch {
    return {};
  }
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
  return {
    addEntry(entry: BookedFacts): void {
      const fact = factOfEntry(entry);
      if (fact !== undefined) entries.add(numberOf(fact));
      const payment = paymentOf(entry);
      if (payment !== undefined) paid.add(numberOf(payment));
    },
    addTrail(row: SealedTrail): void {
      for (const fact of factsOfTrail(row)) trail.add(numberOf(fact));
    },
    async finish(source: OriginSource): Promise<void> {
      const { onlyFirst, onlySecond } = difference(entries.sorted(), trail.sorted());
      const payments = await paymentsOf(source);
      const unpaid = difference(paid.sorted(), payments.sorted()).onlyFirst;
      if (onlyFirst.size + unpaid.size > 0) {
        for await (const entry of source.entries()) {
          const lacks = (what: string, missing: Map<bigint, number>, fact: Fact | undefined) => {
            if (fact === undefined || !takeOne(missing, numberOf(fact))) return;
            complain(differenceOf(entry.accountId, entry.id, what, 'none'));
          };
          lacks('its row in the trail', onlyFirst, factOfEntry(entry));
          lacks('its payment', unpaid, paymentOf(entry));
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

/** Of a first credit, the trail does not have the whole id. */
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
