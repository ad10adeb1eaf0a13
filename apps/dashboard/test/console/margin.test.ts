/** Costs and margins on the console's pages, with prices above what the provider bills. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { parseUsd } from '@gateway/billing';
import { startUpstreamSimulator } from '@gateway/upstream-simulator';
import type { UpstreamSimulator } from '@gateway/upstream-simulator';
import type { Browser } from 'playwright-core';
import { unitsPerToken } from '../../../gateway/test/support/billed-prices.js';
import { postMessages, userMessage } from '../../../gateway/test/support/gateway.js';
import type { TestGateway } from '../../../gateway/test/support/gateway.js';
import { untilSteady } from '../../../gateway/test/support/steady-time.js';
import {
  LOOKS,
  consoleCookie,
  openBrowser,
  openConsole,
  openPart,
  valuesOf,
} from '../support/browser.js';
import type { Look } from '../support/browser.js';
import { checkScreen } from '../support/screens.js';
import { READ_TOKEN, sendTraffic, startPages } from '../support/traffic.js';

const DAY_MS = 86_400_000;
const dayText = (offset: number) =>
  new Date(Date.now() + offset * DAY_MS).toISOString().slice(0, 10);
/** From yesterday to tomorrow, because midnight may pass during the tests. */
const BILL = `bill?from=${dayText(-1)}&until=${dayText(1)}`;
const RANGE = { from: `${dayText(-29)}T00:00:00Z`, until: `${dayText(2)}T00:00:00Z` };

let browser: Browser;
let folder: string;
let provider: UpstreamSimulator;
let gateway: TestGateway;
let consoleUrl: string;
let cookie: string;
let accountId: string;
let month: string;
beforeAll(async () => {
  browser = await openBrowser();
  folder = mkdtempSync(join(tmpdir(), 'gateway-margin-'));
  const PRICES = join(folder, 'prices.json');
  writeFileSync(PRICES, JSON.stringify({ extends: 'specification', factor: '1.25' }));
  provider = await startUpstreamSimulator({ allowScriptText: true, unitsPerToken });
  gateway = await startPages({
    PRICES,
    COSTS: 'specification',
    UPSTREAM_URL: provider.url,
    ANTHROPIC_ADMIN_KEY: 'sk-ant-admin-of-the-browser-tests',
    ANTHROPIC_ADMIN_URL: provider.url,
  });
  const [one, other] = [await gateway.createKey(), await gateway.createKey()];
  await untilSteady('day');
  await sendTraffic(gateway, [one.apiKey, other.apiKey], { count: 12, seed: 7 });
  month = dayText(0).slice(0, 7);
  accountId = (await gateway.call('showKey', { key_id: one.id })).account_id;
  consoleUrl = `${gateway.adminUrl}/console/`;
  cookie = await consoleCookie(consoleUrl, READ_TOKEN);
});
afterAll(async () => {
  await browser.close();
  await gateway.stop();
  await provider.close();
  rmSync(folder, { recursive: true, force: true });
});

const open = (look?: Look) => openConsole(browser, consoleUrl, cookie, look);
const CARD = 'section[aria-label="Margin"]';
const SHOWN: Readonly<Record<string, string>> = {
  usage: `${CARD} dl`,
  accounts: 'tr[data-account] .sparkline',
};

