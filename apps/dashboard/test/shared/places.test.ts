/** The places of both pages: every address that the pages ever had goes on working. */

import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import type { TestGateway } from '../../../gateway/test/support/gateway.js';
import {
  consoleCookie,
  loaded,
  openBrowser,
  openConsole,
  openPage,
  openPart,
  signIn,
} from '../support/browser.js';
import { checkScreen } from '../support/screens.js';
import { ADMIN_TOKEN, sendTraffic, startPages } from '../support/traffic.js';

let browser: Browser;
let gateway: TestGateway;
let accountId: string;
let key: { readonly id: string; readonly apiKey: string };
beforeAll(async () => {
  browser = await openBrowser();
  gateway = await startPages();
  accountId = (await gateway.call('createAccount', { name: 'Blue team', balance_usd: '5' })).id;
  const made = { name: 'lead', account_id: accountId, scope: 'manage' } as const;
  const created = await gateway.call('createKey', made);
  key = { id: created.id, apiKey: created.api_key ?? '' };
  await sendTraffic(gateway, [key.apiKey], { count: 2, seed: 3 });
});
afterAll(async () => {
  await browser.close();
  await gateway.stop();
});

const dashboard = () => `${gateway.url}/dashboard/`;

/** The address of each part, its place and section, and a region or heading that it shows. */
type Walk = readonly (readonly [address: string, place: string, section: string, shows: string])[];

async function walk(page: Page, addresses: Walk): Promise<void> {
  const current = page.locator('nav [aria-current]');
  for (const [address, place, section, shows] of addresses) {
    await openPart(page, address);
    await page.locator(`main section[aria-label="${shows}"]`).first().waitFor();
    const names = await current.evaluateAll((all) =>
      all.map((each) => each.getAttribute('aria-label') ?? each.textContent.trim()),
    );
    expect([address, ...names]).toEqual(
      section === '' ? [address, place] : [address, place, section],
    );
    expect(await page.title()).toContain(section === '' ? place : section);
    // What was open stays open after a reload.
    expect(await page.evaluate(() => location.hash)).toBe(`#/${address}`);
  }
}

it('leads from each address of the customer’s page to its place', async () => {
  const { page, context, problems } = await openPage(browser, dashboard());
  await signIn(page, key.apiKey);
  const { data } = await gateway.call('listKeys', {});
  await walk(page, [
    ['home', 'Home', '', 'Spend'],
    ['usage', 'Activity', 'Usage', 'Usage'],
    ['usage?measure=tokens&range=7&by=key', 'Activity', 'Usage', 'Usage'],
    ['requests', 'Activity', 'Requests', 'Requests'],
    [`requests?key_id=${data[0]?.id ?? ''}&range=month`, 'Activity', 'Requests', 'Requests'],
    ['ledger', 'Activity', 'Ledger', 'Ledger'],
    ['ledger?kind=charge', 'Activity', 'Ledger', 'Ledger'],
    ['statement', 'Billing', 'Statement', 'Statement'],
    ['prices', 'Billing', 'Prices', 'Prices'],
    ['check', 'Activity', 'Check my usage', 'Check my usage'],
    ['connect', 'Connect', '', 'Connect'],
    ['notices', 'Billing', 'Notices', 'Notices'],
    ['keys', 'Keys and budgets', 'Keys', 'Keys'],
    ['members', 'Keys and budgets', 'Members and budgets', 'Members'],
  ]);
  expect(problems).toEqual([]);
  await context.close();
});

it('leads from each address of the console to its place', async () => {
  const consoleUrl = `${gateway.adminUrl}/console/`;
  const cookie = await consoleCookie(consoleUrl, ADMIN_TOKEN);
  const { page, context, problems } = await openConsole(browser, consoleUrl, cookie);
  await walk(page, [
    ['home', 'Today', 'Overview', 'At a glance'],
    ['today', 'Today', 'Traffic', 'Today'],
    ['usage', 'Activity', 'Usage', 'Usage'],
    ['usage?by=account&sort=margin&order=least', 'Activity', 'Usage', 'Usage'],
    ['accounts', 'Customers', 'Accounts', 'Accounts'],
    [`accounts/${accountId}`, 'Customers', 'Accounts', 'Account'],
    [`accounts/${accountId}/members`, 'Customers', 'Accounts', 'Members'],
    ['keys', 'Customers', 'Keys', 'Keys'],
    ['requests', 'Activity', 'Requests', 'Requests'],
    ['ledger', 'Activity', 'Ledger', 'Ledger'],
    ['books', 'Money', 'Books', 'Books'],
    ['payments', 'Money', 'Payments', 'Payments'],
    ['dispute', 'Activity', 'Dispute', 'Dispute'],
    ['prices', 'Money', 'Prices', 'Prices'],
    ['events', 'System', 'Notifications', 'Notifications'],
    ['trail', 'System', 'Trail', 'Trail'],
    ['audit', 'System', 'Audit', 'Audit'],
    ['bill', 'Money', "Provider's bill", "Provider's bill"],
    ['settings', 'System', 'Settings', 'Settings in force'],
  ]);
  expect(problems).toEqual([]);
  await context.close();
});

