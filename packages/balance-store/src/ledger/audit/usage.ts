/** Compares the hourly totals of usage with the charges that they sum up. */

import { SEALED_LEDGER as AT } from '../../generated/tables.js';
import type { SealedLedger } from '../../generated/tables.js';
import type { AuditDifference } from '../../audit.js';
import type { ArchiveAudit } from './archives.js';
import { numericFromUnits, unitsFromNumeric } from '../../numeric.js';
import { hash } from 'node:crypto';
import { feesOf } from '../seals/sealed-list-price.js';
import { figuresOf } from '../scan/ledger-scan.js';
import type { AuditSource } from './audit-source.js';
import type { KeyRange, UsageFields, UsagePosition } from '../scan/ledger-scan.js';
import { COUNT_COLUMNS, RATE_COLUMNS } from '../tables/charge-columns.js';
import { HOUR_MS } from '../base/hours.js';

const SUMS_PER_PAGE = 1_000;

/**
 * Returns the first hour whose totals may still change, in hours since 1970-01-01 UTC. The totals
 * of this hour and later are read in the same state of the ledger as the accounts. It is the hour
 * before the current one, because a charge that is being committed may still belong to the previous
 * hour.
 */
export function openHourOf(nowMs: number): number {
  return Math.floor(nowMs / HOUR_MS) - 1;
}

interface Residue {
  readonly position: UsagePosition;
  readonly rates: string;
  /** Those of {@link figuresOf}: each computed from the charges, minus the stored one. */
  readonly figures: bigint[];
}

export interface AuditedRange {
  readonly after: string;
  readonly last: string | undefined;
  /** Only totals of these keys. */
  readonly range?: KeyRange | undefined;
  readonly openHour: number;
  /** The totals of `openHour` and later. */
  readonly open: readonly UsageFields[];
  readonly archives: Pick<ArchiveAudit, 'closedHour' | 'addUsage'>;
}

/**
 * Keeps, for each hourly total, the figures computed from the charges minus the stored figures. The
 * entries of an account are read nearly in the order of their hours, so the totals of earlier hours
 * can be compared, and removed from memory, early.
 */
export class UsageAudit {
  readonly #archives: AuditedRange['archives'];
  readonly #complain: (found: AuditDifference) => void;
  readonly #residues = new Map<string, Residue>();
  readonly #sums: AsyncGenerator<UsageFields, undefined> | undefined;
  /** The first total that has not been subtracted; only once `#isStarted`. */
  #next: UsageFields | undefined;
  #isStarted = false;
  #current = { accountId: '', hour: 0 };

  constructor(
    source: AuditSource,
    { after, last, range, openHour, open, archives }: AuditedRange,
    complain: (found: AuditDifference) => void,
  ) {
    this.#archives = archives;
    this.#complain = complain;
    this.#sums =
      last === undefined
        ? undefined
        : readSums(source, after, { lastAccountId: last, hour: openHour, keys: range });
    for (const sum of open) this.#subtract(sum);
  }

  /** Adds a charge to compare. Charges must come in the order of account and entry number. */
  async add(charge: SealedLedger, writtenOff: bigint): Promise<void> {
    const accountId = charge[AT.accountId];
    const counts = COUNT_COLUMNS.map((name) => BigInt(charge[AT[name]] ?? 0));
    const rates = RATE_COLUMNS.map((name) => unitsFromNumeric(charge[AT[name]] ?? '0'));
    const hour = Math.floor(Number(charge[AT.createdAt]) / HOUR_MS);
    if (hour < this.#archives.closedHour) return;
    if (accountId !== this.#current.accountId || hour > this.#current.hour) {
      this.#current = { accountId, hour };
      await this.#readUntil(accountId, hour);
    }
    const residue = this.#residueOf(
      {
        accountId,
        hour,
        keyId: charge[AT.keyId] ?? '',
        model: charge[AT.model] ?? '',
        endpoint: charge[AT.endpoint] ?? '',
        upstreamAccount: charge[AT.upstreamAccount] ?? '',
        ratesId: hash('sha256', rates.join(','), 'hex').slice(0, 16),
      },
      rates.join(','),
    );
    const cost = charge[AT.cost] ?? null;
    figuresOf({
      requests: 1n,
      counts,
      costed: cost === null ? 0n : 1n,
      writtenOff,
      fees: feesOf(charge),
      cost: cost === null ? 0n : unitsFromNumeric(cost),
    }).forEach((figure, index) => {
      residue.figures[index] = (residue.figures[index] ?? 0n) + figure;
    });
  }

