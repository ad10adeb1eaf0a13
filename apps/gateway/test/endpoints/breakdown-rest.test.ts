/** What the ledger has and the record of requests lacks is a part of each breakdown of its own. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { BalanceStore, RequestRecord } from '@gateway/balance-store';
import { openEmbeddedStore } from '@gateway/balance-store/embedded';
import { openPostgresStore } from '@gateway/balance-store/postgres';
import { sampleLimits, settlement } from '@gateway/balance-store/testing';
import { parseUsd } from '@gateway/billing';
import { usePostgresServer } from '../../../../packages/balance-store/test/postgres-server.js';
import type { PostgresServer } from '../../../../packages/balance-store/test/postgres-server.js';
import { createRandom } from '../../../../scripts/demo/random.mjs';
import { untilSteady } from '../support/steady-time.js';
import { HOLDER_GROUPS, breakdownView, readBreakdown } from '../../src/endpoints/breakdown.js';

const DAY_MS = 86_400_000;
const REQUESTS = 200;
const MODELS = ['model-one', 'model-two'];

let postgres: PostgresServer;
/** The day on which all charges are made, because the ledger dates them itself. */
let today: number;
const folder = mkdtempSync(join(tmpdir(), 'breakdown-rest-'));
beforeAll(async () => {
  await untilSteady('day');
  today = Math.floor(Date.now() / DAY_MS) * DAY_MS;
  postgres = await usePostgresServer();
});
afterAll(async () => {
  await postgres.stop();
  rmSync(folder, { recursive: true });
});

const MEMBERS = [
  'charges',
  'input_tokens',
  'output_tokens',
  'cache_read_input_tokens',
  'cache_creation_input_tokens',
] as const;
type Spent = Readonly<Record<(typeof MEMBERS)[number], number>> & { readonly charged_usd: string };

const sumOf = (parts: readonly (Spent | null | undefined)[]) => {
  const found = parts.filter((part) => part !== null && part !== undefined);
  return [
    found.reduce((sum, { charged_usd: usd }) => sum + parseUsd(usd), 0n),
    ...MEMBERS.map((member) => found.reduce((sum, part) => sum + part[member], 0)),
  ];
};

async function fill(store: BalanceStore) {
  const random = createRandom('breakdown-rest');
  const created = await store.create({
    account: { name: 'shop' },
    credit: { amount: 10n ** 18n, source: 'paid' },
    by: { name: 'tests' },
  });
  if (created.outcome !== 'created') throw new Error(created.outcome);
  const { id: accountId } = created.account;
  const keyIds: string[] = [];
  for (const name of ['one', 'two']) {
    const key = { name, limits: sampleLimits, expiresAt: null };
    const added = await store.create({ account: { id: accountId }, key, by: { name: 'tests' } });
    if (added.outcome !== 'created') throw new Error(added.outcome);
    keyIds.push(added.key?.id ?? '');
  }
  const kept: RequestRecord[] = [];
  let charged = 0n;
  for (let n = 0; n < REQUESTS; n += 1) {
    const [keyId = '', model = ''] = [keyIds[n % 2], MODELS[random.between(0, 1)]];
    const charge = settlement(keyId, {
      model,
      usage: {
        inputTokens: random.between(1, 9_000),
        outputTokens: random.between(1, 900),
        cacheReadInputTokens: random.between(0, 900),
        cacheCreationInputTokens: random.between(0, 900),
      },
    });
    // Some are only in the record, as if charged before the range.
    if (!random.happens(0.1)) {
      const { outcome } = await store.settle(charge, { deadlineMs: 20_000 });
      expect(outcome).toBe('settled');
      charged += charge.amount;
    }
    // Some were lost, or ended on another day than the charge.
    if (random.happens(0.2)) continue;
    const { usage } = charge;
    kept.push({
      id: charge.requestId,
      accountId,
      keyId,
      model,
      endpoint: 'messages',
      status: 200,
      errorType: undefined,
      upstreamAccount: undefined,
      endedAt: today + (random.happens(0.2) ? -random.between(1, 6) * DAY_MS : 0) + n,
      durationMs: 5,
      firstByteMs: 3,
      streamed: false,
      clientLeft: false,
      tokens: {
        input: usage.inputTokens,
        output: usage.outputTokens,
        cacheRead: usage.cacheReadInputTokens,
        cacheWrite: usage.cacheCreationInputTokens,
      },
      charge: charge.amount,
      errorMessage: undefined,
      fault: undefined,
      upstreamStatus: 200,
      upstreamRequestId: undefined,
      traceId: undefined,
      client: `program/${String(random.between(1, 3))}`,
      sessionId: random.happens(0.5) ? `session-${String(random.between(1, 30))}` : undefined,
      tag: random.happens(0.7) ? `tag ${String(random.between(1, 9))}` : undefined,
      count: 1,
      since: undefined,
    });
  }
  await store.recordRequests({ kept, counted: [] });
  return { accountId, keyIds, charged };
}

