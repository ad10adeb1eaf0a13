/** The comparison with the provider's bill on the console's page, in a browser. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startUpstreamSimulator } from '@gateway/upstream-simulator';
import type { UpstreamSimulator } from '@gateway/upstream-simulator';
import type { Browser, Page } from 'playwright-core';
import { unitsPerToken } from '../../../gateway/test/support/billed-prices.js';
import { postMessages, userMessage } from '../../../gateway/test/support/gateway.js';
import type { TestGateway } from '../../../gateway/test/support/gateway.js';
import { eventually } from '../../../gateway/test/support/until.js';
import {
  LOOKS,
  axeFindings,
  consoleCookie,
  loaded,
  openBrowser,
  openConsole,
  openPart,
  valuesOf,
} from '../support/browser.js';
import type { Look } from '../support/browser.js';
import { checkScreen } from '../support/screens.js';
import { READ_TOKEN, sendTraffic, startPages } from '../support/traffic.js';

const FOREIGN = 'claude-opus-4-8';
const SET_ASIDE = 'claude-opus-4-6';
const DAY_MS = 86_400_000;
/** @param offset - In days from today. */
const dayText = (offset: number) =>
  new Date(Date.now() + offset * DAY_MS).toISOString().slice(0, 10);
/** From yesterday to tomorrow, because midnight may pass during the tests. */
const RANGE = { from: dayText(-1), until: dayText(1) };
const PART = `bill?from=${RANGE.from}&until=${RANGE.until}`;

let browser: Browser;
let provider: UpstreamSimulator;
let gateway: TestGateway;
let apiKey: string;
let consoleUrl: string;
let cookie: string;
beforeAll(async () => {
  browser = await openBrowser();
  provider = await startUpstreamSimulator({ allowScriptText: true, unitsPerToken });
  gateway = await startPages({
    UPSTREAM_URL: provider.url,
    // What is charged is compared with the bill. The tests of the margin compare costs.
    COSTS: 'none',
    ANTHROPIC_ADMIN_KEY: 'sk-ant-admin-of-the-browser-tests',
    ANTHROPIC_ADMIN_URL: provider.url,
  });
  ({ apiKey } = await gateway.createKey());
  consoleUrl = `${gateway.adminUrl}/console/`;
  // A token that may only read must be enough for everything on this screen.
  cookie = await consoleCookie(consoleUrl, READ_TOKEN);
});
afterAll(async () => {
  await browser.close();
  await gateway.stop();
  await provider.close();
});

const open = (look?: Look) => openConsole(browser, consoleUrl, cookie, look);
const figures = (page: Page) => valuesOf(page, 'dl.grid data');
const compare = async (page: Page) => {
  await page.getByRole('button', { name: 'Compare' }).click();
  await loaded(page);
};
const reported = () =>
  gateway.call('reconcileProvider', { from: RANGE.from, until: dayText(2), tolerance_usd: '0' });

