/**
 * Recomputes the ledger from its rows, independently of the code that wrote them: the list price of
 * each charge from its tokens and rates, the sequence numbers, the running balances, the totals of
 * accounts and keys, what caps count from, the unspent part of each credit, the hourly and daily
 * totals of usage, the rights of accounts, keys and promotional codes from the trail, and the hash
 * chain over all entries and the trail.
 *
 * The audit takes no locks. It reads an account's row first; the entries that this row counts are
 * final, because entries are numbered without gaps and never change. Only an archive removes
 * charges, and its sums take their place. If an archive was made during the audit, the audit begins
 * again.
 */

import { SEALED_LEDGER as AT, SEALED_TRAIL } from '../../generated/tables.js';
import type { SealedLedger } from '../../generated/tables.js';
import type { LedgerArchive } from '../../archive.js';
import type { AuditDifference, AuditOptions, AuditReport, SealHead } from '../../audit.js';
import { unitsFromNumeric } from '../../numeric.js';
import type { CarryRow } from '../rows/carry-row.js';
import { createArchiveAudit } from './archives.js';
import { createCarryCursor, isSameRun, readCarried } from '../scan/carried-sums.js';
import type { ArchiveAudit } from './archives.js';
import type { CarriedRun } from '../scan/carried-sums.js';
import { auditKeysOf, createKeyAudit } from './keys.js';
import { listPriceOf } from '../seals/sealed-list-price.js';
import { createLotAudit } from './lots.js';
import { auditRights } from './rights.js';
import { AFTER_ALL_IDS, MAX_SEQ } from '../scan/ledger-scan.js';
import type { AccountTotals, AuditSource, AuditedAccounts, LotTotals } from './audit-source.js';
import { openHourOf, readSums } from './usage.js';
import { auditUsageDays } from './usage-days.js';
import { MAX_DIFFERENCES } from '../../audit.js';
import { windowStartsAt } from '../rules/cap-windows.js';
import { isAllowance } from '../rules/entry-ids.js';
import { TRAIL, digestOfEntry } from '../seals/hashes.js';
import { checkChain, createSealCheck } from './seal-chain.js';

/** The keys and their usage in a page take some 5 KB each. */
const PAGE_LIMITS = { accounts: 500, keys: 5_000 };
const ENTRIES_PER_PAGE = 1_000;

/** Running totals over the entries of one account. */
interface Fold {
  seq: bigint;
  balance: bigint;
  spent: bigint;
  credited: bigint;
  adjusted: bigint;
  expired: bigint;
  writtenOff: bigint;
  /** The amount written off since money was last added, because the balance did not cover it. */
  uncovered: bigint;
  readonly lots: ReturnType<typeof createLotAudit>;
  /** First day of the month of the last allowance, in days since 1970-01-01. */
  allowanceStart: number;
  /** Number of the last entry beyond those that the account's row counted when it was read. */
  later: bigint;
}

interface Tally {
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
  sealed: number;
  trail: number;
  sealedTrail: number;
  differences: AuditDifference[];
}

/** @param limits - Of the accounts and keys that are held at a time. */
export async function auditLedger(
  source: AuditSource,
  options: AuditOptions,
  limits = PAGE_LIMITS,
): Promise<AuditReport> {
  for (;;) {
    const archives = await source.archives();
    const report = await auditOnce(source, archives, { ...options, limits });
    if ((await source.archives()).length === archives.length) return report;
  }
}

