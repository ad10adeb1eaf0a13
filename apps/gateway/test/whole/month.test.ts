/**
 * A month of an operator who resells: two keys of each customer, several models and upstream
 * accounts, prices above and below the provider's list, with bands, circumstances, searches,
 * refusals, fallbacks, advisors and compactions. Every report adds up to the last digit, and the
 * provider's bill, which is computed here from the list's JSON without the product's code, differs
 * from the ledger exactly where something was changed in it.
 */

import { createServer } from 'node:http';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { USAGE_DIMENSIONS } from '@gateway/balance-store';
import type { BalanceStore } from '@gateway/balance-store';
import { openEmbeddedStore } from '@gateway/balance-store/embedded';
import { openPostgresStore } from '@gateway/balance-store/postgres';
import { sampleLimits } from '@gateway/balance-store/testing';
import { formatUsd, parsePriceSchedule, parseUsd, wholePriceTable } from '@gateway/billing';
import { usePostgresServer } from '../../../../packages/balance-store/test/postgres-server.js';
import type { PostgresServer } from '../../../../packages/balance-store/test/postgres-server.js';
import {
  earlier,
  rewriteLedger,
  timeLiteral,
} from '../../../../packages/balance-store/test/rewrite-ledger.js';
import type { LedgerPlace } from '../../../../packages/balance-store/test/rewrite-ledger.js';
import { runs } from '../../../../scripts/runs.cjs';
import { settleCharge } from '../../src/exchange/relay/settle-charge.js';
import { boundOfModel } from '../../src/ledger/usage-bound.js';
import { billOf, billedAttempt, differencesOf } from '../support/bill-of-list.js';
import type { BilledAttempt } from '../support/bill-of-list.js';
import { startTestGateway } from '../support/gateway.js';
import type { TestGateway } from '../support/gateway.js';
import { readingOf, requestOf } from '../support/list-vectors.js';
import { CHANGED_BILLS } from '../support/changed-bills.js';
import { createReplies } from '../support/random-replies.js';
import type { RandomReply } from '../support/random-replies.js';

const REQUESTS = runs(__filename, 'requests');
const MOST_DAYS = 8;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const NOW = Date.now();
const pepper = 'pepper of the tests of a month';
const ADMIN_TOKEN = 'token-of-the-tests-of-a-month';
/** The month before this one, because nothing in the ledger may be later than now. */
const START = (() => {
  const now = new Date(NOW);
  return Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - 1, 1);
})();
const MONTH = new Date(START).toISOString().slice(0, 7);
const END = (() => {
  const start = new Date(START);
  return Date.UTC(start.getUTCFullYear(), start.getUTCMonth() + 1, 1);
})();
const DAYS = Array.from({ length: MOST_DAYS }, (_, index) => {
  const last = (END - START) / DAY_MS - 1;
  return START + Math.round((index * last) / (MOST_DAYS - 1)) * DAY_MS;
});
const dayText = (ms: number): string => new Date(ms).toISOString().slice(0, 10);
const RANGE = { from: new Date(START).toISOString(), until: new Date(END).toISOString() };

const CHEAP = 'claude-opus-4-6';
const TABLE = wholePriceTable({
  extends: 'list',
  factor: '1.25',
  models: [{ id: CHEAP, rate_in: '3.00', rate_out: '15.00' }],
});
/** The list changes at the end of this month. */
const OF_LIST = Date.parse('2026-11-27T00:00:00Z');
const PRICES = parsePriceSchedule(TABLE).at(OF_LIST);
const COSTS = parsePriceSchedule(wholePriceTable({ extends: 'list' })).at(OF_LIST);

const UPSTREAMS = ['north', 'south'] as const;
const BY = { name: 'tests' };

const sumOf = (rows: readonly object[], name: string): bigint =>
  rows.reduce((sum, row) => sum + parseUsd((row as Record<string, string>)[name] ?? '0'), 0n);

