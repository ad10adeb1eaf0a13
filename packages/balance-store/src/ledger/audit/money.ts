/**
 * Compares the sums of what moved between the sides of the books, hour by hour, with what the
 * entries say.
 */

import type { AuditDifference } from '../../audit.js';
import { HOUR_MS } from '../base/hours.js';
import { AFTER_ALL_IDS } from '../scan/ledger-scan.js';
import { GIVEN, REDEEMED, redeemedSides } from '../rules/sides.js';
import type { Side } from '../rules/sides.js';
import type { AuditSource, AuditedAccounts, MoneyPosition, MoneyRow } from './audit-source.js';

const ROWS_PER_PAGE = 1_000;

interface AuditedMoney {
  readonly after: string;
  /** Its rows are those of `openHour` and later. Without accounts, it is the end of all. */
  readonly page: Pick<AuditedAccounts, 'accounts' | 'money'>;
  readonly openHour: number;
  /** Charges of earlier hours may have left the ledger. */
  readonly closedHour: number;
}

/** Calls must come in the order of accounts. */
export class MoneyAudit {
  readonly #complain: (found: AuditDifference) => void;
  readonly #closedHour: number;
  readonly #rows: AsyncGenerator<MoneyRow, undefined>;
  readonly #unfinished: string[];
  readonly #open = new Map<string, MoneyRow[]>();
  /** The sums of the present account, by hour and side. */
  #expected = new Map<string, MoneyRow>();
  /** The part of archived charges of the present account that was paid from given money. */
  #carried = 0n;
  #next: MoneyRow | undefined;
  #isStarted = false;
  /** The sum of each side over all rows. */
  readonly totals = new Map<string, bigint>();

  constructor(
    source: Pick<AuditSource, 'moneyAfter'>,
    { after, page, openHour, closedHour }: AuditedMoney,
    complain: (found: AuditDifference) => void,
  ) {
    this.#complain = complain;
    this.#closedHour = closedHour;
    // After all accounts, no row may be left.
    this.#unfinished = page.accounts.length === 0 ? [''] : page.accounts.map(({ id }) => id);
    const lastAccountId = page.accounts.at(-1)?.id ?? AFTER_ALL_IDS;
    this.#rows = readMoney(source, after, { lastAccountId, hour: openHour });
    for (const row of page.money) {
      const rows = this.#open.get(row.accountId) ?? [];
      this.#open.set(row.accountId, [...rows, row]);
    }
  }

  add(accountId: string, atMs: number, sides: readonly Side[]): void {
    const hour = Math.floor(atMs / HOUR_MS);
    for (const { side, amount } of sides) {
      const id = `${String(hour)} ${side}`;
      const before = this.#expected.get(id)?.amount ?? 0n;
      this.#expected.set(id, { accountId, hour, side, amount: before + amount });
    }
  }

  addCarried(given: bigint): void {
    this.#carried += given;
  }

  /** Compares the sums of all accounts before this one: all of their entries are added. */
  async finishBefore(accountId: string): Promise<void> {
    for (let [id] = this.#unfinished; id !== undefined && id < accountId;) {
      await this.#finish(id === '' ? AFTER_ALL_IDS : id);
      this.#unfinished.shift();
      [id] = this.#unfinished;
    }
    if (this.#unfinished.length > 0) return;
    // What is left is of accounts that do not exist.
    for (const row of [...this.#open.values()].flat()) this.#compare(row, 0n, row.amount);
    this.#open.clear();
  }

  /** Compares what was added for this account, and forgets it. */
  async #finish(accountId: string): Promise<void> {
    const expected = this.#expected;
    const closed = new Map<string, bigint>([
      [REDEEMED, 0n],
      [GIVEN, 0n],
    ]);
    const addClosed = ({ hour, side }: MoneyPosition, amount: bigint): boolean => {
      const before = hour < this.#closedHour ? closed.get(side) : undefined;
      if (before === undefined) return false;
      closed.set(side, before + amount);
      return true;
    };
    const sums = new Map<number, bigint>();
    for (const { side, amount } of redeemedSides(this.#carried)) {
      closed.set(side, (closed.get(side) ?? 0n) + amount);
    }
    for (const row of await this.#rowsOf(accountId)) {
      this.totals.set(row.side, (this.totals.get(row.side) ?? 0n) + row.amount);
      sums.set(row.hour, (sums.get(row.hour) ?? 0n) + row.amount);
      if (addClosed(row, -row.amount)) continue;
      const id = `${String(row.hour)} ${row.side}`;
      this.#compare(row, expected.get(id)?.amount ?? 0n, row.amount);
      expected.delete(id);
    }
    for (const row of expected.values()) {
      if (!addClosed(row, row.amount)) this.#compare(row, row.amount, 0n);
    }
    for (const [side, difference] of closed) {
      this.#compare({ accountId, hour: undefined, side }, difference, 0n);
    }
    for (const [hour, sum] of sums) {
      if (hour < this.#closedHour) this.#compare({ accountId, hour, side: ALL_SIDES }, 0n, sum);
    }
    this.#expected = new Map();
    this.#carried = 0n;
  }

  #compare(
    of: Pick<MoneyRow, 'accountId' | 'side'> & { readonly hour: number | undefined },
    expected: bigint,
    found: bigint,
  ): void {
    if (expected === found) return;
    const when =
      of.hour === undefined
        ? 'in the hours whose charges are archived, more than its sums'
        : `in the hour from ${timeText(of.hour)}`;
    this.#complain({
      check: 'sides',
      accountId: of.accountId,
      keyId: undefined,
      entryId: undefined,
      expected: `${of.side} moved by ${String(expected)} ${when}`,
      found: String(found),
    });
  }

  /** The rows of this account. Rows of accounts between the last one and this one are wrong. */
  async #rowsOf(accountId: string): Promise<readonly MoneyRow[]> {
    if (!this.#isStarted) await this.#advance();
    const rows: MoneyRow[] = [];
    while (this.#next !== undefined && this.#next.accountId <= accountId) {
      if (this.#next.accountId === accountId) rows.push(this.#next);
      else this.#compare(this.#next, 0n, this.#next.amount);
      await this.#advance();
    }
    rows.push(...(this.#open.get(accountId) ?? []));
    this.#open.delete(accountId);
    return rows;
  }

  async #advance(): Promise<void> {
    const step = await this.#rows.next();
    this.#next = step.done === true ? undefined : step.value;
    this.#isStarted = true;
  }
}

async function* readMoney(
  source: Pick<AuditSource, 'moneyAfter'>,
  after: string,
  until: { readonly lastAccountId: string; readonly hour: number },
): AsyncGenerator<MoneyRow, undefined> {
  let position: MoneyPosition = { accountId: after, hour: MAX_HOUR, side: '' };
  for (;;) {
    const page = await source.moneyAfter(position, until, ROWS_PER_PAGE);
    yield* page;
    const end = page.at(-1);
    if (end === undefined || page.length < ROWS_PER_PAGE) return undefined;
    position = end;
  }
}

const MAX_HOUR = 2 ** 31 - 1;
const ALL_SIDES = 'the sum of all sides';

function timeText(hour: number): string {
  const time = new Date(hour * HOUR_MS);
  return Number.isNaN(time.getTime()) ? `hour ${String(hour)}` : time.toISOString();
}
