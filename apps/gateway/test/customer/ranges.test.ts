/**
 * What every report with a range of time includes, on both ledgers: each charge from `from` on and
 * before `until`, whatever the range and whenever it was charged.
 */

import '../support/no-ledger-upkeep.js';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { z } from 'zod';
import { settlement } from '@gateway/balance-store/testing';
import { usePostgresServer } from '../../../../packages/balance-store/test/postgres-server.js';
import type { PostgresServer } from '../../../../packages/balance-store/test/postgres-server.js';
import {
  rewriteLedger,
  timeLiteral,
} from '../../../../packages/balance-store/test/rewrite-ledger.js';
import type { LedgerPlace } from '../../../../packages/balance-store/test/rewrite-ledger.js';
import { ENDPOINTS as DECLARED } from '../../src/openapi/endpoints.js';
import { startTestGateway } from '../support/gateway.js';
import type { TestGateway } from '../support/gateway.js';
import { gatewayCommand } from '../support/gateway-process.js';
import { untilSteady } from '../support/steady-time.js';
import { runs } from '../../../../scripts/runs.cjs';

const ADMIN_TOKEN = 'admin-token-of-the-tests';
const HOUR = 3_600_000;
const DAY = 24 * HOUR;
/** The charges are between two and eight months old. */
const FIRST = Date.parse('2026-03-20T00:00:00Z');
const DAYS = 100;
const CHARGES = 6;

let server: PostgresServer;
beforeAll(async () => {
  server = await usePostgresServer();
});
afterAll(() => server.stop());

const LEDGERS: Readonly<Record<string, () => Promise<{ env: Record<string, string> }>>> = {
  embedded: () => Promise.resolve({ env: {} }),
  PostgreSQL: async () => ({
    env: { DATABASE_URL: await server.createDatabase(), KEY_PEPPER: 'pepper of these tests' },
  }),
};

