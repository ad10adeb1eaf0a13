/**
 * Encodes the sums of usage that the reading thread sends. A holder can make thousands of them, and
 * the thread that serves requests decodes them, so each is one array without names of members.
 */

import type { SettledRates } from '../../ledger-entry.js';
import type { UsageSum } from '../../usage.js';

type SumRow = readonly [
  startMs: number | null,
  model: string | null,
  accountId: string | null,
  keyId: string | null,
  endpoint: string | null,
  upstreamAccount: string | null,
  /** In the order of {@link RATES}; `null` unless the sums are by rates. */
  rates: readonly string[] | null,
  requests: number,
  input: string,
  output: string,
  cacheRead: string,
  cacheCreation: string,
  cacheCreation1h: string,
  listPrice: string,
  writtenOff: string,
  fees: string,
  cost: string,
  costed: number,
];

const RATES = [
  'inputPerToken',
  'outputPerToken',
  'cacheReadPerToken',
  'cacheWrite5mPerToken',
  'cacheWrite1hPerToken',
] as const satisfies readonly (keyof SettledRates)[];

export function encodeSums(sums: readonly UsageSum[]): string {
  return JSON.stringify(sums.map(rowOf));
}

function rowOf({ usage, rates, ...sum }: UsageSum): SumRow {
  return [
    sum.start?.getTime() ?? null,
    sum.model ?? null,
    sum.accountId ?? null,
    sum.keyId ?? null,
    sum.endpoint ?? null,
    sum.upstreamAccount ?? null,
    rates === undefined ? null : RATES.map((name) => rates[name].toString()),
    sum.requests,
    usage.inputTokens.toString(),
    usage.outputTokens.toString(),
    usage.cacheReadInputTokens.toString(),
    usage.cacheCreationInputTokens.toString(),
    usage.cacheCreation1hInputTokens.toString(),
    sum.listPrice.toString(),
    sum.writtenOff.toString(),
    sum.fees.toString(),
    sum.cost.toString(),
    sum.costed,
  ];
}

export function decodeSums(text: string): readonly UsageSum[] {
  return (JSON.parse(text) as readonly SumRow[]).map(sumOf);
}

function sumOf(row: SumRow): UsageSum {
  const [startMs, model, accountId, keyId, endpoint, upstreamAccount, rates, requests] = row;
  const [, , , , , , , , input, output, cacheRead, cacheCreation, cacheCreation1h] = row;
  const [, , , , , , , , , , , , , listPrice, writtenOff, fees, cost, costed] = row;
  return {
    ...(startMs === null ? {} : { start: new Date(startMs) }),
    ...(model === null ? {} : { model }),
    ...(accountId === null ? {} : { accountId }),
    ...(keyId === null ? {} : { keyId }),
    ...(endpoint === null ? {} : { endpoint }),
    ...(upstreamAccount === null ? {} : { upstreamAccount }),
    ...(rates === null ? {} : { rates: ratesOf(rates) }),
    requests,
    usage: {
      inputTokens: BigInt(input),
      outputTokens: BigInt(output),
      cacheReadInputTokens: BigInt(cacheRead),
      cacheCreationInputTokens: BigInt(cacheCreation),
      cacheCreation1hInputTokens: BigInt(cacheCreation1h),
    },
    listPrice: BigInt(listPrice),
    writtenOff: BigInt(writtenOff),
    fees: BigInt(fees),
    cost: BigInt(cost),
    costed,
  };
}

function ratesOf([
  input = '',
  output = '',
  read = '',
  write5m = '',
  write1h = '',
]: readonly string[]) {
  return {
    inputPerToken: BigInt(input),
    outputPerToken: BigInt(output),
    cacheReadPerToken: BigInt(read),
    cacheWrite5mPerToken: BigInt(write5m),
    cacheWrite1hPerToken: BigInt(write1h),
  };
}
