/** Compares the hourly totals of usage with the charges that they sum up. */

import { SEALED_LEDGER as AT } from '../generated/tables.js';
import type { SealedLedger } from '../generated/tables.js';
import type { AuditDifference } from '../audit.js';
import type { ArchiveAudit } from './audit-archives.js';
import { numericFromUnits, unitsFromNumeric } from '../numeric.js';
import { hash } from 'node:crypto';
import { feesOf } from './audit-list-price.js';
import { figuresOf } from './audit-source.js';
import type { AuditSource, UsageFields, UsagePosition } from './audit-source.js';
import { COUNT_COLUMNS, RATE_COLUMNS } from './charge-columns.js';
import { HOUR_MS } from './hours.js';

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

export interface UsageAudit {
  /** Adds a charge to compare. Charges must come in the order of account and entry number. */
  add(charge: SealedLedger, writtenOff: bigint): Promise<void>;
  finish(): Promise<void>;
}

interface Residue {
  readonly position: UsagePosition;
  readonly rates: string;
  /** Those of {@link figuresOf}: each computed from the charges, minus the stored one. */
  readonly figures: bigint[];
}

/**
 * Keeps, for each hourly total, the figures computed from the charges minus the stored figures. The
 * entries of an account are read nearly in the order of their hours, so the totals of earlier hours
 * can be compared, and removed from memory, early.
 */
export function createUsageAudit(
  source: AuditSource,
  range: {
    readonly after: string;
    readonly last: string | undefined;
    readonly openHour: number;
    /** The totals of `openHour` and later. */
    readonly open: readonly UsageFields[];
    readonly archives: Pick<ArchiveAudit, 'closedHour' | 'addUsage'>;
  },
  complain: (found: AuditDifference) => void,
): UsageAudit {
  const { after, last, openHour, archives } = range;
  const residues = new Map<string, Residue>();
  const sums = last === undefined ? undefined : readSums(source, after, last, openHour);
  let next: UsageFields | undefined;
  let isStarted = false;

  function subtract(sum: UsageFields): void {
    if (sum.hour < archives.closedHour) {
      archives.addUsage(sum);
      return;
    }
    const residue = residueOf(sum, sum.rates.map(unitsFromNumeric).join(','));
    figuresOf(sum).forEach((figure, index) => {
      residue.figures[index] = (residue.figures[index] ?? 0n) - figure;
    });
  }

  function residueOf(position: UsagePosition, rates: string): Residue {
    const { accountId, hour, keyId, model, endpoint, upstreamAccount, ratesId } = position;
    const id = JSON.stringify([accountId, hour, keyId, model, endpoint, upstreamAccount, ratesId]);
    let residue = residues.get(id);
    if (residue === undefined) {
      residue = { position, rates, figures: [] };
      residues.set(id, residue);
    } else if (residue.rates !== rates) {
      const textOf = (units: string) => `rates ${units} in units of 10^-14 USD`;
      complain(differenceOf(residue, textOf(residue.rates), textOf(rates)));
    }
    return residue;
  }

  async function advance(): Promise<void> {
    const step = await sums?.next();
    next = step === undefined || step.done === true ? undefined : step.value;
    isStarted = true;
  }

  /**
   * Reads the totals up to this account and before this hour. Then forgets all residues that are
   * zero.
   */
  async function readUntil(accountId: string, hour: number): Promise<void> {
    if (!isStarted) await advance();
    let hasRead = false;
    while (
      next !== undefined &&
      (next.accountId < accountId || (next.accountId === accountId && next.hour < hour))
    ) {
      subtract(next);
      hasRead = true;
      await advance();
    }
    if (!hasRead) return;
    for (const [id, { figures }] of residues) {
      if (figures.every((figure) => figure === 0n)) residues.delete(id);
    }
  }

  let current = { accountId: '', hour: 0 };
  for (const sum of range.open) subtract(sum);

  return {
    async add(charge, writtenOff) {
      const accountId = charge[AT.accountId];
      const counts = COUNT_COLUMNS.map((name) => BigInt(charge[AT[name]] ?? 0));
      const rates = RATE_COLUMNS.map((name) => unitsFromNumeric(charge[AT[name]] ?? '0'));
      const hour = Math.floor(Number(charge[AT.createdAt]) / HOUR_MS);
      if (hour < archives.closedHour) return;
      if (accountId !== current.accountId || hour > current.hour) {
        current = { accountId, hour };
        await readUntil(accountId, hour);
      }
      const residue = residueOf(
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
    },

    async finish() {
      if (!isStarted) await advance();
      for (; next !== undefined; await advance()) subtract(next);
      for (const residue of residues.values()) {
        if (residue.figures.every((figure) => figure === 0n)) continue;
        complain(
          differenceOf(residue, 'the sum of its charges', storedDifference(residue.figures)),
        );
      }
    },
  };
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

async function* readSums(
  source: AuditSource,
  after: string,
  lastAccountId: string,
  hour: number,
): AsyncGenerator<UsageFields, undefined> {
  const none = { keyId: '', model: '', endpoint: '', upstreamAccount: '', ratesId: '' };
  // No stored hour is this high, so reading begins after all totals of the account `after`.
  let position: UsagePosition = { ...none, accountId: after, hour: 2 ** 31 - 1 };
  for (;;) {
    const page = await source.usageAfter(position, { lastAccountId, hour }, SUMS_PER_PAGE);
    yield* page;
    const end = page.at(-1);
    if (end === undefined) return undefined;
    position = end;
  }
}
