/** The page that a link to a key opens. */

import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Browser } from 'playwright-core';
import { postMessages, userMessage } from '../../../gateway/test/support/gateway.js';
import type { TestGateway } from '../../../gateway/test/support/gateway.js';
import { LOOKS, openBrowser, openPage } from '../support/browser.js';
import { checkScreen } from '../support/screens.js';
import { startPages } from '../support/traffic.js';

let browser: Browser;
let gateway: TestGateway;
beforeAll(async () => {
  browser = await openBrowser();
  gateway = await startPages({});
});
afterAll(async () => {
  await gateway.stop();
  await browser.close();
});

it('shows the key once, when a person asks for it, and then its page', async () => {
  const { id, apiKey } = await gateway.createKey({ name: 'of Ada' });
  const { path } = await gateway.call('createKeyLink', { key_id: id });
  for (const look of LOOKS) {
    const watched = await openPage(browser, `${gateway.url}${path}`, look);
    await watched.page.getByRole('button', { name: 'Show my key' }).waitFor();
    expect(watched.page.url()).not.toContain('gk_');
    await checkScreen(watched, 'a link to a key');
    await watched.context.close();
  }
  // Opening the page has used nothing up.
  expect((await postMessages(gateway, apiKey, userMessage('Hello'))).status).toBe(200);

  const watched = await openPage(browser, `${gateway.url}${path}`);
  const { page } = watched;
  await page.getByRole('button', { name: 'Show my key' }).dblclick();
  const shown = await page.getByLabel('the key', { exact: true }).innerText();
  await checkScreen(watched, 'a key that is shown');
  expect((await postMessages(gateway, shown.trim(), userMessage('Hello'))).status).toBe(200);
  await page.getByRole('button', { name: 'I have kept it' }).click();
  await page.locator('#balance').waitFor();
  expect(watched.problems).toEqual([]);
  await watched.context.close();

  const late = await openPage(browser, `${gateway.url}${path}`);
  await late.page.getByRole('button', { name: 'Show my key' }).click();
  await late.page.getByText('this link was opened before').waitFor();
  expect(await late.page.getByLabel('the key', { exact: true }).count()).toBe(0);
  await late.context.close();
});
