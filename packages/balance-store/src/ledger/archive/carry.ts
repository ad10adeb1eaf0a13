/**
 * The data that stay in the ledger for archived charges: their sums per run (see `carry-row.ts`)
 * and key, and digests of these sums and of the sums of usage per hour.
 */

import { createHash } from 'node:crypto';
import { numericFromUnits } from '../../numeric.js';
import type { UsageFields } from '../scan/ledger-scan.js';
import { sealedField } from '../seals/sealed-field.js';
import { compareBytes } from '../base/text-order.js';
import type { CarryPosition, CarryRow } from '../rows/carry-row.js';

/** The fields of a charge that the sums need. */
export interface CarriedCharge {
  readonly accountId: string;
  readonly seq: bigint;
  readonly keyId: string;
  readonly delta: bigint;
  readonly writtenOff: bigint;
  readonly overCap: bigint;
  readonly createdAtMs: number;
  readonly balanceAfter: bigint;
}

interface KeySum {
  charges: number;
  charged: bigint;
  writtenOff: bigint;
  overCap: bigint;
  firstAtMs: number;
  lastAtMs: number;
}

interface Run {
  readonly accountId: string;
  readonly from: bigint;
  to: bigint;
  balanceAfter: bigint;
  readonly keys: Map<string, KeySum>;
}

/** So many rows are kept, and at most twice as many are held: some 15 MB. */
const ROWS_KEPT = 20_000;

/**
 * The sums of charges, in the order of account, number and key. There may be millions of keys, so
 * only the first rows are kept: the charges must then be read again for the {@link CarrySums.rest}.
 */
export interface CarrySums {
  /** Charges of one account must come in the order of their numbers. */
  add(charge: CarriedCharge): void;
  /** The number of rows that are held. */
  size(): number;
  rows(): Generator<CarryRow>;
  /** Sums for the rows after the kept ones, still without charges; `undefined` if all are kept. */
  rest(): CarrySums | undefined;
}

interface CarryLimits {
  /** Only rows after this position. */
  readonly after?: CarryPosition | undefined;
  /** {@link ROWS_KEPT} when absent. */
  readonly rowsKept?: number | undefined;
}

export function createCarrySums(
  archive: number,
  { after, rowsKept = ROWS_KEPT }: CarryLimits = {},
): CarrySums {
  const runs = new Map<string, Run[]>();
  let size = 0;
  /** The first row that was left out. */
  let end: CarryPosition | undefined;

  function runsOf(accountId: string): Run[] | undefined {
    const known = runs.get(accountId);
    if (known !== undefined) return known;
    if (after !== undefined && compareBytes(accountId, after.accountId) < 0) return undefined;
    if (end !== undefined && compareBytes(accountId, end.accountId) > 0) return undefined;
    const ofAccount: Run[] = [];
    runs.set(accountId, ofAccount);
    return ofAccount;
  }

  function isKept(position: CarryPosition): boolean {
    if (after !== undefined && comparePositions(position, after) <= 0) return false;
    return end === undefined || comparePositions(position, end) < 0;
  }

  function* inOrder(): Generator<readonly [Run, string, KeySum]> {
    for (const accountId of [...runs.keys()].sort(compareBytes)) {
      for (const run of runs.get(accountId) ?? []) {
        for (const keyId of [...run.keys.keys()].sort(compareBytes)) {
          const sum = run.keys.get(keyId);
          if (sum !== undefined) yield [run, keyId, sum];
        }
      }
    }
  }

  function leaveOutLast(): void {
    let count = 0;
    for (const [run, keyId] of inOrder()) {
      count += 1;
      if (count <= rowsKept) continue;
      const { accountId, from } = run;
      end ??= { accountId, from, keyId };
      run.keys.delete(keyId);
      // The runs of the last account stay, because its next charges continue them.
      if (accountId !== end.accountId) runs.delete(accountId);
    }
    size = rowsKept;
  }

  return {
    add(charge) {
      const { accountId, seq, keyId, delta, writtenOff, overCap, createdAtMs } = charge;
      const ofAccount = runsOf(accountId);
      if (ofAccount === undefined) return;
      let run = ofAccount.at(-1);
      if (run?.to !== seq - 1n) {
        run = { accountId, from: seq, to: seq, balanceAfter: 0n, keys: new Map() };
        ofAccount.push(run);
      }
      run.to = seq;
      run.balanceAfter = charge.balanceAfter;
      const sum = run.keys.get(keyId);
      if (sum !== undefined) {
        sum.charges += 1;
        sum.charged -= delta;
        sum.writtenOff += writtenOff;
        sum.overCap += overCap;
        sum.firstAtMs = Math.min(sum.firstAtMs, createdAtMs);
        sum.lastAtMs = Math.max(sum.lastAtMs, createdAtMs);
        return;
      }
      if (!isKept({ accountId, from: run.from, keyId })) return;
      run.keys.set(keyId, {
        charges: 1,
        charged: -delta,
        writtenOff,
        overCap,
        firstAtMs: createdAtMs,
        lastAtMs: createdAtMs,
      });
      size += 1;
      if (size > 2 * rowsKept) {
        end = undefined;
        leaveOutLast();
      }
    },
    size: () => size,
    *rows() {
      for (const [run, keyId, { firstAtMs, lastAtMs, ...sums }] of inOrder()) {
        const { accountId, from, to, balanceAfter } = run;
        const times = { firstAt: new Date(firstAtMs), lastAt: new Date(lastAtMs) };
        yield { accountId, from, to, keyId, archive, ...sums, ...times, balanceAfter };
      }
    },
    rest() {
      if (end === undefined) return undefined;
      let last: CarryPosition | undefined;
      for (const [{ accountId, from }, keyId] of inOrder()) last = { accountId, from, keyId };
      return createCarrySums(archive, { after: last, rowsKept });
    },
  };
}