async function auditOnce(
  source: AuditSource,
  archives: readonly LedgerArchive[],
  { anchor, onProgress, limits }: AuditOptions & { readonly limits: typeof PAGE_LIMITS },
): Promise<AuditReport> {
  const tally: Tally = {
    accounts: 0,
    keys: 0,
    entries: 0,
    archived: 0,
    credited: 0n,
    adjusted: 0n,
    expired: 0n,
    charged: 0n,
    writtenOff: 0n,
    balances: 0n,
    sealed: 0,
    trail: 0,
    sealedTrail: 0,
    differences: [],
  };
  const complain = (found: AuditDifference) => {
    report(tally, found);
  };
  const head = await source.head();
  const ends = archives.map(({ lastBlock, lastHash }) => ({ block: lastBlock, hash: lastHash }));
  const anchors = anchor === undefined ? ends : [...ends, anchor];
  await checkChain(source, { head, anchors }, complain);
  const archiveAudit = createArchiveAudit(archives, complain);
  let after = '';
  for (;;) {
    const openHour = openHourOf(Date.now());
    const page = await source.accountsAfter(after, limits, openHour);
    const keysPerPage = limits.keys;
    const audited = { after, page, head, tally, openHour, keysPerPage, archives: archiveAudit };
    await auditAccounts(source, audited);
    onProgress?.({ entries: tally.entries });
    const last = page.accounts.at(-1);
    if (last === undefined) break;
    after = last.id;
  }
  archiveAudit.finish();
  await auditUsageDays(source, complain);
  await auditRights(source, complain);
  const { credited, adjusted, expired, charged, balances } = tally;
  const expected = credited + adjusted - expired - charged;
  const gap = expected - balances;
  if (gap !== 0n) {
    complain({
      check: 'total',
      accountId: undefined,
      keyId: undefined,
      entryId: undefined,
      expected: expected.toString(),
      found: balances.toString(),
    });
  }
  return {
    ...tally,
    gap,
    head,
    ...(await source.counts()),
    isSound: tally.differences.length === 0,
  };
}

interface Page {
  readonly after: string;
  readonly page: AuditedAccounts;
  readonly head: SealHead | undefined;
  readonly tally: Tally;
  readonly openHour: number;
  readonly keysPerPage: number;
  readonly archives: ArchiveAudit;
}

/**
 * Audits all entries whose account id is greater than `after` and at most the last id of the page.
 */
async function auditAccounts(source: AuditSource, audited: Page): Promise<void> {
  const { after, page, head, tally, openHour, keysPerPage, archives } = audited;
  const { accounts } = page;
  const last = accounts.at(-1)?.id;
  const complain = (found: AuditDifference) => {
    report(tally, found);
  };
  const seals = createSealCheck(source, { after, last, block: head?.block ?? 0n }, complain);
  const keys =
    page.keys === undefined
      ? undefined
      : createKeyAudit(
          source,
          { ...page, keys: page.keys, after, last, openHour, archives },
          complain,
        );
  const carried = createCarryCursor(readCarried(source, after, last));
  const folds = new Map<string, Fold>(accounts.map(({ id }) => [id, emptyFold()]));
  const counted = new Map(accounts.map((account) => [account.id, account.seq]));
  const strangers = new Map<string, string>();

  /** Adds the sums of the archived charges whose place is before entry `seq` of this account. */
  async function addCarriedBefore(accountId: string, seq: bigint): Promise<void> {
    let run: RunFold | undefined;
    for (;;) {
      const row = await carried.takeBefore(accountId, seq);
      if (run !== undefined && (row === undefined || !isSameRun(run, row))) {
        archives.endRun(run, run.charges);
        endRun(run, tally);
      }
      if (row === undefined) return;
      archives.addCarry(row);
      keys?.addCarry(row);
      const fold = folds.get(row.accountId);
      if (fold === undefined) strangers.set(row.accountId, `carried ${String(row.from)}`);
      if (run === undefined || !isSameRun(run, row)) run = beginRun(row, fold, tally);
      addToRun(row, run, tally);
    }
  }

  for await (const entry of readEntries(source, after, last)) {
    const isSealed = await seals.compare(entry);
    await addCarriedBefore(entry.accountId, entry.seq);
    // The sums of an archive include this charge already, but it is not deleted yet.
    if (entry.charge !== undefined && (await carried.carries(entry.accountId, entry.seq))) continue;
    if (isSealed) tally.sealed += 1;
    const fold = folds.get(entry.accountId);
    if (fold === undefined) {
      strangers.set(entry.accountId, entry.id);
    } else if (entry.seq > (counted.get(entry.accountId) ?? 0n)) {
      fold.later = entry.seq;
    } else {
      auditEntry(entry, fold, tally);
      if (entry.charge !== undefined) await keys?.addCharge(entry.charge.fields);
    }
  }
  await addCarriedBefore(last ?? AFTER_ALL_IDS, MAX_SEQ);
  if (last === undefined) {
    for await (const row of readTrail(source)) {
      tally.trail += 1;
      archives.addTrail(row.fields);
      if (await seals.compare(row)) tally.sealedTrail += 1;
    }
  }
  await seals.finish();
  const lots = new Map<string, LotTotals[]>(accounts.map(({ id }) => [id, []]));
  for (const lot of page.lots) lots.get(lot.accountId)?.push(lot);
  for (const account of accounts) {
    const fold = folds.get(account.id) ?? emptyFold();
    auditAccount(account, fold, tally);
    fold.lots.compare(account, lots.get(account.id) ?? [], complain);
  }
  if (keys !== undefined) {
    await keys.finish();
    tally.keys += page.keys?.length ?? 0;
  } else if (last !== undefined) {
    const { closedHour } = archives;
    const archived = { lastAccountId: last, hour: Math.min(closedHour, openHour) };
    for await (const sum of readSums(source, after, archived)) archives.addUsage(sum);
    const of = { after, accountId: last };
    tally.keys += await auditKeysOf(source, of, { keysPerPage, closedHour }, complain);
  }
  await checkLaterEntries(source, folds, complain);
  for (const [accountId, entryId] of strangers) {
    if ((await source.seqOf(accountId)) !== undefined) continue;
    complain({
      check: 'balance',
      accountId,
      keyId: undefined,
      entryId,
      expected: 'an account with this id',
      found: 'none',
    });
  }
}