let postgres: PostgresServer;
let folder: string;
beforeAll(async () => {
  postgres = await usePostgresServer();
  folder = mkdtempSync(join(tmpdir(), 'gateway-month-'));
});
afterAll(async () => {
  await postgres.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** Serves a bill as the provider's reports do. */
class Provider {
  bill: readonly BilledAttempt[] = [];
  readonly #server: Server = createServer((req, res) => {
    const { pathname } = new URL(req.url ?? '', 'http://provider');
    const data = billOf(this.bill, pathname.endsWith('/cost_report') ? 'costs' : 'usage');
    res.setHeader('content-type', 'application/json');
    res.end(JSON.stringify({ data, has_more: false, next_page: null }));
  });

  async open(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${String((this.#server.address() as AddressInfo).port)}`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

/**
 * Settles the charges of a month, each at the time of a day of it.
 *
 * @param attempts - Gets what the provider bills for them.
 * @returns the accounts
 */
async function chargeMonth(
  store: BalanceStore,
  place: LedgerPlace,
  attempts: BilledAttempt[],
): Promise<readonly string[]> {
  const customers = await Promise.all(
    ['Shop', 'Team', 'Poor'].map(async (name) => {
      const created = await store.create({ account: { name }, by: BY });
      if (created.outcome !== 'created') throw new Error(created.outcome);
      const { id: accountId } = created.account;
      const keyIds = await Promise.all(
        ['first', 'second'].map((key) => addKey(store, accountId, key)),
      );
      // What the last one cannot pay is written off.
      const amount = parseUsd(name === 'Poor' ? '1.5' : '100000');
      await store.topUp({ topUpId: `credit-${name}`, to: { accountId }, amount, by: BY });
      return { accountId, keyIds, overdraft: name === 'Poor' ? 'none' : 'bounded' } as const;
    }),
  );
  const before = timeLiteral(place, new Date(START - DAY_MS));
  await rewriteLedger(
    place,
    `UPDATE ledger SET created_at = ${before}; ` +
      `UPDATE money_hour SET hour = ${String((START - DAY_MS) / HOUR_MS)}`,
  );
  const replies = createReplies(20261101);
  for (const [index, start] of DAYS.entries()) {
    const hour = Math.floor(Date.now() / HOUR_MS);
    // The first hour of the month, and the last but one: the hour of the clock may end meanwhile.
    const to = start / HOUR_MS + Math.round((index * 22) / (MOST_DAYS - 1));
    const day = dayText(start);
    for (let left = Math.ceil(REQUESTS / MOST_DAYS); left > 0; left -= BATCH) {
      const batch = Array.from({ length: Math.min(left, BATCH) }, () => replies.next());
      attempts.push(
        ...batch.flatMap((reply) => reply.attempts.map((of) => billedAttempt(day, of))),
      );
      await Promise.all(
        batch.map((reply) => {
          const customer = customers[replies.below(customers.length)]!;
          const keyId = customer.keyIds[replies.below(2)]!;
          const id = `req_${day}_${String(replies.below(2 ** 30))}_${String(attempts.length)}`;
          return charge(reply, `${id}_${String(batch.indexOf(reply))}`, {
            ...customer,
            keyId,
            store,
            upstream: UPSTREAMS[replies.below(2)]!,
          });
        }),
      );
    }
    const isOfDay = `created_at > ${timeLiteral(place, new Date(END))}`;
    await rewriteLedger(
      place,
      `UPDATE ledger SET created_at = ${earlier(place, (hour - to) * HOUR_MS)} WHERE ${isOfDay}; ` +
        `UPDATE usage_hour SET hour = hour - ${String(hour - to)} WHERE hour >= ${String(hour)}`,
    );
  }
  return customers.map(({ accountId }) => accountId);
}

/** So many charges at a time as one replica may have in flight. */
const BATCH = 200;

async function addKey(store: BalanceStore, id: string, name: string): Promise<string> {
  const key = { name, limits: sampleLimits, expiresAt: null, models: null };
  const created = await store.create({ account: { id }, key, by: BY });
  if (created.outcome !== 'created' || created.key === undefined) throw new Error('no key');
  return created.key.id;
}

async function charge(
  reply: RandomReply,
  requestId: string,
  of: {
    readonly store: BalanceStore;
    readonly keyId: string;
    readonly overdraft: 'none' | 'bounded';
    readonly upstream: string;
  },
): Promise<void> {
  const last = reply.attempts.at(-1)!;
  const settled = await settleCharge(
    {
      ...readingOf(reply),
      messageId: `msg_${requestId}`,
      model: last.model,
      streamed: reply.isStreamed,
    },
    {
      requestId,
      keyId: of.keyId,
      spender: undefined,
      price: PRICES.find(requestOf(reply).model)!,
      prices: PRICES,
      isModelOpen: reply.name.includes('fallback'),
      usageBound: boundOfModel(PRICES.find(requestOf(reply).model)!),
      unknownMembers: [],
      call: { account: of.upstream },
      format: { dialect: reply.dialect },
    },
    { store: of.store, overdraft: of.overdraft, costs: COSTS },
  );
  if (settled.outcome === 'lost' || settled.setAside > 0) throw new Error('a charge was lost');
}

describe.each(['the embedded ledger', 'PostgreSQL'])('a month on %s', (ledger) => {
  const provider = new Provider();
  const attempts: BilledAttempt[] = [];
  let gateway: TestGateway;
  let accounts: readonly string[];

  beforeAll(async () => {
    const dataDir = join(folder, ledger);
    mkdirSync(dataDir);
    const isPostgres = ledger === 'PostgreSQL';
    const databaseUrl = isPostgres ? await postgres.createDatabase() : '';
    const place: LedgerPlace = isPostgres ? { databaseUrl } : { dataDir };
    const store = isPostgres
      ? await openPostgresStore({ connectionString: databaseUrl, pepper })
      : await openEmbeddedStore({ dataDir, pepper });
    accounts = await chargeMonth(store, place, attempts);
    await store.close();
    const prices = join(folder, 'prices.json');
    writeFileSync(prices, JSON.stringify(TABLE));
    provider.bill = attempts;
    gateway = await startTestGateway({
      env: {
        ...(isPostgres ? { DATABASE_URL: databaseUrl } : { DATA_DIR: dataDir }),
        PRICES: prices,
        KEY_PEPPER: pepper,
        ADMIN_TOKEN,
        ANTHROPIC_ADMIN_KEY: 'sk-ant-admin-of-the-month',
        ANTHROPIC_ADMIN_URL: await provider.open(),
      },
    });
  });
  afterAll(async () => {
    await gateway.stop();
    await provider.close();
  });

  const usageBy = async (by: string) => (await gateway.call('listUsage', { ...RANGE, by })).data;
  const costsBy = (name: 'day' | 'model'): ReadonlyMap<string, string> => {
    const sums = new Map<string, bigint>();
    for (const attempt of attempts) {
      sums.set(attempt[name], (sums.get(attempt[name]) ?? 0n) + attempt.cost);
    }
    return new Map([...sums].map(([of, cost]) => [of, formatUsd(cost)]));
  };
  const paid = () => attempts.reduce((sum, { cost }) => sum + cost, 0n);

  it('costs what the list says, and earns what is charged beyond that, by each dimension', async () => {
    for (const isRolledUp of [false, true]) {
      if (isRolledUp) await gateway.running.store.rollUpUsage();
      for (const by of [...USAGE_DIMENSIONS, 'day,model,account', 'key,upstream,endpoint']) {
        const sums = await usageBy(by);
        const margin = sumOf(sums, 'charged_usd') - paid();
        expect([by, sumOf(sums, 'cost_usd')]).toEqual([by, paid()]);
        expect([by, sumOf(sums, 'margin_usd')]).toEqual([by, margin]);
      }
      for (const by of ['day', 'model'] as const) {
        const sums = await usageBy(by);
        const found = new Map(sums.map((sum) => [sum[by] ?? '', sum.cost_usd]));
        expect(new Map([...found].sort())).toEqual(new Map([...costsBy(by)].sort()));
      }
    }
    const byModel = await usageBy('model');
    const cheap = byModel.find(({ model }) => model === CHEAP);
    expect(parseUsd(cheap?.margin_usd ?? '0')).toBeLessThan(0n);
    expect((await usageBy('upstream')).map((sum) => sum.upstream_account)).toEqual(UPSTREAMS);
  });

  it('has the same sums in its entries, its books, its statements and its files', async () => {
    const entries = [];
    for (let cursor: string | undefined; ;) {
      const page = await gateway.call('listLedger', { kind: 'charge', limit: 1_000, cursor });
      entries.push(...page.data);
      if (page.next_cursor === null) break;
      cursor = page.next_cursor;
    }
    const charged = -sumOf(entries, 'amount_usd');
    const margin = charged - paid();
    expect([sumOf(entries, 'cost_usd'), sumOf(entries, 'margin_usd')]).toEqual([paid(), margin]);
    const { total, data } = await gateway.call('showBooks', { month: MONTH });
    expect(total).toMatchObject({
      charged_usd: formatUsd(-charged),
      cost_usd: formatUsd(paid()),
      margin_usd: formatUsd(margin),
    });
    expect([sumOf(data, 'cost_usd'), sumOf(data, 'margin_usd')]).toEqual([paid(), margin]);
    expect(parseUsd(total.written_off_usd)).toBeGreaterThan(0n);
    for (const account_id of accounts) {
      const statement = await gateway.call('showStatement', { account_id, month: MONTH });
      const books = data.find((each) => each.account_id === account_id)!;
      expect(statement.charged_usd).toBe(formatUsd(-parseUsd(books.charged_usd)));
      expect(statement.closing_balance_usd).toBe(books.closing_balance_usd);
      const lines = statement.lines.slice(0, -1);
      expect(formatUsd(sumOf(lines, 'amount_usd'))).toBe(books.closing_balance_usd);
    }
    for (const by of ['day', 'model', 'account', 'key', 'upstream']) {
      const query = new URLSearchParams({ ...RANGE, by, format: 'csv' }).toString();
      const response = await fetch(`${gateway.adminUrl}/admin/usage?${query}`, {
        headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
      });
      const [head = [], ...rows] = (await response.text())
        .trim()
        .split('\r\n')
        .map((row) => row.split(','));
      const cells = rows.map((row) => Object.fromEntries(head.map((name, at) => [name, row[at]])));
      const sums = ['charged_usd', 'cost_usd', 'margin_usd'].map((name) => sumOf(cells, name));
      expect([by, ...sums]).toEqual([by, charged, paid(), margin]);
    }
    const { differences } = await gateway.call('auditLedger', {});
    expect(differences).toEqual([]);
  });

  const reconcile = async (bill: readonly BilledAttempt[]) => {
    provider.bill = bill;
    return gateway.call('reconcileProvider', {
      from: dayText(START),
      until: dayText(END),
      tolerance_usd: '0',
    });
  };

  // F244: the provider's bill of a month has each kind of line that the list can have: nothing
  // differs, although customers paid other prices.
  it("is the provider's bill, without a difference", async () => {
    const report = await reconcile(attempts);
    const { total } = await gateway.call('showBooks', { month: MONTH });
    expect(report).toMatchObject({
      differences: [],
      is_within_tolerance: true,
      difference_usd: '0',
      provider_usd: formatUsd(paid()),
      ledger_usd: formatUsd(paid()),
      days_without_costs: 0,
      charged_usd: formatUsd(-parseUsd(total.charged_usd)),
      margin_usd: total.margin_usd,
    });
    expect(report.compared).toBeGreaterThan(MOST_DAYS * 10);
  });

  // F265: one line of the bill is missing, doubled, free, or of another model, class, band, tier,
  // speed, region or day: exactly its day and its models are reported, and it is never tolerated.
  it.each(Object.entries(CHANGED_BILLS))('is not the bill if %s', async (_what, change) => {
    const [index, changed] = change(attempts);
    expect(index).not.toBe(-1);
    const bill = [...attempts.slice(0, index), ...changed, ...attempts.slice(index + 1)];
    const report = await reconcile(bill);
    expect(report.is_within_tolerance).toBe(false);
    expect(report.differences.map(({ day, model }) => `${day} ${String(model)}`).sort()).toEqual(
      differencesOf(attempts, bill),
    );
    const billed = bill.reduce((sum, { cost }) => sum + cost, 0n);
    expect(parseUsd(report.provider_usd) - parseUsd(report.ledger_usd)).toBe(billed - paid());
    const worth = parseUsd(report.difference_usd);
    const least = billed > paid() ? billed - paid() : paid() - billed;
    expect(worth >= least && worth > 0n).toBe(true);
  });
});
