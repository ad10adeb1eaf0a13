/** What a new customer sees first, and how the first request changes it. */

import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Browser } from 'playwright-core';
import type { TestGateway } from '../../../gateway/test/support/gateway.js';
import { LOOKS, loaded, openBrowser, openPage, openPart, signIn } from '../support/browser.js';
import { checkScreen } from '../support/screens.js';
import { sendTraffic, startPages } from '../support/traffic.js';

let browser: Browser;
let gateway: TestGateway;
beforeAll(async () => {
  browser = await openBrowser();
  gateway = await startPages();
});
afterAll(async () => {
  await browser.close();
  await gateway.stop();
});

const dashboard = () => `${gateway.url}/dashboard/`;

it('is the way to connect, which turns green when the first request arrives', async () => {
  const { apiKey } = await gateway.createKey({ balance_usd: '5' });
  const watched = await openPage(browser, dashboard());
  const { page, context, problems } = watched;
  await signIn(page, apiKey);
  await loaded(page);
  await page.getByText('This page turns green').waitFor();
  const command = await page.locator('pre').first().innerText();
  expect(command).toContain(`ANTHROPIC_BASE_URL=${gateway.url}`);
  expect(command).toContain(apiKey);
  expect(await page.getByRole('region', { name: 'Spend' }).count()).toBe(0);
  await checkScreen(watched, 'first steps');
  await sendTraffic(gateway, [apiKey], { count: 1, seed: 1 });
  await page.getByText('Your first request has arrived.').waitFor();
  await page.getByRole('region', { name: 'Spend' }).waitFor();
  await loaded(page);
  await checkScreen(watched, 'connected');
  await page.getByRole('link', { name: 'See what it cost' }).click();
  await page.locator('tr[data-request]').first().waitFor();
  // Whoever comes again is no longer new.
  await openPart(page, 'home');
  await page.reload();
  await page.getByRole('region', { name: 'Spend' }).waitFor();
  expect(await page.getByText('Your first request has arrived.').count()).toBe(0);
  expect(problems).toEqual([]);
  await context.close();
});

it.each(LOOKS)('passes axe and fits the window at $width px in $theme', async (look) => {
  const { apiKey } = await gateway.createKey();
  const watched = await openPage(browser, dashboard(), look);
  await signIn(watched.page, apiKey);
  await loaded(watched.page);
  await checkScreen(watched, 'first steps');
  expect(watched.problems).toEqual([]);
  await watched.context.close();
});