it('opens the first place for an address that it never had', async () => {
  const { page, context } = await openPage(browser, `${dashboard()}#/nowhere`);
  await signIn(page, key.apiKey);
  await page.getByRole('link', { name: 'Home', exact: true }).waitFor();
  expect(await page.locator('nav [aria-current]').first().innerText()).toBe('Home');
  await context.close();
});

it('has its places beside the content, and at the bottom of a phone', async () => {
  const { page, context } = await openPage(browser, dashboard());
  await signIn(page, key.apiKey);
  await loaded(page);
  const places = page.getByRole('navigation').getByRole('list').first();
  const wide = (await places.boundingBox())!;
  const content = (await page.locator('.shell-content').boundingBox())!;
  expect(wide.x + wide.width).toBeLessThanOrEqual(content.x);
  await page.setViewportSize({ width: 390, height: 844 });
  const narrow = (await places.boundingBox())!;
  expect(Math.round(narrow.y + narrow.height)).toBe(844);
  expect(narrow.width).toBe(390);
  // The last line of the page is not below the bar.
  await page.evaluate(() => {
    scrollTo(0, document.body.scrollHeight);
  });
  const last = (await page.locator('main section').last().boundingBox())!;
  expect(last.y + last.height).toBeLessThan(narrow.y);
  await context.close();
});

it.each([
  [390, 844],
  [1280, 800],
] as const)('shows the first of its data without scrolling at %i × %i', async (width, height) => {
  const { page, context } = await openPage(browser, dashboard());
  await page.setViewportSize({ width, height });
  await signIn(page, key.apiKey);
  for (const part of ['home', 'usage', 'requests', 'ledger', 'keys', 'prices']) {
    await openPart(page, part);
    const first = page.locator('main tbody tr:visible, main figure svg:visible').first();
    const box = (await first.boundingBox())!;
    expect([part, box.y < height - 60]).toEqual([part, true]);
  }
  await context.close();
});

it('has five sizes of type on all places', async () => {
  const { page, context } = await openPage(browser, dashboard());
  await signIn(page, key.apiKey);
  const sizes = new Set<string>();
  for (const part of ['home', 'usage', 'requests', 'ledger', 'keys', 'statement', 'connect']) {
    await openPart(page, part);
    const found = await page.locator('body *').evaluateAll((all) =>
      all
        .filter((each) => each.checkVisibility())
        .filter(({ childNodes }) =>
          [...childNodes].some(({ nodeType, data }: { nodeType: number; data?: string }) =>
            nodeType === 3 ? data?.trim() !== '' : false,
          ),
        )
        .map((each) => getComputedStyle(each).fontSize),
    );
    for (const size of found) sizes.add(size);
  }
  expect([...sizes].sort()).toEqual(['13px', '15px', '18px', '24px', '36px']);
  await context.close();
});

it('is dark or light as the system is, or as a person chose, also after a reload', async () => {
  const watched = await openPage(browser, dashboard(), { width: 1280, theme: 'dark' });
  const { page, context, problems } = watched;
  await signIn(page, key.apiKey);
  const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const dark = await ground();
  const change = page.getByRole('button', { name: /^Theme: / });
  await change.click();
  await page.getByRole('button', { name: 'Theme: light' }).waitFor();
  const light = await ground();
  expect(light).not.toBe(dark);
  await loaded(page);
  await checkScreen(watched, 'light on a dark system');
  await page.reload();
  await page.getByRole('button', { name: 'Theme: light' }).waitFor();
  expect(await ground()).toBe(light);
  await change.click();
  await page.getByRole('button', { name: 'Theme: dark' }).waitFor();
  expect(await ground()).toBe(dark);
  await page.emulateMedia({ colorScheme: 'light' });
  expect(await ground()).toBe(dark);
  await change.click();
  await page.getByRole('button', { name: 'Theme: auto' }).waitFor();
  expect(await ground()).toBe(light);
  expect(problems).toEqual([]);
  await context.close();
});
