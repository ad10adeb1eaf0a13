/** Settlements as the arguments of the SQL function `settle_batch`, and its answers as outcomes. */

import { hash } from 'node:crypto';
import type { Pool } from 'pg';
import type { SettleDriver } from '../committer.js';
import { numericFromUnits, unitsFromNumeric } from '../numeric.js';
import type { QuarantinedUsage, Settlement, SettleOutcome } from '../store.js';
import {
  WRITE_TIMEOUT_MS,
  isDataError,
  isUniqueViolation,
  queryArrays,
  queryRows,
} from './query.js';

/** Answers in one text: many short values take the client library several times as long to read. */
const SETTLE_BATCH = {
  name: 'settle_batch',
  text:
    'SELECT json_agg(json_build_array(ordinal, outcome, balance::text, is_active, written_off::text))::text ' +
    'FROM settle_batch($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20)',
  timeoutMs: WRITE_TIMEOUT_MS,
} as const;

type SettleRow = [
  ordinal: number,
  outcome: 'settled' | 'replayed' | 'conflict',
  balance: string,
  isActive: boolean,
  writtenOff: string,
];

export function createSettleDriver(pool: Pool): SettleDriver {
  return {
    settleBatch: (batch) => settleBatch(pool, batch),
    quarantine: (settlement, reason) =>
      insertQuarantine(pool, { ...settlement, reason }, detailOf(settlement)),
    classify(error) {
      if (isUniqueViolation(error)) return 'raced';
      // A value that could not even be written as an argument is malformed just as well.
      const isMalformed = error instanceof TypeError || error instanceof RangeError;
      return isMalformed || isDataError(error) ? 'refused' : 'retry';
    },
  };
}

async function settleBatch(
  pool: Pool,
  batch: readonly Settlement[],
): Promise<readonly SettleOutcome[]> {
  const [row] = await queryArrays<[answer: string]>(pool, {
    ...SETTLE_BATCH,
    values: argumentsOf(batch),
  });
  const rows = JSON.parse(row?.[0] ?? '[]') as readonly SettleRow[];
  const outcomes: SettleOutcome[] = [];
  for (const [ordinal, outcome, balance, isActive, writtenOff] of rows) {
    outcomes[ordinal - 1] =
      outcome === 'conflict'
        ? { outcome }
        : {
            outcome,
            balance: unitsFromNumeric(balance),
            isActive,
            writtenOff: unitsFromNumeric(writtenOff),
          };
  }
  return outcomes;
}

/** Array literals written here: the client library's own are several times slower. */
function argumentsOf(batch: readonly Settlement[]): readonly string[] {
  return [
    textArray(batch, (settlement) => settlement.requestId),
    textArray(batch, (settlement) => settlement.keyId),
    plainArray(batch, (settlement) => numericFromUnits(settlement.amount)),
    plainArray(batch, (settlement) => `"\\\\x${hashOf(settlement)}"`),
    textArray(batch, (settlement) => settlement.model),
    plainArray(batch, ({ usage }) => usage.inputTokens),
    plainArray(batch, ({ usage }) => usage.outputTokens),
    plainArray(batch, ({ usage }) => usage.cacheReadInputTokens),
    plainArray(batch, ({ usage }) => usage.cacheCreationInputTokens),
    plainArray(batch, ({ usage }) => usage.cacheCreation1hInputTokens),
    plainArray(batch, ({ rates }) => textsOf(rates).numerics.inputPerToken),
    plainArray(batch, ({ rates }) => textsOf(rates).numerics.outputPerToken),
    plainArray(batch, ({ rates }) => textsOf(rates).numerics.cacheReadPerToken),
    plainArray(batch, ({ rates }) => textsOf(rates).numerics.cacheWrite5mPerToken),
    plainArray(batch, ({ rates }) => textsOf(rates).numerics.cacheWrite1hPerToken),
    textArray(batch, (settlement) => settlement.endpoint),
    plainArray(batch, (settlement) => String(settlement.streamed)),
    textArray(batch, (settlement) => settlement.upstreamId),
    textArray(batch, remarksOf),
    plainArray(batch, (settlement) => String(settlement.overdraft === 'none')),
  ];
}

