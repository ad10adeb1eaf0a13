/**
 * The data that stay in the ledger for archived charges: their sums per run (see `carry-row.ts`)
 * and key, and digests of these sums and of the sums of usage per hour.
 */

import { createHash } from 'node:crypto';
import { numericFromUnits } from '../../numeric.js';
import type { UsageFields } from '../audit-source.js';
import { sealedField } from '../sealed-field.js';
import { compareBytes } from '../text-order.js';
import type { CarryRow } from './carry-row.js';

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

/** Sums charges. Those of one account must come in the order of their numbers. */
export function createCarrySums(archive: number) {
  const runs = new Map<string, Run[]>();
  return {
    add(charge: CarriedCharge): void {
      const { accountId, seq, keyId, delta, writtenOff, overCap, createdAtMs } = charge;
      const ofAccount = runs.get(accountId) ?? [];
      if (ofAccount.length === 0) runs.set(accountId, ofAccount);
      let run = ofAccount.at(-1);
      if (run?.to !== seq - 1n) {
        run = { accountId, from: seq, to: seq, balanceAfter: 0n, keys: new Map() };
        ofAccount.push(run);
      }
      run.to = seq;
      run.balanceAfter = charge.balanceAfter;
      const sum = run.keys.get(keyId);
      if (sum === undefined) {
        run.keys.set(keyId, {
          charges: 1,
          charged: -delta,
          writtenOff,
          overCap,
          firstAtMs: createdAtMs,
          lastAtMs: createdAtMs,
        });
        return;
      }
      sum.charges += 1;
      sum.charged -= delta;
      sum.writtenOff += writtenOff;
      sum.overCap += overCap;
      sum.firstAtMs = Math.min(sum.firstAtMs, createdAtMs);
      sum.lastAtMs = Math.max(sum.lastAtMs, createdAtMs);
    },
    accounts: () => runs.size,
    /** In the order of account, number and key. */
    rows(): readonly CarryRow[] {
      return [...runs.values()]
        .sort(([a], [b]) => compareBytes(a?.accountId ?? '', b?.accountId ?? ''))
        .flatMap((ofAccount) => ofAccount.flatMap((run) => rowsOf(run, archive)));
    },
  };
}

function rowsOf({ accountId, from, to, balanceAfter, keys }: Run, archive: number): CarryRow[] {
  return [...keys]
    .sort(([a], [b]) => compareBytes(a, b))
    .map(([keyId, { firstAtMs, lastAtMs, ...sums }]) => ({
      accountId,
      from,
      to,
      keyId,
      archive,
      ...sums,
      firstAt: new Date(firstAtMs),
      lastAt: new Date(lastAtMs),
      balanceAfter,
    }));
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

export function carryDigestOf(rows: readonly CarryRow[]): string {
  const digest = createCarryDigest();
  for (const row of rows) digest.add(row);
  return digest.hex();
}
