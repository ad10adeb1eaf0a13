/**
 * Encodes the batches of charges that are sent between threads. Every charge and its outcome are
 * sent this way, so they are compact text: 6 µs per charge, compared with 10 µs for copied objects
 * (measured with Node 24).
 */

import { pricingOf, pricingTextOf } from '../../ledger/pricing-text.js';
import { rateTextsOf } from '../../ledger/rate-texts.js';
import { countsOf } from '../../ledger-entry.js';
import type { SettledRates } from '../../ledger-entry.js';
import type { Settlement, SettleOutcome } from '../../store.js';
import type { ChangedRows } from '../sqlite/settle.js';

type Charge = readonly [
  requestId: string,
  keyId: string,
  amount: string,
  isGuarded: boolean,
  model: string,
  inputTokens: number,
  outputTokens: number,
  cacheReadInputTokens: number,
  cacheCreationInputTokens: number,
  cacheCreation1hInputTokens: number,
  rates: readonly string[],
  endpoint: string,
  streamed: boolean,
  upstreamId: string | null,
  upstreamAccount: string | null,
  remarks: string | null,
  pricing: string | null,
  cost: string | null,
];

export function encodeBatch(batch: readonly Settlement[]): string {
  return JSON.stringify(batch.map(chargeOf));
}

function chargeOf(settlement: Settlement): Charge {
  const { usage } = settlement;
  return [
    settlement.requestId,
    settlement.keyId,
    settlement.amount.toString(),
    settlement.overdraft === 'none',
    settlement.model,
    ...countsOf(usage),
    rateTextsOf(settlement.rates).units,
    settlement.endpoint,
    settlement.streamed,
    settlement.upstreamId ?? null,
    settlement.upstreamAccount ?? null,
    settlement.remarks ?? null,
    pricingTextOf(settlement.pricing),
    settlement.cost?.toString() ?? null,
  ];
}

/** One entry per distinct set of rates. There are few of them, so the map stays small. */
const knownRates = new Map<string, SettledRates>();

export function decodeBatch(text: string): readonly Settlement[] {
  return (JSON.parse(text) as readonly Charge[]).map(settlementOf);
}

function settlementOf(charge: Charge): Settlement {
  const [requestId, keyId, amount, isGuarded, model, input, output, read, write, write1h] = charge;
  const [, , , , , , , , , , rates, endpoint, streamed, ...rest] = charge;
  const [upstreamId, upstreamAccount, remarks, pricing, cost] = rest;
  return {
    requestId,
    keyId,
    amount: BigInt(amount),
    overdraft: isGuarded ? 'none' : 'bounded',
    model,
    usage: {
      inputTokens: input,
      outputTokens: output,
      cacheReadInputTokens: read,
      cacheCreationInputTokens: write,
      cacheCreation1hInputTokens: write1h,
    },
    rates: ratesOf(rates),
    endpoint,
    streamed,
    upstreamId: upstreamId ?? undefined,
    upstreamAccount: upstreamAccount ?? undefined,
    remarks: remarks ?? undefined,
    pricing: pricingOf(pricing),
    cost: cost === null ? undefined : BigInt(cost),
  };
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
