/** The comparison with the provider's bill, of models that only one customer's own table has. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { BalanceStore } from '@gateway/balance-store';
import { openEmbeddedStore } from '@gateway/balance-store/embedded';
import { openPostgresStore } from '@gateway/balance-store/postgres';
import { sampleLimits } from '@gateway/balance-store/testing';
import { chargeOfAttempt, formatUsd, parsePriceSchedule, parseUsd } from '@gateway/billing';
import type { ModelPrice, PriceTable } from '@gateway/billing';
import { usePostgresServer } from '../../../../packages/balance-store/test/postgres-server.js';
import type { PostgresServer } from '../../../../packages/balance-store/test/postgres-server.js';
import { findPrice } from '../../src/base/pricing.js';
import { printProviderReconciliation } from '../../src/cli/print-reconciliation.js';
import { PLAIN } from '../../src/cli/screen.js';
import { createLivePrices } from '../../src/config/live-prices.js';
import { createLocalCaller } from '../../src/operator/operations/callers.js';
import type { OperationContext } from '../../src/operator/operations/operation.js';
import { soldModel } from '../support/sold-model.js';
import { waitUntilSteady } from '../support/steady-time.js';

const [USUAL, LISTED, UNKNOWN] = ['claude-haiku-4-5', 'claude-opus-4-5', 'claude-of-one'] as const;
/** The operator sells one model to all, and two more to one customer, at three times their cost. */
const usual = { models: [soldModel(USUAL, '1', '5')] };
const own = { models: [soldModel(LISTED, '15', '75'), soldModel(UNKNOWN, '30', '90')] };
const PRICES = createLivePrices({
  priceTable: usual,
  customerTables: { partner: own },
} as unknown as Parameters<typeof createLivePrices>[0]);
/** The costs of what is sold to all. */
const COSTS = parsePriceSchedule(usual);
const DAY_MS = 86_400_000;
waitUntilSteady('day');
const TODAY = Math.floor(Date.now() / DAY_MS) * DAY_MS;
const day = new Date(TODAY).toISOString().slice(0, 10);
const TOKENS = {
  input: 1_000n,
  output: 100n,
  cache_read: 0n,
  cache_write_5m: 0n,
  cache_write_1h: 0n,
};

let postgres: PostgresServer;
const folder = mkdtempSync(join(tmpdir(), 'reconcile-own-'));
beforeAll(async () => {
  postgres = await usePostgresServer();
});
afterAll(async () => {
  await postgres.stop();
  rmSync(folder, { recursive: true });
});

describe.each(['embedded', 'PostgreSQL'])('on the %s ledger', (ledger) => {
  let store: BalanceStore;
  let keyId: string;
  let requests = 0;
  beforeAll(async () => {
    const pepper = 'pepper of the tests';
    store =
      ledger === 'embedded'
        ? await openEmbeddedStore({ dataDir: folder, pepper })
        : await openPostgresStore({ connectionString: await postgres.createDatabase(), pepper });
    const key = { name: 'k', limits: sampleLimits, expiresAt: null };
    keyId = (await store.createKey(key)).record.id;
    const amount = parseUsd('100');
    await store.topUp({ topUpId: 'first', to: { keyId }, amount, by: { name: 'tests' } });
  });
  afterAll(() => store.close());

  const usage = {
    inputTokens: 1_000,
    outputTokens: 100,
    cacheReadInputTokens: 0,
    cacheCreationInputTokens: 0,
    cacheCreation1hInputTokens: 0,
  };
  const priced = (table: PriceTable, model: string) => {
    const price = findPrice(table, model) as ModelPrice;
    return chargeOfAttempt({ usage, circumstances: {}, serverToolUse: {} }, price, table.fees);
  };
  /** Charges a request as the gateway does: with a cost if the table of costs has the model. */
  async function charge(model: string): Promise<void> {
    const reading = PRICES.of(model === USUAL ? null : 'partner');
    if ('problem' in reading) throw new Error(reading.problem);
    const { total, rates } = priced(reading.schedule.at(TODAY), model);
    requests += 1;
    await store.settle(
      {
        requestId: `req_${String(requests)}`,
        keyId,
        amount: total,
        overdraft: 'bounded',
        model,
        usage,
        rates,
        pricing: undefined,
        ...(model === USUAL ? { cost: priced(COSTS.at(TODAY), model).total } : {}),
        endpoint: 'messages',
        streamed: false,
        upstreamId: undefined,
        upstreamAccount: 'main',
        remarks: undefined,
      },
      { deadlineMs: 20_000 },
    );
  }

  /** @param billed - By the names of the provider: what it bills for input and for output. */
  function reconcile(billed: Readonly<Record<string, readonly [string, string]>>) {
    const reports = () => ({
      accounts: undefined,
      readUsage: () =>
        Promise.resolve(Object.keys(billed).map((model) => ({ day, model, tokens: TOKENS }))),
      readCosts: () =>
        Promise.resolve(
          Object.entries(billed).flatMap(([model, [input, output]]) => [
            { day, model, item: 'input', amount: parseUsd(input) },
            { day, model, item: 'output', amount: parseUsd(output) },
          ]),
        ),
    });
    const context = {
      store,
      prices: PRICES,
      costsAt: (atMs: number) => COSTS.at(atMs),
      reports,
      now: Date.now,
      by: { name: 'tests' },
    } as unknown as OperationContext;
    return createLocalCaller(context)('reconcileProvider', {
      from: day,
      until: new Date(TODAY + DAY_MS).toISOString().slice(0, 10),
    });
  }

  // F283: a model that only a customer's own table has is sold for three times its cost, and the
  // provider's report has its dated name: its cost is that of the list, so nothing differs.
  it('the cost of such a model is that of the list, under each of its names', async () => {
    await charge(USUAL);
    await charge(LISTED);
    // 1,000 × 1 + 100 × 5, and 1,000 × 5 + 100 × 25, in 10^-6 USD.
    const listed = `${LISTED}-20251101`;
    const [haiku, opus] = [['0.001', '0.0005'] as const, ['0.005', '0.0025'] as const];
    const report = await reconcile({ [USUAL]: haiku, [listed]: opus });
    expect(report).toMatchObject({
      differences: [],
      is_within_tolerance: true,
      days_without_costs: 0,
      unknown_models: [],
      provider_usd: '0.009',
      ledger_usd: '0.009',
      charged_usd: formatUsd(parseUsd('0.0015') + 3n * parseUsd('0.0075')),
    });
    const more = await reconcile({ [USUAL]: haiku, [listed]: ['0.006', '0.0025'] });
    expect(more.difference_usd).toBe('0.001');
  });

  // F284: no table knows what such a model costs: the report names it, and the rest is compared.
  it('a model whose cost nobody knows is named', async () => {
    await charge(UNKNOWN);
    const report = await reconcile({
      [USUAL]: ['0.001', '0.0005'],
      [LISTED]: ['0.005', '0.0025'],
      [UNKNOWN]: ['0.01', '0.003'],
    });
    expect([report.unknown_models, report.days_without_costs]).toEqual([[UNKNOWN], 1]);
    expect(report.is_within_tolerance).toBe(false);
    expect(printProviderReconciliation(report, PLAIN)).toContain(UNKNOWN);
    // The customers' prices are compared with the bill then, and the markup is the difference.
    expect(report.differences.map(({ model }) => model)).toEqual([UNKNOWN, LISTED].sort());
  });
});
