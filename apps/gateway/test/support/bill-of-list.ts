/**
 * What the provider bills for attempts of models, from the JSON of its list. Shares no code with
 * the product's charges, so that both would have to make the same mistake.
 */

import { listPriceTableJson, parseUsd } from '@gateway/billing';
import type { Attempt } from './list-vectors.js';

/** The classes of tokens, with their names in the two reports and the factor of their price. */
const CLASSES = [
  { count: 'input', type: 'uncached_input_tokens', rate: 'rate_in', factor: undefined },
  { count: 'output', type: 'output_tokens', rate: 'rate_out', factor: undefined },
  { count: 'read', type: 'cache_read_input_tokens', rate: 'rate_in', factor: 'cache_read' },
  {
    count: 'write5m',
    type: 'cache_creation.ephemeral_5m_input_tokens',
    rate: 'rate_in',
    factor: 'cache_write',
  },
  {
    count: 'write1h',
    type: 'cache_creation.ephemeral_1h_input_tokens',
    rate: 'rate_in',
    factor: 'cache_write_1h',
  },
] as const;
type Count = (typeof CLASSES)[number]['count'];
type Counts = Readonly<Record<Count, number>>;

export interface BilledAttempt {
  readonly of: Attempt;
  readonly day: string;
  readonly model: string;
  readonly tokens: Counts;
  /** In units of 10^-14 USD. */
  readonly amounts: Readonly<Record<Count, bigint>>;
  readonly searches: bigint;
  /** The sum of both. */
  readonly cost: bigint;
  /** Whether the report of usage counts its tokens. It may leave out those that cost nothing. */
  readonly isCounted: boolean;
}

const SPECIFIED = { cache_read: '0.10', cache_write: '1.25', cache_write_1h: '1.25' } as const;
/** A decimal with at most six decimals, as a count of 10^-6. */
const micros = (text: string): bigint => parseUsd(text) / 10n ** 8n;

export function countsOf({ usage }: Attempt): Counts {
  const written = usage['cache_creation_input_tokens'] ?? 0;
  const write1h = usage['cache_creation_1h_input_tokens'] ?? 0;
  return {
    input: usage['input_tokens'] ?? 0,
    output: usage['output_tokens'] ?? 0,
    read: usage['cache_read_input_tokens'] ?? 0,
    write5m: written - write1h,
    write1h,
  };
}

/** @param promptTokens - Decides the band. Default: the tokens of the prompt. */
export function billedAttempt(day: string, of: Attempt, promptTokens?: number): BilledAttempt {
  const tokens = countsOf(of);
  const isFree =
    of.end?.kind === 'refused' &&
    !['bio', 'frontier_llm', 'reasoning_extraction'].includes(of.end.category ?? '');
  const amounts = {} as Record<Count, bigint>;
  const prompt = promptTokens ?? tokens.input + tokens.read + tokens.write5m + tokens.write1h;
  for (const { count, rate, factor } of CLASSES) {
    amounts[count] = isFree ? 0n : amountOf(of, prompt, { tokens: tokens[count], rate, factor });
  }
  const fee = parseUsd(listPriceTableJson.server_tool_use?.['web_search_requests'] ?? '0');
  const searches = BigInt(of.server_tool_use?.['web_search_requests'] ?? 0) * fee;
  const cost = Object.values(amounts).reduce((sum, amount) => sum + amount, searches);
  const isCounted = !isFree || Number(day.slice(-2)) % 2 === 0;
  return { of, day, model: of.model, tokens, amounts, searches, cost, isCounted };
}

function amountOf(
  { model, circumstances = {} }: Attempt,
  prompt: number,
  of: Pick<(typeof CLASSES)[number], 'rate' | 'factor'> & { readonly tokens: number },
): bigint {
  const json = listPriceTableJson.models.find(({ id }) => id === model)!;
  type Member = 'rate_in' | 'rate_out' | keyof typeof SPECIFIED | 'factor';
  type Rates = Readonly<Partial<Record<Member, string | undefined>>>;
  let rates: Rates = json;
  for (const band of json.bands ?? []) if (prompt > band.above_prompt_tokens) rates = band;
  let multiplied = 1n;
  let scale = 1n;
  const chosen: readonly (Rates | undefined)[] = [
    json.speed?.[circumstances['speed'] ?? ''],
    json.service_tier?.[circumstances['serviceTier'] ?? ''],
    json.inference_geo?.[circumstances['inferenceGeo'] ?? ''],
  ];
  for (const modifier of chosen) {
    if (modifier?.factor !== undefined) {
      multiplied *= micros(modifier.factor);
      scale *= 1_000_000n;
    } else if (modifier !== undefined) {
      rates = modifier;
    }
  }
  if (of.factor !== undefined) {
    multiplied *= micros(rates[of.factor] ?? (json as Rates)[of.factor] ?? SPECIFIED[of.factor]);
    scale *= 1_000_000n;
  }
  // USD per million tokens in 10^-6 is 10^-12 USD per token.
  const product = BigInt(of.tokens) * micros(rates[of.rate]!) * 100n * multiplied;
  if (product % scale !== 0n) throw new Error(`${model} has a price that is not exact`);
  return product / scale;
}

