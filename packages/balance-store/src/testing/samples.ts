/** Settlements for tests, with amounts that match their tokens and rates, and recorded requests. */

import { randomUUID } from 'node:crypto';
import type { KeyLimits } from '../key.js';
import { sumOfFees } from '../ledger/rows/pricing-text.js';
import type { SettledRates, SettledUsage } from '../ledger-entry.js';
import type { RequestRecord } from '../request-record.js';
import type { Settlement } from '../store.js';

export const sampleLimits: KeyLimits = { concurrency: 5, burst: 10, requestsPerMinute: 60 };

/** 3 USD and 15 USD per million tokens, cache reads at 10 %, cache writes at 125 % and 200 %. */
const SAMPLE_RATES: SettledRates = {
  inputPerToken: 300_000_000n,
  outputPerToken: 1_500_000_000n,
  cacheReadPerToken: 30_000_000n,
  cacheWrite5mPerToken: 375_000_000n,
  cacheWrite1hPerToken: 600_000_000n,
};

const NO_USAGE: SettledUsage = {
  inputTokens: 0,
  outputTokens: 0,
  cacheReadInputTokens: 0,
  cacheCreationInputTokens: 0,
  cacheCreation1hInputTokens: 0,
};

/**
 * A settlement with the charge of its usage at its rates, and its fees, unless `parts` has another
 * amount.
 */
export function settlement(
  keyId: string,
  parts: Partial<Omit<Settlement, 'usage' | 'keyId'>> & {
    readonly usage?: Partial<SettledUsage>;
  } = {},
): Settlement {
  const usage = { ...NO_USAGE, ...(parts.usage ?? { inputTokens: 100, outputTokens: 10 }) };
  const rates = parts.rates ?? SAMPLE_RATES;
  return {
    requestId: `req_${randomUUID()}`,
    amount: chargeOf(usage, rates) + sumOfFees(parts.pricing?.fees),
    model: 'claude-test',
    endpoint: 'messages',
    streamed: false,
    upstreamId: 'msg_test',
    overdraft: 'bounded',
    ...parts,
    keyId,
    usage,
    rates,
  };
}

/** In units of 10^-14 USD. */
export function chargeOf(usage: SettledUsage, rates: SettledRates): bigint {
  const cacheCreation5m = usage.cacheCreationInputTokens - usage.cacheCreation1hInputTokens;
  return (
    BigInt(usage.inputTokens) * rates.inputPerToken +
    BigInt(usage.outputTokens) * rates.outputPerToken +
    BigInt(usage.cacheReadInputTokens) * rates.cacheReadPerToken +
    BigInt(cacheCreation5m) * rates.cacheWrite5mPerToken +
    BigInt(usage.cacheCreation1hInputTokens) * rates.cacheWrite1hPerToken
  );
}

/** The record of a served request. */
export function requestRecord(
  of: Partial<RequestRecord> & Pick<RequestRecord, 'id' | 'endedAt'>,
): RequestRecord {
  return {
    accountId: 'acct_of_requests',
    keyId: 'key_of_requests',
    model: 'claude-opus-5',
    endpoint: 'messages',
    status: 200,
    errorType: undefined,
    upstreamAccount: undefined,
    durationMs: 5,
    firstByteMs: 3,
    streamed: true,
    clientLeft: false,
    tokens: { input: 10, output: 20, cacheRead: 30, cacheWrite: 40 },
    charge: 12_345n,
    errorMessage: undefined,
    fault: undefined,
    upstreamStatus: 200,
    upstreamRequestId: `req_011C${randomUUID()}`,
    traceId: undefined,
    client: 'contract/1.0',
    sessionId: undefined,
    tag: undefined,
    memberId: undefined,
    count: 1,
    since: undefined,
    ...of,
  };
}
