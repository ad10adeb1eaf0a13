/**
 * Recomputes what charges were attributed to: the sums of each spender, hour by hour, and what each
 * budget has used in each period. Also checks that each spender is the one that its id names.
 */

import { SEALED_LEDGER as AT } from '../../generated/tables.js';
import type { SealedLedger } from '../../generated/tables.js';
import type { AuditDifference } from '../../audit.js';
import type { ChargePart } from '../../budget.js';
import type { Spender } from '../../spender.js';
import { unitsFromNumeric } from '../../numeric.js';
import { HOUR_MS } from '../base/hours.js';
import type { CarryRow } from '../rows/carry-row.js';
import { chargePartsOf } from '../rows/charge-parts.js';
import { countingTermsOf, digestOf, spenderIdOf, spenderOf } from '../rows/spenders.js';
import { periodAt, subjectOf } from '../rules/budgets.js';
import type { CountingTerms } from '../rules/budgets.js';
import { ownPart, paidPart } from '../rules/chains.js';
import { AFTER_ALL_IDS } from '../scan/ledger-scan.js';
import type { Row } from '../tables/tables.js';
import type {
  AccountTotals,
  AuditSource,
  AuditedAccounts,
  SpentPosition,
  SpentRow,
} from './audit-source.js';

const ROWS_PER_PAGE = 1_000;
const MAX_KNOWN_SPENDERS = 20_000;

type Complain = (found: AuditDifference) => void;
interface AuditedSpending {
  readonly after: string;
  readonly page: Pick<AuditedAccounts, 'accounts' | 'budgets' | 'uses' | 'spent'>;
  readonly openHour: number;
  /** Charges of earlier hours may have left the ledger. */
  readonly closedHour: number;
}

/** Charges must come in the order of accounts and entry numbers. */
export class SpendingAudit {
  readonly #source: Pick<AuditSource, 'spender'>;
  readonly #complain: Complain;
  readonly #closedHour: number;
  readonly #rows: AsyncGenerator<SpentRow, undefined>;
  /** The rows of the open hours of each account. */
  readonly #open: ReadonlyMap<string, readonly SpentRow[]>;
  /** By account and subject. */
  readonly #budgets: ReadonlyMap<string, ReadonlyMap<string, readonly AuditedBudget[]>>;
  readonly #spenders = new Map<string, Spender>();
  #accountId = '';
  /** Sums of the present account, by hour and position. Its charges are in order of time. */
  #expected = new Map<string, SpentRow>();
  #hour = -1;
  #next: SpentRow | undefined;
  #isStarted = false;

  constructor(
    source: Pick<AuditSource, 'spentAfter' | 'spender'>,
    { after, page, openHour, closedHour }: AuditedSpending,
    complain: Complain,
  ) {
    this.#source = source;
    this.#complain = complain;
    this.#closedHour = closedHour;
    const lastAccountId = page.accounts.at(-1)?.id ?? AFTER_ALL_IDS;
    this.#rows = readSpent(source, after, { lastAccountId, hour: openHour });
    this.#open = byAccount(page.spent);
    this.#budgets = budgetsOf(page);
  }

  async add(charge: SealedLedger): Promise<void> {
    const accountId = charge[AT.accountId];
    if (accountId !== this.#accountId) {
      await this.#finishAccount();
      this.#accountId = accountId;
    }
    const spenderId = charge[AT.spenderId] ?? undefined;
    const spender = spenderId === undefined ? {} : await this.#spender(spenderId, charge);
    const parts = chargePartsOf(charge[AT.parts] ?? null);
    for (const budget of this.#budgetsOf(accountId, charge[AT.keyId] ?? '', spender)) {
      addToBudget(budget, charge, { spender, parts });
    }
    if (spenderId === undefined) return;
    const hour = Math.floor(Number(charge[AT.createdAt]) / HOUR_MS);
    if (hour > this.#hour) await this.#finishHours(hour);
    this.#hour = hour;
    const row = rowOf(charge, { hour, spenderId });
    const name = nameOf(row);
    const before = this.#expected.get(name);
    this.#expected.set(name, before === undefined ? row : added(before, row));
  }

  /** Adds archived charges to the caps that count all charges of their key. */
  addCarry({ accountId, keyId, to, charged, writtenOff }: CarryRow): void {
    for (const { row, expected } of this.#budgetsOf(accountId, keyId, {})) {
      if (!isWholeCap(row) || (row.endedSeq !== null && to > row.endedSeq)) continue;
      expected.set(ALWAYS, (expected.get(ALWAYS) ?? 0n) + charged + writtenOff);
    }
  }

  /** Those that may count a charge. An account may have thousands of others. */
  #budgetsOf(accountId: string, keyId: string, spender: Spender): readonly AuditedBudget[] {
    const of = this.#budgets.get(accountId);
    if (of === undefined) return [];
    const { memberId = '', groups = '', tag = '', run = '' } = spender;
    const subjects = new Set(['', keyId, memberId, tag, run, ...groups.split('/')]);
    return [...subjects].flatMap((subject) => of.get(subject) ?? []);
  }