/** Reports entries beyond those that an account's row counted, unless they were added since. */
async function checkLaterEntries(
  source: AuditSource,
  folds: ReadonlyMap<string, Fold>,
  complain: (found: AuditDifference) => void,
): Promise<void> {
  for (const [accountId, { later }] of folds) {
    if (later === 0n) continue;
    // The entry was added after the row was read, or it is forged. By now the row counts the entry
    // if it was added. It never counts a forged entry.
    const seq = await source.seqOf(accountId);
    if (seq === undefined || seq < later) {
      complain({
        check: 'sequence',
        accountId,
        keyId: undefined,
        entryId: undefined,
        expected: `no entry after ${String(seq)}`,
        found: `entry ${String(later)}`,
      });
    }
  }
}

interface AuditedEntry {
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

async function* readEntries(
  source: AuditSource,
  after: string,
  last: string | undefined,
): AsyncGenerator<AuditedEntry> {
  let position = { accountId: after, seq: MAX_SEQ };
  for (;;) {
    const rows = await source.entriesAfter(position, last, ENTRIES_PER_PAGE);
    let end: AuditedEntry | undefined;
    for (const row of rows) {
      end = auditedEntryOf(row);
      yield end;
    }
    if (end === undefined || rows.length < ENTRIES_PER_PAGE) return;
    position = end;
  }
}

async function* readTrail(source: AuditSource) {
  for (let seq = 0n; ;) {
    const rows = await source.trailAfter(seq, ENTRIES_PER_PAGE);
    for (const row of rows) {
      const number = row[SEALED_TRAIL.seq];
      seq = BigInt(number);
      const id = `${TRAIL}:${number}`;
      yield { id, accountId: TRAIL, seq, digest: digestOfEntry(row), fields: row };
    }
    if (rows.length < ENTRIES_PER_PAGE) return;
  }
}

function auditedEntryOf(row: SealedLedger): AuditedEntry {
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
    charge:
      row[AT.kind] === 'charge'
        ? { keyId: row[AT.keyId] ?? '', listPrice: listPriceOf(row), fields: row }
        : undefined,
    digest: digestOfEntry(row),
  };
}