/**
 * All rows of sums, in order.
 *
 * @param readAgain - Adds the charges again, at least those of the accounts from the last row on.
 */
export async function* allRowsOf(
  sums: CarrySums,
  readAgain: (rest: CarrySums) => Promise<void>,
): AsyncGenerator<CarryRow> {
  for (let next: CarrySums | undefined = sums; next !== undefined;) {
    yield* next.rows();
    next = next.rest();
    if (next !== undefined) await readAgain(next);
  }
}

export function comparePositions(a: CarryPosition, b: CarryPosition): number {
  if (a.accountId !== b.accountId) return compareBytes(a.accountId, b.accountId);
  if (a.from !== b.from) return a.from < b.from ? -1 : 1;
  return a.keyId === b.keyId ? 0 : compareBytes(a.keyId, b.keyId);
}

/** Computes a SHA-256 digest of rows that are added one after the other. */
export interface RowsDigest<Row> {
  add(row: Row): void;
  /** The digest in hexadecimal. Call it once. */
  hex(): string;
}

export function createCarryDigest(): RowsDigest<CarryRow> {
  return digestOver((row) => [
    row.accountId,
    String(row.from),
    String(row.to),
    row.keyId,
    String(row.archive),
    String(row.charges),
    numericFromUnits(row.charged),
    numericFromUnits(row.writtenOff),
    numericFromUnits(row.overCap),
    String(row.firstAt.getTime()),
    String(row.lastAt.getTime()),
    numericFromUnits(row.balanceAfter),
  ]);
}

export function createUsageDigest(): RowsDigest<UsageFields> {
  return digestOver((row) => [
    row.accountId,
    String(row.hour),
    row.keyId,
    row.model,
    row.endpoint,
    row.upstreamAccount,
    row.ratesId,
    String(row.requests),
    ...row.counts.map(String),
    ...row.rates,
    numericFromUnits(row.writtenOff),
    ...(row.fees === 0n && row.costed === 0n
      ? []
      : ['costs', numericFromUnits(row.fees), numericFromUnits(row.cost), String(row.costed)]),
  ]);
}

function digestOver<Row>(fieldsOf: (row: Row) => readonly string[]): RowsDigest<Row> {
  const hash = createHash('sha256');
  return {
    add(row) {
      hash.update(fieldsOf(row).map(sealedField).join(''));
    },
    hex: () => hash.digest('hex'),
  };
}