describe('the margin', () => {
  it('is shown for all accounts and for one, in all, by day and by each dimension', async () => {
    const { page, context, problems } = await open();
    await page.route(
      '**/admin/usage?*',
      (route) => route.fulfill({ status: 503, headers: { 'retry-after': '3600' }, json: {} }),
      { times: 1 },
    );
    await openPart(page, 'usage');
    await page.locator(CARD).getByRole('alert').waitFor();
    await page.locator(CARD).getByRole('button', { name: 'Try again' }).click();
    for (const [part, of] of [
      ['usage', {}],
      [`accounts/${accountId}`, { account_id: accountId }],
    ] as const) {
      await openPart(page, part);
      await page.locator(`${CARD} dl`).waitFor();
      const sumsBy = async (by: string) =>
        (await gateway.call('listUsage', { ...RANGE, ...of, by, sort: 'charged', top: 100 })).data;
      const [all] = await sumsBy(part === 'usage' ? 'upstream' : 'account');
      expect(await valuesOf(page, `${CARD} dl data`)).toEqual([
        all?.charged_usd,
        all?.cost_usd,
        all?.margin_usd,
      ]);
      const days = await sumsBy('day');
      expect(await valuesOf(page, `${CARD} tbody data`)).toEqual(
        days.flatMap(({ requests, charged_usd, cost_usd, margin_usd }) => [
          String(requests),
          charged_usd,
          cost_usd,
          margin_usd,
        ]),
      );
      // The usage has the margin of each group.
      for (const by of ['model', 'key', 'upstream'] as const) {
        await openPart(page, `${part}?by=${by}`);
        const shown = await valuesOf(page, 'section[aria-label="Usage"] .groups tbody data');
        for (const { margin_usd } of await sumsBy(by)) expect(shown).toContain(margin_usd);
      }
    }
    expect(problems).toEqual([]);
    await context.close();
  });

  // F243
  it("is no difference from the provider's bill, which is compared with the costs", async () => {
    const { page, context, problems } = await open();
    await openPart(page, BILL);
    await page.getByText('the same', { exact: true }).waitFor();
    const { total } = await gateway.call('showBooks', { month });
    const { cost_usd: cost, margin_usd: margin } = total;
    const charged = total.charged_usd.slice(1);
    const figures = await valuesOf(page, 'dl.grid data');
    expect(figures).toEqual([cost, cost, '0', '0', charged, margin]);
    const foreign = userMessage('From elsewhere', { model: 'claude-opus-4-8' });
    await postMessages({ url: provider.url }, 'another', foreign).then((answer) => answer.text());
    await page.getByRole('button', { name: 'Compare' }).click();
    await page.getByText('different', { exact: true }).waitFor();
    const { differences } = await gateway.call('reconcileProvider', {
      from: dayText(-1),
      until: dayText(2),
      tolerance_usd: '0',
    });
    expect(differences.map(({ model }) => model)).toEqual([null, 'claude-opus-4-8']);
    const rows = await page.locator('tr[data-difference]').allInnerTexts();
    expect(rows[0]).toContain('all models');
    expect(rows[1]).toContain('in all costs');
    expect(problems).toEqual([]);
    await context.close();
  });

  it('stands beside each customer, sorted, and is red where money is lost', async () => {
    const cheap = { name: 'Cheap', prices: '0.5', balance_usd: '5' } as const;
    const { id } = await gateway.call('createAccount', cheap);
    const key = await gateway.call('createKey', { name: 'cheap', account_id: id });
    await sendTraffic(gateway, [key.api_key ?? ''], { count: 2, seed: 9 });
    const { page, context, problems } = await open();
    await openPart(page, 'accounts');
    const rows = page.locator('tr[data-account]');
    const { data } = await gateway.call('listUsage', { ...RANGE, by: 'account', top: 100 });
    expect(data).toHaveLength(3);
    for (const sum of data) {
      const row = page.locator(`tr[data-account="${sum.account_id ?? ''}"]`);
      const exact = (column: string) =>
        row.locator(`td[data-label="${column}"] data`).first().getAttribute('value');
      expect(await exact('Revenue')).toBe(sum.charged_usd);
      expect(await exact('Margin')).toBe(sum.margin_usd);
      const { balance_usd: balance } = await gateway.call('showAccount', {
        account_id: sum.account_id ?? '',
      });
      // The accounts are new, so that the pace is that of one day.
      const left = parseUsd(balance) / parseUsd(sum.charged_usd);
      expect(await exact('Days left')).toBe(String(left));
      expect(await row.getByRole('img', { name: /^Charges per day of/ }).count()).toBe(1);
      const isLoss = sum.margin_usd?.startsWith('-') === true;
      expect(isLoss).toBe(sum.account_id === id);
      expect(await row.locator('td[data-label="Margin"] .loss').count()).toBe(isLoss ? 1 : 0);
    }
    // The most comes first, and then the least.
    for (const place of ['last', 'first'] as const) {
      await page.getByRole('columnheader').getByRole('button', { name: 'Margin' }).click();
      expect(await rows[place]().getAttribute('data-account')).toBe(id);
    }
    expect(problems).toEqual([]);
    await context.close();
  });

  it.each(LOOKS)('passes axe and fits the window at $width px in $theme', async (look) => {
    const watched = await open(look);
    const { page, context } = watched;
    for (const part of ['usage', 'accounts', BILL]) {
      await openPart(page, part);
      await page
        .locator(SHOWN[part] ?? 'tr[data-difference]')
        .first()
        .waitFor();
      await checkScreen(watched, part);
    }
    await context.close();
  });
});
