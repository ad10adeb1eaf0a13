/**
 * Keys and charges for the parts `store` and `power`, which torture only the ledger. The contents
 * of a charge are computed from its id, so that the expected ledger entry is known.
 */

/** More than a key can spend in any run. */
const CREDIT = 10n ** 6n * 10n ** 14n;
const RATES = {
  inputPerToken: 300_000_000n,
  outputPerToken: 1_500_000_000n,
  cacheReadPerToken: 30_000_000n,
  cacheWrite5mPerToken: 375_000_000n,
  cacheWrite1hPerToken: 375_000_000n,
};

/** @returns the id of a new key with credit */
export async function createKey(store, name) {
  const { record } = await store.createKey({
    name,
    limits: { concurrency: 1, burst: 1, requestsPerMinute: 1 },
    expiresAt: null,
  });
  await store.topUp({
    topUpId: record.id,
    to: { keyId: record.id },
    amount: CREDIT,
    by: { name: 'torture' },
  });
  return record.id;
}

function numberOf(id) {
  let hash = 2_166_136_261;
  for (let i = 0; i < id.length; i += 1) hash = Math.imul(hash ^ id.charCodeAt(i), 16_777_619);
  return hash >>> 0;
}

function tokensOf(id) {
  const number = numberOf(id);
  return { input: number % 10_007, output: number % 503, read: number % 101, written: number % 13 };
}

/** The charge in units of 10^-14 USD, computed without the gateway's own code. */
export function chargeOfId(id) {
  const { input, output, read, written } = tokensOf(id);
  return (
    BigInt(3 * input + 15 * output) * 10n ** 8n + BigInt(30 * read + 375 * written) * 10n ** 6n
  );
}

/** @returns {import('@gateway/balance-store').Settlement} */
export function settlementOfId(id, keyIds) {
  const { input, output, read, written } = tokensOf(id);
  return {
    requestId: id,
    keyId: keyIds[numberOf(id) % keyIds.length],
    amount: chargeOfId(id),
    model: 'torture',
    usage: {
      inputTokens: input,
      outputTokens: output,
      cacheReadInputTokens: read,
      cacheCreationInputTokens: written,
      cacheCreation1hInputTokens: 0,
    },
    rates: RATES,
    endpoint: 'messages',
    streamed: true,
    upstreamId: undefined,
    overdraft: 'bounded',
  };
}
