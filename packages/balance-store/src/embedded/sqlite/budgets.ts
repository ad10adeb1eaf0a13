/**
 * Reads what is left of budgets and adds charges to them, by the same rules as the SQL functions
 * `budget_states` and `settle_batch` on PostgreSQL.
 */

import type { BudgetRaise, BudgetRecord, BudgetUse, ChainRoom, ChargePart } from '../../budget.js';
import type { NewEvent } from '../../event.js';
import { budgetRecordOf, countingTermsOf, raiseOf, raisedBy } from '../../ledger/rows/spenders.js';
import { budgetEvents, byRoom, hasRoom, periodAt, subjectOf } from '../../ledger/rules/budgets.js';
import type { Period } from '../../ledger/rules/budgets.js';
import type { Row } from '../../ledger/tables/tables.js';
import {
  chainOf,
  lackingInChain,
  leftIn,
  ownPart,
  paidPart,
  splitAlong,
} from '../../ledger/rules/chains.js';
import type { Spender } from '../../spender.js';
import { neededOf, reservesAfter } from './chains.js';
import type { AccountBudget, ChainedBudgets, HeldFor } from './chains.js';
import type { Connection } from './connection.js';
import { insertEvent } from './events.js';
import { textOf, unitsOf } from './money.js';
import { rowsOf } from './spenders.js';

/** Budgets that have not ended, with their raises. */
export interface FoundBudgets extends ChainedBudgets {
  readonly raises: readonly BudgetRaise[];
}

/** What is read of some budgets of an account at once. */
export type ReadBudgets = Pick<FoundBudgets, 'budgets' | 'raises'>;

/** A request of an account that has budgets. */
export interface CountedRequest {
  readonly accountId: string;
  readonly keyId: string;
  readonly spender: Spender;
}

const MAX_KNOWN = 5_000;

/**
 * Finds the budgets that may count a request: those of its own subjects, and those that have none.
 * An account may have thousands of others, which are not read.
 *
 * @param known - Those that were found before, by account and subject. Charges do not change them.
 */
export function findBudgets(
  connection: Connection,
  { accountId, keyId, spender }: CountedRequest,
  known = new Map<string, ReadBudgets>(),
): FoundBudgets {
  const { memberId, groups = '', tag, run } = spender;
  const subjects = new Set([keyId, memberId, tag, run, ...groups.split('/'), '']);
  const found: ReadBudgets[] = [];
  const missing: string[] = [];
  for (const subject of subjects) {
    if (subject === undefined) continue;
    const of = known.get(nameOf(accountId, subject));
    if (of === undefined) missing.push(subject);
    else found.push(of);
  }
  if (missing.length > 0) {
    if (known.size >= MAX_KNOWN) known.clear();
    for (const [subject, of] of readBudgets(connection, accountId, missing)) {
      known.set(nameOf(accountId, subject), of);
      found.push(of);
    }
  }
  const budgets = found.flatMap((of) => of.budgets);
  const raises = found.flatMap((of) => of.raises);
  if (budgets.every(({ record }) => record.thenId === null)) {
    return { budgets, raises, passing: [], reserves: NO_RESERVES };
  }
  // No subject has a line break at its end.
  const name = nameOf(accountId, '\n');
  const passing = known.get(name) ?? readPassing(connection, accountId);
  known.set(name, passing);
  const own = new Set(budgets.map(({ record }) => record.id));
  return {
    budgets,
    raises: [...raises, ...passing.raises.filter(({ budgetId }) => !own.has(budgetId))],
    passing: passing.budgets,
    // A reserve has no subject, so it is among those that were found.
    reserves: new Map(
      budgets
        .filter(({ terms }) => terms.scope === 'reserve')
        .map((reserve) => [reserve.record.id, reserve]),
    ),
  };
}

const NO_RESERVES: FoundBudgets['reserves'] = new Map();
const nameOf = (accountId: string, subject: string) => `${accountId}\n${subject}`;

