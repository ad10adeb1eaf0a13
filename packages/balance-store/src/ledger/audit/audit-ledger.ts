/**
 * Recomputes the ledger from its rows, independently of the code that wrote them: the list price of
 * each charge from its tokens and rates, the sequence numbers, the running balances, the totals of
 * accounts and keys, the unspent part of each credit, the given part of each
 * entry, the hourly and daily totals of usage, what moved between the sides of the books, the
 * origin of each booking, the sums of spenders, what budgets have used, the figures of closed
 * months with their statements, the rights of accounts, keys, members, budgets and promotional
 * codes from the trail, and the hash chain over all entries and the trail.
 *
 * The audit takes no locks. It reads an account's row first; the entries that this row counts are
 * final, because entries are numbered without gaps and never change. Only an archive removes
 * charges, and its sums take their place. If an archive was made during the audit, the audit begins
 * again.
 */

import { SEALED_TRAIL } from '../../generated/tables.js';
import type { LedgerArchive } from '../../archive.js';
import type { AuditDifference, AuditOptions, AuditReport, SealHead } from '../../audit.js';
import { createArchiveAudit } from './archives.js';
import { createCarryCursor, isSameRun, readCarried } from '../scan/carried-sums.js';
import type { ArchiveAudit } from './archives.js';
import {
  addToRun,
  auditAccount,
  auditEntry,
  auditedEntryOf,
  beginRun,
  emptyFold,
  endRun,
  report,
} from './account-fold.js';
import type { AuditedEntry, Fold, RunFold, Tally } from './account-fold.js';
import { auditKeysOf, createKeyAudit } from './keys.js';
import { createClosingAudit } from './closed-months.js';
import { compareLots } from './lots.js';
import { MoneyAudit } from './money.js';
import { createOriginAudit } from './origin.js';
import { auditRights } from './rights.js';
import { AFTER_ALL_IDS, MAX_SEQ } from '../scan/ledger-scan.js';
import type { AuditSource, AuditedAccounts, LotTotals } from './audit-source.js';
import { openHourOf, readSums } from './usage.js';
import { SpendingAudit, auditSpenders } from './spenders.js';
import { auditUsageDays } from './usage-days.js';
import { TRAIL, digestOfEntry } from '../seals/hashes.js';
import { checkChain, createSealCheck } from './seal-chain.js';

/** The keys and their usage in a page take some 5 KB each. */
const PAGE_LIMITS = { accounts: 500, keys: 5_000 };
const ENTRIES_PER_PAGE = 1_000;

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
    sides: new Map(),
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
  const origin = createOriginAudit(complain);
  const closings = createClosingAudit(complain);
  let after = '';
  for (;;) {
    const openHour = openHourOf(Date.now());
    const page = await source.accountsAfter(after, limits, openHour);
    const keysPerPage = limits.keys;
    const of = { head, tally, openHour, keysPerPage, archives: archiveAudit, origin, closings };
    const audited = { ...of, after, page };
    await auditAccounts(source, audited);
    onProgress?.({ entries: tally.entries });
    const last = page.accounts.at(-1);
    if (last === undefined) break;
    after = last.id;
  }
  archiveAudit.finish();
  await origin.finish({
    entries: () => readBookings(source),
    trail: () => trailRows(source),
    hasEntry: (ids) => source.hasEntry(ids),
    paymentsAfter: (seq, limit) => source.paymentsAfter(seq, limit),
  });
  await closings.finish(source);
  await auditUsageDays(source, complain);
  await auditRights(source, complain);
  await auditSpenders(source, complain);
  const { credited, adjusted, expired, charged, balances } = tally;
  const expected = credited + adjusted - expired - charged;
  const gap = expected - balances;
  const expectTotal = (of: bigint, found: bigint, name = '') => {
    if (of === found) return;
    const total = { check: 'total', accountId: undefined, keyId: undefined } as const;
    complain({
      ...total,
      entryId: undefined,
      expected: `${of.toString()}${name}`,
      found: found.toString(),
    });
  };
  expectTotal(expected, balances);
  const sides = [...tally.sides].sort(([a], [b]) => (a < b ? -1 : 1));
  const sum = sides.reduce((total, [, amount]) => total + amount, 0n);
  expectTotal(0n, sum, ' as the sum of all sides of the books');
  return {
    ...tally,
    sides: sides.map(([side, amount]) => ({ side, amount })),
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
  readonly origin: ReturnType<typeof createOriginAudit>;
  readonly closings: ReturnType<typeof createClosingAudit>;
}

