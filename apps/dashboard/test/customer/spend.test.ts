/** The picture of thirty days on the customer's first screen, and how its bars filter the page. */

import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { formatUsd, parseUsd } from '@gateway/billing';
import type { Browser, Page } from 'playwright-core';
import type { TestGateway } from '../../../gateway/test/support/gateway.js';
import { loaded, openBrowser, openPage, signIn, stopRefreshing } from '../support/browser.js';
import type { Look } from '../support/browser.js';
import { checkScreen } from '../support/screens.js';
import { MODELS, sendTraffic, startPages } from '../support/traffic.js';

const DAY_MS = 86_400_000;

let browser: Browser;
let gateway: TestGateway;
let lead: { readonly id: string; readonly apiKey: string };
let ci: { readonly id: string; readonly apiKey: string };
beforeAll(async () => {
  browser = await openBrowser();
  gateway = await startPages();
  const { id } = await gateway.call('createAccount', { name: 'team', balance_usd: '5' });
  const create = async (name: string, scope: 'manage' | 'use') => {
    const made = await gateway.call('createKey', { name, account_id: id, scope });
    return { id: made.id, apiKey: made.api_key ?? '' };
  };
  lead = await create('lead', 'manage');
  ci = await create('ci', 'use');
  await sendTraffic(gateway, [lead.apiKey, ci.apiKey], { count: 12, seed: 5 });
});
afterAll(async () => {
  await browser.close();
  await gateway.stop();
});

async function open(look?: Look) {
  const watched = await openPage(browser, `${gateway.url}/dashboard/`, look);
  await stopRefreshing(watched.page);
  await signIn(watched.page, lead.apiKey);
  await loaded(watched.page);
  return watched;
}

/** What the ledger has of the thirty days, by the names of models or the ids of keys. */
async function spentBy(by: 'model' | 'key_id', filter: Readonly<Record<string, string>> = {}) {
  const from = new Date((Math.floor(Date.now() / DAY_MS) - 29) * DAY_MS).toISOString();
  const { data } = await gateway.call('listUsage', { by: 'model,key', from, ...filter });
  const sums = new Map<string, bigint>();
  for (const sum of data) {
    const name = sum[by] ?? '';
    sums.set(name, (sums.get(name) ?? 0n) + parseUsd(sum.charged_usd));
  }
  return sums;
}

const exact = (usd: bigint | undefined) => formatUsd(usd ?? 0n);
const sumOf = (sums: ReadonlyMap<string, bigint>) =>
  exact([...sums.values()].reduce((all, usd) => all + usd, 0n));

const headline = (page: Page) =>
  page.locator('[aria-label="Spend"] .headline data').first().getAttribute('value');
const bar = (page: Page, card: string, name: string) =>
  page.getByRole('region', { name: card }).getByRole('link', { name });
const barValue = (page: Page, card: string, name: string) =>
  bar(page, card, name).locator('data').getAttribute('value');

it('has the sums of the ledger, and each bar filters the others, as a chip in the address', async () => {
  const watched = await open();
  const { page, context, problems } = watched;
  const models = await spentBy('model');
  const keys = await spentBy('key_id');
  expect(await headline(page)).toBe(sumOf(models));
  for (const model of MODELS) {
    expect(await barValue(page, 'By model', model)).toBe(exact(models.get(model)));
  }
  expect(await barValue(page, 'By key', 'ci')).toBe(exact(keys.get(ci.id)));
  expect(await barValue(page, 'By key', 'lead')).toBe(exact(keys.get(lead.id)));

  await bar(page, 'By key', 'ci').click();
  await page.getByRole('button', { name: 'Key: ci' }).waitFor();
  await loaded(page);
  expect(await page.evaluate(() => location.hash)).toBe(`#/home?key_id=${ci.id}`);
  const ofCi = await spentBy('model', { key_id: ci.id });
  expect(await headline(page)).toBe(sumOf(ofCi));
  expect(await barValue(page, 'By model', MODELS[0])).toBe(exact(ofCi.get(MODELS[0])));
  await checkScreen(watched, 'filtered');

  await bar(page, 'By model', MODELS[0]).click();
  await page.getByRole('button', { name: `Model: ${MODELS[0]}` }).waitFor();
  await page.reload();
  await page.getByRole('button', { name: `Model: ${MODELS[0]}` }).waitFor();
  await loaded(page);
  expect(await headline(page)).toBe(exact(ofCi.get(MODELS[0])));
  await page.goBack();
  await page.getByRole('button', { name: `Model: ${MODELS[0]}` }).waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Key: ci' }).click();
  await loaded(page);
  expect(await headline(page)).toBe(sumOf(models));
  expect(problems).toEqual([]);
  await context.close();
});

it('shows the figures of a day at the pointer, and only that day after a click', async () => {
  const { page, context, problems } = await open();
  const models = await spentBy('model');
  const today = page.locator('figure .column').last();
  await today.hover();
  const tip = page.locator('.tip');
  await tip.waitFor();
  const lines = await tip.locator('p').allInnerTexts();
  expect(lines).toHaveLength(2 + models.size);
  expect(lines[0]).toContain(String(new Date().getUTCFullYear()));
  for (const model of models.keys()) {
    expect(lines.filter((line) => line.startsWith(model))).toHaveLength(1);
  }
  // It lies beside the bar, not on it.
  const [box, column] = [(await tip.boundingBox())!, (await today.boundingBox())!];
  expect(box.x + box.width).toBeLessThanOrEqual(column.x + 1);
  await today.click();
  const day = new Date().toISOString().slice(0, 10);
  expect(await page.evaluate(() => location.hash)).toBe(`#/home?day=${day}`);
  await page.getByRole('button', { name: /^Day: / }).waitFor();
  expect(await headline(page)).toBe(sumOf(models));
  await page.getByRole('link', { name: 'Its requests' }).first().waitFor();
  // A day before has nothing.
  await page.locator('figure .column').first().click({ force: true });
  await page.getByRole('region', { name: 'By model' }).getByText('Nothing was used.').waitFor();
  expect(await headline(page)).toBe('0');
  expect(problems).toEqual([]);
  await context.close();
});

// F529: a finger on a bar of a plot: its figures are shown, and only the second touch leads away.
it('shows the figures at the finger within a phone, and leads there with the second touch', async () => {
  const context = await browser.newContext({
    viewport: { width: 390, height: 844 },
    hasTouch: true,
    extraHTTPHeaders: { 'x-forwarded-for': '10.9.9.9' },
  });
  const page = await context.newPage();
  await page.goto(`${gateway.url}/dashboard/`);
  await signIn(page, lead.apiKey);
  await loaded(page);
  for (const place of ['first', 'last'] as const) {
    const column = page.locator('figure .column')[place]();
    await column.tap({ force: true });
    const box = (await page.locator('.tip').boundingBox())!;
    expect(box.x).toBeGreaterThanOrEqual(0);
    expect(box.x + box.width).toBeLessThanOrEqual(390);
    expect(await page.evaluate(() => location.hash)).not.toContain('day=');
  }
  await page.locator('figure .column').last().tap({ force: true });
  await page.getByRole('button', { name: /^Day: / }).waitFor();
  await context.close();
});
