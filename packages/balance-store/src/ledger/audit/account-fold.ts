/** Recomputes the totals of an account, entry by entry. */

import { SEALED_LEDGER as AT } from '../../generated/tables.js';
import type { SealedLedger } from '../../generated/tables.js';
import { MAX_DIFFERENCES } from '../../audit.js';
import type { AuditDifference } from '../../audit.js';
import { unitsFromNumeric } from '../../numeric.js';
import type { CarryRow } from '../rows/carry-row.js';
import { lotChangesOf } from '../rows/lot-changes.js';
import type { LotChange } from '../rows/lot-changes.js';
import { allowanceMonthOf } from '../rules/allowance.js';
import { isAllowance } from '../rules/entry-ids.js';
import { GIFTS, TRANSFERS, UNKNOWN, openingSides, redeemedSides, sidesOf } from '../rules/sides.js';
import type { Side } from '../rules/sides.js';
import type { CarriedRun } from '../scan/carried-sums.js';
import { digestOfEntry } from '../seals/hashes.js';
import { listPriceOf } from '../seals/sealed-list-price.js';
import type { AccountTotals } from './audit-source.js';
import { broughtText, createLotAudit, effectText } from './lots.js';

/** Running totals over the entries of one account. */
export interface Fold {
  seq: bigint;
  balance: bigint;
  spent: bigint;
  credited: bigint;
  adjusted: bigint;
  expired: bigint;
  writtenOff: bigint;
  /** The amount written off since money was last added, because the balance did not cover it. */
  uncovered: bigint;
  /** The time of the last entry, in milliseconds since the epoch. */
  lastAtMs: number;
  readonly lots: ReturnType<typeof createLotAudit>;
  /** Whether its entries say from where money comes: from the first one that says so. */
  isOpen: boolean;
  hasBookings: boolean;
  /** The given part of the balance, once it is open. */
  given: bigint;
  /** The credits that each entry changed, for a later one that undoes it. */
  readonly changes: Map<string, readonly LotChange[]>;
  /** First day of the month of the last allowance, in days since 1970-01-01. */
  allowanceStart: number;
  /** Number of the last entry beyond those that the account's row counted when it was read. */
  later: bigint;
}

export interface Tally {
  accounts: number;
  keys: number;
  entries: number;
  archived: number;
  credited: bigint;
  adjusted: bigint;
  expired: bigint;
  charged: bigint;
  writtenOff: bigint;
  balances: bigint;
  readonly sides: Map<string, bigint>;
  sealed: number;
  trail: number;
  sealedTrail: number;
  differences: AuditDifference[];
}

export interface AuditedEntry {
  readonly id: string;
  readonly accountId: string;
  readonly seq: bigint;
  readonly kind: string;
  readonly delta: bigint;
  readonly balanceAfter: bigint;
  readonly writtenOff: bigint;
  readonly overCap: bigint;
  readonly createdAtMs: number;
  readonly source: string | null;
  readonly expiresAtMs: string | null;
  readonly reference: string | null;
  readonly reason: string | null;
  readonly actor: string | null;
  /** As it is recorded; `undefined` if it is not. */
  readonly given: bigint | undefined;
  readonly counter: string | null;
  readonly tax: bigint;
  readonly fee: bigint;
  readonly lots: string | null;
  readonly reverses: string | null;
  /** `undefined` unless the entry is a charge. */
  readonly charge:
    | {
        readonly keyId: string;
        /** The charge of the recorded tokens at the recorded rates. */
        readonly listPrice: bigint;
        readonly fields: SealedLedger;
      }
    | undefined;
  readonly digest: Buffer;
}

export function auditedEntryOf(row: SealedLedger): AuditedEntry {
  return {
    id: row[AT.id],
    accountId: row[AT.accountId],
    seq: BigInt(row[AT.seq]),
    kind: row[AT.kind],
    delta: unitsFromNumeric(row[AT.delta]),
    balanceAfter: unitsFromNumeric(row[AT.balanceAfter]),
    writtenOff: unitsFromNumeric(row[AT.writtenOff]),
    overCap: unitsFromNumeric(row[AT.overCap]),
    createdAtMs: Number(row[AT.createdAt]),
    source: row[AT.source],
    expiresAtMs: row[AT.expiresAt],
    reference: row[AT.reference],
    reason: row[AT.reason],
    actor: row[AT.actor],
    given: amountOf(row[AT.given]),
    counter: row[AT.counter] ?? null,
    tax: amountOf(row[AT.tax]) ?? 0n,
    fee: amountOf(row[AT.fee]) ?? 0n,
    lots: row[AT.lots] ?? null,
    reverses: row[AT.reverses] ?? null,
    charge:
      row[AT.kind] === 'charge'
        ? { keyId: row[AT.keyId] ?? '', listPrice: listPriceOf(row), fields: row }
        : undefined,
    digest: digestOfEntry(row),
  };
}

