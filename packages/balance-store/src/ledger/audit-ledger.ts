/**
 * Recomputes the ledger from its rows, independently of the SQL functions that wrote them: the list
 * price of each charge from its tokens and rates, the sequence numbers, the running balances, the
 * keys' totals, and the hash chain over all entries.
 *
 * The audit takes no snapshot and no locks. It reads a key's row first; the entries that this row
 * counts are final, because entries are numbered without gaps and never change.
 */

import type { AuditDifference, AuditOptions, AuditReport, SealHead } from '../audit.js';
import { unitsFromNumeric } from '../numeric.js';
import { MAX_SEQ } from './audit-source.js';
import type { AuditSource, EntryFields, KeyTotals } from './audit-source.js';
import { checkChain, createSealCheck, digestOfEntry } from './seal-chain.js';

const KEYS_PER_PAGE = 500;
const ENTRIES_PER_PAGE = 1_000;
const MAX_DIFFERENCES = 1_000;

/** Running totals over the entries of one key. */
interface Fold {
  seq: bigint;
  balance: bigint;
  spent: bigint;
  credited: bigint;
  writtenOff: bigint;
  /** Written off since the last credit. */
  uncovered: bigint;
  /** Number of the last entry beyond those that the key's row counted when it was read. */
  later: bigint;
}

interface Tally {
  keys: number;
  entries: number;
  credited: bigint;
  charged: bigint;
  writtenOff: bigint;
  balances: bigint;
  sealed: number;
  differences: AuditDifference[];
}

