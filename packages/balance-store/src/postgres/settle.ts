/**
 * Calls the SQL function `settle_batch`: turns settlements into its arguments, and its rows into
 * outcomes.
 */

import type { Pool } from 'pg';
import { isValueError } from '../ledger/charging/committer.js';
import type { SettleDriver } from '../ledger/charging/committer.js';
import { settlementHash } from '../ledger/rows/contents-hash.js';
import { detailOf, storable } from '../ledger/rows/quarantine-text.js';
import { pricingTextOf, sumOfFees } from '../ledger/rows/pricing-text.js';
import { MAX_SPENDERS, spenderText } from '../ledger/rows/spenders.js';
import { rateTextsOf } from '../ledger/rows/rate-texts.js';
import { numericFromUnits, unitsFromNumeric } from '../numeric.js';
import type { QuarantinedUsage, Settlement, SettleOutcome } from '../store.js';
import { arrayText } from './array-text.js';
import {
  WRITE_TIMEOUT_MS,
  expiredCreditIn,
  isDataError,
  isUniqueViolation,
  queryArrays,
  queryRows,
} from './query.js';

const SETTLE_BATCH = {
  name: 'settle_batch',
  text:
    'SELECT ordinal::int4, outcome, balance::text, is_active, written_off::text ' +
    'FROM settle_batch($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27)',
  timeoutMs: WRITE_TIMEOUT_MS,
} as const;

type SettleRow = [
  ordinal: number,
  outcome: 'settled' | 'replayed' | 'conflict',
  balance: string,
  isActive: boolean,
  writtenOff: string,
];

/** @param bookDue - Books the expiry of credits of these accounts, at this time or a later one. */
export function createSettleDriver(
  pool: Pool,
  bookDue: (accountIds: readonly string[], since: Date) => Promise<void>,
): SettleDriver {
  return {
    async settleBatch(batch) {
      for (;;) {
        try {
          return await settleBatch(pool, batch);
        } catch (error) {
          const expired = expiredCreditIn(error);
          if (expired === undefined) throw error;
          await bookDue(expired.accountIds, expired.at);
        }
      }
    },
    quarantine: (settlement, reason) =>
      insertQuarantine(pool, { ...settlement, reason }, detailOf(settlement)),
    classify(error) {
      if (isUniqueViolation(error)) return 'raced';
      return isValueError(error) || isDataError(error) ? 'refused' : 'retry';
    },
  };
}

/** The call of `settle_batch` with its arguments. */
export function settleQueryOf(batch: readonly Settlement[]) {
  return { ...SETTLE_BATCH, values: argumentsOf(batch) };
}

async function settleBatch(
  pool: Pool,
  batch: readonly Settlement[],
): Promise<readonly SettleOutcome[]> {
  const rows = await queryArrays<SettleRow>(pool, settleQueryOf(batch));
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

/** One array for each parameter of the function, but the last. */
function argumentsOf(batch: readonly Settlement[]): readonly (string | number)[] {
  const arrays = [
    batch.map(({ requestId }) => requestId),
    batch.map(({ keyId }) => keyId),
    batch.map(({ amount }) => numericFromUnits(amount)),
    batch.map((settlement) => `\\x${settlementHash(settlement)}`),
    batch.map(({ model }) => model),
    batch.map(({ usage }) => usage.inputTokens),
    batch.map(({ usage }) => usage.outputTokens),
    batch.map(({ usage }) => usage.cacheReadInputTokens),
    batch.map(({ usage }) => usage.cacheCreationInputTokens),
    batch.map(({ usage }) => usage.cacheCreation1hInputTokens),
    batch.map(({ rates }) => rateTextsOf(rates).numerics.inputPerToken),
    batch.map(({ rates }) => rateTextsOf(rates).numerics.outputPerToken),
    batch.map(({ rates }) => rateTextsOf(rates).numerics.cacheReadPerToken),
    batch.map(({ rates }) => rateTextsOf(rates).numerics.cacheWrite5mPerToken),
    batch.map(({ rates }) => rateTextsOf(rates).numerics.cacheWrite1hPerToken),
    batch.map(({ rates }) => rateTextsOf(rates).id),
    batch.map(({ endpoint }) => endpoint),
    batch.map(({ streamed }) => streamed),
    batch.map(({ upstreamId }) => upstreamId),
    batch.map(({ upstreamAccount }) => upstreamAccount),
    batch.map(remarksOf),
    batch.map(({ overdraft }) => overdraft === 'none'),
    batch.map(({ pricing }) => pricingTextOf(pricing)),
    batch.map(({ pricing }) => numericFromUnits(sumOfFees(pricing?.fees))),
    batch.map(({ cost }) => (cost === undefined ? null : numericFromUnits(cost))),
    batch.map(({ spender }) => spenderText(spender)),
  ];
  return [...arrays.map(arrayText), MAX_SPENDERS];
}

function remarksOf({ remarks }: Settlement): string | undefined {
  return remarks === undefined ? undefined : storable(remarks);
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