function amountOf(text: string | null | undefined): bigint | undefined {
  return text == null ? undefined : unitsFromNumeric(text);
}

/** What an entry did beyond its own account. */
interface Moved {
  /** What it moved between the sides of the books. */
  readonly sides: readonly Side[];
  /** Of half a transfer: which credits it carried. */
  readonly carried?: string | undefined;
}

export function auditEntry(entry: AuditedEntry, fold: Fold, tally: Tally): Moved {
  const { accountId, id: entryId, charge, delta, writtenOff } = entry;
  const complain = (check: AuditDifference['check'], expected: string, found: string) => {
    report(tally, { check, accountId, keyId: charge?.keyId, entryId, expected, found });
  };
  const expect = (check: AuditDifference['check'], expected: bigint, found: bigint) => {
    if (expected !== found) complain(check, expected.toString(), found.toString());
  };
  if (charge !== undefined) expect('amount', writtenOff - charge.listPrice, delta);
  expect('sequence', fold.seq + 1n, entry.seq);
  expect('running_balance', fold.balance + delta, entry.balanceAfter);
  if (isTooEarly(entry.createdAtMs, fold)) {
    complain('time', ...timeTexts(fold.lastAtMs, entry.createdAtMs));
  }
  fold.lastAtMs = entry.createdAtMs;

  tally.entries += 1;
  fold.seq = entry.seq;
  // Adds to the computed balance, not to the recorded one. An entry with a wrong recorded balance
  // is then reported alone, without the entries after it.
  fold.balance += delta;
  if (delta > 0n) fold.uncovered = 0n;
  if (charge !== undefined) {
    fold.spent -= delta;
    fold.writtenOff += writtenOff;
    fold.uncovered += writtenOff - entry.overCap;
    tally.charged -= delta;
    tally.writtenOff += writtenOff;
    const given = fold.isOpen ? fold.lots.spend(-delta) : spendUnknown(fold, -delta);
    if (given !== -(entry.given ?? 0n)) {
      complain('sides', `${String(given)} of it paid from given money`, String(entry.given));
    }
    fold.given -= given;
    return { sides: redeemedSides(given) };
  }
  const { given, changes, counter } = auditBooking(entry, fold, tally, complain);
  const isFirst = !fold.hasBookings;
  fold.hasBookings = true;
  fold.changes.set(entryId, changes);
  if (entry.counter === null) {
    if (fold.isOpen) complain('sides', 'from where its money comes', 'nothing');
    // Nobody recorded which credits an earlier entry took from.
    if (entry.kind !== 'top_up') fold.changes.delete(entryId);
    return { sides: [] };
  }
  if (counter !== undefined && entry.counter !== counter) {
    complain('sides', `${counter} on the other side`, entry.counter);
  }
  if (entry.reason === 'opening' ? fold.isOpen : !fold.isOpen && !isFirst) {
    complain('sides', 'one entry that opens the account, before others', entry.id);
  }
  fold.isOpen = true;
  if (entry.given !== given) {
    complain('sides', `${String(given)} of it given money`, String(entry.given));
  }
  const text = entry.kind === 'adjustment' ? effectText({ changes }) : 'none';
  if (text !== (entry.lots ?? 'none')) {
    complain('sides', `changes of credits ${text}`, entry.lots ?? 'none');
  }
  fold.given += given;
  const { balance, spent } = fold;
  if (entry.reason === 'opening') {
    if (delta !== 0n) complain('sides', 'an entry that changes no balance', String(delta));
    return { sides: openingSides({ balance, spent, given }) };
  }
  const { tax, fee } = entry;
  const sides = sidesOf({ delta, given, counter: entry.counter, tax, fee });
  if (entry.reason !== 'transfer') return { sides };
  return { sides, carried: delta < 0n ? fold.lots.takenText(changes) : broughtText(changes) };
}

/** Of charges before the account was opened, nobody recorded what was paid from given money. */
function spendUnknown(fold: Fold, amount: bigint): bigint {
  fold.lots.spend(amount);
  return 0n;
}