/** The budgets of an account for which reserves pay. */
function readPassing(connection: Connection, accountId: string): ReadBudgets {
  const where = 'WHERE account_id = ? AND ended_seq IS NULL AND then_id IS NOT NULL ORDER BY id';
  const rows = rowsOf(connection, 'Budget', where, [accountId]);
  return { budgets: rows.map(accountBudgetOf), raises: raisesOf(connection, rows) };
}

function accountBudgetOf(row: Row<'Budget'>): AccountBudget {
  return { record: budgetRecordOf(row), terms: countingTermsOf(row) };
}

/** Caps have none. */
function raisesOf(connection: Connection, rows: readonly Row<'Budget'>[]): readonly BudgetRaise[] {
  const ids = rows.flatMap(({ id, isCap }) => (isCap ? [] : [id]));
  if (ids.length === 0) return [];
  const where = 'WHERE budget_id IN (SELECT value FROM json_each(?)) AND until_at > ? ORDER BY id';
  return rowsOf(connection, 'BudgetRaise', where, [JSON.stringify(ids), Date.now()]).map(raiseOf);
}

/** @returns an element for each subject */
function readBudgets(
  connection: Connection,
  accountId: string,
  subjects: readonly string[],
): ReadonlyMap<string, ReadBudgets> {
  // SQLite would use no index of subjects for `IN`, nor for those that are null.
  const where =
    'WHERE id IN (SELECT b.id FROM json_each(?) AS s CROSS JOIN budget AS b ' +
    'WHERE b.account_id = ? AND b.subject IS s.value AND b.ended_seq IS NULL) ORDER BY id';
  const asked = JSON.stringify(subjects.map((subject) => (subject === '' ? null : subject)));
  const rows = rowsOf(connection, 'Budget', where, [asked, accountId]);
  const raises = raisesOf(connection, rows);
  return new Map(
    subjects.map((subject) => {
      const budgets = rows.filter((row) => (row.subject ?? '') === subject).map(accountBudgetOf);
      const own = new Set(budgets.map(({ record }) => record.id));
      return [subject, { budgets, raises: raises.filter(({ budgetId }) => own.has(budgetId)) }];
    }),
  );
}

/**
 * The budgets that count a request of this key and spender at this time, and the reserves that pay
 * for them, the fullest first.
 */
export function readUses(
  connection: Connection,
  of: FoundBudgets,
  request: CountedRequest,
  now: number,
): readonly BudgetUse[] {
  const { accountId, keyId, spender } = request;
  let holds: readonly HeldFor[] | undefined;
  const uses: BudgetUse[] = [];
  const reserves = new Set<AccountBudget>();
  for (const budget of of.budgets) {
    const { record, terms } = budget;
    const subject = subjectOf(terms, keyId, spender);
    if (subject === undefined || periodAt(terms, now) === undefined) continue;
    holds ??= liveHolds(connection, accountId);
    const held = heldFor(holds, (hold) => subjectOf(terms, hold.keyId, hold.spender) === subject);
    uses.push({ ...stateOf(connection, of, { budget, subject, now }), held });
    for (const reserve of reservesAfter(of, record, now)) reserves.add(reserve);
  }
  for (const reserve of reserves) {
    const held = neededOf(reserve, situationOf(connection, of, holds ?? [], now));
    uses.push({ ...stateOf(connection, of, { budget: reserve, subject: '', now }), held });
  }
  return uses.sort(byRoom);
}

/** What is used of a budget in its current period. */
function stateOf(
  connection: Connection,
  of: FoundBudgets,
  {
    budget: { record: budget, terms },
    subject,
    now,
  }: { readonly budget: AccountBudget; readonly subject: string; readonly now: number },
): Omit<BudgetUse, 'held'> {
  const { id: budgetId } = budget;
  const { start, end } = periodAt(terms, now) ?? { start: 0, end: Infinity };
  return {
    budget,
    subject,
    amount: budget.amount + raisedBy(of.raises, { budgetId, subject, at: now }),
    used: usedSince(connection, { budgetId, subject, startAt: start }),
    startsAt: start === 0 ? null : new Date(start),
    renewsAt: end === Infinity ? null : new Date(end),
  };
}