  async finish(): Promise<void> {
    if (!this.#isStarted) await this.#advance();
    for (; this.#next !== undefined; await this.#advance()) this.#subtract(this.#next);
    for (const residue of this.#residues.values()) {
      if (residue.figures.every((figure) => figure === 0n)) continue;
      const found = storedDifference(residue.figures);
      this.#complain(differenceOf(residue, 'the sum of its charges', found));
    }
  }

  #subtract(sum: UsageFields): void {
    if (sum.hour < this.#archives.closedHour) {
      this.#archives.addUsage(sum);
      return;
    }
    const residue = this.#residueOf(sum, sum.rates.map(unitsFromNumeric).join(','));
    figuresOf(sum).forEach((figure, index) => {
      residue.figures[index] = (residue.figures[index] ?? 0n) - figure;
    });
  }

  #residueOf(position: UsagePosition, rates: string): Residue {
    const { accountId, hour, keyId, model, endpoint, upstreamAccount, ratesId } = position;
    const id = JSON.stringify([accountId, hour, keyId, model, endpoint, upstreamAccount, ratesId]);
    let residue = this.#residues.get(id);
    if (residue === undefined) {
      residue = { position, rates, figures: [] };
      this.#residues.set(id, residue);
    } else if (residue.rates !== rates) {
      const textOf = (units: string) => `rates ${units} in units of 10^-14 USD`;
      this.#complain(differenceOf(residue, textOf(residue.rates), textOf(rates)));
    }
    return residue;
  }

  async #advance(): Promise<void> {
    const step = await this.#sums?.next();
    this.#next = step === undefined || step.done === true ? undefined : step.value;
    this.#isStarted = true;
  }

  /**
   * Reads the totals up to this account and before this hour. Then forgets all residues that are
   * zero.
   */
  async #readUntil(accountId: string, hour: number): Promise<void> {
    if (!this.#isStarted) await this.#advance();
    let hasRead = false;
    while (this.#next !== undefined && isBefore(this.#next, { accountId, hour })) {
      this.#subtract(this.#next);
      hasRead = true;
      await this.#advance();
    }
    if (!hasRead) return;
    for (const [id, { figures }] of this.#residues) {
      if (figures.every((figure) => figure === 0n)) this.#residues.delete(id);
    }
  }
}

function isBefore(
  sum: UsageFields,
  { accountId, hour }: { readonly accountId: string; readonly hour: number },
): boolean {
  return sum.accountId < accountId || (sum.accountId === accountId && sum.hour < hour);
}

function differenceOf({ position }: Residue, expected: string, found: string): AuditDifference {
  const { accountId, keyId, hour, model, endpoint } = position;
  const at = new Date(hour * HOUR_MS).toISOString();
  return {
    check: 'usage',
    accountId,
    keyId,
    entryId: undefined,
    expected: `the hour from ${at}, model ${model}, endpoint ${endpoint}: ${expected}`,
    found,
  };
}

const FIGURES = [
  'requests',
  'input tokens',
  'output tokens',
  'cache read tokens',
  'cache write tokens',
  'cache write tokens (1 h)',
  'requests with a cost',
];
const AMOUNTS = ['written off', 'fees', 'cost'];

/** @param figures - See `figures` of {@link Residue}. */
export function storedDifference(figures: readonly bigint[]): string {
  const parts = figures.flatMap((figure, index) => {
    if (figure === 0n) return [];
    const sign = figure < 0n ? '+' : '-';
    const size = figure < 0n ? -figure : figure;
    const name = FIGURES[index];
    return name === undefined
      ? [`${AMOUNTS[index - FIGURES.length] ?? ''} ${sign}${numericFromUnits(size)} USD`]
      : [`${name} ${sign}${String(size)}`];
  });
  return `a stored sum that differs from it: ${parts.join(', ')}`;
}

/** Totals of the accounts after `after`, in the order of their primary key. */
export async function* readSums(
  source: AuditSource,
  after: string,
  until: Parameters<AuditSource['usageAfter']>[1],
): AsyncGenerator<UsageFields, undefined> {
  const none = { keyId: '', model: '', endpoint: '', upstreamAccount: '', ratesId: '' };
  // No stored hour is this high, so reading begins after all totals of the account `after`.
  let position: UsagePosition = { ...none, accountId: after, hour: 2 ** 31 - 1 };
  for (;;) {
    const page = await source.usageAfter(position, until, SUMS_PER_PAGE);
    yield* page;
    const end = page.at(-1);
    if (end === undefined) return undefined;
    position = end;
  }
}
