/** The console's settings in a browser: all of them are shown, and some are changed. */

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import type { TestGateway } from '../../../gateway/test/support/gateway.js';
import { consoleCookie, openBrowser, openConsole, openPart } from '../support/browser.js';
import { ADMIN_TOKEN, READ_TOKEN, startPages } from '../support/traffic.js';

let browser: Browser;
let gateway: TestGateway;
let consoleUrl: string;
beforeAll(async () => {
  browser = await openBrowser();
  gateway = await startPages({ METRICS_TOKEN: 'a-secret-of-the-metrics' });
  consoleUrl = `${gateway.adminUrl}/console/`;
});
afterAll(async () => {
  await browser.close();
  await gateway.stop();
});

const open = async (token: string) =>
  openConsole(browser, consoleUrl, await consoleCookie(consoleUrl, token));
const row = (page: Page, name: string) => page.locator(`tr[data-setting="${name}"]`);

describe('the settings of the console', () => {
  it('are all shown, and those that match a word; secrets only as set or not', async () => {
    const { page, context, problems } = await open(READ_TOKEN);
    await openPart(page, 'settings');
    const { variables } = await gateway.call('showSettings', {});
    for (const { name, is_secret: isSecret, is_set: isSet } of variables) {
      const text = await row(page, name).innerText();
      if (isSecret) expect(text).toContain(isSet ? '\tset\t' : '\tnot set\t');
    }
    expect(await page.locator('tr[data-setting]').count()).toBe(variables.length);
    expect(await page.content()).not.toContain('a-secret-of-the-metrics');
    expect(await page.getByRole('button', { name: 'Change' }).count()).toBe(0);
    await page.getByLabel('Find a setting').fill('metrics_tok');
    await row(page, 'PORT').waitFor({ state: 'detached' });
    await row(page, 'METRICS_TOKEN').getByRole('button').click();
    await page.getByText('on the machine, then "Read the files again"').waitFor();
    expect(problems).toEqual([]);
    await context.close();
  });

  it('are changed, and taken back', async () => {
    const { page, context, problems } = await open(ADMIN_TOKEN);
    await openPart(page, 'settings');
    const table = { extends: 'list', factor: '1.5' };
    const change = async (fill: (dialog: ReturnType<Page['getByRole']>) => Promise<void>) => {
      await row(page, 'PRICES').getByRole('button', { name: 'Change' }).click();
      const dialog = page.getByRole('dialog');
      await fill(dialog);
      await dialog.getByRole('button', { name: 'Continue' }).click();
      return dialog;
    };
    let dialog = await change((fields) => fields.getByLabel('Value').fill('{"extends":"list"'));
    await dialog.getByRole('button', { name: 'Change it' }).click();
    await dialog.getByRole('alert').waitFor();
    expect(await dialog.getByRole('alert').innerText()).toContain('PRICES');
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    dialog = await change((fields) => fields.getByLabel('Value').fill(JSON.stringify(table)));
    await dialog.getByRole('button', { name: 'Change it' }).click();
    await dialog.getByText('is in force').waitFor();
    await dialog.getByRole('button', { name: 'Close' }).click();
    await row(page, 'PRICES').getByText('here', { exact: true }).waitFor();
    const priceOf = async () => {
      const { data } = await gateway.call('listModels', {});
      return data.find(({ id }) => id === 'claude-sonnet-4-6')?.rates.input;
    };
    expect(await priceOf()).toBe('4.5');
    dialog = await change((fields) => fields.getByLabel('As it is set on the machine').check());
    await dialog.getByRole('button', { name: 'Change it' }).click();
    await dialog.getByText('is in force').waitFor();
    await dialog.getByRole('button', { name: 'Close' }).click();
    await row(page, 'PRICES').getByText('nowhere: the default').waitFor();
    expect(await priceOf()).toBe('3');
    await page.getByRole('button', { name: 'Read the files again' }).click();
    await page.getByRole('button', { name: 'Read them' }).click();
    await page.getByRole('dialog').getByText('is in force').waitFor();
    expect(problems.filter((problem) => !problem.includes('400'))).toEqual([]);
    await context.close();
  });
});