type Rates = Settlement['rates'];
interface RateTexts {
  readonly numerics: Readonly<Record<keyof Rates, string>>;
  readonly units: readonly string[];
}
const rateTexts = new WeakMap<Rates, RateTexts>();

/** Written once for each model: the same object comes with all of its settlements. */
function textsOf(rates: Rates): RateTexts {
  let texts = rateTexts.get(rates);
  if (texts === undefined) {
    const { inputPerToken, outputPerToken, cacheReadPerToken } = rates;
    const { cacheWrite5mPerToken, cacheWrite1hPerToken } = rates;
    texts = {
      numerics: {
        inputPerToken: numericFromUnits(inputPerToken),
        outputPerToken: numericFromUnits(outputPerToken),
        cacheReadPerToken: numericFromUnits(cacheReadPerToken),
        cacheWrite5mPerToken: numericFromUnits(cacheWrite5mPerToken),
        cacheWrite1hPerToken: numericFromUnits(cacheWrite1hPerToken),
      },
      units: [
        inputPerToken.toString(),
        outputPerToken.toString(),
        cacheReadPerToken.toString(),
        cacheWrite5mPerToken.toString(),
        cacheWrite1hPerToken.toString(),
      ],
    };
    rateTexts.set(rates, texts);
  }
  return texts;
}

/** Elements that need no quoting: numbers, booleans, or quoted already. */
function plainArray(
  batch: readonly Settlement[],
  element: (settlement: Settlement) => string | number,
): string {
  return `{${batch.map(element).join(',')}}`;
}

function textArray(
  batch: readonly Settlement[],
  element: (settlement: Settlement) => string | undefined,
): string {
  const quote = (text: string | undefined) => {
    if (text === undefined) return 'NULL';
    return `"${/["\\]/.test(text) ? text.replace(/["\\]/g, '\\$&') : text}"`;
  };
  return `{${batch.map((settlement) => quote(element(settlement))).join(',')}}`;
}

function remarksOf({ remarks }: Settlement): string | undefined {
  return remarks === undefined ? undefined : storable(remarks);
}

/** Settling again with anything changed is a conflict: the hash covers every recorded field. */
function hashOf(settlement: Settlement): string {
  const { usage, rates } = settlement;
  const contents = JSON.stringify([
    'charge',
    settlement.keyId,
    settlement.amount.toString(),
    settlement.model,
    usage.inputTokens,
    usage.outputTokens,
    usage.cacheReadInputTokens,
    usage.cacheCreationInputTokens,
    usage.cacheCreation1hInputTokens,
    ...textsOf(rates).units,
    settlement.endpoint,
    settlement.streamed,
    settlement.upstreamId ?? null,
    ...(settlement.remarks === undefined ? [] : [settlement.remarks]),
  ]);
  return hash('sha256', contents, 'hex');
}

export async function insertQuarantine(
  pool: Pool,
  usage: QuarantinedUsage,
  detail: string | null,
): Promise<void> {
  await queryRows(pool, {
    text:
      'INSERT INTO quarantine (request_id, key_id, model, reason, detail) ' +
      'VALUES ($1, $2, $3, $4, $5) ON CONFLICT (request_id) DO NOTHING',
    values: [...[usage.requestId, usage.keyId, usage.model, usage.reason].map(storable), detail],
    timeoutMs: WRITE_TIMEOUT_MS,
  });
}

const MAX_REMARK_CHARS = 500;

/** Malformed text must still be storable: without NUL, which no text column takes, and bounded. */
function storable(text: string): string {
  return text.slice(0, MAX_REMARK_CHARS).replaceAll('\0', '\u{FFFD}');
}

function detailOf(settlement: Settlement): string {
  return JSON.stringify(settlement, (_, value: unknown) => {
    if (typeof value === 'bigint') return value.toString();
    return typeof value === 'string' ? storable(value) : value;
  });
}