  /** Call it after the last charge of the page. */
  async finish(accounts: readonly AccountTotals[]): Promise<void> {
    await this.#finishAccount();
    await this.#finishRows(undefined);
    for (const row of [...this.#open.values()].flat()) {
      if (!accounts.some(({ id }) => id === row.accountId)) this.#compare(undefined, row);
    }
    for (const account of accounts) {
      const budgets = [...(this.#budgets.get(account.id)?.values() ?? [])].flat();
      const hasSome = budgets.some(({ row }) => row.endedSeq === null);
      const text = (isBudgeted: boolean) => (isBudgeted ? 'budgets' : 'no budgets');
      if (hasSome !== account.budgeted) {
        this.#report('budget', account.id, text(hasSome), text(account.budgeted));
      }
      for (const budget of budgets) this.#compareUses(budget);
    }
  }

  async #finishAccount(): Promise<void> {
    const accountId = this.#accountId;
    if (accountId === '') return;
    await this.#finishRows(accountId);
    for (const row of this.#open.get(accountId) ?? []) this.#compareRow(row);
    for (const row of this.#expected.values()) this.#compare(row, undefined);
    this.#expected = new Map();
    this.#hour = -1;
  }

  /** Compares the rows of the present account that are of earlier hours than this one. */
  async #finishHours(hour: number): Promise<void> {
    await this.#finishRows(this.#accountId, hour);
  }

  /** Compares stored rows up to this account, and up to this hour of it. */
  async #finishRows(accountId: string | undefined, beforeHour = Infinity): Promise<void> {
    if (!this.#isStarted) await this.#advance();
    for (let row = this.#next; row !== undefined; row = this.#next) {
      if (accountId !== undefined) {
        if (row.accountId > accountId) return;
        if (row.accountId === accountId && row.hour >= beforeHour) return;
      }
      this.#compareRow(row);
      await this.#advance();
    }
  }

  async #advance(): Promise<void> {
    const step = await this.#rows.next();
    this.#next = step.done === true ? undefined : step.value;
    this.#isStarted = true;
  }

  #compareRow(row: SpentRow): void {
    const name = nameOf(row);
    const expected = row.accountId === this.#accountId ? this.#expected.get(name) : undefined;
    this.#expected.delete(name);
    this.#compare(expected, row);
  }

  #compare(expected: SpentRow | undefined, found: SpentRow | undefined): void {
    const row = expected ?? found;
    if (row === undefined || row.hour < this.#closedHour) return;
    const [wanted, stored] = [figuresText(expected), figuresText(found)];
    if (wanted === stored) return;
    const of = `${shown(row.spenderId)} in the hour from ${new Date(row.hour * HOUR_MS).toISOString()}`;
    this.#report('spender_usage', row.accountId, `${of}: ${wanted}`, stored, row.keyId);
  }

  async #spender(id: string, charge: SealedLedger): Promise<Spender> {
    const known = this.#spenders.get(id);
    if (known !== undefined) return known;
    const row = await this.#source.spender(id);
    if (row === undefined || row.accountId !== charge[AT.accountId]) {
      this.#report('spender', charge[AT.accountId], `the ${shown(id)} of this account`, 'none');
    }
    const spender = row === undefined ? {} : spenderOf(row);
    if (this.#spenders.size >= MAX_KNOWN_SPENDERS) this.#spenders.clear();
    this.#spenders.set(id, spender);
    return spender;
  }

  #compareUses({ row, expected, found }: AuditedBudget): void {
    const closedMs = this.#closedHour * HOUR_MS;
    const names = new Set([...expected.keys(), ...found.keys()]);
    let lastStart = 0;
    for (const name of names) lastStart = Math.max(lastStart, startIn(name));
    for (const name of names) {
      const start = startIn(name);
      // Of a cap, only the last period is kept.
      if (row.isCap && start < lastStart) continue;
      const [, ...subject] = name.split(' ');
      const [wanted, stored] = [expected.get(name) ?? 0n, found.get(name) ?? 0n];
      // Of a period that began before, some charges may have left the ledger.
      const isWhole = start >= closedMs || (isWholeCap(row) && row.endedSeq === null);
      if (isWhole ? wanted === stored : wanted <= stored) continue;
      const of = `${row.id} ${subject.join(' ')} from ${new Date(start).toISOString()}`;
      this.#report('budget', row.accountId, `${of}: used ${String(wanted)}`, String(stored));
    }
  }

