/**
 * Remembers the standing of keys in the process that owns the ledger, so that an admission needs no
 * query (docs/decisions/0075-admission-from-memory.md).
 *
 * **What is remembered is the state of the file at one commit, or it is not used.** Before each
 * answer the memory looks which commit the file is at. The commits of this process come with the
 * rows that they changed, and the commit that each followed. After a commit that the memory does
 * not know, by this process or by another one, it forgets everything. So an answer is never older
 * than the last commit that finished before the question.
 */

import type { BudgetUse } from '../budget.js';
import type { Spender } from '../spender.js';
import type { Standing } from '../store.js';
import type { CommitMark, ReadMark } from './files/commit-mark.js';
import type { Connection } from './sqlite/connection.js';
import { findBudgets, readUses } from './sqlite/budgets.js';
import type { FoundBudgets } from './sqlite/budgets.js';
import { readFacts, standingFrom } from './sqlite/keys.js';
import { spendableFunds } from './sqlite/expired-credit.js';
import type { Funds } from './sqlite/expired-credit.js';
import type { KeyFacts } from './sqlite/keys.js';
import type { ChangedRows } from './sqlite/settle.js';

/** A commit of this process, of which all is known that it changed of the standing of keys. */
export interface KnownCommit {
  readonly from: CommitMark;
  readonly to: CommitMark;
  readonly changed: ChangedRows | undefined;
}

export interface StandingMemory {
  readonly readStanding: (keyId: string) => Standing;
  /** See `readBudgets` of the store. */
  readonly readBudgets: (keyId: string, spender?: Spender) => readonly BudgetUse[];
  /** Must be called in the order of the commits. */
  readonly committed: (commit: KnownCommit) => void;
  /** See `KeyTable`. */
  readonly version: () => number | undefined;
  /** From then on nothing is answered from memory. */
  readonly close: () => void;
}

export interface StandingMemoryParts {
  readonly reader: Connection;
  readonly readMark: ReadMark;
  /** Reports the commits whose reports have arrived, by calling `committed`. */
  readonly receiveCommits: () => void;
  /** Whether this process may be committing, so that a commit may be reported later. */
  readonly mayCommit: () => boolean;
}

/** Beyond that, everything is forgotten. A key takes about 300 bytes. */
const MAX_KEYS = 20_000;

export function createStandingMemory(parts: StandingMemoryParts): StandingMemory {
  const { reader, readMark, receiveCommits, mayCommit } = parts;
  const keys = new Map<string, KeyFacts>();
  const funds = new Map<string, Funds>();
  /** See `findBudgets`. */
  const budgets = new Map<string, FoundBudgets>();
  /** The commit whose state is remembered. */
  let at: CommitMark | undefined;
  let version = 0;
  let isClosed = false;

  /** @returns whether the file is in the remembered state, as of a moment within this call */
  function isCurrent(): boolean {
    if (isClosed) return false;
    let mark = readMark();
    if (mark !== undefined && mark === at) return true;
    receiveCommits();
    mark = readMark();
    if (mark === undefined) return false;
    if (mark === at) return true;
    // This process may have made that commit and report it soon.
    if (at !== undefined && mayCommit()) return false;
    forget();
    at = mark;
    return true;
  }

  function forget(): void {
    forgetKeys();
    at = undefined;
    version += 1;
  }

  return {
    readStanding(keyId) {
      const isRemembering = isCurrent();
      if (isRemembering) {
        const key = keys.get(keyId);
        const known = key === undefined ? undefined : funds.get(key.accountId);
        if (key !== undefined && known !== undefined) return standingNow(key, known);
      }
      const facts = readFacts(reader, keyId);
      if (facts === undefined) return { standing: 'unknown' };
      // The rows may be newer than the remembered state. Then they are not used until it has caught
      // up, because the file never is at an earlier commit again.
      if (isRemembering) {
        if (keys.size >= MAX_KEYS) forgetKeys();
        keys.set(keyId, facts.key);
        funds.set(facts.key.accountId, facts.funds);
      }
      return standingNow(facts.key, facts.funds);
    },
    readBudgets(keyId, spender = {}) {
      const isRemembering = isCurrent();
      const remembered = isRemembering ? keys.get(keyId) : undefined;
      const key = remembered ?? readFacts(reader, keyId)?.key;
      if (key === undefined || (!key.isBudgeted && key.caps.length === 0)) return [];
      const request = { accountId: key.accountId, keyId, spender };
      const found = findBudgets(reader, request, isRemembering ? budgets : undefined);
      return readUses(reader, found, request, Date.now());
    },
    committed({ from, to, changed }) {
      // Nothing is remembered, or the rows were read after that commit.
      if (at === undefined || to === at) return;
      if (from !== at) {
        forget();
        return;
      }
      at = to;
      for (const { id, balance, uncovered } of changed?.accounts ?? []) {
        const known = funds.get(id);
        if (known !== undefined) funds.set(id, { ...known, balance, uncovered });
      }
      for (const keyId of changed?.budgetedKeyIds ?? []) {
        if (keys.get(keyId)?.caps.length !== 0) keys.delete(keyId);
      }
    },
    version: () => (isCurrent() ? version : undefined),
    close() {
      isClosed = true;
    },
  };

  /** What is remembered may include credit that has expired since: a clock makes no commit. */
  function standingNow(key: KeyFacts, known: Funds): Standing {
    const now = Date.now();
    return standingFrom(key, spendableFunds(reader, key.accountId, { funds: known, now }), now);
  }

  function forgetKeys(): void {
    keys.clear();
    funds.clear();
    budgets.clear();
  }
}