function auditEntry(entry: AuditedEntry, fold: Fold, tally: Tally): void {
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

  tally.entries += 1;
  fold.seq = entry.seq;
  // Adds to the computed balance, not to the recorded one. An entry with a wrong recorded balance
  // is then reported alone, without the entries after it.
  fold.balance += delta;
  if (delta > 0n) fold.uncovered = 0n;
  switch (entry.kind) {
    case 'charge':
      fold.spent -= delta;
      fold.writtenOff += writtenOff;
      fold.uncovered += writtenOff - entry.overCap;
      tally.charged -= delta;
      tally.writtenOff += writtenOff;
      fold.lots.spend(-delta);
      break;
    case 'top_up':
      fold.credited += delta;
      tally.credited += delta;
      fold.lots.credit({ ...entry, balance: fold.balance });
      if (isAllowance(entryId)) fold.allowanceStart = windowStartsAt(entry.createdAtMs).month;
      break;
    case 'adjustment':
      fold.adjusted += delta;
      tally.adjusted += delta;
      if (delta < 0n) fold.lots.fitTo(fold.balance);
      break;
    default: {
      fold.expired -= delta;
      tally.expired -= delta;
      const problem = fold.lots.expire(entry);
      if (problem !== undefined) complain('expiry', problem.expected, problem.found);
    }
  }
}

/** The sums of a run, while they are added to the account with the same effect as its charges. */
interface RunFold extends CarriedRun {
  /** `undefined` if there is no such account. */
  readonly fold: Fold | undefined;
  charges: bigint;
  /** The balances after the run that its sums state; one in a sound ledger. */
  readonly balances: Set<bigint>;
}

function beginRun(
  { accountId, from, to }: CarryRow,
  fold: Fold | undefined,
  tally: Tally,
): RunFold {
  if (fold !== undefined) {
    complainOfRun(tally, { accountId, from }, 'sequence', fold.seq + 1n, from);
    fold.seq = to;
  }
  return { accountId, from, to, fold, charges: 0n, balances: new Set() };
}

function addToRun(row: CarryRow, run: RunFold, tally: Tally): void {
  const { charges, charged, writtenOff, overCap, balanceAfter } = row;
  run.charges += BigInt(charges);
  if (run.balances.size < MAX_DIFFERENCES) run.balances.add(balanceAfter);
  const { fold } = run;
  if (fold === undefined) return;
  fold.balance -= charged;
  fold.spent += charged;
  fold.writtenOff += writtenOff;
  fold.uncovered += writtenOff - overCap;
  fold.lots.spend(charged);
  tally.archived += charges;
  tally.charged += charged;
  tally.writtenOff += writtenOff;
}

function endRun(run: RunFold, tally: Tally): void {
  if (run.fold === undefined) return;
  for (const balance of run.balances) {
    complainOfRun(tally, run, 'running_balance', run.fold.balance, balance);
  }
}

function complainOfRun(
  tally: Tally,
  { accountId, from }: Pick<CarriedRun, 'accountId' | 'from'>,
  check: AuditDifference['check'],
  expected: bigint,
  found: bigint,
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

function auditAccount(account: AccountTotals, fold: Fold, tally: Tally): void {
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
}

function allowanceText({ allowanceStart }: Pick<Fold, 'allowanceStart'>): string {
  return `last allowance in the month from day ${String(allowanceStart)} on`;
}

function totalsText(
  totals: Pick<Fold, 'credited' | 'adjusted' | 'expired' | 'spent' | 'writtenOff' | 'uncovered'>,
): string {
  const { credited, adjusted, expired, spent, writtenOff, uncovered } = totals;
  return [
    `credited ${String(credited)}`,
    `adjusted ${String(adjusted)}`,
    `expired ${String(expired)}`,
    `spent ${String(spent)}`,
    `written off ${String(writtenOff)}`,
    `uncovered ${String(uncovered)}`,
  ].join(', ');
}

function report(tally: Tally, difference: AuditDifference): void {
  if (tally.differences.length < MAX_DIFFERENCES) tally.differences.push(difference);
}

function emptyFold(): Fold {
  return {
    seq: 0n,
    balance: 0n,
    spent: 0n,
    credited: 0n,
    adjusted: 0n,
    expired: 0n,
    writtenOff: 0n,
    uncovered: 0n,
    lots: createLotAudit(),
    allowanceStart: 0,
    later: 0n,
  };
}