/** @returns what the entry does to credits, by the rules, and its other side if a rule says it */
function auditBooking(
  entry: AuditedEntry,
  fold: Fold,
  tally: Tally,
  complain: (check: AuditDifference['check'], expected: string, found: string) => void,
): {
  readonly given: bigint;
  readonly changes: readonly LotChange[];
  readonly counter?: string;
} {
  const { delta, id, source, reason, expiresAtMs } = entry;
  const { balance, lots } = fold;
  switch (entry.kind) {
    case 'top_up': {
      fold.credited += delta;
      tally.credited += delta;
      if (isAllowance(id)) {
        fold.allowanceStart = allowanceMonthOf(new Date(entry.createdAtMs)).start;
      }
      const changes = [{ lot: id, amount: delta, terms: termsOf(source, expiresAtMs) }];
      const isLot = source === 'promotional' || expiresAtMs !== null;
      const { given } = isLot ? lots.bring(changes, balance) : { given: 0n };
      return { given, changes, ...(isAllowance(id) ? { counter: GIFTS } : {}) };
    }
    case 'adjustment': {
      fold.adjusted += delta;
      tally.adjusted += delta;
      if (reason === 'opening') return { given: lots.givenLeft(), changes: [], counter: UNKNOWN };
      if (entry.reverses !== null) {
        return lots.undo(fold.changes.get(entry.reverses) ?? [], balance);
      }
      if (reason === 'transfer') {
        const { given, changes } =
          delta < 0n ? lots.fitTo(balance) : lots.bring(carriedBy(entry), balance);
        return { given, changes, counter: TRANSFERS };
      }
      if (delta < 0n) {
        return entry.counter === GIFTS ? lots.takeGiven(-delta, balance) : lots.fitTo(balance);
      }
      if (reason === 'goodwill' && entry.counter !== null) {
        const terms = termsOf('promotional', null);
        return lots.bring([{ lot: id, amount: delta, terms }], balance);
      }
      return { given: 0n, changes: [] };
    }
    default: {
      fold.expired -= delta;
      tally.expired -= delta;
      const { problem, given, counter } = lots.expire(entry);
      if (problem !== undefined) complain('expiry', problem.expected, problem.found);
      return { given, changes: [], counter };
    }
  }
}

function termsOf(source: string | null, expiresAtMs: string | null): LotChange['terms'] {
  return {
    source: source as NonNullable<LotChange['terms']>['source'],
    expiresAt: expiresAtMs === null ? null : new Date(Number(expiresAtMs)),
  };
}

/** Which credits half a transfer brought, its column says; {@link Moved.carried} is compared. */
function carriedBy({ id, delta, lots }: AuditedEntry): readonly LotChange[] {
  let carried: readonly LotChange[];
  try {
    carried = lotChangesOf(lots);
  } catch {
    return [];
  }
  const sum = carried.reduce((total, { amount }) => total + amount, 0n);
  const areOwn = carried.every(
    ({ lot, amount, terms }, index) =>
      terms !== undefined &&
      amount > 0n &&
      lot === (index === 0 ? id : `${id}#${String(index + 1)}`),
  );
  return areOwn && sum <= delta ? carried : [];
}

/** Versions whose entries have one side only followed a clock that was set back. */
function isTooEarly(atMs: number, { isOpen, lastAtMs }: Fold): boolean {
  return isOpen && atMs < lastAtMs;
}

function timeTexts(...[earliest, found]: readonly [number, number]): [string, string] {
  return [`${timeText(earliest)} or later`, timeText(found)];
}

function timeText(ms: number): string {
  const time = new Date(ms);
  return Number.isNaN(time.getTime()) ? String(ms) : time.toISOString();
}

/** The sums of a run, while they are added to the account with the same effect as its charges. */
export interface RunFold extends CarriedRun {
  /** `undefined` if there is no such account. */
  readonly fold: Fold | undefined;
  charges: bigint;
  /** The balances after the run that its sums state; one in a sound ledger. */
  readonly balances: Set<bigint>;
  /** When the first and the last of its charges were settled, in milliseconds since the epoch. */
  firstAtMs: number;
  lastAtMs: number;
}

export function beginRun(
  { accountId, from, to }: CarryRow,
  fold: Fold | undefined,
  tally: Tally,
): RunFold {
  if (fold !== undefined) {
    complainOfRun(tally, { accountId, from }, 'sequence', fold.seq + 1n, from);
    fold.seq = to;
  }
  const [firstAtMs, lastAtMs] = [Infinity, 0];
  return { accountId, from, to, fold, charges: 0n, balances: new Set(), firstAtMs, lastAtMs };
}

