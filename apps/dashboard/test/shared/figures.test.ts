/**
 * The figures by which people decide: of random ledgers and records, every amount, count and
 * percentage is read from the rendered pages and from the terminal's output, and recomputed from
 * the rows of the ledger by `support/truth.ts`.
 */

import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import { runs } from '../../../../scripts/runs.cjs';
import { gatewayCommand } from '../../../gateway/test/support/gateway-process.js';
import type { TestGateway } from '../../../gateway/test/support/gateway.js';
import {
  consoleCookie,
  loaded,
  openBrowser,
  openConsole,
  openPage,
  openPart,
  signIn,
  stopRefreshing,
  valuesOf,
} from '../support/browser.js';
import { ADMIN_TOKEN, READ_TOKEN, createFolder, startPages } from '../support/traffic.js';
import {
  DAY,
  HOUR,
  daysUntilNow,
  isChange,
  marginOf,
  readTruth,
  sum,
  unitsOf,
  within,
} from '../support/truth.js';
import type { Charge, Recorded, Time } from '../support/truth.js';

const PEPPER = 'pepper of the random ledgers';
const ROOT = join(__dirname, '../../../..');
const RECORD_DAYS = 30;

let browser: Browser;
beforeAll(async () => {
  browser = await openBrowser();
});
afterAll(() => browser.close());

const seeds = Array.from({ length: runs(__filename, 'ledgers') }, (_, index) => String(index + 1));

const chargeOf = ({ charge = '0' }: Recorded) => BigInt(charge);

/** A group's row, as a person reads it. */
interface Row {
  readonly group: string;
  readonly value: string;
  /** Such as `+12 %` or `not recorded before 30 October`. */
  readonly change: string;
  /** Such as `3 of 17`. */
  readonly failed: string;
}

async function rowsOf(page: Page): Promise<readonly Row[]> {
  return page.locator('table.groups').evaluateAll((tables) =>
    tables.flatMap((table) => {
      const headers = [...table.querySelectorAll('thead th')].map((each) => each.textContent);
      const textOf = (row: Element, name: string) => {
        const cell = row.children[headers.findIndex((header) => header.startsWith(name))];
        return (cell as HTMLElement | undefined)?.innerText.replace(/\s+/g, ' ').trim() ?? '';
      };
      return [...table.querySelectorAll('tbody tr')].map((row) => ({
        group: row.getAttribute('data-group') ?? '',
        value: row.querySelector('td data')?.getAttribute('value') ?? '',
        change: textOf(row, 'Change'),
        failed: textOf(row, 'Failed'),
      }));
    }),
  );
}

