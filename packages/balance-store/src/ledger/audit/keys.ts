/**
 * Recomputes what the ledger stores about keys: their totals and their hourly totals of usage.
 * There may be millions of keys, also of one account: only so many are held as one page has. The
 * keys of an account that has more are audited in several passes over its charges.
 */

import { SEALED_LEDGER as AT } from '../../generated/tables.js';
import type { SealedLedger } from '../../generated/tables.js';
import type { AuditDifference } from '../../audit.js';
import { unitsFromNumeric } from '../../numeric.js';
import type { CarryRow } from '../rows/carry-row.js';
import { createCarryCursor, readCarried } from '../scan/carried-sums.js';
import type { ArchiveAudit } from './archives.js';
import { AFTER_ALL_IDS, MAX_SEQ } from '../scan/ledger-scan.js';
import type { AuditSource, KeyTotals } from './audit-source.js';
import type { KeyRange, UsageFields } from '../scan/ledger-scan.js';
import { UsageAudit, openHourOf } from './usage.js';

const CHARGES_PER_PAGE = 1_000;

interface AuditedPage {
  /** Accounts whose id is greater than `after` and at most `last`. */
  readonly after: string;
  readonly last: string | undefined;
  readonly keys: readonly KeyTotals[];
  /** Their ids; all when absent. */
  readonly range?: KeyRange | undefined;
  readonly openHour: number;
  /** Their totals of `openHour` and later. */
  readonly usage: readonly UsageFields[];
  readonly archives: Pick<ArchiveAudit, 'closedHour' | 'addUsage'>;
}

type Report = (found: AuditDifference) => void;

export interface KeyAudit {
  /** Charges and sums must come in the order of account and entry number. */
  addCharge(charge: SealedLedger): Promise<void>;
  addCarry(row: CarryRow): void;
  /** Must be called after the last charge. */
  finish(): Promise<void>;
}

export function createKeyAudit(
  source: AuditSource,
  { after, last, keys, range, openHour, usage: open, archives }: AuditedPage,
  complain: Report,
): KeyAudit {
  const usage = new UsageAudit(source, { after, last, range, openHour, open, archives }, complain);
  const folds = new Map<string, KeyFold>();
  const add = (keyId: string, charged: bigint, writtenOff: bigint): void => {
    const fold = folds.get(keyId) ?? { spent: 0n, writtenOff: 0n };
    folds.set(keyId, fold);
    fold.spent += charged;
    fold.writtenOff += writtenOff;
  };
  return {
    async addCharge(charge) {
      const writtenOff = unitsFromNumeric(charge[AT.writtenOff]);
      add(charge[AT.keyId] ?? '', -unitsFromNumeric(charge[AT.delta]), writtenOff);
      await usage.add(charge, writtenOff);
    },
    addCarry({ keyId, charged, writtenOff }) {
      add(keyId, charged, writtenOff);
    },
    async finish() {
      await usage.finish();
      for (const key of keys) compareKey(key, folds.get(key.id), complain);
    },
  };
}

/** @returns how many keys the account has */
export async function auditKeysOf(
  source: AuditSource,
  { after, accountId }: { readonly after: string; readonly accountId: string },
  { keysPerPage, closedHour }: { readonly keysPerPage: number; readonly closedHour: number },
  complain: Report,
): Promise<number> {
  let count = 0;
  for (let from: string | undefined = ''; from !== undefined;) {
    const openHour = openHourOf(Date.now());
    const page = await source.keysFrom({ accountId, keyId: from }, keysPerPage, openHour);
    const range: KeyRange = { from, before: page.next ?? AFTER_ALL_IDS };
    // The digest of archived totals needs them in another order: they are added elsewhere.
    const archives = { closedHour, addUsage: () => undefined };
    const audited = { ...page, after, last: accountId, range, openHour, archives };
    const keys = createKeyAudit(source, audited, complain);
    await addChargesOf(source, { after, accountId, range, seq: page.seq }, keys);
    await keys.finish();
    count += page.keys.length;
    from = page.next;
  }
  return count;
}

async function addChargesOf(
  source: AuditSource,
  of: {
    readonly after: string;
    readonly accountId: string;
    readonly range: KeyRange;
    readonly seq: bigint;
  },
  keys: KeyAudit,
): Promise<void> {
  const { after, accountId, range } = of;
  const carried = createCarryCursor(readCarried(source, after, accountId, range));
  const addCarriedBefore = async (seq: bigint) => {
    for (;;) {
      const row = await carried.takeBefore(accountId, seq);
      if (row === undefined) return;
      keys.addCarry(row);
    }
  };
  for (let position = { accountId, seq: 0n }; ;) {
    const page = await source.chargesAfter(position, range, CHARGES_PER_PAGE);
    for (const charge of page) {
      const seq = BigInt(charge[AT.seq]);
      position = { accountId, seq };
      await addCarriedBefore(seq);
      if (seq > of.seq || (await carried.carries(accountId, seq))) continue;
      await keys.addCharge(charge);
    }
    if (page.length < CHARGES_PER_PAGE) break;
  }
  await addCarriedBefore(MAX_SEQ);
}

interface KeyFold {
  spent: bigint;
  writtenOff: bigint;
}

function compareKey(key: KeyTotals, fold: KeyFold | undefined, complain: Report): void {
  const totals = ({ spent, writtenOff }: Pick<KeyTotals, 'spent' | 'writtenOff'>) =>
    `spent ${String(spent)}, written off ${String(writtenOff)}`;
  const [expected, found] = [totals(fold ?? { spent: 0n, writtenOff: 0n }), totals(key)];
  if (expected === found) return;
  const { accountId, id: keyId } = key;
  complain({ check: 'key_totals', accountId, keyId, entryId: undefined, expected, found });
}