/** @returns the part that was paid from given money, as far as that is recorded */
export function addToRun(row: CarryRow, run: RunFold, tally: Tally): bigint {
  const { charges, charged, writtenOff, overCap, balanceAfter } = row;
  run.charges += BigInt(charges);
  if (run.balances.size < MAX_DIFFERENCES) run.balances.add(balanceAfter);
  run.firstAtMs = Math.min(run.firstAtMs, row.firstAt.getTime());
  run.lastAtMs = Math.max(run.lastAtMs, row.lastAt.getTime());
  const { fold } = run;
  if (fold === undefined) return 0n;
  fold.balance -= charged;
  fold.spent += charged;
  fold.writtenOff += writtenOff;
  fold.uncovered += writtenOff - overCap;
  tally.archived += charges;
  tally.charged += charged;
  tally.writtenOff += writtenOff;
  const given = fold.isOpen ? fold.lots.spend(charged) : spendUnknown(fold, charged);
  fold.given -= given;
  return given;
}

export function endRun(run: RunFold, tally: Tally): void {
  if (run.fold === undefined) return;
  for (const balance of run.balances) {
    complainOfRun(tally, run, 'running_balance', run.fold.balance, balance);
  }
  if (isTooEarly(run.firstAtMs, run.fold)) {
    complainOfRun(tally, run, 'time', ...timeTexts(run.fold.lastAtMs, run.firstAtMs));
  }
  run.fold.lastAtMs = run.lastAtMs;
}

function complainOfRun(
  tally: Tally,
  { accountId, from }: Pick<CarriedRun, 'accountId' | 'from'>,
  check: AuditDifference['check'],
  expected: bigint | string,
  found: bigint | string,
): void {
  if (expected === found) return;
  report(tally, {
    check,
    accountId,
    keyId: undefined,
    entryId: undefined,
    expected: `${expected.toString()}, carried from entry ${from.toString()} on`,
    found: found.toString(),
  });
}

export function auditAccount(account: AccountTotals, fold: Fold, tally: Tally): void {
  tally.accounts += 1;
  tally.balances += account.balance;
  const expect = (check: AuditDifference['check'], expected: string, found: string) => {
    if (expected === found) return;
    const accountId = account.id;
    report(tally, { check, accountId, keyId: undefined, entryId: undefined, expected, found });
  };
  expect('sequence', fold.seq.toString(), account.seq.toString());
  expect('balance', fold.balance.toString(), account.balance.toString());
  expect('account_totals', totalsText(fold), totalsText(account));
  expect('account_totals', allowanceText(fold), allowanceText(account));
  if (fold.seq > 0n && fold.isOpen !== account.opened) {
    const opened = (isOpen: boolean) => (isOpen ? 'opened' : 'not opened');
    // A new account is open before its first booking.
    if (fold.isOpen || fold.hasBookings) {
      expect('account_totals', opened(fold.isOpen), opened(account.opened));
    }
  }
}

function allowanceText({ allowanceStart }: Pick<Fold, 'allowanceStart'>): string {
  return `last allowance in the month from day ${String(allowanceStart)} on`;
}

function totalsText(
  totals: Pick<
    AccountTotals,
    'credited' | 'adjusted' | 'expired' | 'spent' | 'writtenOff' | 'uncovered' | 'given'
  >,
): string {
  const { credited, adjusted, expired, spent, writtenOff, uncovered, given } = totals;
  return [
    `credited ${String(credited)}`,
    `adjusted ${String(adjusted)}`,
    `expired ${String(expired)}`,
    `spent ${String(spent)}`,
    `written off ${String(writtenOff)}`,
    `uncovered ${String(uncovered)}`,
    `given ${String(given)}`,
  ].join(', ');
}

export function report(tally: Tally, difference: AuditDifference): void {
  if (tally.differences.length < MAX_DIFFERENCES) tally.differences.push(difference);
}

export function emptyFold(): Fold {
  return {
    seq: 0n,
    balance: 0n,
    spent: 0n,
    credited: 0n,
    adjusted: 0n,
    expired: 0n,
    writtenOff: 0n,
    uncovered: 0n,
    lastAtMs: 0,
    lots: createLotAudit(),
    isOpen: false,
    hasBookings: false,
    given: 0n,
    changes: new Map(),
    allowanceStart: 0,
    later: 0n,
  };
}