function situationOf(
  connection: Connection,
  of: FoundBudgets,
  holds: readonly HeldFor[],
  now: number,
): Parameters<typeof neededOf>[1] {
  const leftOf = (budget: AccountBudget, subject: string) =>
    leftIn(stateOf(connection, of, { budget, subject, now }));
  return { of, now, holds, leftOf };
}

/** The first budget, or the last of the first chain, without room for a hold of this amount. */
export function lackingBudget(
  connection: Connection,
  of: FoundBudgets,
  hold: CountedRequest & { readonly amount: bigint },
  now: number,
): { readonly use: BudgetUse; readonly chain?: ChainRoom } | undefined {
  const { accountId, keyId, spender, amount } = hold;
  const uses = readUses(connection, of, hold, now);
  for (const use of uses) {
    const { scope, action } = use.budget;
    if (scope === 'reserve' || action !== 'refuse' || hasRoom(use, amount)) continue;
    const chain = chainOf(use, uses);
    const last = chain.at(-1) ?? use;
    const reserve = of.reserves.get(last.budget.id);
    if (reserve === undefined) return { use };
    const holds = [...liveHolds(connection, accountId), { keyId, spender, amount }];
    const after = neededOf(reserve, situationOf(connection, of, holds, now));
    const lacking = lackingInChain(chain, amount, { before: last.held, after });
    if (lacking !== undefined) return { use: last, chain: lacking };
  }
  return undefined;
}

/**
 * What was used in this period. A later one counts, too: the clock was set back since the last
 * charge.
 */
function usedSince(
  connection: Connection,
  {
    budgetId,
    subject,
    startAt,
  }: { readonly budgetId: string; readonly subject: string; readonly startAt: number },
): bigint {
  const row = connection.get<{ readonly used: string }>(
    'SELECT used FROM budget_use WHERE budget_id = ? AND subject = ? AND start_at >= ? ' +
      'ORDER BY start_at DESC LIMIT 1',
    budgetId,
    subject,
    startAt,
  );
  return row === undefined ? 0n : unitsOf(row.used);
}

function liveHolds(connection: Connection, accountId: string): readonly HeldFor[] {
  return connection
    .all<{ readonly key_id: string; readonly amount: string; readonly spender: string | null }>(
      'SELECT key_id, amount, spender FROM hold WHERE account_id = ? AND orphaned_at IS NULL',
      accountId,
    )
    .map(({ key_id: keyId, amount, spender }) => ({
      keyId,
      amount: unitsOf(amount),
      spender: spender === null ? {} : (JSON.parse(spender) as Spender),
    }));
}

function heldFor(holds: readonly HeldFor[], isIt: (hold: HeldFor) => boolean): bigint {
  return holds.reduce((sum, hold) => (isIt(hold) ? sum + hold.amount : sum), 0n);
}

interface Charged extends CountedRequest {
  readonly budget: BudgetRecord;
  readonly period: Period;
  readonly raises: readonly BudgetRaise[];
  /** See `budgetEvents`. */
  readonly noticeShares: readonly number[];
  readonly subject: string;
  amount: bigint;
}

