/** Usage by one dimension and by time, and the first screens, in a browser. */

import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { formatUsd, parseUsd } from '@gateway/billing';
import type { Browser, Page } from 'playwright-core';
import { postMessages, userMessage } from '../../../gateway/test/support/gateway.js';
import type { TestGateway } from '../../../gateway/test/support/gateway.js';
import { untilSteady } from '../../../gateway/test/support/steady-time.js';
import { eventually, until } from '../../../gateway/test/support/until.js';
import { rangeOf } from '../../src/shared/plots/range.js';
import { scaleOf } from '../../src/shared/plots/scale.js';
import {
  consoleCookie,
  loaded,
  openBrowser,
  openConsole,
  openPage,
  openPart,
  signIn,
  valuesOf,
} from '../support/browser.js';
import { MODELS, READ_TOKEN, sendTraffic, startPages } from '../support/traffic.js';

const DAY_MS = 86_400_000;
const CHARGED = 12;

let browser: Browser;
let gateway: TestGateway;
let cookie: string;
let lead: string;
let member: { readonly id: string; readonly apiKey: string };
beforeAll(async () => {
  browser = await openBrowser();
  gateway = await startPages();
  cookie = await consoleCookie(`${gateway.adminUrl}/console/`, READ_TOKEN);
  const { id: accountId } = await gateway.call('createAccount', {
    name: 'Blue team',
    balance_usd: '0.5',
  });
  const created = async (name: string, scope: 'use' | 'manage') => {
    const key = { name, account_id: accountId, scope };
    const { id, api_key } = await gateway.call('createKey', key);
    return { id, apiKey: api_key ?? '' };
  };
  lead = (await created('lead', 'manage')).apiKey;
  member = await created('member', 'use');
  // The first tests below expect all requests on the day that is not over.
  await untilSteady('day');
  await sendTraffic(gateway, [lead], { count: 4, seed: 8 });
  await sendTraffic(gateway, [member.apiKey], { count: CHARGED - 4, seed: 9 });
  const refused = { ...userMessage('Hello'), max_tokens: -1 };
  await (await postMessages(gateway, member.apiKey, refused)).text();
  await until(async () => (await gateway.call('listRequests', {})).data.length === CHARGED + 1);
});
afterAll(async () => {
  await browser.close();
  await gateway.stop();
});

async function openUsage(query: string) {
  const watched = await openPage(browser, `${gateway.url}/dashboard/`);
  await signIn(watched.page, lead);
  await openPart(watched.page, `usage?${query}`);
  await loaded(watched.page);
  await watched.page.locator('figure').waitFor();
  return watched;
}

const rows = (page: Page) => page.locator('tr[data-request]');

/** Refuses the next request with 503, and a wait that is longer than any test. */
function failOnce(page: Page, url: string) {
  return page.route(
    url,
    (route) =>
      route.fulfill({
        status: 503,
        headers: { 'retry-after': '3600' },
        json: { error: { message: 'the ledger cannot be reached' } },
      }),
    { times: 1 },
  );
}

async function hasRows(page: Page, count: number): Promise<void> {
  await eventually(async () => {
    expect(await rows(page).count()).toBe(count);
  });
}

