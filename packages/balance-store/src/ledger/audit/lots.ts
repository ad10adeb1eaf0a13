/**
 * Recomputes, entry by entry, the unspent part of each credit that expires or was given for free.
 * The rules are those of `books/lots.ts`. What a credit is, and when it expires, only its entry
 * says: an entry is sealed, the row of a credit is not.
 */

import type { AuditDifference } from '../../audit.js';
import { lotChangesText } from '../rows/lot-changes.js';
import type { LotChange } from '../rows/lot-changes.js';
import type { AccountTotals, LotTotals } from './audit-source.js';
import { compareBytes } from '../base/text-order.js';
import { BREAKAGE, GIFTS } from '../rules/sides.js';

interface AuditedLot {
  readonly entryId: string;
  readonly source: string | null;
  /** `Infinity` for a credit that does not expire. */
  readonly expiresAtMs: number;
  remaining: bigint;
}

/** What an entry did to credits: the changes, and how much of it is given money. */
interface Effect {
  readonly changes: readonly LotChange[];
  readonly given: bigint;
}

const NOTHING: Effect = { changes: [], given: 0n };

export function createLotAudit() {
  /** In the order in which they are used. */
  const lots: AuditedLot[] = [];
  function change(lot: AuditedLot, amount: bigint): Effect {
    lot.remaining += amount;
    return {
      changes: [{ lot: lot.entryId, amount }],
      given: lot.source === 'promotional' ? amount : 0n,
    };
  }
  function take(amount: bigint, from: readonly AuditedLot[] = lots): Effect {
    let left = amount;
    let effect = NOTHING;
    for (const lot of from) {
      const part = lot.remaining < left ? lot.remaining : left;
      if (part === 0n) continue;
      left -= part;
      effect = added(effect, change(lot, -part));
    }
    return effect;
  }
  /** Called for what an entry leaves, because the lots never exceed the balance. */
  function fitTo(balance: bigint): Effect {
    const covered = balance > 0n ? balance : 0n;
    const total = lots.reduce((sum, { remaining }) => sum + remaining, 0n);
    return total > covered ? take(total - covered) : NOTHING;
  }
  function add(entryId: string, amount: bigint, terms: NonNullable<LotChange['terms']>): Effect {
    const { source, expiresAt } = terms;
    const expiresAtMs = expiresAt?.getTime() ?? Infinity;
    const lot: AuditedLot = { entryId, source, expiresAtMs, remaining: 0n };
    lots.push(lot);
    lots.sort((a, b) => a.expiresAtMs - b.expiresAtMs || compareBytes(a.entryId, b.entryId));
    const { given } = change(lot, amount);
    return { changes: [{ lot: entryId, amount, terms }], given };
  }

  return {
    /** @returns the part that was paid from given money */
    spend: (amount: bigint): bigint => -take(amount).given,
    givenLeft: (): bigint =>
      lots.reduce((sum, lot) => sum + (lot.source === 'promotional' ? lot.remaining : 0n), 0n),
    fitTo,
    /** Takes back what was given. */
    takeGiven(amount: bigint, balance: bigint): Effect {
      const given = lots.filter(({ source }) => source === 'promotional');
      return added(take(amount, given), fitTo(balance));
    },
    /**
     * Adds the lots that an entry brings.
     *
     * @param balance - The balance after the entry. If there was a debt, the part of the lots that
     * pays it counts as used.
     */
    bring(brought: readonly LotChange[], balance: bigint): Effect {
      const effect = brought.reduce(
        (sum, { lot, amount, terms }) =>
          terms === undefined ? sum : added(sum, add(lot, amount, terms)),
        NOTHING,
      );
      return { changes: effect.changes, given: effect.given + fitTo(balance).given };
    },
    /** Undoes the changes of an earlier entry, the last one first. */
    undo(changes: readonly LotChange[], balance: bigint): Effect {
      let effect = NOTHING;
      for (const { lot: id, amount } of [...changes].reverse()) {
        const lot = lots.find(({ entryId }) => entryId === id);
        if (lot === undefined) continue;
        const undone = amount < lot.remaining ? -amount : -lot.remaining;
        if (undone !== 0n) effect = added(effect, change(lot, undone));
      }
      return added(effect, fitTo(balance));
    },
    /** @returns what is wrong with this expiry, if anything, and what it should say of itself */
    expire(entry: {
      readonly delta: bigint;
      readonly reference: string | null;
      readonly createdAtMs: number;
    }): {
      readonly given: bigint;
      /** The operator's account that gets it. */
      readonly counter: string;
      readonly problem?: { readonly expected: string; readonly found: string };
    } {
      const lot = lots.find(({ entryId }) => entryId === entry.reference);
      const amount = -entry.delta;
      const most = lot?.remaining ?? 0n;
      const given = lot === undefined ? 0n : change(lot, amount < most ? -amount : -most).given;
      const counter = lot?.source === 'promotional' ? GIFTS : BREAKAGE;
      const name = entry.reference ?? 'a credit';
      if (amount <= 0n || amount > most) {
        const expected = `above 0 and at most ${String(most)} of ${name}`;
        return { given, counter, problem: { expected, found: String(amount) } };
      }
      if (lot === undefined || entry.createdAtMs >= lot.expiresAtMs) return { given, counter };
      const expected = `${name} ${expiryText(lot.expiresAtMs)}`;
      const found = `expired at ${timeText(entry.createdAtMs)}`;
      return { given, counter, problem: { expected, found } };
    },
    /** What was taken from lots, as text: how much of each kind, in the order of taking. */
    takenText: (changes: readonly LotChange[]): string =>
      termsOfCarried(
        changes.map(({ lot: id, amount }) => {
          const lot = lots.find(({ entryId }) => entryId === id);
          return { amount: -amount, source: lot?.source, expiresAtMs: lot?.expiresAtMs };
        }),
      ),
    lots: lots as readonly AuditedLot[],
  };
}