export async function auditLedger(
  source: AuditSource,
  { anchor }: AuditOptions,
): Promise<AuditReport> {
  const tally: Tally = {
    keys: 0,
    entries: 0,
    credited: 0n,
    charged: 0n,
    writtenOff: 0n,
    balances: 0n,
    sealed: 0,
    differences: [],
  };
  const head = await source.head();
  await checkChain(source, { head, anchor }, (found) => {
    report(tally, found);
  });
  let after = '';
  for (;;) {
    const keys = await source.keysAfter(after, KEYS_PER_PAGE);
    await auditKeys(source, { after, keys, head, tally });
    const last = keys.at(-1);
    if (last === undefined) break;
    after = last.id;
  }
  const { credited, charged, balances } = tally;
  const gap = credited - charged - balances;
  if (gap !== 0n) {
    report(tally, {
      check: 'total',
      keyId: undefined,
      entryId: undefined,
      expected: (credited - charged).toString(),
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

/** Audits all entries whose key id lies above `after` and not above the last key of the page. */
async function auditKeys(
  source: AuditSource,
  page: {
    readonly after: string;
    readonly keys: readonly KeyTotals[];
    readonly head: SealHead | undefined;
    readonly tally: Tally;
  },
): Promise<void> {
  const { after, keys, head, tally } = page;
  const last = keys.at(-1)?.id;
  const seals = createSealCheck(source, { after, last, block: head?.block ?? 0n }, (found) => {
    report(tally, found);
  });
  const folds = new Map<string, Fold>(keys.map(({ id }) => [id, emptyFold()]));
  const counted = new Map(keys.map((key) => [key.id, key.seq]));
  const strangers = new Map<string, string>();

  for await (const entry of readEntries(source, after, last)) {
    await seals.compare(entry);
    const fold = folds.get(entry.keyId);
    if (fold === undefined) {
      strangers.set(entry.keyId, entry.id);
    } else if (entry.seq > (counted.get(entry.keyId) ?? 0n)) {
      fold.later = entry.seq;
    } else {
      auditEntry(entry, fold, tally);
    }
  }

  tally.sealed += await seals.finish();
  for (const key of keys) auditKey(key, folds.get(key.id) ?? emptyFold(), tally);
  for (const [keyId, { later }] of folds) {
    if (later === 0n) continue;
    // The entry was added after the key's row was read, or it is forged. The key's row counts an
    // added entry by now, and never a forged one.
    const seq = await source.seqOf(keyId);
    if (seq === undefined || seq < later) {
      report(tally, {
        check: 'sequence',
        keyId,
        entryId: undefined,
        expected: `no entry after ${String(seq)}`,
        found: `entry ${String(later)}`,
      });
    }
  }
  for (const [keyId, entryId] of strangers) {
    if ((await source.seqOf(keyId)) !== undefined) continue;
    report(tally, {
      check: 'key_balance',
      keyId,
      entryId,
      expected: 'a key with this id',
      found: 'none',
    });
  }
}

interface AuditedEntry {
  readonly id: string;
  readonly keyId: string;
  readonly seq: bigint;
  readonly kind: string;
  readonly delta: bigint;
  readonly balanceAfter: bigint;
  readonly writtenOff: bigint;
  /** The charge of the recorded tokens at the recorded rates; `undefined` for a top-up. */
  readonly listPrice: bigint | undefined;
  readonly digest: Buffer;
}

async function* readEntries(
  source: AuditSource,
  after: string,
  last: string | undefined,
): AsyncGenerator<AuditedEntry> {
  let position = { keyId: after, seq: MAX_SEQ };
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

/**
 * Computes the charge with a formula of its own, not with `chargeOf` of `@gateway/billing`: an
 * audit that shared the code would share its errors.
 */
function auditedEntryOf(row: EntryFields): AuditedEntry {
  const [id, keyId, seq, kind, delta, balanceAfter, writtenOff] = row;
  const [input, output, read, write, write1h] = row.slice(10, 15).map((text) => BigInt(text ?? 0));
  const rates = row.slice(15, 20).map((text) => unitsFromNumeric(text ?? '0'));
  const [inputRate = 0n, outputRate = 0n, readRate = 0n, write5mRate = 0n, write1hRate = 0n] =
    rates;
  const listPrice =
    (input ?? 0n) * inputRate +
    (output ?? 0n) * outputRate +
    (read ?? 0n) * readRate +
    ((write ?? 0n) - (write1h ?? 0n)) * write5mRate +
    (write1h ?? 0n) * write1hRate;
  return {
    id,
    keyId,
    seq: BigInt(seq),
    kind,
    delta: unitsFromNumeric(delta),
    balanceAfter: unitsFromNumeric(balanceAfter),
    writtenOff: unitsFromNumeric(writtenOff),
    listPrice: kind === 'charge' ? listPrice : undefined,
    digest: digestOfEntry(row),
  };
}

function auditEntry(entry: AuditedEntry, fold: Fold, tally: Tally): void {
  const { keyId, id: entryId, listPrice, delta } = entry;
  const expect = (check: AuditDifference['check'], expected: bigint, found: bigint) => {
    if (expected === found) return;
    report(tally, {
      check,
      keyId,
      entryId,
      expected: expected.toString(),
      found: found.toString(),
    });
  };
  if (listPrice !== undefined) expect('amount', entry.writtenOff - listPrice, delta);
  expect('sequence', fold.seq + 1n, entry.seq);
  expect('running_balance', fold.balance + delta, entry.balanceAfter);

  tally.entries += 1;
  fold.seq = entry.seq;
  // Adds to the computed balance, not to the recorded one. A tampered entry is then reported once,
  // and its successors are not.
  fold.balance += delta;
  if (entry.kind === 'top_up') {
    fold.credited += delta;
    fold.uncovered = 0n;
    tally.credited += delta;
  } else {
    fold.spent -= delta;
    fold.writtenOff += entry.writtenOff;
    fold.uncovered += entry.writtenOff;
    tally.charged -= delta;
    tally.writtenOff += entry.writtenOff;
  }
}

function auditKey(key: KeyTotals, fold: Fold, tally: Tally): void {
  tally.keys += 1;
  tally.balances += key.balance;
  const expect = (check: AuditDifference['check'], expected: string, found: string) => {
    if (expected === found) return;
    report(tally, { check, keyId: key.id, entryId: undefined, expected, found });
  };
  expect('sequence', fold.seq.toString(), key.seq.toString());
  expect('key_balance', fold.balance.toString(), key.balance.toString());
  expect('key_totals', totalsText(fold), totalsText(key));
}

function totalsText(totals: Pick<Fold, 'credited' | 'spent' | 'writtenOff' | 'uncovered'>): string {
  const { credited, spent, writtenOff, uncovered } = totals;
  return [
    `credited ${String(credited)}`,
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
    writtenOff: 0n,
    uncovered: 0n,
    later: 0n,
  };
}