  #report(
    check: AuditDifference['check'],
    accountId: string,
    expected: string,
    found: string,
    keyId?: string,
  ): void {
    this.#complain({ check, accountId, keyId, entryId: undefined, expected, found });
  }
}

interface AuditedBudget {
  readonly row: Row<'Budget'>;
  readonly terms: CountingTerms;
  /** When the first period began that it counts. */
  readonly since: number;
  /** By the start of the period and the subject. */
  readonly expected: Map<string, bigint>;
  readonly found: Map<string, bigint>;
}

function budgetsOf({
  budgets,
  uses,
}: Pick<AuditedAccounts, 'budgets' | 'uses'>): ReadonlyMap<
  string,
  ReadonlyMap<string, readonly AuditedBudget[]>
> {
  const found = new Map<string, Map<string, bigint>>();
  for (const { budgetId, startAt, subject, used } of uses) {
    const of = found.get(budgetId) ?? new Map<string, bigint>();
    found.set(budgetId, of.set(`${String(startAt)} ${subject}`, used));
  }
  const audited = new Map<string, Map<string, AuditedBudget[]>>();
  for (const row of budgets) {
    const terms = countingTermsOf(row);
    const first = periodAt(terms, row.createdAt.getTime());
    const since = first?.start ?? terms.fromAt ?? 0;
    const of = { row, terms, since, expected: new Map<string, bigint>() };
    const ofAccount = audited.get(row.accountId) ?? new Map<string, AuditedBudget[]>();
    audited.set(row.accountId, ofAccount);
    const list = ofAccount.get(row.subject ?? '') ?? [];
    ofAccount.set(row.subject ?? '', list);
    list.push({ ...of, found: found.get(row.id) ?? new Map<string, bigint>() });
  }
  return audited;
}

/** The name of what is used in the only period of a budget that counts all charges. */
const ALWAYS = '0 ';

function startIn(name: string): number {
  return Number(name.split(' ', 1)[0]);
}

/** A cap in `total`. */
function isWholeCap({ isCap, period }: Row<'Budget'>): boolean {
  return isCap && period === 'once';
}

function addToBudget(
  { row, terms, since, expected }: AuditedBudget,
  charge: SealedLedger,
  { spender, parts }: { readonly spender: Spender; readonly parts: readonly ChargePart[] },
): void {
  const ms = Number(charge[AT.createdAt]);
  if (ms < since || (row.endedSeq !== null && BigInt(charge[AT.seq]) > row.endedSeq)) return;
  const paid = paidPart(row.id, parts);
  const subject = paid === 0n ? subjectOf(terms, charge[AT.keyId] ?? '', spender) : '';
  const period = subject === undefined ? undefined : periodAt(terms, ms);
  if (subject === undefined || period === undefined) return;
  const name = `${String(period.start)} ${subject}`;
  const whole = unitsFromNumeric(charge[AT.writtenOff]) - unitsFromNumeric(charge[AT.delta]);
  const amount = paid === 0n ? ownPart(whole, row.id, parts) : paid;
  expected.set(name, (expected.get(name) ?? 0n) + amount);
}