/** What a transfer's other half brings, as {@link createLotAudit}'s `takenText` has it. */
export function broughtText(changes: readonly LotChange[]): string {
  return termsOfCarried(
    changes.map(({ amount, terms }) => ({
      amount,
      source: terms?.source,
      expiresAtMs: terms?.expiresAt?.getTime() ?? Infinity,
    })),
  );
}

function termsOfCarried(
  parts: readonly {
    readonly amount: bigint;
    readonly source: string | null | undefined;
    readonly expiresAtMs: number | undefined;
  }[],
): string {
  const sums = new Map<string, bigint>();
  for (const { amount, source, expiresAtMs } of parts) {
    const terms = termsText(source ?? null, expiresAtMs ?? Infinity);
    sums.set(terms, (sums.get(terms) ?? 0n) + amount);
  }
  const texts = [...sums].map(([terms, amount]) => `${String(amount)} (${terms})`);
  return texts.join(', ') || 'no credits';
}

/**
 * Compares with the rows. These do not yet include the spending that the account has not allotted
 * to lots.
 */
export function compareLots(
  lots: readonly AuditedLot[],
  account: AccountTotals,
  rows: readonly LotTotals[],
  complain: (found: AuditDifference) => void,
): void {
  const expiries = rows.flatMap(({ expiresAt, remaining }) =>
    expiresAt === null || remaining === 0n ? [] : [expiresAt.getTime()],
  );
  const nextExpiry = account.nextExpiryAt?.getTime() ?? Infinity;
  const stored = new Map(rows.map((row) => [row.entryId, row]));
  let unallotted = account.spent - account.allotted;
  let isSound = true;
  const compareTexts = (entryId: string | undefined, expected: string, found: string) => {
    if (expected === found) return;
    isSound = false;
    const accountId = account.id;
    complain({ check: 'credit_left', accountId, keyId: undefined, entryId, expected, found });
  };
  for (const lot of lots) {
    const { entryId } = lot;
    const row = stored.get(entryId);
    stored.delete(entryId);
    if (row === undefined) {
      compareTexts(entryId, leftText(lot.remaining), leftText('nothing'));
      continue;
    }
    const part = row.remaining < unallotted ? row.remaining : unallotted;
    unallotted -= part;
    compareTexts(entryId, leftText(lot.remaining), leftText(row.remaining - part));
    compareTexts(
      entryId,
      termsText(lot.source, lot.expiresAtMs),
      termsText(row.source, row.expiresAt?.getTime() ?? Infinity),
    );
  }
  for (const [entryId, { remaining }] of stored) {
    compareTexts(entryId, leftText(0n), leftText(remaining));
  }
  // Without it, credit that has expired could be spent until its expiry is booked.
  if (isSound) {
    compareTexts(undefined, firstText(Math.min(...expiries)), firstText(nextExpiry));
  }
}

function added(one: Effect, other: Effect): Effect {
  return {
    changes: [...one.changes, ...other.changes],
    given: one.given + other.given,
  };
}

/** The text of an entry's changes, in the order in which it made them. */
export function effectText({ changes }: Pick<Effect, 'changes'>): string {
  return lotChangesText(changes) ?? 'none';
}

const firstText = (ms: number) => `the first credit ${expiryText(ms)}`;
const leftText = (amount: bigint | string) => `${String(amount)} left`;

function termsText(source: string | null, expiresAtMs: number): string {
  return `${source ?? 'unknown'}, ${expiryText(expiresAtMs)}`;
}

function expiryText(ms: number): string {
  return ms === Infinity ? 'does not expire' : `expires at ${timeText(ms)}`;
}

/** Someone who changes a table can write a time into it that no `Date` has. */
function timeText(ms: number): string {
  const time = new Date(ms);
  return Number.isNaN(time.getTime()) ? String(ms) : time.toISOString();
}