/**
 * Audits all entries whose account id is greater than `after` and at most the last id of the page.
 */
async function auditAccounts(source: AuditSource, audited: Page): Promise<void> {
  const { after, page, head, tally, openHour, keysPerPage, archives, origin, closings } = audited;
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
  const { closedHour } = archives;
  const money = new MoneyAudit(source, { after, page, openHour, closedHour }, complain);
  const spending = new SpendingAudit(source, { after, page, openHour, closedHour }, complain);
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
      spending.addCarry(row);
      const fold = folds.get(row.accountId);
      if (fold === undefined) strangers.set(row.accountId, `carried ${String(row.from)}`);
      if (run === undefined || !isSameRun(run, row)) {
        await money.finishBefore(row.accountId);
        run = beginRun(row, fold, tally);
      }
      money.addCarried(addToRun(row, run, tally));
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
      await money.finishBefore(entry.accountId);
      const { sides, carried } = auditEntry(entry, fold, tally);
      if (entry.charge === undefined) origin.addEntry(entry, carried);
      money.add(entry.accountId, entry.createdAtMs, sides);
      if (entry.charge !== undefined) {
        await keys?.addCharge(entry.charge.fields);
        await spending.add(entry.charge.fields);
      }
    }
  }
  await addCarriedBefore(last ?? AFTER_ALL_IDS, MAX_SEQ);
  await money.finishBefore(AFTER_ALL_IDS);
  await spending.finish(accounts);
  for (const [side, amount] of money.totals) {
    tally.sides.set(side, (tally.sides.get(side) ?? 0n) + amount);
  }
  if (last === undefined) {
    for await (const row of readTrail(source)) {
      tally.trail += 1;
      archives.addTrail(row.fields);
      origin.addTrail(row.fields);
      closings.addTrail(row.fields);
      if (await seals.compare(row)) tally.sealedTrail += 1;
    }
  }
  await seals.finish();
  const lots = new Map<string, LotTotals[]>(accounts.map(({ id }) => [id, []]));
  for (const lot of page.lots) lots.get(lot.accountId)?.push(lot);
  for (const account of accounts) {
    const fold = folds.get(account.id) ?? emptyFold();
    auditAccount(account, fold, tally);
    compareLots(fold.lots.lots, account, lots.get(account.id) ?? [], complain);
  }
  if (keys !== undefined) {
    await keys.finish();
    tally.keys += page.keys?.length ?? 0;
  } else if (last !== undefined) {
    const archived = { lastAccountId: last, hour: Math.min(closedHour, openHour) };
    for await (const sum of readSums(source, after, archived)) archives.addUsage(sum);
    const of = { after, accountId: last };
    tally.keys += await auditKeysOf(source, of, { keysPerPage, closedHour }, complain);
  }
  await checkLaterEntries(source, folds, complain);
  await reportStrangers(source, strangers, complain);
}

/** @param strangers - By their unknown account, an entry each. */
async function reportStrangers(
  source: AuditSource,
  strangers: ReadonlyMap<string, string>,
  complain: (found: AuditDifference) => void,
): Promise<void> {
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

/** Every entry that is no charge. */
async function* readBookings(source: AuditSource): AsyncGenerator<AuditedEntry> {
  for await (const entry of readEntries(source, '', undefined)) {
    if (entry.charge === undefined) yield entry;
  }
}

async function* trailRows(source: AuditSource) {
  for await (const { fields } of readTrail(source)) yield fields;
}