describe("the provider's bill", () => {
  it('equals the ledger after traffic through the gateway, for the days that were chosen', async () => {
    const { page, context, problems } = await open();
    await openPart(page, 'bill');
    await page.getByLabel('First day').waitFor();
    expect(await page.getByText('were compared').count()).toBe(0);
    await page.getByLabel('First day').fill(RANGE.from);
    await page.getByLabel('Last day').fill(RANGE.until);
    await compare(page);
    await page.getByText('Neither the provider nor the ledger has any usage').waitFor();
    await sendTraffic(gateway, [apiKey], { count: 12, seed: 9 });
    await compare(page);
    await page.getByText('have the same tokens and costs').waitFor();
    const { charged_usd: charged } = await gateway.call('auditLedger', {});
    expect(await figures(page)).toEqual([charged, charged, '0', '0', charged, '0']);
    // The days are in the address.
    await page.reload();
    await page.getByText('have the same tokens and costs').waitFor();
    expect(problems).toEqual([]);
    await context.close();
  });

  it('shows what differs by day and model, and the requests that may explain it', async () => {
    await fetch(`${provider.url}/v1/messages`, {
      method: 'POST',
      headers: { 'x-api-key': 'another', 'anthropic-version': '2023-06-01' },
      body: JSON.stringify(userMessage('From elsewhere', { model: FOREIGN })),
    }).then((response) => response.text());
    const script = JSON.stringify({ usage: { output_tokens: -4 } });
    const wrong = userMessage(`[[script:${script}]] Hello`, { model: SET_ASIDE });
    const response = await postMessages(gateway, apiKey, wrong);
    await response.text();
    const { differences, ...report } = await reported();
    expect(differences.map(({ model }) => model)).toEqual([SET_ASIDE, FOREIGN]);
    const { page, context, problems } = await open();
    await openPart(page, PART);
    await page.getByText('different', { exact: true }).waitFor();
    expect(await figures(page)).toEqual([
      report.provider_usd,
      report.ledger_usd,
      report.difference_usd,
      '0',
      report.charged_usd,
      report.margin_usd,
    ]);
    for (const difference of differences) {
      const row = page.locator(`tr[data-difference="${difference.day} ${difference.model ?? ''}"]`);
      await row.getByRole('button').click();
      const details = page.locator('tr.detail');
      for (const item of difference.items) {
        const shown = await valuesOf(page, `tr.detail tr[data-item="${item.item}"] data`);
        expect(shown).toEqual([
          String(item.provider_tokens),
          String(item.ledger_tokens),
          item.provider_usd,
          item.ledger_usd,
          item.difference_usd,
        ]);
      }
      const causes = await details
        .locator('tr[data-cause]')
        .evaluateAll((rows) => rows.map((each) => each.getAttribute('data-cause')));
      expect(causes).toEqual(difference.requests.map(({ cause }) => cause));
      await eventually(async () => {
        expect(await details.getByText('No request explains this difference').count()).toBe(
          difference.requests.length === 0 ? 1 : 0,
        );
      });
      await row.getByRole('button').click();
    }
    expect(differences.flatMap(({ requests }) => requests)).toMatchObject([{ cause: 'set_aside' }]);
    // A tolerance that is not an amount is refused. One above all differences accepts them.
    await page.getByLabel('Tolerance, USD').fill('much');
    await page.getByRole('button', { name: 'Compare' }).click();
    await eventually(async () => {
      expect(await page.getByRole('alert').innerText()).toContain('Tolerance: an amount');
    });
    await page.getByLabel('Tolerance, USD').fill('10');
    await compare(page);
    await page.getByText('within the tolerance').waitFor();
    expect((await figures(page))[3]).toBe('10');
    expect(problems).toEqual([]);
    await context.close();
  });

  // F338: the provider cannot be read: only a person asks it again.
  it('says which day is invalid, why the provider cannot be read, and that there is no connection', async () => {
    const { page, context, problems } = await open();
    await page.clock.install();
    await page.reload();
    await openPart(page, `bill?from=${RANGE.until}&until=${dayText(-3)}`);
    await eventually(async () => {
      expect(await page.getByRole('alert').innerText()).toContain('Until: must be after from');
    });
    let asked = 0;
    await page.route('**/admin/reconciliation?**', (route) => {
      asked += 1;
      return route.fulfill({
        status: 502,
        json: { error: { message: 'the usage report cannot be read' } },
      });
    });
    await openPart(page, PART);
    await eventually(async () => {
      expect(await page.getByRole('alert').innerText()).toContain(
        'the usage report cannot be read',
      );
    });
    await page.clock.runFor(60_000);
    expect(await page.getByText('Trying again').count()).toBe(0);
    expect(asked).toBe(1);
    await page.unroute('**/admin/reconciliation?**');
    await page.route('**/admin/reconciliation?**', (route) => route.abort());
    await compare(page);
    await eventually(async () => {
      expect(await page.getByRole('alert').innerText()).toContain('No connection');
    });
    await page.unroute('**/admin/reconciliation?**');
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByText('were compared').waitFor();
    expect(problems).toEqual([]);
    await context.close();
  });

  it('is shown for one upstream account, and the answer says which there are', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'gateway-bill-'));
    const UPSTREAMS = join(folder, 'upstreams.json');
    const accounts = ['north', 'south'].map((name) => ({
      name,
      url: provider.url,
      api_key: `key-of-${name}`,
      admin_key: `sk-ant-admin-of-${name}`,
    }));
    writeFileSync(UPSTREAMS, JSON.stringify({ accounts }));
    const replaced = { UPSTREAM_URL: '', UPSTREAM_API_KEY: '' };
    const other = await startPages({
      ...replaced,
      UPSTREAMS,
      ANTHROPIC_ADMIN_URL: provider.url,
    });
    const url = `${other.adminUrl}/console/`;
    const watched = await openConsole(browser, url, await consoleCookie(url, READ_TOKEN));
    const { page, context, problems } = watched;
    await openPart(page, PART);
    await page.getByText('were compared').waitFor();
    expect(await page.getByText('Only those of').count()).toBe(0);
    await page.getByLabel('Upstream account').fill('south');
    await compare(page);
    await page.getByText('Only those of the upstream account south.').waitFor();
    expect(page.url()).toContain('upstream=south');
    await page.getByLabel('Upstream account').fill('east');
    await compare(page);
    await eventually(async () => {
      expect(await page.getByRole('alert').innerText()).toContain('there are north, south');
    });
    expect(await axeFindings(watched)).toEqual([]);
    expect(problems).toEqual([]);
    await context.close();
    await other.stop();
    rmSync(folder, { recursive: true });
  });

  it('names ANTHROPIC_ADMIN_KEY if that is not set', async () => {
    const other = await startPages();
    const url = `${other.adminUrl}/console/`;
    const watched = await openConsole(browser, url, await consoleCookie(url, READ_TOKEN));
    await openPart(watched.page, PART);
    await watched.page.getByText('Set ANTHROPIC_ADMIN_KEY').waitFor();
    await eventually(async () => {
      expect(await watched.page.getByRole('alert').count()).toBe(0);
    });
    expect(await axeFindings(watched)).toEqual([]);
    expect(watched.problems).toEqual([]);
    await watched.context.close();
    await other.stop();
  });

  it.each(LOOKS)('passes axe and fits the window at $width px in $theme', async (look) => {
    const watched = await open(look);
    const { page, context, problems } = watched;
    await openPart(page, PART);
    // The button of an opened row is named "Close the…", so the first match is always unopened.
    for (const [index, unopened] of [2, 1].entries()) {
      await page
        .getByRole('button', { name: /^Open the/ })
        .nth(0)
        .click();
      await eventually(async () => {
        expect(await page.getByRole('button', { name: /^Open the/ }).count()).toBe(unopened - 1);
      });
      await eventually(async () => {
        expect(await page.locator('tr.detail').count()).toBe(index + 1);
      });
    }
    await checkScreen(watched, 'the bill');
    expect(problems).toEqual([]);
    await context.close();
  });
});