/** Asks for all dimensions and filters, of the whole account. */
async function expectAllParts(
  store: BalanceStore,
  { accountId, keyIds }: { readonly accountId: string; readonly keyIds: readonly string[] },
) {
  const days = { from: new Date(today - 3 * DAY_MS), until: new Date(today + 2 * DAY_MS) };
  for (const by of HOLDER_GROUPS) {
    for (const model of [undefined, MODELS[0]]) {
      for (const keyId of [undefined, keyIds[0]]) {
        const shown = { sort: 'charged', top: 4, every: 'day', zone: 'UTC' } as const;
        const scope = { accountId, keyId };
        const now = today + 2 * DAY_MS;
        const found = breakdownView(
          await readBreakdown({ by, model, ...days, ...shown }, scope, { store, now }),
        );
        const { groups, not_recorded: rest, total, total_before: before, starts } = found;
        if (by === 'error') {
          expect(rest).toBe(null);
          continue;
        }
        const named = [by, model, keyId];
        const partsOf = (part: 'total' | 'before') => [
          named,
          sumOf([...groups.map((group) => group[part]), rest?.[part]]),
        ];
        const ofLedger = await store.readUsage({ by: [], ...days, accountId, keyId, model });
        const listed = ofLedger.reduce((sum, { listPrice }) => sum + listPrice, 0n);
        expect(listed).toBeGreaterThan(0n);
        expect([named, parseUsd(total.charged_usd)]).toEqual([named, listed]);
        expect(partsOf('total')).toEqual([named, sumOf([total])]);
        expect(partsOf('before')).toEqual([named, sumOf([before])]);
        const spans = starts.map((_, span) =>
          sumOf([...groups.map((group) => group.spans[span]), rest?.spans[span]]),
        );
        const nothing = sumOf([]);
        const ofToday = starts.findIndex((start) => Date.parse(start) === today);
        expect(spans).toEqual(starts.map((_, at) => (at === ofToday ? sumOf([total]) : nothing)));
      }
    }
  }
}

describe.each([
  ['embedded', () => openEmbeddedStore({ dataDir: folder, pepper: 'pepper of the tests' })],
  [
    'PostgreSQL',
    async () =>
      openPostgresStore({
        connectionString: await postgres.createDatabase(),
        pepper: 'pepper of the tests',
      }),
  ],
])('the breakdown on %s', (_, open) => {
  // F481: requests are charged and not recorded, pruned, or recorded on another day: the parts by
  // tag, program and session look complete, and are less than the ledger has, without a word.
  it('has parts and a rest that together are the sums of the ledger', async () => {
    const store = await open();
    const shop = await fill(store);
    await expectAllParts(store, shop);
    // Without any record, all is in the rest.
    await store.pruneRequests({ before: new Date(today + 2 * DAY_MS), maxKept: 0 });
    await expectAllParts(store, shop);
    const range = { from: new Date(today), until: new Date(today + DAY_MS) };
    const query = { sort: 'charged', top: 4, every: 'day', zone: 'UTC', ...range } as const;
    const { accountId } = shop;
    const parts = { store, now: today };
    const asked = { by: 'session', ...query } as const;
    const found = breakdownView(await readBreakdown(asked, { accountId }, parts));
    expect(found.groups).toEqual([]);
    expect(parseUsd(found.not_recorded?.total.charged_usd ?? '')).toBe(shop.charged);
    await store.close();
  });
});
