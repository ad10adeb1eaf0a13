/**
 * Encodes the batches of charges that are sent between threads. Every charge and its outcome are
 * sent this way, as text: 4 µs per charge, compared with 10 µs for copied objects (measured with
 * Node 24). A tuple of the values takes 2 µs, but each new column of charges would be named again.
 */

import { pricingOf, pricingTextOf } from '../../ledger/pricing-text.js';
import { rateTextsOf } from '../../ledger/rate-texts.js';
import type { SettledRates } from '../../ledger-entry.js';
import type { Settlement, SettleOutcome } from '../../store.js';
import type { ChangedRows } from '../sqlite/settle.js';

/** A settlement with texts for what JSON lacks. Its other members are sent as they are. */
type Charge = Omit<Settlement, 'amount' | 'cost' | 'rates' | 'pricing'> & {
  readonly amount: string;
  readonly cost: string | undefined;
  readonly rates: readonly string[];
  readonly pricing: string | null;
};

export function encodeBatch(batch: readonly Settlement[]): string {
  return JSON.stringify(batch.map(chargeOf));
}

function chargeOf(settlement: Settlement): Charge {
  return {
    ...settlement,
    amount: settlement.amount.toString(),
    cost: settlement.cost?.toString(),
    rates: rateTextsOf(settlement.rates).units,
    pricing: pricingTextOf(settlement.pricing),
  };
}

/** One entry per distinct set of rates. There are few of them, so the map stays small. */
const knownRates = new Map<string, SettledRates>();

export function decodeBatch(text: string): readonly Settlement[] {
  return (JSON.parse(text) as readonly Charge[]).map(settlementOf);
}

/** Changes the object in place: a copy takes 0.5 µs. */
function settlementOf(charge: Charge): Settlement {
  return Object.assign(charge, {
    amount: BigInt(charge.amount),
    cost: charge.cost === undefined ? undefined : BigInt(charge.cost),
    rates: ratesOf(charge.rates),
    pricing: pricingOf(charge.pricing),
  });
}

function ratesOf(units: readonly string[]): SettledRates {
  const name = units.join();
  let rates = knownRates.get(name);
  if (rates === undefined) {
    const [input = 0n, output = 0n, read = 0n, write5m = 0n, write1h = 0n] = units.map(BigInt);
    rates = {
      inputPerToken: input,
      outputPerToken: output,
      cacheReadPerToken: read,
      cacheWrite5mPerToken: write5m,
      cacheWrite1hPerToken: write1h,
    };
    knownRates.set(name, rates);
  }
  return rates;
}

type Outcome =
  | readonly [outcome: 'conflict']
  | readonly [
      outcome: 'settled' | 'replayed',
      balance: string,
      isActive: boolean,
      writtenOff: string,
    ];

export function encodeOutcomes(outcomes: readonly SettleOutcome[]): string {
  return JSON.stringify(
    outcomes.map((one) =>
      'balance' in one
        ? [one.outcome, one.balance.toString(), one.isActive, one.writtenOff.toString()]
        : [one.outcome],
    ),
  );
}

export function decodeOutcomes(text: string): readonly SettleOutcome[] {
  return (JSON.parse(text) as readonly Outcome[]).map((one): SettleOutcome => {
    if (one[0] === 'conflict') return { outcome: 'conflict' };
    const [outcome, balance, isActive, writtenOff] = one;
    return { outcome, balance: BigInt(balance), isActive, writtenOff: BigInt(writtenOff) };
  });
}

type Changed = readonly [
  accounts: readonly (readonly [id: string, balance: string, uncovered: string])[],
  cappedKeyIds: readonly string[],
];

export function encodeChanged({ accounts, cappedKeyIds }: ChangedRows): string {
  const rows = accounts.map(({ id, balance, uncovered }) => [
    id,
    balance.toString(),
    uncovered.toString(),
  ]);
  return JSON.stringify([rows, cappedKeyIds]);
}

export function decodeChanged(text: string): ChangedRows {
  const [rows, cappedKeyIds] = JSON.parse(text) as Changed;
  const accounts = rows.map(([id, balance, uncovered]) => ({
    id,
    balance: BigInt(balance),
    uncovered: BigInt(uncovered),
  }));
  return { accounts, cappedKeyIds };
}