/** Adds the charges of a batch to budgets: once for each, not once for each charge. */
export function createBudgetFold(connection: Connection, now: number) {
  const charged = new Map<string, Charged>();
  const useOf = (budget: BudgetRecord, subject: string) => `${budget.id}\0${subject}`;

  function leftNow(of: FoundBudgets, budget: AccountBudget, subject: string): bigint {
    const { amount, used } = stateOf(connection, of, { budget, subject, now });
    const more = charged.get(useOf(budget.record, subject))?.amount ?? 0n;
    return leftIn({ amount, used: used + more });
  }

  return {
    /** What reserves pay of a charge, because the budgets that count it have too little left. */
    split(
      of: FoundBudgets,
      {
        keyId,
        spender,
        amount,
      }: Pick<CountedRequest, 'keyId' | 'spender'> & { readonly amount: bigint },
    ): readonly ChargePart[] {
      if (of.reserves.size === 0) return [];
      return of.budgets.flatMap((budget) => {
        const { record, terms } = budget;
        const subject = subjectOf(terms, keyId, spender);
        if (subject === undefined || periodAt(terms, now) === undefined) return [];
        const reserves = reservesAfter(of, record, now);
        const own = leftNow(of, budget, subject);
        if (reserves.length === 0 || own >= amount) return [];
        const lefts = [own, ...reserves.map((reserve) => leftNow(of, reserve, ''))];
        const [, ...paid] = splitAlong(amount, lefts);
        return reserves
          .map(({ record: { id: paidBy } }, index) => {
            return { budgetId: record.id, paidBy, amount: paid[index] ?? 0n };
          })
          .filter((part) => part.amount > 0n);
      });
    },
    /** @param parts - What {@link split} returned. */
    add(
      { budgets, raises }: FoundBudgets,
      charge: CountedRequest & Pick<Charged, 'noticeShares' | 'amount'>,
      parts: readonly ChargePart[],
    ): void {
      const { keyId, spender } = charge;
      for (const { record: budget, terms } of budgets) {
        const paid = parts.length === 0 ? 0n : paidPart(budget.id, parts);
        const subject = paid === 0n ? subjectOf(terms, keyId, spender) : '';
        if (subject === undefined) continue;
        const amount = paid === 0n ? ownPart(charge.amount, budget.id, parts) : paid;
        const id = useOf(budget, subject);
        const known = charged.get(id);
        if (known !== undefined) {
          known.amount += amount;
          continue;
        }
        const period = periodAt(terms, now);
        if (period === undefined) continue;
        charged.set(id, { ...charge, budget, period, raises, subject, amount });
      }
    },
    finish(): void {
      const isCap = ({ budget }: Charged) => Number(budget.isCap);
      for (const one of [...charged.values()].sort((a, b) => isCap(b) - isCap(a))) {
        for (const event of addUse(connection, one, now)) {
          insertEvent(connection, event, now, { hasAddress: hasAddress(connection, one) });
        }
      }
    },
  };
}

/**
 * Whether the member whose budget it is can be written to, or the contact of a budget of many, by
 * the same rule as the SQL function `budget_has_address` on PostgreSQL.
 */
function hasAddress(
  connection: Connection,
  { budget, subject }: Pick<Charged, 'budget' | 'subject'>,
): boolean {
  // Of a cap, only the account's customer is told.
  if (budget.isCap) return false;
  if (budget.scope !== 'member' && budget.scope !== 'key') {
    return budget.contact?.includes('@') === true;
  }
  const whose = budget.scope === 'member' ? '?' : '(SELECT member_id FROM api_key WHERE id = ?)';
  const statement = `SELECT email FROM member WHERE id = ${whose} AND email IS NOT NULL`;
  return connection.get(statement, subject === '' ? budget.subject : subject) !== undefined;
}

const ADD_USE =
  'INSERT INTO budget_use (budget_id, subject, start_at, account_id, used) VALUES (?, ?, ?, ?, ?) ' +
  'ON CONFLICT DO UPDATE SET used = add_usd(used, excluded.used) RETURNING used';

/** @returns the events of it */
function addUse(
  connection: Connection,
  { accountId, budget, period, raises, noticeShares, keyId, subject, amount }: Charged,
  now: number,
): readonly NewEvent[] {
  const row = connection.get<{ readonly used: string }>(
    ADD_USE,
    budget.id,
    subject,
    period.start,
    accountId,
    textOf(amount),
  );
  if (row === undefined) throw new Error('the use of a budget was not written');
  const after = unitsOf(row.used);
  // Of a cap, only the last period is kept: this one has begun with these charges.
  if (budget.isCap && after === amount) {
    connection.run(DELETE_FORMER_USES, budget.id, period.start);
  }
  const most = budget.amount + raisedBy(raises, { budgetId: budget.id, subject, at: now });
  const of = { budget, subject, amount: most, keyId, noticeShares };
  return budgetEvents(of, { before: after - amount, after });
}

const DELETE_FORMER_USES = 'DELETE FROM budget_use WHERE budget_id = ? AND start_at < ?';