describe('usage', () => {
  // F257: a bar or a group without a way to its requests: both lead to exactly the rows they count.
  it('leads from a bar and from a group to their requests', async () => {
    const { page, context, problems } = await openUsage('measure=requests&by=key&range=7');
    const note = page.locator('.plot-note');
    await page.locator('a.column').last().focus();
    await expect(note.innerText()).resolves.toContain(`so far: ${String(CHARGED)} in all`);
    await page.keyboard.press('ArrowLeft');
    await expect(note.innerText()).resolves.toContain(': 0 in all');
    await page.keyboard.press('End');
    await page.keyboard.press('Enter');
    await hasRows(page, CHARGED + 1);
    await page.goBack();
    await page
      .locator(`tr[data-group="${member.id}"]`)
      .getByRole('link', { name: /^Requests/ })
      .click();
    await hasRows(page, CHARGED - 4 + 1);
    await page.reload();
    expect(page.url()).toContain(`key_id=${member.id}`);
    expect(problems).toEqual([]);
    await context.close();
  });

  it('narrows a model to its keys, and removes the filter again', async () => {
    const { page, context, problems } = await openUsage('by=key&range=7');
    await page.locator(`tr[data-group="${member.id}"]`).getByText('By model').click();
    const chip = page.getByRole('button', { name: /^Key: member/ });
    await chip.waitFor();
    await loaded(page);
    const charged = await valuesOf(page, '.headline strong data');
    const { data } = await gateway.call('listUsage', {
      by: 'key',
      key_id: member.id,
      from: new Date(Math.floor(Date.now() / DAY_MS) * DAY_MS).toISOString(),
    });
    expect(charged).toEqual(data.map(({ charged_usd }) => charged_usd));
    await chip.click();
    await eventually(async () => {
      expect(await chip.count()).toBe(0);
    });
    expect(page.url()).not.toContain(member.id);
    expect(problems).toEqual([]);
    await context.close();
  });

  // F340: usage with filters, or of hours, is saved as CSV: the file has the sums on the screen, or
  // a sentence says what else it has.
  // F440: a button that saves something else than the screen shows: its name says what it saves.
  it('is saved as CSV with the filters in force', async () => {
    const { page, context, problems } = await openUsage(
      `by=endpoint&range=7&model=${MODELS[0]}&key_id=${member.id}`,
    );
    const other = page.getByRole('button', { name: /^Save charges by/ });
    const saved = async (of: Page) => {
      const waiting = of.waitForEvent('download');
      await of.getByRole('button', { name: 'Save as CSV' }).first().click();
      const text = readFileSync(await (await waiting).path(), 'utf8');
      const [header, ...lines] = text
        .trim()
        .split(/\r?\n/)
        .map((line) => line.split(','));
      const column = header!.indexOf('charged_usd');
      return formatUsd(lines.reduce((sum, line) => sum + parseUsd(line[column]!), 0n));
    };
    const shown = async (of: Page) => (await valuesOf(of, '.headline strong data'))[0];
    expect(await other.count()).toBe(0);
    expect(await saved(page)).toBe(await shown(page));
    await openPart(page, 'usage?by=tag&range=7');
    await page
      .getByRole('button', { name: 'Save charges by model and whole days in UTC as CSV' })
      .waitFor();
    await openPart(page, 'usage?range=24h');
    await other.waitFor();
    expect(problems).toEqual([]);
    await context.close();

    const operator = await openConsole(browser, `${gateway.adminUrl}/console/`, cookie);
    await openPart(operator.page, `usage?range=24h&model=${MODELS[0]}&key_id=${member.id}`);
    const asked = operator.page.waitForRequest(/\/admin\/usage\?.*format=csv/);
    expect(await saved(operator.page)).toBe(await shown(operator.page));
    const query = new URL((await asked).url()).searchParams;
    const hours = Date.parse(query.get('until')!) - Date.parse(query.get('from')!);
    expect(hours).toBe(DAY_MS);
    expect(await operator.page.getByText('The file has').count()).toBe(0);
    expect(operator.problems).toEqual([]);
    await operator.context.close();
  });

  it('shows failed requests by their type of error', async () => {
    const { page, context, problems } = await openUsage('measure=errors&by=error&range=24h');
    const row = page.locator('tr[data-group="invalid_request_error"]');
    await row.getByRole('link', { name: /^Requests/ }).click();
    await hasRows(page, 1);
    expect(problems).toEqual([]);
    await context.close();
  });
});