/** The days of one of the two reports. */
export function billOf(bill: readonly BilledAttempt[], report: 'usage' | 'costs') {
  const days = [...new Set(bill.map(({ day }) => day))].sort();
  return days.map((day) => {
    const ofDay = bill.filter((attempt) => attempt.day === day);
    const models = [...new Set(ofDay.map(({ model }) => model))].sort();
    const results = models.flatMap((model): readonly object[] => {
      const own = ofDay.filter((attempt) => attempt.model === model);
      return report === 'usage'
        ? [
            usageResult(
              model,
              own.filter(({ isCounted }) => isCounted),
            ),
          ]
        : costResults(model, own);
    });
    const searches = ofDay.reduce((sum, attempt) => sum + attempt.searches, 0n);
    const search = { model: null, cost_type: 'web_search', token_type: null };
    return {
      starting_at: `${day}T00:00:00Z`,
      ending_at: new Date(Date.parse(day) + 86_400_000).toISOString(),
      results: report === 'costs' && searches > 0n ? [...results, line(search, searches)] : results,
    };
  });
}

function usageResult(model: string, attempts: readonly BilledAttempt[]) {
  const sumOf = (count: Count) => attempts.reduce((sum, { tokens }) => sum + tokens[count], 0);
  return {
    model,
    uncached_input_tokens: sumOf('input'),
    output_tokens: sumOf('output'),
    cache_read_input_tokens: sumOf('read'),
    cache_creation: {
      ephemeral_5m_input_tokens: sumOf('write5m'),
      ephemeral_1h_input_tokens: sumOf('write1h'),
    },
  };
}

function costResults(model: string, attempts: readonly BilledAttempt[]) {
  return CLASSES.flatMap(({ count, type }) => {
    const amount = attempts.reduce((sum, { amounts }) => sum + amounts[count], 0n);
    return amount === 0n ? [] : [line({ model, cost_type: 'tokens', token_type: type }, amount)];
  });
}

/** The report has amounts in cents. */
function line(of: object, units: bigint) {
  const perCent = 10n ** 12n;
  const fraction = String(units % perCent).padStart(12, '0');
  return { ...of, currency: 'USD', amount: `${String(units / perCent)}.${fraction}` };
}

/** The days with their models, and with `null` for costs, on which two bills differ. */
export function differencesOf(
  one: readonly BilledAttempt[],
  other: readonly BilledAttempt[],
): readonly string[] {
  const found = new Set<string>();
  for (const day of new Set([...one, ...other].map((attempt) => attempt.day))) {
    const [mine, theirs] = [one, other].map((bill) => bill.filter((each) => each.day === day));
    const costOf = (bill: readonly BilledAttempt[]) =>
      bill.reduce((sum, { cost }) => sum + cost, 0n);
    if (costOf(mine!) !== costOf(theirs!)) found.add(`${day} null`);
    for (const model of new Set([...mine!, ...theirs!].map((attempt) => attempt.model))) {
      for (const { count } of CLASSES) {
        const tokensOf = (
          bill: readonly BilledAttempt[],
          isIncluded: (attempt: BilledAttempt) => boolean,
        ) =>
          bill
            .filter((attempt) => attempt.model === model && isIncluded(attempt))
            .reduce((sum, { tokens }) => sum + tokens[count], 0);
        const counted = tokensOf(theirs!, ({ isCounted }) => isCounted);
        const expected = [tokensOf(mine!, ({ cost }) => cost > 0n), tokensOf(mine!, () => true)];
        if (!expected.includes(counted)) found.add(`${day} ${model}`);
      }
    }
  }
  return [...found].sort();
}
