/**
 * Charges at the provider's list that are written a second time, from the gateway's log, into a
 * ledger that lost them: each is the same again, with its band, its fees and its cost.
 */

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { BalanceStore, ChargeEntry } from '@gateway/balance-store';
import { backUpEmbeddedLedger, openEmbeddedStore } from '@gateway/balance-store/embedded';
import { sampleLimits } from '@gateway/balance-store/testing';
import { formatUsd, parsePriceSchedule, parseUsd, wholePriceTable } from '@gateway/billing';
import type { PriceSchedule } from '@gateway/billing';
import { pino } from 'pino';
import { rechargeFromFiles } from '../../src/cli/witness-commands.js';
import { createLivePrices } from '../../src/config/live-prices.js';
import { settleCharge } from '../../src/exchange/relay/settle-charge.js';
import { boundOfModel } from '../../src/ledger/usage-bound.js';
import type { ExchangeReport } from '../../src/observe/exchange-report.js';
import { createTelemetry } from '../../src/observe/telemetry.js';
import { createLocalCaller } from '../../src/operator/operations/callers.js';
import type { OperationContext } from '../../src/operator/operations/operation.js';
import { RUNS, readingOf, requestOf, scripted, vectors } from '../support/list-vectors.js';
import type { Reply } from '../support/list-vectors.js';

const folder = mkdtempSync(join(tmpdir(), 'gateway-recharge-'));
const pepper = 'pepper of the tests';
const tableOf = (factor: string) => wholePriceTable({ extends: 'list', factor });
const schedule = (factor: string) => parsePriceSchedule(tableOf(factor));
const PRICE_TABLE = tableOf('1.25');
const PRICES = parsePriceSchedule(PRICE_TABLE);
const COSTS = schedule('0.8');
const HAIKU = 'claude-haiku-4-5';

