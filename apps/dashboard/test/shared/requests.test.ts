/** The record of requests on both pages, in a browser. */

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import { postMessages, userMessage } from '../../../gateway/test/support/gateway.js';
import type { TestGateway } from '../../../gateway/test/support/gateway.js';
import { eventually, until } from '../../../gateway/test/support/until.js';
import {
  LOOKS,
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
import { checkScreen } from '../support/screens.js';
import { READ_TOKEN, sendTraffic, startPages } from '../support/traffic.js';

const MARKUP = '<img src=x onerror="document.title=\'owned\'">';
/** More than one page of the list. */
const SUCCEEDED = 53;
const ALL = SUCCEEDED + 2;

let browser: Browser;
let gateway: TestGateway;
let cookie: string;
let accountId: string;
let lead: string;
let member: { readonly id: string; readonly apiKey: string };
beforeAll(async () => {
  browser = await openBrowser();
  gateway = await startPages();
  cookie = await consoleCookie(`${gateway.adminUrl}/console/`, READ_TOKEN);
  accountId = (await gateway.call('createAccount', { name: 'Blue team', balance_usd: '50' })).id;
  const created = async (name: string, scope: 'use' | 'manage') => {
    const { id, api_key } = await gateway.call('createKey', {
      name,
      account_id: accountId,
      scope,
    });
    return { id, apiKey: api_key ?? '' };
  };
  lead = (await created('lead', 'manage')).apiKey;
  member = await created(MARKUP, 'use');
  await sendTraffic(gateway, [lead], { count: SUCCEEDED - 1, seed: 8 });
  await sendTraffic(gateway, [member.apiKey], { count: 1, seed: 9 });
  const refused = { ...userMessage('Hello'), max_tokens: -1 };
  await (await postMessages(gateway, member.apiKey, refused)).text();
  gateway.simulator.script({ error: { type: 'authentication_error', message: 'no' } });
  await (await postMessages(gateway, lead, userMessage('Hello'))).text();
  await until(async () => (await gateway.call('listRequests', {})).data.length === ALL);
});
afterAll(async () => {
  await browser.close();
  await gateway.stop();
});

const rows = (page: Page) => page.locator('tr[data-request]');

async function hasRows(page: Page, count: number): Promise<void> {
  await eventually(async () => {
    expect(await rows(page).count()).toBe(count);
  });
}

async function openRequests(page: Page): Promise<void> {
  for (const name of ['Activity', 'Requests']) {
    await page.getByRole('navigation').getByRole('link', { name, exact: true }).click();
  }
}

async function openDashboard(apiKey: string) {
  const watched = await openPage(browser, `${gateway.url}/dashboard/`);
  await stopRefreshing(watched.page);
  await signIn(watched.page, apiKey);
  await openRequests(watched.page);
  await loaded(watched.page);
  return watched;
}

describe('the requests of a customer', () => {
  it('show why one failed after three clicks, also after a reload', async () => {
    const { page, context, problems } = await openDashboard(lead);
    await page.getByRole('button', { name: 'Failed', exact: true }).click();
    await hasRows(page, 2);
    const shown = await rows(page).allInnerTexts();
    expect(shown[0]).toMatch(/Failed 502\s+api_error: .*lead/s);
    expect(shown[1]).toMatch(/Refused 400\s+invalid_request_error: max_tokens/);
    // A name is text, whatever it is.
    expect(shown[1]).toContain(MARKUP);
    expect(page.url()).toContain('outcome=failed');
    await page.reload();
    await hasRows(page, 2);
    await page.getByLabel('Status').selectOption('4xx');
    await hasRows(page, 1);
    await page.getByRole('link', { name: 'Clear all' }).click();
    await hasRows(page, 50);
    expect(problems).toEqual([]);
    await context.close();
  });

  // F424: rows that are sorted by their charge begin with the dearest of those that are loaded, and
  // it is read as the dearest of all.
  it('say at the header that only the loaded rows are sorted, until all are loaded', async () => {
    const { page, context, problems } = await openDashboard(lead);
    await hasRows(page, 50);
    const header = page.getByRole('columnheader', { name: 'Charge' });
    await header.getByRole('button').click();
    expect(await header.innerText()).toMatch(/Charge ↓\s+of the 50 rows that are loaded/);
    await page.getByRole('button', { name: 'Load more' }).click();
    await hasRows(page, ALL);
    expect(await header.innerText()).toMatch(/^Charge ↓\s*$/);
    expect(problems).toEqual([]);
    await context.close();
  });

  it('are found by any id, with the calculation of the charge', async () => {
    const { page, context, problems } = await openDashboard(lead);
    const { data } = await gateway.call('listRequests', { key_id: member.id, outcome: 'ok' });
    const [{ id = '', upstream_request_id: upstreamId = '', charged_usd: charged = '' } = {}] =
      data;
    for (const any of [id, upstreamId ?? '']) {
      await page.getByLabel('Any id').fill(any);
      // The row of the search before has the same id.
      const searched = page.waitForResponse((response) => response.url().includes(any));
      await page.getByRole('button', { name: 'Filter' }).click();
      await searched;
      await hasRows(page, 1);
      expect(await rows(page).getAttribute('data-request')).toBe(id);
    }
    const lines = page.getByRole('region', { name: `How the charge of ${id} is calculated` });
    await lines.waitFor();
    // The page may still replace the lines, so this waits for them.
    const total = lines.locator('table.lines tfoot data').last();
    expect(await total.getAttribute('value')).toBe(charged);
    expect(await page.locator('tr.detail').innerText()).toMatch(/Key\s+key_/);
    await page.getByLabel('Any id').fill('req_of_nobody');
    await page.getByRole('button', { name: 'Filter' }).click();
    await page.getByText('Nothing here fits the id “req_of_nobody”.').waitFor();
    expect(problems).toEqual([]);
    await context.close();
  });

  it('are loaded page by page, and past pages without a request', async () => {
    const { page, context, problems } = await openDashboard(lead);
    await hasRows(page, 50);
    await page.getByRole('button', { name: 'Load more' }).click();
    await hasRows(page, ALL);
    let readOn = 0;
    await page.route('**/v1/dashboard/requests?*', async (route) => {
      const url = new URL(route.request().url());
      if (url.searchParams.get('cursor') === null) {
        const json = { object: 'list', data: [], has_more: true, next_cursor: 'later' };
        await route.fulfill({ json });
        return;
      }
      readOn += 1;
      url.searchParams.delete('cursor');
      await route.fulfill({ response: await route.fetch({ url: url.href }) });
    });
    await page.getByRole('button', { name: 'Last hour' }).click();
    await page.waitForURL('**range=hour**');
    await loaded(page);
    await hasRows(page, 50);
    expect(readOn).toBe(1);
    await page.unrouteAll({ behavior: 'wait' });
    expect(problems).toEqual([]);
    await context.close();
  });

  it('are those of the key alone, unless it may see its account', async () => {
    const { page, context, problems } = await openDashboard(member.apiKey);
    await hasRows(page, 2);
    expect(await page.getByLabel('Key', { exact: true }).count()).toBe(0);
    await openPart(page, `requests?key_id=key_of_another`);
    await page.getByText('Needs a key with the scope "manage"').first().waitFor();
    expect(problems).toEqual([]);
    await context.close();

    const other = await openDashboard(lead);
    await other.page.getByLabel('Key', { exact: true }).selectOption(MARKUP);
    await hasRows(other.page, 2);
    expect(other.page.url()).toContain(`key_id=${member.id}`);
    await other.context.close();
  });

  it('are plotted by time, failed ones with stripes, with the same figures as a table', async () => {
    const { page, context, problems } = await openDashboard(lead);
    const sum = async (series: string) =>
      (
        await page
          .locator(`rect.bar[data-series="${series}"]`)
          .evaluateAll((all) => all.map((bar) => Number(bar.getAttribute('data-value'))))
      ).reduce((all, value) => all + value, 0);
    await page.locator('figure').waitFor();
    expect([await sum('Failed'), await sum('Succeeded')]).toEqual([2, SUCCEEDED]);
    const failed = page.locator('rect.bar[data-series="Failed"]').first();
    expect(await failed.evaluate((bar) => getComputedStyle(bar).fill)).toContain('#stripes');
    await page.getByText('The same figures as a table').focus();
    await page.keyboard.press('Enter');
    expect(await valuesOf(page, '.figures tfoot data')).toEqual([`${ALL}`, '2', `${SUCCEEDED}`]);
    expect(problems).toEqual([]);
    await context.close();
  });
});

describe('the requests of all accounts', () => {
  it('show what the upstream said, with names, and are filtered by account', async () => {
    const { page, context, problems } = await openConsole(
      browser,
      `${gateway.adminUrl}/console/`,
      cookie,
    );
    await openRequests(page);
    await page.getByRole('button', { name: 'Failed', exact: true }).click();
    await hasRows(page, 2);
    expect(await rows(page).first().innerText()).toMatch(/Failed 502.*Blue team\s+lead/s);
    await rows(page).first().getByRole('button', { name: 'Open' }).click();
    expect(await page.locator('tr.detail').innerText()).toContain(
      'upstream 401: authentication_error',
    );
    await page.getByLabel('Account').fill('acct_of_nobody');
    await page.getByRole('button', { name: 'Filter' }).click();
    await page.getByText(/Nothing here fits .*the account “acct_of_nobody”\./).waitFor();
    expect(page.url()).toContain('account_id=acct_of_nobody');
    expect(problems).toEqual([]);
    await context.close();
  });
});

describe('the requests of both pages', () => {
  it.each(LOOKS)('pass axe and fit the window at $width px in $theme', async (look) => {
    const customer = await openPage(browser, `${gateway.url}/dashboard/`, look);
    await signIn(customer.page, lead);
    const operator = await openConsole(browser, `${gateway.adminUrl}/console/`, cookie, look);
    for (const watched of [customer, operator]) {
      const { page, context, problems } = watched;
      await openPart(page, 'requests');
      await page.locator('figure').waitFor();
      await page.getByText('The same figures as a table').click();
      await rows(page).nth(3).getByRole('button', { name: 'Open' }).click();
      await page.locator('table.lines').waitFor();
      await loaded(page);
      await checkScreen(watched, 'requests');
      expect(problems).toEqual([]);
      await context.close();
    }
  });
});
