/**
 * Recomputes the figures of each closed month, and compares each closing and each issued statement
 * with its hash, its place among the others, and its row in the trail.
 */

import type { AuditDifference } from '../../audit.js';
import { SEALED_TRAIL } from '../../generated/tables.js';
import type { SealedTrail } from '../../generated/tables.js';
import { digestOfBooks } from '../rows/books-digest.js';
import {
  CLOSED,
  ISSUED,
  figuresText,
  hashOfClosing,
  hashOfStatement,
} from '../rows/stored-closed-month.js';
import type { AuditSource } from './audit-source.js';

const STATEMENTS_PER_PAGE = 100;
const ROWS_OF_TRAIL = 1_000;

type Source = Pick<
  AuditSource,
  'closedMonths' | 'statementsAfter' | 'readBooks' | 'blocksAfter' | 'trailAfter'
>;
type Check = 'closing' | 'statement';
interface Named {
  readonly check: Check;
  readonly accountId?: string;
  readonly entryId: string;
}

export function createClosingAudit(complain: (found: AuditDifference) => void) {
  /** What the trail says of each closing and statement: its hash. */
  const recorded = new Map<string, string>();
  /** Those that the trail lacked when it was read. */
  const unrecorded: (readonly [of: Named, key: string, hash: string])[] = [];
  let lastSeq = 0n;

  function compare(of: Named, expected: string, found: string): void {
    if (expected === found) return;
    const { check, accountId, entryId } = of;
    complain({ check, accountId, keyId: undefined, entryId, expected, found });
  }

  function compareWithTrail(of: Named, hash: string): void {
    const key = `${of.check} ${of.entryId}`;
    const expected = recorded.get(key);
    recorded.delete(key);
    if (expected === undefined) unrecorded.push([of, key, hash]);
    else compare(of, expected, hash);
  }

  async function auditMonths(source: Source): Promise<void> {
    let [previousHash, previousUntil] = ['', undefined as Date | undefined];
    for (const month of await source.closedMonths()) {
      const { fromAt: from, untilAt: until, block, blockHash } = month;
      const of = { check: 'closing', entryId: month.month } as const;
      compare(of, hashOfClosing(month), month.hash);
      compareWithTrail(of, month.hash);
      compare(of, previousHash, month.previousHash);
      if (previousUntil !== undefined) {
        compare(of, previousUntil.toISOString(), from.toISOString());
      }
      const computed = await digestOfBooks((query) => source.readBooks(query), { from, until });
      compare(of, figuresText(computed.figures), month.figures);
      compare(of, computed.digest, month.digest);
      if (block > 0n) {
        const [named] = await source.blocksAfter(block - 1n, block, 1);
        const found =
          named === undefined ? 'no such block' : Buffer.from(named.hash).toString('hex');
        compare(of, found, blockHash);
      }
      [previousHash, previousUntil] = [month.hash, until];
    }
  }

  async function auditStatements(source: Source): Promise<void> {
    let last = { issuer: '', number: 0 };
    for (;;) {
      const page = await source.statementsAfter(last, STATEMENTS_PER_PAGE);
      for (const statement of page) {
        const { issuer, number, accountId } = statement;
        const before = issuer === last.issuer ? last.number : 0;
        const of = { check: 'statement', accountId, entryId: idOf(issuer, number) } as const;
        compare(of, String(before + 1), String(number));
        compare(of, hashOfStatement(statement), statement.hash);
        compareWithTrail(of, statement.hash);
        last = { issuer, number };
      }
      if (page.length < STATEMENTS_PER_PAGE) return;
    }
  }

  function addTrail(row: SealedTrail): void {
    lastSeq = BigInt(row[SEALED_TRAIL.seq]);
    const action = row[SEALED_TRAIL.action];
    if (action !== CLOSED && action !== ISSUED) return;
    const { month, issuer, number, hash } = detailsOf(row[SEALED_TRAIL.details]);
    const key =
      action === CLOSED
        ? `closing ${String(month)}`
        : `statement ${idOf(String(issuer), Number(number))}`;
    recorded.set(key, String(hash));
  }

  return {
    addTrail,
    /** Called when the whole trail is added. */
    async finish(source: Source): Promise<void> {
      await auditMonths(source);
      await auditStatements(source);
      for (const [key, hash] of recorded) {
        const [check, ...id] = key.split(' ');
        compare({ check: check as Check, entryId: id.join(' ') }, hash, 'none');
      }
      // What was closed or issued since the trail was read has its row by now.
      recorded.clear();
      while (unrecorded.length > 0) {
        const rows = await source.trailAfter(lastSeq, ROWS_OF_TRAIL);
        for (const row of rows) addTrail(row);
        if (rows.length < ROWS_OF_TRAIL) break;
      }
      for (const [of, key, hash] of unrecorded) {
        compare(of, recorded.get(key) ?? 'its row in the trail', hash);
      }
    },
  };
}

function idOf(issuer: string, number: number): string {
  return `${issuer}:${String(number)}`;
}

function detailsOf(text: string): Readonly<Record<string, unknown>> {
  try {
    return JSON.parse(text) as Readonly<Record<string, unknown>>;
  } catch {
    return {};
  }
}