// F420: a figure by which people decide is compared with deleted data, with another time or with a
// part of the rows: a percentage, a sum or a count on the page is not that of the ledger.
describe.each(seeds)('of random ledger %s, every figure agrees with the rows', (seed) => {
  const folder = createFolder();
  let gateway: TestGateway;
  let credential: string;
  let charges: readonly Charge[];
  let recorded: readonly Recorded[];
  let own: { readonly charges: readonly Charge[]; readonly recorded: readonly Recorded[] };
  let now: number;

  beforeAll(async () => {
    const printed = execFileSync(
      process.execPath,
      [
        `--import=${join(ROOT, 'scripts/demo/clock.mjs')}`,
        '--disable-warning=ExperimentalWarning',
        join(__dirname, '../support/random-ledger.mjs'),
        folder.path,
        seed,
        PEPPER,
      ],
      { encoding: 'utf8' },
    );
    const [first = '', account = ''] = printed.trim().split(' ');
    credential = first;
    gateway = await startPages({ DATA_DIR: folder.path, KEY_PEPPER: PEPPER });
    now = Date.now();
    const truth = readTruth(folder.path);
    charges = truth.charges;
    const begin = Math.floor((now - RECORD_DAYS * DAY) / DAY) * DAY;
    recorded = truth.recorded.filter(({ endedAt }) => endedAt >= begin);
    own = {
      charges: charges.filter((each) => each.account === account),
      recorded: recorded.filter(({ accountId }) => accountId === account),
    };
  });
  afterAll(async () => {
    await gateway.stop();
    folder.remove();
  });

  const chargedIn = (of: readonly Charge[], time: Time) => within(of, ({ at }) => at, time);
  const recordedIn = (of: readonly Recorded[], time: Time) =>
    within(of, ({ endedAt }) => endedAt, time);
  const usd = (of: readonly Charge[], time: Time) =>
    sum(chargedIn(of, time).map(({ charged }) => charged));
  const startOfMonth = (back: number) => {
    const date = new Date(now);
    return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() - back);
  };

  async function openUsage(page: Page, query: string) {
    await openPart(page, `usage?${query}`);
    await page.locator('.headline').waitFor();
    await loaded(page);
    const headline = page.locator('.headline');
    return {
      total: (await valuesOf(page, '.headline strong data'))[0] ?? '',
      text: await headline.innerText(),
      delta: await headline.locator('.delta').allInnerTexts(),
      rows: await rowsOf(page),
    };
  }

  // F481
  // F482: a group has a percentage against a time of which the record lacks a part: there is none,
  // and the page says why.
  it("on the customer's page", async () => {
    const { page, context, problems } = await openPage(browser, `${gateway.url}/dashboard/`);
    await stopRefreshing(page);
    await signIn(page, credential);
    await loaded(page);
    const today = Math.floor(now / DAY) * DAY;
    const thisMonth: Time = [startOfMonth(0), today + DAY];
    const before: Time = [
      startOfMonth(1),
      Math.min(startOfMonth(1) + today + DAY - startOfMonth(0), startOfMonth(0)),
    ];
    const glance = page.getByRole('region', { name: 'At a glance' });
    const [ofToday, yesterday, month, same, last] = (
      await valuesOf(page, '[aria-label="At a glance"] data')
    ).map(unitsOf);
    expect([ofToday, yesterday, month, same, last]).toEqual([
      usd(own.charges, [today, today + DAY]),
      usd(own.charges, [today - DAY, today]),
      usd(own.charges, thisMonth),
      usd(own.charges, before),
      usd(own.charges, [startOfMonth(1), startOfMonth(0)]),
    ]);
    for (const text of await glance.locator('.delta').allInnerTexts()) {
      expect([text, isChange(text, usd(own.charges, before), usd(own.charges, thisMonth))]).toEqual(
        [text, true],
      );
    }

    for (const days of [7, 30, 90]) {
      const [time, earlier] = daysUntilNow(days, now, HOUR);
      const usage = await openUsage(page, `by=model&range=${String(days)}`);
      const [total, ofBefore] = [usd(own.charges, time), usd(own.charges, earlier)];
      expect(unitsOf(usage.total)).toBe(total);
      for (const text of usage.delta) expect(isChange(text, ofBefore, total)).toBe(true);
      expect(usage.delta).toHaveLength(ofBefore === 0n ? 0 : 1);
      expect(usage.rows.length).toBeGreaterThan(0);
      for (const { group, value, change, failed } of usage.rows) {
        const ofModel = own.charges.filter(({ model }) => model === group);
        const inRecord = recordedIn(own.recorded, time).filter(({ model }) => model === group);
        expect([group, unitsOf(value)]).toEqual([group, usd(ofModel, time)]);
        const was = usd(ofModel, earlier);
        if (was === 0n) expect(change).toBe('nothing before');
        else expect([change, isChange(change, was, usd(ofModel, time))]).toEqual([change, true]);
        const count = inRecord.length;
        const failures = inRecord.filter(({ errorType }) => errorType !== undefined).length;
        const isPart = count < chargedIn(ofModel, time).length;
        if (count > 0) {
          expect(failed).toBe(
            `${String(failures)} of ${String(count)}${isPart ? ' recorded' : ''}`,
          );
        } else expect(['–', 'not recorded']).toContain(failed);
      }
    }

    // What only the record knows has no percentage against a time of which it lacks a part.
    for (const by of ['session', 'client'] as const) {
      for (const days of [7, 30, 90]) {
        const [time, earlier] = daysUntilNow(days, now, DAY);
        const usage = await openUsage(page, `by=${by}&range=${String(days)}`);
        expect(unitsOf(usage.total)).toBe(usd(own.charges, time));
        expect(usage.rows.length).toBeGreaterThan(0);
        expect(sum(usage.rows.map(({ value }) => unitsOf(value)))).toBe(unitsOf(usage.total));
        const inRecord = (at: Time) => sum(recordedIn(own.recorded, at).map(chargeOf));
        const isPart = [time, earlier].some(
          (at) => (usd(own.charges, at) - inRecord(at)) * 100n > usd(own.charges, at),
        );
        for (const text of usage.delta) {
          expect(isChange(text, usd(own.charges, earlier), usd(own.charges, time))).toBe(true);
        }
        for (const { group, value, change } of usage.rows) {
          if (group === 'not recorded') {
            expect(unitsOf(value)).toBe(usd(own.charges, time) - inRecord(time));
            continue;
          }
          const name = { session: 'sessionId', client: 'client' } as const;
          const none = { session: 'session', client: 'program' }[by];
          const ofGroup = (at: Time) =>
            sum(
              recordedIn(own.recorded, at)
                .filter((each) => (each[name[by]] ?? `no ${none}`) === group)
                .map(chargeOf),
            );
          expect([group, unitsOf(value)]).toEqual([group, ofGroup(time)]);
          if (days > 7) expect(change).toMatch(/^not recorded before/);
          else if (isPart) expect(change).toBe('not all recorded');
          else if (ofGroup(earlier) === 0n) expect(change).toBe('nothing before');
          else expect(isChange(change, ofGroup(earlier), ofGroup(time))).toBe(true);
        }
      }
    }

    // The ledger has all charges of a tag, since charges name who spent.
    const firsts = own.charges.filter(({ isNamed }) => isNamed).map(({ at }) => at);
    const namedSince = Math.floor(Math.min(...firsts) / HOUR) * HOUR;
    for (const days of [7, 30, 90]) {
      const [time, earlier] = daysUntilNow(days, now, HOUR);
      const usage = await openUsage(page, `by=tag&range=${String(days)}`);
      expect(sum(usage.rows.map(({ value }) => unitsOf(value)))).toBe(usd(own.charges, time));
      for (const { group, value, change } of usage.rows) {
        const ofTag = own.charges.filter(({ tag = 'no tag' }) => tag === group);
        expect([group, unitsOf(value)]).toEqual([group, usd(ofTag, time)]);
        if (namedSince > earlier[0]) expect(change).toMatch(/^not recorded before/);
        else if (usd(ofTag, earlier) === 0n) expect(change).toBe('nothing before');
        else expect(isChange(change, usd(ofTag, earlier), usd(ofTag, time))).toBe(true);
      }
    }

    for (const days of [30, 90]) {
      const [time] = daysUntilNow(days, now, HOUR);
      const usage = await openUsage(page, `measure=errors&by=model&range=${String(days)}`);
      const failed = recordedIn(own.recorded, time).filter(({ errorType }) => errorType);
      expect([days, usage.total]).toEqual([days, String(failed.length)]);
      expect(usage.delta).toEqual([]);
      expect(usage.text).toContain('not recorded');
    }
    expect(problems).toEqual([]);
    await context.close();
  });

  // F423: the first screen says "in order" while accounts cost more than they pay.
  it("on the operator's console, and that losses are marked", async () => {
    const cookie = await consoleCookie(`${gateway.adminUrl}/console/`, READ_TOKEN);
    const url = `${gateway.adminUrl}/console/`;
    const { page, context, problems } = await openConsole(browser, url, cookie);
    await stopRefreshing(page);
    await loaded(page);
    const today = Math.floor(now / DAY) * DAY;
    const month = chargedIn(charges, [startOfMonth(0), today + DAY]);
    const shown = await valuesOf(page, '[aria-label="At a glance"] data.money');
    expect(shown.slice(0, 3).map(unitsOf)).toEqual([
      usd(charges, [today, today + DAY]),
      usd(charges, [today - DAY, today]),
      sum(month.map(({ charged }) => charged)),
    ]);
    const margin = marginOf(month);
    if (margin !== undefined) expect(shown.map(unitsOf)).toContain(margin);
    const losing = [...new Set(month.map(({ account }) => account))].filter(
      (account) => (marginOf(month.filter((each) => each.account === account)) ?? 0n) < 0n,
    );
    const marked = await page
      .locator('li[data-losing]')
      .evaluateAll((all) => all.map((each) => each.getAttribute('data-losing')));
    expect(new Set(marked)).toEqual(new Set(losing));
    if (losing.length > 0) expect(await page.getByText('in order').count()).toBe(0);

    await openPart(page, 'usage?by=account&range=30&sort=margin');
    await loaded(page);
    const [time] = daysUntilNow(30, now, HOUR);
    const rows = await page.locator('table.groups tbody tr').evaluateAll((all) =>
      all.map((row) => ({
        account: row.getAttribute('data-group') ?? '',
        margin: row.querySelectorAll('td')[3]?.querySelector('data')?.getAttribute('value') ?? '',
        isMarked: row.querySelector('.loss') !== null,
      })),
    );
    const margins = rows.map(({ account }) =>
      marginOf(chargedIn(charges, time).filter((each) => each.account === account)),
    );
    expect(rows.map(({ margin: text }) => (text === '' ? undefined : unitsOf(text)))).toEqual(
      margins,
    );
    expect(rows.map(({ isMarked }) => isMarked)).toEqual(margins.map((of = 0n) => of < 0n));
    const known = margins.filter((of) => of !== undefined);
    expect(margins.slice(0, known.length)).toEqual(
      known.toSorted((a, b) => (a < b ? -1 : Number(a > b))),
    );

    await openPart(page, 'today');
    await loaded(page);
    const glance = await valuesOf(page, '[aria-label="Today"] data');
    const last = (days: number): Time => [today + DAY - days * DAY, today + DAY];
    expect(glance.slice(0, 4)).toEqual([
      ...(await Promise.all(
        [1, 7, 30].map(async (days) =>
          glance.find((text) => unitsOf(text) === usd(charges, last(days))),
        ),
      )),
      String(chargedIn(charges, last(1)).length),
    ]);
    expect(problems).toEqual([]);
    await context.close();
  });

  // F419: a bar of a plot leads to a list that does not have the requests which the bar counts.
  it('and each bar of requests leads to a list of as many', async () => {
    const cookie = await consoleCookie(`${gateway.adminUrl}/console/`, READ_TOKEN);
    const operator = await openConsole(browser, `${gateway.adminUrl}/console/`, cookie);
    const customer = await openPage(browser, `${gateway.url}/dashboard/`);
    await signIn(customer.page, credential);
    for (const [{ page }, ranges] of [
      [operator, ['day', 'month']],
      [customer, ['month']],
    ] as const) {
      await stopRefreshing(page);
      for (const range of ranges) {
        const plot = `requests?range=${range}`;
        await openPart(page, plot);
        await loaded(page);
        const bars = await page.locator('a.column').evaluateAll((columns) =>
          columns.map((column, index) => ({
            index,
            count: [...column.querySelectorAll('rect.bar')].reduce(
              (all, bar) => all + Number(bar.getAttribute('data-value')),
              0,
            ),
          })),
        );
        for (const { index, count } of bars.filter((bar) => bar.count > 0)) {
          await openPart(page, plot);
          await page.locator('a.column').nth(index).click();
          await page.waitForURL(/from=.*until=/);
          await loaded(page);
          const shown = await page.locator('tr[data-request]').count();
          expect([range, index, shown]).toEqual([range, index, count]);
        }
      }
    }
    expect([...operator.problems, ...customer.problems]).toEqual([]);
    await operator.context.close();
    await customer.context.close();
  });

  it('in the terminal', async () => {
    const [time, earlier] = daysUntilNow(30, now, HOUR);
    const iso = (ms: number) => new Date(ms).toISOString();
    const env = { ADMIN_URL: gateway.adminUrl, ADMIN_TOKEN };
    const range = ['--from', iso(time[0]), '--until', iso(time[1])];
    const cellsOf = (text: string) =>
      text
        .split('\n')
        .filter((line) => line.startsWith('│'))
        .map((line) =>
          line
            .split('│')
            .slice(1, -1)
            .map((cell) => cell.trim()),
        );

    const accounts = await gatewayCommand(['breakdown', '--by', 'account', ...range], env);
    expect(accounts.err).toBe('');
    const [head = [], ...lines] = cellsOf(accounts.out);
    const column = (name: string) => head.indexOf(name);
    for (const cells of lines) {
      const name = cells[0] ?? '';
      const id = /acct_\w+/.exec(name)?.[0];
      const of = id === undefined ? charges : charges.filter(({ account }) => account === id);
      const inRecord = recordedIn(recorded, time).filter(
        ({ accountId }) => id === undefined || accountId === id,
      );
      expect(id === undefined ? name : name.replace(/ \d+ \(.*/, '')).toMatch(/^(in all|Shop)$/);
      expect(unitsOf(cells[column('charged (USD)')] ?? '')).toBe(usd(of, time));
      expect(unitsOf(cells[column('before (USD)')] ?? '')).toBe(usd(of, earlier));
      expect(Number(cells[column('charged requests')])).toBe(chargedIn(of, time).length);
      const failed = inRecord.filter(({ errorType }) => errorType !== undefined).length;
      if (inRecord.length > 0) {
        expect(cells[column('failed')]).toMatch(
          new RegExp(`^${String(failed)} of ${String(inRecord.length)}( recorded)?$`),
        );
      }
      const margin = marginOf(chargedIn(of, time));
      const text = cells[column('margin (USD)')] ?? '';
      if (margin === undefined) expect(text).toMatch(/^(unknown.*|)$/);
      else expect(unitsOf(text)).toBe(margin);
    }

    const sessions = await gatewayCommand(['breakdown', '--by', 'session', ...range], env);
    const [of = [], ...bySession] = cellsOf(sessions.out);
    const chargedOf = (cells: readonly string[]) =>
      unitsOf(cells[of.indexOf('charged (USD)')] ?? '');
    const parts = bySession.filter(([name]) => name !== 'in all');
    expect(parts.map(([name]) => name)).toContain('not recorded');
    const inAll = bySession.find(([name]) => name === 'in all') ?? [];
    expect(sum(parts.map(chargedOf))).toBe(chargedOf(inAll));
    for (const cells of bySession) {
      const earlierText = cells[of.indexOf('before (USD)')] ?? '';
      if (cells[0] === 'in all') {
        const [, days] = daysUntilNow(30, now, DAY);
        expect(unitsOf(earlierText)).toBe(usd(charges, days));
      } else expect(earlierText).toBe('not recorded');
    }

    const summary = await gatewayCommand(
      ['requests-summary', '--by', 'model', '--from', iso(time[0]), '--until', iso(time[1])],
      env,
    );
    const [titles = [], ...sums] = cellsOf(summary.out);
    for (const cells of sums) {
      const inRecord = recordedIn(recorded, time).filter(({ model }) => model === cells[0]);
      expect([
        cells[titles.indexOf('requests')],
        cells[titles.indexOf('failed')],
        unitsOf(cells[titles.indexOf('charged (USD)')] ?? ''),
      ]).toEqual([
        String(inRecord.length),
        String(inRecord.filter(({ errorType }) => errorType !== undefined).length),
        sum(inRecord.map(({ charge = '0' }) => BigInt(charge))),
      ]);
    }
  });
});