describe.each(Object.keys(LEDGERS))('a range of time: %s', (ledger) => {
  let gateway: TestGateway;
  let place: LedgerPlace;
  let id: string;
  let apiKey: string;
  beforeAll(async () => {
    const { env } = await LEDGERS[ledger]!();
    gateway = await startTestGateway({ env: { ADMIN_TOKEN, ...env } });
    const { DATABASE_URL: databaseUrl } = env;
    place =
      databaseUrl === undefined ? { dataDir: gateway.running.dataDir!.path } : { databaseUrl };
    ({ id, apiKey } = await gateway.createKey());
    for (let charge = 0; charge < CHARGES; charge += 1) {
      const own = settlement(id, { model: `model-${String(charge)}` });
      await gateway.running.store.settle(own, { deadlineMs: 20_000 });
    }
  });
  afterAll(() => gateway.stop());

  async function dashboard(path: string) {
    const headers = { authorization: `Bearer ${apiKey}` };
    const response = await fetch(`${gateway.url}/v1/dashboard/${path}`, { headers });
    return { status: response.status, headers: response.headers, json: await response.json() };
  }

  async function dataOf(path: string) {
    const { status, json } = await dashboard(path);
    expect([status, json]).toEqual([200, expect.anything()]);
    return json.data;
  }

  async function command(...args: readonly string[]) {
    const { out } = await gatewayCommand(args, { ADMIN_URL: gateway.adminUrl, ADMIN_TOKEN });
    return out;
  }

  /** Gives each charge its own time. */
  async function moveTo(times: readonly number[]): Promise<void> {
    const moves = times.map((time, charge) => {
      const where = `WHERE model = 'model-${String(charge)}'`;
      const hour = String(Math.floor(time / HOUR));
      return (
        `UPDATE ledger SET created_at = ${timeLiteral(place, new Date(time))} ${where}; ` +
        `UPDATE usage_hour SET hour = ${hour} ${where}`
      );
    });
    await rewriteLedger(place, moves.join('; '));
  }

  const iso = (time: number) => new Date(time).toISOString();
  const between = (from: number, until: number) => ({ from: iso(from), until: iso(until) });
  const days = (from: number, until: number) =>
    `from=${iso(from).slice(0, 10)}&until=${iso(until).slice(0, 10)}`;
  const requestsOf = (sums: readonly { readonly requests: number }[]) =>
    sums.reduce((total, { requests }) => total + requests, 0);

  type Count = (from: number, until: number) => Promise<number>;
  /** The number of charges that each surface reports, and the unit of its bounds. */
  const ENDPOINTS: Readonly<Record<string, { readonly unit: number; readonly count: Count }>> = {
    'GET /v1/dashboard/usage': {
      unit: DAY,
      count: async (from, until) => (await dataOf(`usage?${days(from, until)}`)).length,
    },
    'GET /v1/dashboard/usage/summary': {
      unit: DAY,
      count: async (from, until) => requestsOf(await dataOf(`usage/summary?${days(from, until)}`)),
    },
    'GET /v1/dashboard/breakdown': {
      unit: DAY,
      count: async (from, until) => {
        const range = new URLSearchParams(between(from, until)).toString();
        const { json } = await dashboard(`breakdown?${range}`);
        return json.total.charges;
      },
    },
    'GET /admin/breakdown': {
      unit: DAY,
      count: async (from, until) =>
        (await gateway.call('breakDown', { by: 'key', ...between(from, until) })).total.charges,
    },
    'GET /admin/ledger': {
      unit: 1,
      count: async (from, until) =>
        (await gateway.call('listLedger', { key_id: id, kind: 'charge', ...between(from, until) }))
          .data.length,
    },
    'GET /admin/usage': {
      unit: HOUR,
      count: async (from, until) =>
        requestsOf((await gateway.call('listUsage', { key_id: id, ...between(from, until) })).data),
    },
  };
  const COMMANDS: typeof ENDPOINTS = {
    'farthing usage': {
      unit: HOUR,
      count: async (from, until) =>
        requestsOf(
          JSON.parse(
            await command(
              'usage',
              '--key',
              id,
              '--json',
              '--from',
              iso(from),
              '--until',
              iso(until),
            ),
          ).data,
        ),
    },
    'farthing ledger list': {
      unit: 1,
      count: async (from, until) =>
        JSON.parse(
          await command(
            'ledger',
            'list',
            '--key',
            id,
            '--kind',
            'charge',
            '--json',
            '--from',
            iso(from),
            '--until',
            iso(until),
          ),
        ).data.length,
    },
  };
  const ELSEWHERE = [
    // It compares with the provider's reports, whose days are the bounds: see reconcile.test.ts.
    'GET /admin/reconciliation',
    // They count recorded requests, not charges: see requests-contract.ts of the balance store.
    'GET /admin/requests',
    'GET /admin/requests/summary',
    'GET /v1/dashboard/requests',
    'GET /v1/dashboard/requests/summary',
  ];

  // F191
  it('is read by every operation that takes one', () => {
    const found = [...DECLARED.client, ...DECLARED.admin]
      .filter(({ query }) => query instanceof z.ZodObject && 'until' in query.shape)
      .map(({ method, path }) => `${method.toUpperCase()} ${path}`);
    expect(found.sort()).toEqual([...Object.keys(ENDPOINTS), ...ELSEWHERE].sort());
  });

  /** Any time, and often one at the bound of an hour or of a day, or next to it. */
  const time = fc
    .tuple(fc.constantFrom(1, HOUR, DAY), fc.nat(DAYS * DAY), fc.constantFrom(-1, 0, 0, 1))
    .map(([unit, ms, next]) => FIRST + DAY + Math.floor(ms / unit) * unit + next);
  const times = fc.array(time, { minLength: CHARGES, maxLength: CHARGES });

  // F191: consecutive ranges of time, on any surface that takes one: their sums add up to the
  // whole.
  it.each(Object.entries({ ...ENDPOINTS, ...COMMANDS }))(
    'has in %s all charges from its start on and before its end',
    async (_name, { unit, count }) => {
      await fc.assert(
        fc.asyncProperty(
          times,
          fc.array(time, { minLength: 2, maxLength: 2 }),
          async (at, cuts) => {
            await moveTo(at);
            const inUnits = cuts.map((cut) => Math.floor(cut / unit) * unit);
            const all = new Set([FIRST, ...inUnits, FIRST + (DAYS + 3) * DAY]);
            const bounds = [...all].sort((a, b) => a - b);
            for (const [index, until] of bounds.slice(1).entries()) {
              const from = bounds[index]!;
              const expected = at.filter((each) => each >= from && each < until).length;
              expect([iso(from), iso(until), await count(from, until)]).toEqual([
                iso(from),
                iso(until),
                expected,
              ]);
            }
          },
        ),
        { numRuns: runs(__filename, 'ranges'), endOnFailure: true },
      );
    },
  );

  // F191
  it('of a month has in its statement all charges of that month', async () => {
    await fc.assert(
      fc.asyncProperty(times, async (at) => {
        await moveTo(at);
        for (const month of new Set(at.map((each) => iso(each).slice(0, 7)))) {
          const { json } = await dashboard(`statement?month=${month}`);
          const models = at.flatMap((each, charge) =>
            iso(each).startsWith(month) ? [`model-${String(charge)}`] : [],
          );
          const { by_model: sums } = json as { by_model: readonly { readonly model: string }[] };
          expect(sums.map(({ model }) => model).sort()).toEqual(models);
        }
      }),
      // Few statements may be read in a minute.
      { numRuns: 3, endOnFailure: true },
    );
  });

  // F192: a report until now, or with a bound within an hour: now is included; the bound is
  // refused; the answer states its range.
  it('includes everything until now without an end, and the answer states the range', async () => {
    await untilSteady('hour');
    const [from, now] = [Math.floor(Date.now() / HOUR) * HOUR - HOUR, Date.now()];
    await moveTo(Array.from({ length: CHARGES }, () => now));
    const { data, ...answer } = await gateway.call('listUsage', { key_id: id, from: iso(from) });
    expect(requestsOf(data)).toBe(CHARGES);
    expect(answer.from).toBe(iso(from));
    expect(Date.parse(answer.until)).toBeGreaterThan(now);
    const summary = (await dashboard('usage/summary')).json;
    expect(Date.parse(summary.until) - Date.parse(summary.from)).toBe(30 * DAY);
    for (const [url, token, stated] of [
      [`${gateway.adminUrl}/admin/usage?from=${iso(from)}&format=csv`, ADMIN_TOKEN, answer],
      [`${gateway.url}/v1/dashboard/usage/summary?format=csv`, apiKey, summary],
    ] as const) {
      const { headers } = await fetch(url, { headers: { authorization: `Bearer ${token}` } });
      expect(headers.get('content-type')).toContain('text/csv');
      const range = ['from', 'until'].map((end) => headers.get(`x-gateway-${end}`));
      expect(range).toEqual([stated.from, stated.until]);
    }
    expect(await command('usage', '--from', iso(from), '--key', id)).toMatch(
      new RegExp(`^From ${iso(from)} until before ${answer.until}:\n`),
    );
  });

  // F192
  it('is refused, not rounded, if the sums have no such bound', async () => {
    for (const [field, range] of [
      ['from', { from: '2026-11-25T15:30:00Z', until: '2026-11-25T16:00:00Z' }],
      ['until', { from: '2026-11-25T15:00:00Z', until: '2026-11-25T16:25:00Z' }],
    ] as const) {
      await expect(gateway.call('listUsage', range)).rejects.toThrow(
        `${field}: must be a whole hour`,
      );
    }
    for (const path of ['usage', 'usage/summary']) {
      const refused = await dashboard(`${path}?from=2026-11-02&until=2026-11-02`);
      expect([refused.status, refused.json.error.param]).toEqual([400, 'until']);
    }
  });
});