function byAccount(rows: readonly SpentRow[]): ReadonlyMap<string, readonly SpentRow[]> {
  const of = new Map<string, SpentRow[]>();
  for (const row of rows) {
    const list = of.get(row.accountId) ?? [];
    of.set(row.accountId, list);
    list.push(row);
  }
  return of;
}

function nameOf({ hour, spenderId, keyId, model }: SpentPosition): string {
  return JSON.stringify([hour, spenderId, keyId, model]);
}

function rowOf(
  charge: SealedLedger,
  { hour, spenderId }: Pick<SpentPosition, 'hour' | 'spenderId'>,
): SpentRow {
  const count = (column: number) => BigInt(charge[column] ?? 0);
  const cost = charge[AT.cost] ?? undefined;
  return {
    accountId: charge[AT.accountId],
    hour,
    spenderId,
    keyId: charge[AT.keyId] ?? '',
    model: charge[AT.model] ?? '',
    requests: 1n,
    inputTokens: count(AT.inputTokens),
    outputTokens: count(AT.outputTokens),
    cacheReadTokens: count(AT.cacheReadInputTokens),
    cacheWriteTokens: count(AT.cacheCreationInputTokens),
    charged: -unitsFromNumeric(charge[AT.delta]),
    writtenOff: unitsFromNumeric(charge[AT.writtenOff]),
    cost: cost === undefined ? 0n : unitsFromNumeric(cost),
    costed: cost === undefined ? 0n : 1n,
  };
}

const FIGURES = [
  'requests',
  'inputTokens',
  'outputTokens',
  'cacheReadTokens',
  'cacheWriteTokens',
  'charged',
  'writtenOff',
  'cost',
  'costed',
] as const;

function added(sum: SpentRow, row: SpentRow): SpentRow {
  return {
    ...sum,
    ...Object.fromEntries(FIGURES.map((figure) => [figure, sum[figure] + row[figure]])),
  };
}

function figuresText(row: SpentRow | undefined): string {
  if (row === undefined) return 'nothing';
  return `${row.model}: ${FIGURES.map((figure) => `${figure} ${String(row[figure])}`).join(', ')}`;
}

/** The whole id is a digest, which a report never shows. */
function shown(spenderId: string): string {
  return `spender ${spenderId.slice(0, 12)}`;
}

async function* readSpent(
  source: Pick<AuditSource, 'spentAfter'>,
  after: string,
  until: { readonly lastAccountId: string; readonly hour: number },
): AsyncGenerator<SpentRow, undefined> {
  let position: SpentPosition = {
    accountId: after,
    hour: 2 ** 31 - 1,
    spenderId: '',
    keyId: '',
    model: '',
  };
  for (;;) {
    const page = await source.spentAfter(position, until, ROWS_PER_PAGE);
    yield* page;
    const end = page.at(-1);
    if (end === undefined || page.length < ROWS_PER_PAGE) return undefined;
    position = end;
  }
}

/** Compares each spender with its id. */
export async function auditSpenders(
  source: Pick<AuditSource, 'spendersAfter'>,
  complain: Complain,
): Promise<void> {
  for (let after = ''; ;) {
    const page = await source.spendersAfter(after, ROWS_PER_PAGE);
    for (const row of page) {
      after = row.id;
      const { accountId, tag, run, labelSalt, labels } = row;
      const isErased = labelSalt === '';
      const hasTexts = (tag ?? run) !== null;
      const own = hasTexts ? digestOf('labels', labelSalt, tag, run) : isErased ? labels : null;
      if (spenderIdOf(row) === row.id && labels === own && !(isErased && hasTexts)) continue;
      const of = { accountId, keyId: undefined, entryId: undefined };
      const expected = `the member, the groups and the labels of ${shown(row.id)}`;
      complain({ check: 'spender', ...of, expected, found: 'others' });
    }
    if (page.length < ROWS_PER_PAGE) return;
  }
}