describe('the first screen', () => {
  it('of a customer has what was spent, on what, and what failed, each with a way to it', async () => {
    const { page, context, problems } = await openPage(browser, `${gateway.url}/dashboard/`);
    await signIn(page, lead);
    await loaded(page);
    const card = page.getByRole('region', { name: 'At a glance' });
    const { data } = await gateway.call('listUsage', {
      by: 'day',
      from: new Date(Math.floor(Date.now() / DAY_MS) * DAY_MS).toISOString(),
    });
    const spent = data[0]?.charged_usd ?? '';
    await eventually(async () => {
      expect((await valuesOf(page, '[aria-label="At a glance"] data'))[0]).toBe(spent);
    });
    await card.getByText('1 failed', { exact: true }).waitFor();
    await card.getByRole('link', { name: 'invalid_request_error' }).click();
    await hasRows(page, 1);
    expect(problems).toEqual([]);
    await context.close();
  });

  // F258: an account that runs out this week is seen only when it complains: the first screen names
  // it, with the way to give credit.
  it('of an operator has money, the upstream, and the accounts that need a person', async () => {
    const { page, context, problems } = await openConsole(
      browser,
      `${gateway.adminUrl}/console/`,
      cookie,
    );
    await failOnce(page, '**/admin/today');
    await page.reload();
    await page.getByText('the ledger cannot be reached').waitFor();
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('region', { name: 'Needs attention' }).waitFor();
    const { spend, running_out: out } = await gateway.call('showHome', {});
    const { data } = await gateway.call('listUsage', { by: 'day', from: spend.today.from });
    expect(spend.today.charged_usd).toBe(data[0]?.charged_usd);
    expect((await valuesOf(page, '[aria-label="At a glance"] data'))[0]).toBe(
      spend.today.charged_usd,
    );
    // Half a dollar at this pace may last longer: the list says what the customer's page says.
    const overview = (await (
      await fetch(`${gateway.url}/v1/dashboard/account`, {
        headers: { authorization: `Bearer ${lead}` },
      })
    ).json()) as { readonly lasts_until: string };
    const isSoon = Date.parse(overview.lasts_until) < Date.now() + 3 * DAY_MS;
    expect(out.length).toBe(isSoon ? 1 : 0);
    await expect(page.locator('li[data-runs-out]').count()).resolves.toBe(out.length);
    await page.getByRole('link', { name: /of 13/ }).click();
    await hasRows(page, 1);
    expect(problems).toEqual([]);
    await context.close();
  });
});

describe('the questions of customers and operators', () => {
  // F289: a charge whose request is no longer recorded, or that another key of the account made:
  // its id finds nothing on the customer's page.
  it('are answered on a phone as by the ledger, after at most three clicks', async () => {
    const script = join(__dirname, '../../../../scripts/questions/main.mjs');
    const { stdout } = await promisify(execFile)(process.execPath, [
      '--disable-warning=ExperimentalWarning',
      script,
      '--untimed',
      '--widths=390',
    ]).catch((error: unknown) => error as { readonly stdout: string });
    expect(stdout.split('\n').filter((line) => /^✗|the ledger has/.test(line))).toEqual([]);
    expect(stdout).toMatch(/^16 of 16 answered$/m);
  });
});

describe('the axis of values', () => {
  it('has round steps up to the first that is high enough', () => {
    const shown = (highest: bigint) => {
      const { step, top } = scaleOf(highest);
      return [step, top];
    };
    expect(shown(0n)).toEqual([1n, 0n]);
    expect(shown(1n)).toEqual([1n, 1n]);
    expect(shown(7n)).toEqual([2n, 8n]);
    expect(shown(149n)).toEqual([50n, 150n]);
    expect(shown(10n ** 15n)).toEqual([2n * 10n ** 14n, 10n ** 15n]);
  });
});

describe('the range of the address', () => {
  const now = Date.parse('2026-11-27T08:30:00Z');
  const shown = (query: Readonly<Record<string, string>>, name: Parameters<typeof rangeOf>[1]) => {
    const { from, until: end, every, isOpen } = rangeOf(query, name, now);
    return [new Date(from).toISOString(), new Date(end).toISOString(), every, isOpen];
  };

  it('ends with the hour or the day that is not over, or with a day of its own', () => {
    expect(shown({}, '24h')).toEqual([
      '2026-11-26T09:00:00.000Z',
      '2026-11-27T09:00:00.000Z',
      'hour',
      true,
    ]);
    expect(shown({ every: 'hour' }, '30')).toEqual([
      '2026-10-29T00:00:00.000Z',
      '2026-11-28T00:00:00.000Z',
      'day',
      true,
    ]);
    expect(shown({ from: '2026-11-01', until: '2026-11-10' }, 'own')).toEqual([
      '2026-11-01T00:00:00.000Z',
      '2026-11-11T00:00:00.000Z',
      'day',
      false,
    ]);
    // What has no meaning counts as absent.
    for (const query of [{ from: '2026-11-31' }, { from: 'x', until: '2026-11-10' }, {}]) {
      expect(shown(query, 'own')).toEqual(shown({}, '30'));
    }
  });
});
