import { describe, expect, it } from '@jest/globals';
import { NO_WINDOWS, addToWindows, compareWindows } from '../../src/ledger/audit/cap-windows.js';
import { windowStartsAt } from '../../src/ledger/rules/cap-windows.js';

const DAY_MS = 86_400_000;
const SINCE = Date.UTC(2026, 0, 1);
const PERIODS = ['day', 'week', 'month'] as const;
const RUNS = 300;

interface Charge {
  readonly ms: number;
  readonly amount: bigint;
}

/** The row that settling these charges leaves. */
function rowAfter(charges: readonly Charge[]) {
  const starts = { day: 0, week: 0, month: 0, total: 0 };
  const bases = { day: 0n, week: 0n, month: 0n, total: 0n };
  let used = 0n;
  for (const { ms, amount } of charges) {
    const current = windowStartsAt(ms);
    for (const period of PERIODS) {
      if (starts[period] !== current[period]) bases[period] = used;
      starts[period] = current[period];
    }
    used += amount;
  }
  return { starts, bases };
}

/** Replays charges, of which the first are known as the sums of archives only. */
function differencesOf(
  windows: ReturnType<typeof rowAfter>,
  charges: readonly Charge[],
  sums: readonly number[],
) {
  const parts: (readonly Charge[])[] = [];
  let from = 0;
  for (const length of sums) {
    parts.push(charges.slice(from, from + length));
    from += length;
  }
  parts.push(...charges.slice(from).map((charge) => [charge]));
  let [fold, used] = [NO_WINDOWS, 0n];
  for (const part of parts) {
    const [first, last] = [part[0], part.at(-1)];
    if (first === undefined || last === undefined) continue;
    const after = part.reduce((sum, { amount }) => sum + amount, used);
    fold = addToWindows(fold, { firstMs: first.ms, lastMs: last.ms }, [used, after]);
    used = after;
  }
  const found: string[] = [];
  compareWindows({ id: 'key_1', accountId: 'acct_1', windows }, fold, ({ check, expected }) => {
    found.push(`${check}: ${expected}`);
  });
  return found;
}

function randomCharges(): readonly Charge[] {
  let ms = SINCE;
  return Array.from({ length: Math.floor(Math.random() * 12) }, () => {
    ms += Math.floor(Math.random() ** 3 * 40 * DAY_MS);
    return { ms, amount: BigInt(Math.floor(Math.random() * 100)) };
  });
}

describe('audit of cap windows', () => {
  // F220
  it('finds nothing wrong with what settling leaves, whatever part of it is archived', () => {
    for (let run = 0; run < RUNS; run += 1) {
      const charges = randomCharges();
      const sums = [0, 0].map(() => Math.floor(Math.random() * 5));
      expect([differencesOf(rowAfter(charges), charges, sums), charges, sums]).toEqual([
        [],
        charges,
        sums,
      ]);
    }
  });

  // F220
  it('names each window that no charge has caused', () => {
    for (let run = 0; run < RUNS; run += 1) {
      const charges = [...randomCharges(), { ms: SINCE + 500 * DAY_MS, amount: 5n }];
      for (const period of PERIODS) {
        const { starts, bases } = rowAfter(charges);
        const moved = { starts: { ...starts, [period]: starts[period] - 1 }, bases };
        const raised = { starts, bases: { ...bases, [period]: bases[period] + 1n } };
        for (const row of [moved, raised]) {
          const found = differencesOf(row, charges, []);
          expect(found).toHaveLength(1);
          expect(found[0]).toContain(`cap_window: the ${period} of `);
        }
      }
    }
  });

  // F220
  it('says within which bounds a window must be, if archived charges extend over its start', () => {
    const charges = [30, 31, 32].map((day) => ({ ms: SINCE + day * DAY_MS, amount: 7n }));
    const { starts, bases } = rowAfter(charges);
    const row = { starts, bases: { ...bases, month: 22n } };
    expect(differencesOf(row, charges, [3])).toEqual([
      'cap_window: the month of 2026-01-01 to 2026-02-01, 0 to 21 used before',
    ]);
  });
});