/** The ledger that has the charges, and one that was restored from before them. */
let original: BalanceStore;
let restored: BalanceStore;
let keyId: string;
beforeAll(async () => {
  const [from, to] = ['original', 'restored'].map((name) => join(folder, name));
  original = await openEmbeddedStore({ dataDir: from!, pepper });
  const { record } = await original.createKey({
    name: 'key',
    limits: sampleLimits,
    expiresAt: null,
  });
  keyId = record.id;
  const amount = parseUsd('1000');
  await original.topUp({ topUpId: 'first', to: { keyId }, amount, by: { name: 'tests' } });
  mkdirSync(to!);
  await backUpEmbeddedLedger({ dataDir: from!, to: join(to!, 'ledger.db') });
  restored = await openEmbeddedStore({ dataDir: to!, pepper });
});
afterAll(async () => {
  await original.close();
  await restored.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Charges a response as a request does. @returns the line of the log */
async function charged(
  requestId: string,
  of: Reply,
  costs: PriceSchedule | undefined,
): Promise<string> {
  const prices = PRICES.at(Date.now());
  const { model } = requestOf(of) as { model: string };
  const settled = await settleCharge(
    {
      ...readingOf(of),
      messageId: 'msg_1',
      model: of.attempts.at(-1)!.model,
      streamed: true,
    },
    {
      requestId,
      keyId,
      spender: undefined,
      price: prices.find(model)!,
      prices,
      isModelOpen: of.name.includes('fallback'),
      usageBound: boundOfModel(prices.find(model)!),
      unknownMembers: [],
      call: { account: 'main' },
      format: { dialect: 'messages' },
    },
    { store: original, overdraft: 'bounded', costs: costs?.at(Date.now()) },
  );
  if (settled.outcome === 'lost') throw new Error(settled.loss);
  let line = '';
  const write = (text: string): void => {
    line = text;
  };
  const log = pino({ timestamp: pino.stdTimeFunctions.isoTime }, { write });
  const telemetry = createTelemetry(log, { observe: () => undefined });
  const report = { charged: settled, streamed: true, clientLeft: false, loss: undefined };
  telemetry.requestFinished({
    requestId,
    keyId,
    model,
    account: 'main',
    endpoint: 'messages',
    status: 200,
    durationMs: 1_000,
    report: report as unknown as ExchangeReport,
  });
  return line;
}

function recharge(
  lines: readonly string[],
  costs: PriceSchedule | undefined,
  {
    keys = [],
    priceTable = PRICE_TABLE,
  }: { keys?: string[]; priceTable?: typeof PRICE_TABLE } = {},
) {
  const file = join(folder, 'gateway.log');
  writeFileSync(file, lines.join(''));
  const context = {
    store: restored,
    prices: createLivePrices({ priceTable, customerTables: {} }),
    costsAt: (atMs: number) => costs?.at(atMs),
    overdraft: 'bounded',
    by: { name: 'tests' },
  } as unknown as OperationContext;
  return rechargeFromFiles([file], keys, createLocalCaller(context));
}

const chargesIn = async (store: BalanceStore): Promise<readonly ChargeEntry[]> =>
  (await store.listEntries({ kind: 'charge', limit: 1_000 })).entries.flatMap((entry) =>
    entry.kind === 'charge' ? [entry] : [],
  );
/** What a booking from the log repeats. */
const essenceOf = (entry: ChargeEntry) => {
  const { id, model, usage, delta, rates, pricing, cost, writtenOff } = entry;
  const { endpoint, streamed, upstreamAccount } = entry;
  const money = { delta, rates, pricing, cost, writtenOff };
  return { id, model, usage, ...money, endpoint, streamed, upstreamAccount };
};
const byId = (one: { readonly id: string }, other: { readonly id: string }) =>
  one.id < other.id ? -1 : 1;

// F242: the ledger lost charges with bands, fees, free refusals and runs of several bands, and they
// are booked from the log: each is the same to the last digit, with its cost.
it('are the same charges, at the same rates and with the same costs', async () => {
  const all = [...vectors, ...RUNS];
  const lines: string[] = [];
  for (const [index, vector] of all.entries()) {
    lines.push(await charged(`req_${String(index)}`, vector, COSTS));
  }
  // The costs of today are others.
  expect(await recharge(lines, schedule('3'))).toMatchObject({ refused: [] });
  const [had, has] = [await chargesIn(original), await chargesIn(restored)];
  expect(has.map(essenceOf).sort(byId)).toEqual(had.map(essenceOf).sort(byId));
  expect(had.length).toBeGreaterThan(all.length);
  expect(had.every(({ cost }) => cost !== undefined)).toBe(true);
  expect(had.some(({ delta, usage }) => delta === 0n && usage.inputTokens > 0)).toBe(true);
  expect(await recharge(lines, COSTS)).toMatchObject({ booked: 0, already_charged: had.length });
  expect((await restored.audit()).isSound).toBe(true);
});

// F242
it('have the costs of their time if the record has none', async () => {
  const line = await charged('req_without', { name: '', attempts: [attemptOf(1_000)] }, undefined);
  const usage = { request_id: 'req_usage', key_id: keyId, model: `${HAIKU}-20251001` };
  const more = JSON.stringify({ ...usage, usage: attemptOf(2_000).usage });
  expect(await recharge([line, more], COSTS, { keys: [keyId] })).toMatchObject({
    booked: 2,
    refused: [],
  });
  const entries = await chargesIn(restored);
  // 1.00 USD per million tokens by the list: 1.25 of it is charged, and 0.8 of it is the cost.
  expect(entries.slice(0, 2).map(({ id, delta, cost }) => [id, delta, cost])).toEqual([
    ['req_usage', -parseUsd('0.0025'), parseUsd('0.0016')],
    ['req_without', -parseUsd('0.00125'), parseUsd('0.0008')],
  ]);
});

// F242
it('have the cost of the band of their prompt if they were sold without bands', async () => {
  const line = await charged('req_long', { name: '', attempts: [attemptOf(0)] }, undefined);
  // 0.50 USD per million tokens: by the specification always, by the list for long prompts only.
  const more = { model: 'claude-haiku-5-5', input_tokens: 150_000, charge_usd: '0.075' };
  const sold = JSON.stringify({ ...JSON.parse(line), ...more });
  const priceTable = wholePriceTable({ extends: 'specification' });
  expect(await recharge([sold], COSTS, { priceTable })).toMatchObject({ booked: 1, refused: [] });
  const [entry] = await chargesIn(restored);
  expect([entry?.delta, entry?.cost]).toEqual([-parseUsd('0.075'), parseUsd('0.06')]);
});

/** The line of a client that has recorded the usage of a response. */
function lineOf(requestId: string, of: Reply): string {
  const { model } = requestOf(of) as { model: string };
  const { usage, content } = scripted(of);
  return `${JSON.stringify({
    request_id: requestId,
    key_id: keyId,
    model,
    usage,
    ...(content !== undefined && { content }),
  })}\n`;
}

// F279: lost charges are booked from usage that clients received, whose `iterations` name several
// models, bands, fees or free attempts: each has the entries of the live charge, and its amounts
// add up to the sum that was computed by hand.
it('from the usage of a client, each iteration is charged at its model, as when it was live', async () => {
  const several = vectors.filter(
    ({ attempts }) => attempts.length > 1 && attempts.at(-1)?.end === undefined,
  );
  const replies = [
    ...several.map((vector) => ({ of: vector, total: vector.total })),
    ...RUNS.map((of) => ({ of, total: undefined })),
  ];
  const atList = { keys: [keyId], priceTable: tableOf('1.25') };
  const lines: string[] = [];
  for (const [index, { of }] of replies.entries()) {
    const id = `req_iterations_${String(index)}`;
    await charged(id, of, COSTS);
    lines.push(lineOf(id, of));
  }
  expect(await recharge(lines, COSTS, atList)).toMatchObject({
    booked: replies.length,
    refused: [],
  });
  const ofTest = (entries: readonly ChargeEntry[]) =>
    entries
      .filter(({ id }) => id.startsWith('req_iterations_'))
      .map((entry) => ({ ...essenceOf(entry), upstreamAccount: undefined, streamed: true }))
      .sort(byId);
  const [had, has] = [ofTest(await chargesIn(original)), ofTest(await chargesIn(restored))];
  expect(has).toEqual(had);
  expect(has.length).toBeGreaterThan(replies.length);
  for (const [index, { total }] of replies.entries()) {
    if (total === undefined) continue;
    const id = `req_iterations_${String(index)}`;
    const own = has.filter((entry) => entry.id === id || entry.id.startsWith(`${id}.`));
    const sum = own.reduce((all, { delta }) => all - delta, 0n);
    expect([index, sum * 4n]).toEqual([index, parseUsd(total) * 5n]);
  }
  expect(await recharge(lines, COSTS, atList)).toMatchObject({
    booked: 0,
    already_charged: replies.length,
    refused: [],
  });
  expect((await restored.audit()).isSound).toBe(true);

  // A model without a price: refused, and nothing is booked.
  const before = (await chargesIn(restored)).length;
  const advised = several.find(
    ({ name, attempts }) =>
      !name.includes('fallback') && attempts[0]!.model !== attempts.at(-1)!.model,
  )!;
  const line = lineOf('req_unpriced', advised);
  const unpriced = line.replaceAll(
    JSON.stringify(advised.attempts[0]!.model),
    JSON.stringify('claude-unheard-of'),
  );
  const answer = await recharge([unpriced], COSTS, atList);
  expect([answer.booked, answer.refused]).toEqual([
    0,
    [expect.objectContaining({ reason: expect.stringContaining('claude-unheard-of') })],
  ]);
  expect((await chargesIn(restored)).length).toBe(before);
});

// F316: the ledger has one of the charges of a request, live or by another operator's booking: the
// other charges are booked from the usage of the client, and none is booked twice.
it.each([['message'], ['part']])('are completed where the ledger has only the %s', async (had) => {
  const of = vectors.find(
    ({ attempts }) => attempts.length > 1 && attempts.at(-1)?.end === undefined,
  )!;
  const id = `req_half_${had}`;
  await charged(id, of, COSTS);
  const isOfRequest = (entry: ChargeEntry) => entry.id === id || entry.id.startsWith(`${id}.`);
  const live = (await chargesIn(original)).filter(isOfRequest);
  expect(live.length).toBeGreaterThan(1);
  const known = live.find((entry) => (entry.id === id) === (had === 'message'))!;
  const { usage, rates, pricing, cost, model, endpoint, streamed } = known;
  await restored.settle(
    {
      requestId: known.id,
      keyId,
      usage,
      rates,
      pricing,
      cost,
      model,
      endpoint,
      streamed,
      amount: -known.delta,
      overdraft: 'bounded',
      upstreamId: 'msg_1',
      remarks: 'charged from a record by another operator',
    },
    { deadlineMs: 10_000 },
  );
  const line = lineOf(id, of);
  const { content, ...record } = JSON.parse(line) as Record<string, unknown>;
  expect(content).toHaveLength(2);
  expect(await recharge([JSON.stringify(record)], COSTS, { keys: [keyId] })).toMatchObject({
    booked: 0,
    refused: [{ reason: expect.stringMatching(/^content: /) }],
  });
  const others = live.filter((entry) => entry.id !== known.id);
  expect(await recharge([line], COSTS, { keys: [keyId] })).toMatchObject({
    booked: 1,
    already_charged: 0,
    refused: [],
    charged_usd: formatUsd(others.reduce((sum, { delta }) => sum - delta, 0n)),
  });
  const amounts = (entries: readonly ChargeEntry[]) =>
    entries
      .filter(isOfRequest)
      .map(({ id: of, delta }) => ({ id: of, delta }))
      .sort(byId);
  expect(amounts(await chargesIn(restored))).toEqual(amounts(live));
  expect((await restored.summarize()).conflicts).toBe(0);
  expect(await recharge([line], COSTS, { keys: [keyId] })).toMatchObject({
    booked: 0,
    already_charged: 1,
  });
});

const attemptOf = (input_tokens: number) => ({
  model: HAIKU,
  usage: { input_tokens, output_tokens: 0 },
});
