/**
 * The customer's page in a browser, against the gateway. The tests of figures and names run on both
 * ledgers, the others on the embedded one.
 */

import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { formatUsd, parseUsd } from '@gateway/billing';
import type { Browser, Page } from 'playwright-core';
import { usePostgresServer } from '../../../../packages/balance-store/test/postgres-server.js';
import type { PostgresServer } from '../../../../packages/balance-store/test/postgres-server.js';
import type { TestGateway } from '../../../gateway/test/support/gateway.js';
import { untilSteady } from '../../../gateway/test/support/steady-time.js';
import { eventually } from '../../../gateway/test/support/until.js';
import {
  LOOKS,
  loaded,
  openBrowser,
  openPage,
  openPart,
  signIn,
  stopRefreshing,
  valuesOf,
} from '../support/browser.js';
import { checkScreen, eachDialog, eachScreen, tabThrough } from '../support/screens.js';
import {
  MODELS,
  createFolder,
  sendTraffic,
  startPages,
  writeOtherPrices,
} from '../support/traffic.js';

const MARKUP = '<img src=x onerror="document.title=\'owned\'">';

let browser: Browser;
let postgres: PostgresServer;
beforeAll(async () => {
  [browser, postgres] = await Promise.all([openBrowser(), usePostgresServer()]);
});
afterAll(async () => {
  await browser.close();
  await postgres.stop();
});

const hasFocus = (element: Element) => element === document.activeElement;

const dashboard = (gateway: TestGateway) => `${gateway.url}/dashboard/`;

async function sumOf(page: Page, selector: string): Promise<string> {
  const values = await valuesOf(page, selector);
  return formatUsd(values.reduce((sum, value) => sum + parseUsd(value), 0n));
}

describe.each(['the embedded ledger', 'PostgreSQL'])('the customer’s page on %s', (ledger) => {
  const folder = createFolder();
  let env: Readonly<Record<string, string>>;
  let gateway: TestGateway;
  let accountId: string;
  let manager: string;
  let member: string;

  beforeAll(async () => {
    env =
      ledger === 'PostgreSQL'
        ? { DATABASE_URL: await postgres.createDatabase() }
        : { DATA_DIR: folder.path };
    env = {
      ...env,
      OPERATOR: 'Example Ltd <help@example.com>',
      OPERATOR_ADDRESS: '1 Example Street; VAT X1',
      STATEMENT_NOTE: 'Taxes are included.',
    };
    const first = await startPages(env);
    const account = await first.call('createAccount', { name: MARKUP, balance_usd: '100' });
    accountId = account.id;
    const created = async (name: string, scope: 'use' | 'manage') =>
      (await first.call('createKey', { name, account_id: accountId, scope })).api_key ?? '';
    [manager, member] = [await created('lead', 'manage'), await created(MARKUP, 'use')];
    await sendTraffic(first, [manager, member], { count: 24, seed: 1 });
    await first.stop();
    // Opens the same ledger with other prices. Earlier charges must keep their rates.
    gateway = await startPages({ ...env, PRICES: writeOtherPrices(folder.path) });
    await gateway.call('topUpAccount', {
      account_id: accountId,
      top_up_id: 'top-up',
      amount_usd: '0.00000000000003',
    });
    await gateway.call('adjustBalance', {
      account_id: accountId,
      adjustment_id: 'adjustment',
      amount_usd: '-1.00000000000001',
      reason: 'correction',
      reference: MARKUP,
    });
    await sendTraffic(gateway, [manager, member], { count: 16, seed: 2 });
  });
  afterAll(async () => {
    await gateway.stop();
    folder.remove();
  });

  // F181: the lines of a printed statement: every digit, in the order of time; they add up to the
  // closing balance.
  it('shows the sum and the balance of the audit, to the last digit', async () => {
    const { page, context, problems } = await openPage(browser, dashboard(gateway));
    await signIn(page, manager);
    await loaded(page);
    const audit = await gateway.call('auditLedger', {});
    expect(audit).toMatchObject({ is_sound: true, accounts: 1 });
    await eventually(async () => {
      expect(await valuesOf(page, '#balance data')).toEqual([audit.balances_usd]);
    });
    await openPart(page, 'usage');
    expect((await valuesOf(page, '.figures tfoot data'))[0]).toBe(audit.charged_usd);
    await page.getByLabel('Every digit').check();
    const shown = await page.locator('#balance').innerText();
    expect(shown.replace('$', '')).toBe(audit.balances_usd);

    await openPart(page, 'statement');
    await page.locator('.statement').waitFor();
    const [opening = '', ...lines] = await valuesOf(page, '.statement td.n:last-child data');
    const closing = lines.pop() ?? '';
    expect([opening, closing]).toEqual(['0', audit.balances_usd]);
    const sum = lines.reduce((total, value) => total + parseUsd(value), 0n);
    expect(formatUsd(sum)).toBe(closing);
    // On paper, too, where nobody sees more than the text. It begins with the statement.
    await page.getByLabel('Every digit').uncheck();
    await page.emulateMedia({ media: 'print' });
    const amounts = async (table: string) =>
      (await page.locator(`${table} td.n:last-child`).allInnerTexts()).map((text) =>
        parseUsd(text.trim().replaceAll(/[$,]/g, '').replace('−', '-')),
      );
    const printed = await amounts('.statement');
    const last = printed.pop();
    expect(printed.length).toBe(lines.length + 1);
    expect(printed.reduce((total, value) => total + value, 0n)).toBe(last);
    expect(last).toBe(parseUsd(audit.balances_usd));
    const charged = -parseUsd(audit.charged_usd);
    for (const by of ['model', 'key']) {
      const totals = await amounts(`[aria-label="Charges by ${by}"] tbody`);
      expect(totals).toHaveLength(2);
      expect(totals.reduce((total, value) => total + value, 0n)).toBe(charged);
    }
    expect(await page.locator('#balance').isVisible()).toBe(false);
    expect(await page.locator('main').innerText()).toMatch(
      /^(Usage and balance\s+)?Statement of [^]*Number[^]*Customer[^]*Period[^]*Example Ltd\s+1 Example Street\s+VAT X1\s+help@example.com[^]*Taxes are included\./,
    );
    expect(problems).toEqual([]);
    await context.close();
  });

  // F190: a model in several plots: one colour, which follows from its name.
  it('draws bars that equal the table and the endpoint, in every measure', async () => {
    const { page, context, problems } = await openPage(browser, dashboard(gateway));
    await signIn(page, manager);
    await openPart(page, 'usage');
    const response = await fetch(
      `${gateway.url}/v1/dashboard/usage/summary?by=day,model&of=account`,
      { headers: { authorization: `Bearer ${manager}` } },
    );
    const { data } = (await response.json()) as { data: Readonly<Record<string, unknown>>[] };
    const total = (member: string) => data.reduce((sum, row) => sum + Number(row[member]), 0);
    const charged = data.reduce((sum, row) => sum + parseUsd(String(row['charged_usd'])), 0n);
    const expected = {
      Spend: charged,
      Tokens: BigInt(
        total('input_tokens') +
          total('output_tokens') +
          total('cache_read_input_tokens') +
          total('cache_creation_input_tokens'),
      ),
      Requests: BigInt(total('requests')),
    };
    expect(expected.Requests).toBe(40n);
    const colors = new Map<string, Set<string>>();
    for (const [measure, sum] of Object.entries(expected)) {
      await page.getByRole('button', { name: measure, exact: true }).click();
      let bars: readonly string[] = [];
      // The figure of the last measure stays until the new one is loaded.
      await eventually(async () => {
        bars = await page
          .locator('rect.bar')
          .evaluateAll((all) => all.map((bar) => bar.getAttribute('data-value') ?? ''));
        expect(bars.length).toBeGreaterThan(1);
        expect(bars.reduce((all, value) => all + BigInt(value), 0n)).toBe(sum);
      });
      const drawn = await page
        .locator('rect.bar')
        .evaluateAll((all) =>
          all.map((bar) => [bar.getAttribute('data-series') ?? '', getComputedStyle(bar).fill]),
        );
      for (const [name = '', color = ''] of drawn) {
        colors.set(name, new Set([...(colors.get(name) ?? []), color]));
      }
      const cells = await valuesOf(page, '.figures tbody td.n:not(:nth-child(2)) data');
      const inUnits = measure === 'Spend' ? parseUsd : BigInt;
      expect(cells.map(inUnits).reduce((all, value) => all + value, 0n)).toBe(sum);
      expect(cells.map(inUnits).filter((value) => value !== 0n)).toEqual(bars.map(BigInt));
    }
    expect([...colors.values()].map(({ size }) => size)).toEqual([...colors].map(() => 1));
    for (const model of MODELS) expect(colors.has(model)).toBe(true);
    expect(problems).toEqual([]);
    await context.close();
  });

  it('shows the lines of a charge, which add up to its amount', async () => {
    const { page, context, problems } = await openPage(browser, dashboard(gateway));
    await signIn(page, member);
    await openPart(page, 'ledger?kind=charge');
    const row = page.locator('tr[data-entry]').first();
    const [charge = ''] = await row
      .locator('data')
      .evaluateAll((all) => all.map((each) => each.getAttribute('value') ?? ''));
    await row.getByRole('button').click();
    await eventually(async () => {
      expect(await sumOf(page, '.lines tbody td.n:last-child data')).toBe(charge.replace('-', ''));
    });
    await eventually(async () => {
      expect(await valuesOf(page, '.lines tfoot data')).toEqual([charge.replace('-', '')]);
    });
    await page.getByLabel('Show').selectOption('credit');
    await loaded(page);
    await eventually(async () => {
      expect(await page.locator('tr[data-entry]').count()).toBe(3);
    });
    await page.goBack();
    await loaded(page);
    await eventually(async () => {
      expect(await page.getByLabel('Show').inputValue()).toBe('charge');
    });
    expect(problems).toEqual([]);
    await context.close();
  });

  // F180
  // F187: parts and actions that a key may not use: not offered.
  it('adds up the ledger of all keys, and shows no balance beside the charges of one', async () => {
    const { page, context, problems } = await openPage(browser, dashboard(gateway));
    await signIn(page, manager);
    await openPart(page, 'ledger');
    const rows = page.locator('tr[data-entry]');
    // The names of the account's keys come after the entries.
    await rows.filter({ hasText: MARKUP }).nth(5).waitFor();
    const shown = await rows.evaluateAll((all) =>
      all.map((row) => ({
        text: (row as HTMLElement).innerText,
        values: [...row.querySelectorAll('data')].map((each) => each.getAttribute('value') ?? ''),
      })),
    );
    // 40 charges, one credit, one correction and the first credit.
    expect(shown).toHaveLength(43);
    shown.forEach(({ values: [amount = '', balance = ''] }, index) => {
      const before = parseUsd(shown[index + 1]?.values[1] ?? '0');
      expect(formatUsd(before + parseUsd(amount))).toBe(balance);
    });
    expect(shown.filter(({ text }) => text.includes('lead')).length).toBeGreaterThan(5);
    expect(shown.filter(({ text }) => text.includes(MARKUP)).length).toBeGreaterThan(5);
    await page.getByRole('button', { name: 'This key' }).click();
    await page.getByText('other keys of the account are not shown').waitFor();
    expect(await page.getByText('Balance after', { exact: true }).count()).toBe(0);
    await context.close();

    const other = await openPage(browser, dashboard(gateway));
    await signIn(other.page, member);
    await openPart(other.page, 'ledger');
    await other.page.getByText('other keys of the account are not shown').waitFor();
    expect(await other.page.getByText('Balance after', { exact: true }).count()).toBe(0);
    // A key that may not see the account is not led to a refusal.
    await openPart(other.page, 'prices');
    expect(await other.page.getByRole('link', { name: 'Statement' }).count()).toBe(0);
    expect(await other.page.getByRole('link', { name: 'Keys' }).count()).toBe(0);
    expect([...problems, ...other.problems]).toEqual([]);
    await other.context.close();
  });

  // F474
  it('saves the ledger and the usage as CSV, whole or not at all', async () => {
    const { page, context, problems } = await openPage(browser, dashboard(gateway));
    await signIn(page, manager);
    await openPart(page, 'ledger');
    const saved = async () => {
      const waiting = page.waitForEvent('download');
      await page.getByRole('button', { name: 'Save as CSV' }).click();
      return readFileSync(await (await waiting).path(), 'utf8');
    };
    const sent = async (path: string) => {
      const response = await fetch(`${gateway.url}/v1/dashboard/${path}`, {
        headers: { authorization: `Bearer ${manager}` },
      });
      return response.text();
    };
    expect(await saved()).toBe(await sent('usage?kind=all&of=account&format=csv'));
    const { store } = gateway.running.appParts;
    const listEntries = store.listEntries.bind(store);
    // The gateway sends a first page, and cannot read the second.
    const broken = jest.spyOn(store, 'listEntries').mockImplementation(async (filter) => {
      if (filter.cursor !== undefined) throw new Error('the ledger is away');
      return { ...(await listEntries(filter)), next: 'more' };
    });
    const downloads: unknown[] = [];
    page.on('download', (each) => downloads.push(each));
    await page.getByRole('button', { name: 'Save as CSV' }).click();
    await page.getByRole('alert').getByText('No connection').waitFor();
    expect(downloads).toEqual([]);
    broken.mockRestore();
    await openPart(page, 'usage');
    expect(await saved()).toBe(await sent('usage/summary?by=day,model&of=account&format=csv'));
    expect(problems.filter((problem) => !problem.includes('ERR_'))).toEqual([]);
    await context.close();
  });

  it('compares received usage with the ledger', async () => {
    const { page, context, problems } = await openPage(browser, dashboard(gateway));
    await signIn(page, member);
    const response = await fetch(`${gateway.url}/v1/dashboard/usage?limit=2`, {
      headers: { authorization: `Bearer ${member}` },
    });
    const { data } = (await response.json()) as {
      data: { request_id: string; usage: { input_tokens: number } }[];
    };
    const received = data.map(({ request_id, usage }) => ({ request_id, usage }));
    const wrong = { ...received[1], usage: { ...received[1]!.usage, input_tokens: 999_999 } };
    await openPart(page, 'check');
    await page.locator('input[type=file]').setInputFiles({
      name: 'usages.jsonl',
      mimeType: 'application/jsonl',
      buffer: Buffer.from([received[0], wrong].map((each) => JSON.stringify(each)).join('\n')),
    });
    await page.getByRole('button', { name: 'Compare' }).click();
    await page.getByText('2 compared, 1 equal, 1 different').waitFor();
    await eventually(async () => {
      expect(await page.getByRole('region', { name: 'Differences' }).innerText()).toContain(
        '999,999',
      );
    });
    expect(problems).toEqual([]);
    await context.close();
  });

  // F125
  it('shows markup in names as text', async () => {
    const { page, context, problems } = await openPage(browser, dashboard(gateway));
    await signIn(page, manager);
    await openPart(page, 'keys');
    await eventually(async () => {
      expect(await page.getByText(MARKUP).count()).toBeGreaterThan(0);
    });
    await openPart(page, 'ledger?kind=credit');
    await eventually(async () => {
      expect(await page.getByText(MARKUP).count()).toBe(1);
    });
    expect(await page.locator('main img').count()).toBe(0);
    expect(await page.title()).not.toBe('owned');
    expect(problems).toEqual([]);
    await context.close();
  });
});

describe('the customer’s page', () => {
  let gateway: TestGateway;
  let key: string;
  let other: string;
  beforeAll(async () => {
    gateway = await startPages({
      TOP_UP_URL: 'https://shop.example.com/credit?from=page',
      OPERATOR: 'Example Ltd <help@example.com>',
      SMTP_URL: 'smtp://127.0.0.1:1',
      MAIL_FROM: 'billing@example.com',
    });
    const { id } = await gateway.call('createAccount', { name: 'team', balance_usd: '7.5' });
    const lead = await gateway.call('createKey', { name: 'lead', account_id: id, scope: 'manage' });
    key = lead.api_key ?? '';
    await gateway.call('createKey', { name: 'member', account_id: id });
    other = (await gateway.createKey({ balance_usd: '3.25' })).apiKey;
    await sendTraffic(gateway, [key], { count: 6, seed: 3 });
  });
  afterAll(() => gateway.stop());

  it('keeps the key out of addresses, cookies and storage', async () => {
    const { page, context, problems } = await openPage(browser, dashboard(gateway));
    const addresses: string[] = [];
    page.on('request', (request) => addresses.push(request.url()));
    await signIn(page, key);
    for (const part of ['ledger', 'statement', 'prices', 'keys']) await openPart(page, part);
    expect(addresses.filter((address) => address.includes(key))).toEqual([]);
    expect(page.url()).not.toContain(key);
    const kept = await page.evaluate(() =>
      JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie]),
    );
    expect(kept).toBe('[{},{},""]');
    const [cookie, ...others] = await context.cookies();
    expect(others).toEqual([]);
    expect(cookie).toMatchObject({ httpOnly: true, sameSite: 'Strict', expires: -1 });
    expect(cookie?.value).toMatch(/^gs_/);
    expect(problems).toEqual([]);
    await context.close();
  });

  it('stays signed in after a reload and in a new tab, until the person signs out', async () => {
    const { page, context, problems } = await openPage(browser, dashboard(gateway));
    await signIn(page, key);
    await openPart(page, 'connect');
    await page.getByRole('button', { name: 'My key' }).click();
    await page.getByText(key).first().waitFor();
    await page.reload();
    await page.locator('#balance').waitFor();
    await page.getByText('sign out and in again').waitFor();
    expect(await page.content()).not.toContain(key);
    const next = await context.newPage();
    await next.goto(dashboard(gateway));
    await next.locator('#balance').waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('API key').waitFor();
    expect(await context.cookies()).toEqual([]);
    await page.reload();
    await page.getByLabel('API key').waitFor();
    await openPart(next, 'ledger');
    await next.getByText('You are signed out').waitFor();
    expect(problems).toEqual([]);
    await context.close();
  });

  // F267
  it('signs a tab out when another tab signs in with another key', async () => {
    const { page, context, problems } = await openPage(browser, dashboard(gateway));
    await signIn(page, key);
    await loaded(page);
    await context.clearCookies();
    const next = await context.newPage();
    await next.goto(dashboard(gateway));
    await signIn(next, other);
    await openPart(page, 'ledger');
    await page.getByText('signed in with another key').waitFor();
    expect(await page.locator('data').count()).toBe(0);
    await next.reload();
    await next.locator('#balance data[value="3.25"]').first().waitFor();
    expect(problems).toEqual([]);
    await context.close();
  });

  it('asks again whether there is a session when the gateway could not be reached', async () => {
    const { page, context, problems } = await openPage(browser, dashboard(gateway));
    await signIn(page, key);
    await page.route('**/v1/dashboard/session', (route) =>
      route.fulfill({ status: 503, json: { error: { message: 'the ledger cannot be reached' } } }),
    );
    await page.getByRole('button', { name: 'Sign out' }).click();
    // Whether the cookie is gone is not known.
    await page.getByText('the ledger cannot be reached').waitFor();
    expect(await page.locator('#balance').count()).toBe(1);
    await page.reload();
    await page.getByText('the ledger cannot be reached').waitFor();
    await page.unrouteAll({ behavior: 'wait' });
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.locator('#balance').waitFor();
    expect(problems).toEqual([]);
    await context.close();
  });

  // F126: two people, or two windows, one after the other: neither sees data of the other; a
  // signed-out window reports that.
  it('never shows one person the data of another, even after going back', async () => {
    const first = await openPage(browser, dashboard(gateway));
    const second = await openPage(browser, dashboard(gateway));
    await signIn(first.page, key);
    await signIn(second.page, other);
    await loaded(first.page);
    await loaded(second.page);
    const balanceOf = async (page: Page) => (await valuesOf(page, '#balance data'))[0];
    const [own, theirs] = [await balanceOf(first.page), await balanceOf(second.page)];
    expect(theirs).toBe('3.25');
    expect(own).not.toBe(theirs);
    await openPart(first.page, 'ledger');
    await first.page.getByRole('button', { name: 'Sign out' }).click();
    await first.page.getByLabel('API key').waitFor();
    await first.page.goBack();
    expect(await first.page.locator('#balance').count()).toBe(0);
    await signIn(first.page, other);
    await loaded(first.page);
    expect(await balanceOf(first.page)).toBe('3.25');
    expect([...first.problems, ...second.problems]).toEqual([]);
    await first.context.close();
    await second.context.close();
  });

  // F127
  it('says what to do about a wrong key', async () => {
    const { page, context, problems } = await openPage(browser, dashboard(gateway));
    // A header cannot contain the second text, which is the hint of a key.
    for (const text of ['not-a-key', 'gw_Ab3d…9xYz']) {
      await page.reload();
      await page.getByLabel('API key').fill(text);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await eventually(async () => {
        expect(await page.getByRole('alert').innerText()).toContain('does not know this key');
      });
    }
    expect(problems).toEqual([]);
    await context.close();
  });

  it('repeats a failed sign-in after the countdown, with the key that is in the form at that moment', async () => {
    const { page, context, problems } = await openPage(browser, dashboard(gateway));
    await page.clock.install();
    let attempts = 0;
    await page.route('**/v1/dashboard/session', async (route) => {
      attempts += 1;
      if (attempts > 1) await route.continue();
      else {
        await route.fulfill({
          status: 503,
          headers: { 'retry-after': '90' },
          json: { error: { message: 'the ledger cannot be reached' } },
        });
      }
    });
    await page.getByLabel('API key').fill('not-a-key');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('the ledger cannot be reached').waitFor();
    await page.getByLabel('API key').fill(key);
    await page.clock.runFor(90_000);
    await page.getByRole('navigation').waitFor();
    expect(problems).toEqual([]);
    await context.close();
  });

  // F127: the key or the token does not work, or no longer works: signed out; the page says what to
  // do.
  it('signs out when the key stops working', async () => {
    const revoked = await gateway.createKey();
    const { page, context } = await openPage(browser, dashboard(gateway));
    await signIn(page, revoked.apiKey);
    await gateway.call('revokeKey', { key_id: revoked.id });
    await openPart(page, 'ledger');
    await page.getByText('does not work any more').waitFor();
    await context.close();
  });

  // F128: 429: too many requests: the page says how long to wait, and tries again where allowed.
  it('says how long to wait when there are too many requests, and tries again', async () => {
    const { page, context, problems } = await openPage(browser, dashboard(gateway));
    await page.clock.install();
    await signIn(page, key);
    let asked = 0;
    await page.route('**/v1/dashboard/usage?*', async (route) => {
      asked += 1;
      if (asked > 1) await route.continue();
      else {
        // From here on, the countdown continues only when the test says so.
        await page.clock.pauseAt(Date.now() + 10_000);
        await route.fulfill({
          status: 429,
          headers: { 'retry-after': '2' },
          json: { error: { type: 'rate_limit_error', message: 'too many reads' } },
        });
      }
    });
    await page.evaluate(() => {
      location.hash = '#/ledger';
    });
    await eventually(async () => {
      // The page draws the answer within some milliseconds.
      await page.clock.runFor(50);
      const [alert] = await page.getByRole('alert').allInnerTexts();
      expect(alert).toMatch(/Too many requests.*too many reads\..*Trying again in 2 seconds/s);
    });
    expect(asked).toBe(1);
    await page.clock.runFor(2_000);
    await page.clock.resume();
    await page.locator('tr[data-entry]').first().waitFor();
    await eventually(async () => {
      expect(await page.getByRole('alert').count()).toBe(0);
    });
    expect(problems).toEqual([]);
    await context.close();
  });

  // F129: no connection: loaded data stays visible, and is loaded again on request.
  it('says that it is offline, keeps the loaded data, and loads again when asked', async () => {
    const { page, context } = await openPage(browser, dashboard(gateway));
    await signIn(page, key);
    await openPart(page, 'usage');
    await context.setOffline(true);
    await page.getByRole('button', { name: '90 days' }).click();
    // Other cards may fail as well, when they are loaded again by themselves.
    const card = page.getByRole('region', { name: 'Usage', exact: true });
    await card.getByRole('alert').filter({ hasText: 'No connection' }).waitFor();
    await eventually(async () => {
      expect(await page.locator('#balance').count()).toBe(1);
    });
    await context.setOffline(false);
    await card.getByRole('button', { name: 'Try again' }).click();
    await page.locator('figure').waitFor();
    await context.close();
  });

  it('says when there is no usage yet', async () => {
    const { page, context, problems } = await openPage(browser, dashboard(gateway));
    await signIn(page, other);
    await openPart(page, 'usage');
    await page.getByText('Nothing was used in these days.').waitFor();
    await openPart(page, 'ledger?kind=charge&model=opus');
    await page.getByText('Nothing here fits “Charges” and the model “opus”.').waitFor();
    const offered = page.locator('datalist option[value="claude-opus-5"]');
    await eventually(async () => {
      expect(await offered.count()).toBe(1);
    });
    expect(problems).toEqual([]);
    await context.close();
  });

  // F339
  it('says why a key does not work', async () => {
    await untilSteady('day');
    const usedUp = await gateway.createKey({ balance_usd: '0.00000000000001' });
    await sendTraffic(gateway, [usedUp.apiKey], { count: 1, seed: 4 });
    const suspended = await gateway.createKey();
    await gateway.call('suspendKey', { key_id: suspended.id });
    const capped = await gateway.createKey({ cap_day_usd: '0.00000000000001' });
    await sendTraffic(gateway, [capped.apiKey], { count: 1, seed: 4 });
    for (const [apiKey, state, advice] of [
      [capped.apiKey, 'cap used up', 'per day; it begins anew on'],
      [usedUp.apiKey, 'empty', 'until credit is added'],
      [suspended.apiKey, 'disabled', 'this key is suspended'],
    ] as const) {
      const { page, context } = await openPage(browser, dashboard(gateway));
      await signIn(page, apiKey);
      const card = page.getByRole('region', { name: 'Balance' });
      await card.getByText(state, { exact: true }).waitFor();
      await eventually(async () => {
        expect(await card.innerText()).toContain(advice);
      });
      await context.close();
    }
  });

  // F421
  it('shows first what is left of the cap of a key, and then the balance of the account', async () => {
    await untilSteady('day');
    const capped = await gateway.createKey({ cap_month_usd: '20', cap_total_usd: '30' });
    await sendTraffic(gateway, [capped.apiKey], { count: 2, seed: 4 });
    const { caps, balance_usd: balance } = await gateway.call('showKey', { key_id: capped.id });
    const { page, context } = await openPage(browser, dashboard(gateway));
    await signIn(page, capped.apiKey);
    await loaded(page);
    const used = caps.month.used_usd;
    const left = (cap: string) => formatUsd(parseUsd(cap) - parseUsd(used));
    expect(await valuesOf(page, '#balance data')).toEqual([left('20'), '20']);
    expect(await page.locator('#balance').innerText()).toMatch(/ of \$20\.00 left until .*\d$/);
    const bars = [used, '20', left('20'), used, '30', left('30')];
    expect(await valuesOf(page, '.limits data')).toEqual(bars);
    expect(await valuesOf(page, '#figures data')).toContain(balance);
    await context.close();
  });

  it('shows the agreed prices and the allowance of an account that has them, and of no other', async () => {
    const { id: accountId } = await gateway.call('createAccount', {
      name: 'partner',
      prices: '0.5',
      allowance_usd: '1.5',
    });
    const { apiKey } = await gateway.createKey({ balance_usd: undefined, account_id: accountId });
    await sendTraffic(gateway, [apiKey], { count: 1, seed: 4 });
    const of = { headers: { authorization: `Bearer ${apiKey}` } };
    const read = async (path: string) =>
      (await fetch(`${gateway.url}/v1/dashboard/${path}`, of)).json();
    const { allowance } = (await read('account')) as {
      allowance: { left_usd: string; renews_at: string };
    };
    expect(allowance.left_usd).not.toBe('1.5');
    const { page, context, problems } = await openPage(browser, dashboard(gateway));
    await signIn(page, apiKey);
    const figure = '[aria-label="Key"] dl > div:has-text("Left of this month’s allowance")';
    const left = page.locator(figure);
    await eventually(async () => {
      expect(await valuesOf(page, `${figure} data`)).toEqual([allowance.left_usd, '1.5']);
      expect(await left.locator('time').getAttribute('datetime')).toBe(allowance.renews_at);
    });
    await openPart(page, 'prices');
    const prices = page.getByRole('region', { name: 'Prices' });
    await prices.getByText('These prices were agreed for your account.').waitFor();
    await prices.getByText('used first and does not carry over').waitFor();
    // Half of 3 USD per million tokens.
    const row = prices.getByRole('row', { name: 'claude-sonnet-4-6' });
    expect(await row.first().locator('td').first().innerText()).toBe('1.5');
    await openPart(page, 'statement');
    await page.getByText(/^Credit: promotional, monthly allowance \d{4}-\d\d$/).waitFor();
    expect(problems).toEqual([]);
    await context.close();

    const usual = await openPage(browser, dashboard(gateway));
    await signIn(usual.page, other);
    await openPart(usual.page, 'prices');
    await usual.page.getByRole('row', { name: 'claude-sonnet-4-6' }).first().waitFor();
    const text = await usual.page.locator('main').innerText();
    expect(text).not.toMatch(/agreed|allowance|carry over/);
    await usual.context.close();
  });

  it('changes at which shares notices are written, and refuses what is not a share', async () => {
    const { page, context, problems } = await openPage(browser, dashboard(gateway));
    await signIn(page, key);
    await openPart(page, 'notices');
    const card = page.getByRole('region', { name: 'Notices' });
    await card.getByText('none', { exact: true }).waitFor();
    await card.getByRole('button', { name: 'Change' }).click();
    const shares = page.getByLabel('Percent used, separated by commas');
    expect(await shares.inputValue()).toBe('50, 80, 90, 100');
    await shares.fill('80, 101');
    await page.getByRole('button', { name: 'Continue' }).click();
    await eventually(async () => {
      expect(await page.getByRole('alert').innerText()).toContain('from 1 to 100');
    });
    await shares.fill('80 %, 50');
    await page.getByLabel('Mail to').fill('person@customer.example');
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByRole('button', { name: 'Change the notices' }).click();
    await page.getByRole('button', { name: 'Close', exact: true }).click();
    await card.getByText('50 %, 80 %', { exact: true }).waitFor();
    await card.getByText('person@customer.example', { exact: true }).waitFor();
    expect(problems).toEqual([]);
    await context.close();
  });

  // F185: Escape while a new credential is shown: the dialog stays until the person has copied it.
  it('creates a key with a cap, and suspends it after one confirmation', async () => {
    const { page, context, problems } = await openPage(browser, dashboard(gateway));
    await signIn(page, key);
    await openPart(page, 'keys');
    await page.getByRole('button', { name: 'Create a key' }).click();
    await page.getByLabel('Name').fill('intern');
    await page.getByLabel('Cap per day, USD').fill('2.50');
    // The double click must create one key.
    await page.getByRole('button', { name: 'Create the key' }).dblclick();
    const shown = page.getByLabel('the new credential', { exact: true });
    const credential = await shown.innerText();
    // It is shown only once, so no key closes the dialog.
    for (let presses = 0; presses < 3; presses += 1) await page.keyboard.press('Escape');
    expect(await shown.isVisible()).toBe(true);
    const found = await gateway.call('findKey', { api_key: credential });
    expect(found).toMatchObject({ name: 'intern', caps: { day: { cap_usd: '2.5' } } });
    await page.getByRole('button', { name: 'I have copied it' }).click();
    await shown.waitFor({ state: 'detached' });
    const list = await gateway.call('listKeys', { account_id: found.account_id });
    expect(list.data.map(({ name }) => name).sort()).toEqual(['intern', 'lead', 'member']);

    await page.getByRole('button', { name: 'Suspend: intern' }).click();
    await eventually(async () => {
      expect(await page.getByRole('dialog').innerText()).toMatch(/active[^]*suspended/);
    });
    await page.getByRole('button', { name: 'Suspend the key' }).click();
    await page.getByRole('button', { name: 'Close' }).click();
    await page.getByRole('button', { name: 'Resume: intern' }).waitFor();
    expect(await gateway.call('showKey', { key_id: found.id })).toMatchObject({
      state: 'suspended',
    });
    expect(problems).toEqual([]);
    await context.close();
  });

  // F150
  it('shows what the operator set, and offers nothing that only the operator can undo', async () => {
    const { id } = await gateway.call('createAccount', { name: 'bounded', balance_usd: '2' });
    const lead = { name: 'lead', account_id: id, scope: 'manage' } as const;
    const { api_key: manages } = await gateway.call('createKey', lead);
    const member = { name: 'member', account_id: id, cap_day_usd: '2.5' };
    const { id: key_id } = await gateway.call('createKey', member);
    await gateway.call('suspendKey', { key_id });
    const { page, context, problems } = await openPage(browser, dashboard(gateway));
    await signIn(page, manages ?? '');
    await openPart(page, 'keys');
    await page.getByText('by your operator, who can resume it').waitFor();
    expect(await page.getByRole('button', { name: 'Resume: member' }).isDisabled()).toBe(true);
    await page.getByRole('button', { name: 'Caps: member' }).click();
    await page.getByText('Your operator allows at most 2.5 USD per day.').waitFor();
    await page.keyboard.press('Escape');
    // What the person suspended, the person can resume.
    await gateway.call('resumeKey', { key_id });
    await page.reload();
    await page.getByRole('button', { name: 'Suspend: member' }).click();
    await page.getByRole('button', { name: 'Suspend the key' }).click();
    await page.getByRole('button', { name: 'Close' }).click();
    const resume = page.getByRole('button', { name: 'Resume: member' });
    await resume.waitFor();
    expect(await resume.isDisabled()).toBe(false);
    expect(problems).toEqual([]);
    await context.close();
  });

  it('rotates the key of the person, shows the new credential, and goes on with it', async () => {
    const { id } = await gateway.call('createAccount', { name: 'rotating', balance_usd: '2' });
    const given = { name: 'own', account_id: id, scope: 'manage' } as const;
    const { api_key: old } = await gateway.call('createKey', given);
    const { page, context, problems } = await openPage(browser, dashboard(gateway));
    await signIn(page, old ?? '');
    await openPart(page, 'keys');
    await page.getByRole('button', { name: 'Rotate: own' }).click();
    await page.getByLabel('Hours').fill('0');
    await page.getByRole('button', { name: 'Continue' }).click();
    const reloaded = page.waitForResponse('**/v1/dashboard/keys?limit=100');
    await page.getByRole('button', { name: 'Rotate the key' }).click();
    expect((await reloaded).status()).toBe(200);
    const credential = await page.getByLabel('the new credential', { exact: true }).innerText();
    expect(credential).not.toBe(old);
    await page.getByRole('button', { name: 'I have copied it' }).click();
    await page.reload();
    await page.getByRole('button', { name: 'Rotate: own' }).waitFor();
    expect(problems).toEqual([]);
    await context.close();
  });

  it('reloads the keys after a change while they are still loading', async () => {
    const { page, context, problems } = await openPage(browser, dashboard(gateway));
    await signIn(page, key);
    let release = () => {};
    const released = new Promise<void>((resolve) => (release = resolve));
    let lists = 0;
    await page.route('**/v1/dashboard/keys?limit=100', async (route) => {
      lists += 1;
      if (lists === 1) await released;
      await route.continue().catch(() => undefined);
    });
    await page.getByRole('link', { name: 'Keys' }).click();
    await page.getByRole('button', { name: 'Create a key' }).click();
    await page.getByLabel('Name').fill('late');
    await page.getByRole('button', { name: 'Create the key' }).click();
    await page.getByLabel('the new credential', { exact: true }).waitFor();
    await eventually(() => {
      expect(lists).toBe(2);
      return Promise.resolve();
    });
    release();
    await page.getByRole('button', { name: 'I have copied it' }).click();
    await page.getByRole('button', { name: 'Suspend: late' }).waitFor();
    expect(problems).toEqual([]);
    await context.close();
  });

  it('says why it cannot know what the key may see, and tries again', async () => {
    const { page, context, problems } = await openPage(browser, dashboard(gateway));
    await page.route('**/v1/dashboard/account', (route) =>
      route.fulfill({
        status: 503,
        headers: { 'retry-after': '60' },
        json: { error: { message: 'the ledger cannot be reached' } },
      }),
    );
    await page.locator('input[type=password]').fill(key);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await eventually(async () => {
      expect(await page.getByRole('alert').innerText()).toContain('the ledger cannot be reached');
    });
    await page.unroute('**/v1/dashboard/account');
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('link', { name: 'Keys' }).waitFor();
    expect(problems).toEqual([]);
    await context.close();
  });

  // F179
  // F182: credit that expires: the amount and the day are in the card of the balance.
  // F183: several keys, accounts and operators: the page names the key, its account, and
  // `OPERATOR`.
  it('says whose key, account and gateway it is, and until when the shared balance lasts', async () => {
    const { id } = await gateway.call('createAccount', { name: 'Blue team', balance_usd: '1' });
    const created = async (name: string) =>
      (await gateway.call('createKey', { name, account_id: id })).api_key ?? '';
    const [busy, quiet] = [await created('busy'), await created('quiet')];
    const expires_at = new Date(Date.now() + 86_400_000).toISOString();
    await gateway.call('topUpAccount', {
      account_id: id,
      top_up_id: 'gift',
      amount_usd: '1.59',
      source: 'promotional',
      expires_at,
    });
    await sendTraffic(gateway, [busy], { count: 2, seed: 6 });
    await sendTraffic(gateway, [quiet], { count: 1, seed: 7 });
    const ends = new Set<string>();
    for (const [apiKey, name] of [
      [busy, 'busy'],
      [quiet, 'quiet'],
    ] as const) {
      const { page, context, problems } = await openPage(browser, dashboard(gateway));
      await signIn(page, apiKey);
      await page.getByText('shared with other keys').waitFor();
      const text = await page.locator('main').innerText();
      expect(text).toContain(`Key ${name} gw_`);
      expect(text).toContain('of the account Blue team');
      expect(text).toContain('Example Ltd: help@example.com');
      expect(text).toMatch(/\$1\.\d+ expires on/);
      expect(text).toMatch(/about \d+ days, until/);
      const response = await fetch(`${gateway.url}/v1/dashboard/account`, {
        headers: { authorization: `Bearer ${apiKey}` },
      });
      const { lasts_until: end } = (await response.json()) as { lasts_until: string };
      const [shown = ''] = await valuesOf(page, '#figures data');
      // The pace is one of the time until now, so it changes with each look.
      expect(Math.abs(Date.parse(shown) - Date.parse(end))).toBeLessThan(600_000);
      ends.add(end.slice(0, 10));
      expect(problems).toEqual([]);
      await context.close();
    }
    // However little one of them has spent, the balance of both ends on the same day.
    expect(ends.size).toBe(1);
  });

  // F187
  // F177: two presses of a key, or one held down, at a question: nothing is confirmed: the focus is
  // on the heading, and the button works after half a second.
  // F178: revoking a key, or ending its credential at once, while it is in use: its name is typed
  // first.
  it('does not revoke a key by a key press that was not meant, and asks for the name of a key in use', async () => {
    const { id } = await gateway.call('createAccount', { name: 'careful', balance_usd: '5' });
    const created = (name: string, scope: 'use' | 'manage') =>
      gateway.call('createKey', { name, account_id: id, scope });
    const lead = await created('lead', 'manage');
    const used = await created('used', 'use');
    const idle = await created('idle', 'use');
    await sendTraffic(gateway, [used.api_key ?? ''], { count: 1, seed: 8 });
    const stateOf = async (key_id: string) => (await gateway.call('showKey', { key_id })).state;
    const { page, context, problems } = await openPage(browser, dashboard(gateway));
    await page.clock.install();
    await signIn(page, lead.api_key ?? '');
    await openPart(page, 'keys');
    // The key of the person is marked, and nothing is offered for it that is always refused.
    const own = page.locator(`tr[data-key="${lead.id}"]`);
    expect(await own.innerText()).toContain('this key');
    expect(await own.getByRole('button').allInnerTexts()).toEqual(['Rotate']);

    await page.clock.pauseAt(Date.now() + 60_000);
    for (const press of ['Enter', 'Space'] as const) {
      for (const [action, name] of [
        ['Revoke', 'idle'],
        ['Suspend', 'idle'],
      ] as const) {
        await page.getByRole('button', { name: `${action}: ${name}` }).focus();
        await page.keyboard.press(press);
        const confirm = page.getByRole('button', { name: `${action} the key` });
        await confirm.waitFor();
        expect(await page.getByRole('heading', { name: `${action} "` }).evaluate(hasFocus)).toBe(
          true,
        );
        await page.keyboard.press(press);
        // Also with the focus on the button: at once, it is not ready.
        expect(await confirm.isDisabled()).toBe(true);
        await page.clock.runFor(499);
        expect(await confirm.isDisabled()).toBe(true);
        await page.clock.runFor(1);
        expect(await confirm.isEnabled()).toBe(true);
        await confirm.focus();
        // A key that is held down: the browser marks the repeated presses.
        await page.keyboard.down('Shift');
        await page.keyboard.up('Shift');
        await confirm.evaluate((button) => {
          const held = { key: 'Enter', repeat: true, bubbles: true, cancelable: true };
          if (button.dispatchEvent(new KeyboardEvent('keydown', held)))
            (button as HTMLElement).click();
        });
        await page.keyboard.press('Escape');
        await page.getByRole('dialog').waitFor({ state: 'detached' });
        expect(await stateOf(idle.id)).toBe('active');
      }
    }

    await page.getByRole('button', { name: 'Revoke: used' }).click();
    const confirm = page.getByRole('button', { name: 'Revoke the key' });
    await page.clock.runFor(500);
    expect(await confirm.isDisabled()).toBe(true);
    await page.getByLabel('Type "used" to confirm').fill('use');
    expect(await confirm.isDisabled()).toBe(true);
    await page.getByLabel('Type "used" to confirm').fill('used');
    await confirm.click();
    await page.getByText('is now revoked').waitFor();
    expect(await stateOf(used.id)).toBe('revoked');
    expect(problems).toEqual([]);
    await context.close();
  });

  // F184: figures that grow old: loaded again every 15 s and on focus; open rows, typed text and
  // the focus stay.
  // F337: what no note speaks of could not be loaded once, such as the models that a filter offers:
  // it is loaded again when the gateway allows it.
  it('loads new figures by itself, says how old they are, and disturbs nothing', async () => {
    const { id } = await gateway.call('createAccount', { name: 'watching', balance_usd: '5' });
    const { api_key: apiKey } = await gateway.call('createKey', { name: 'own', account_id: id });
    await sendTraffic(gateway, [apiKey ?? ''], { count: 2, seed: 9 });
    const { page, context, problems } = await openPage(browser, dashboard(gateway));
    await page.clock.install();
    await signIn(page, apiKey ?? '');
    await page.route(
      '**/v1/dashboard/prices',
      (route) => route.fulfill({ status: 503, headers: { 'retry-after': '1' }, json: {} }),
      { times: 1 },
    );
    await openPart(page, 'ledger');
    await page
      .getByRole('button', { name: /^Open charge/ })
      .first()
      .click();
    await page.getByLabel('Model').fill('half a wo');
    await page.getByText('Updated just now').waitFor();
    await page.clock.runFor(10_000);
    await page.getByText('Updated 10 s ago').waitFor();
    const [before] = await valuesOf(page, '#balance data');
    await gateway.call('topUpAccount', { account_id: id, top_up_id: 'more', amount_usd: '2' });
    await page.clock.runFor(6_000);
    await eventually(async () => {
      expect((await valuesOf(page, '#balance data'))[0]).toBe(
        formatUsd(parseUsd(before ?? '0') + parseUsd('2')),
      );
    });
    await eventually(async () => {
      expect(await page.locator('tr[data-entry]').count()).toBe(4);
    });
    expect(await page.getByLabel('Model').inputValue()).toBe('half a wo');
    expect(await page.getByLabel('Model').evaluate(hasFocus)).toBe(true);
    expect(await page.locator('tr.detail').count()).toBe(1);
    // When the person comes back, and nobody has waited for 15 seconds.
    await gateway.call('topUpAccount', { account_id: id, top_up_id: 'again', amount_usd: '1' });
    await page.clock.runFor(6_000);
    await page.evaluate(() => dispatchEvent(new Event('focus')));
    await eventually(async () => {
      expect((await valuesOf(page, '#balance data'))[0]).toBe(
        formatUsd(parseUsd(before ?? '0') + parseUsd('3')),
      );
    });
    await eventually(async () => {
      expect(await page.locator('datalist option').count()).toBeGreaterThan(1);
    });
    expect(problems).toEqual([]);
    await context.close();
  });

  it('works if the browser blocks the storage of the tab', async () => {
    const { page, context, problems } = await openPage(browser, dashboard(gateway));
    await context.addInitScript(() => {
      Object.defineProperty(window, 'sessionStorage', {
        get() {
          throw new DOMException('blocked', 'SecurityError');
        },
      });
    });
    await page.reload();
    await signIn(page, key);
    await page.locator('#balance').waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('API key').waitFor();
    expect(problems).toEqual([]);
    await context.close();
  });

  it('filters the ledger when the form is submitted, and says which charges are archived', async () => {
    const { page, context, problems } = await openPage(browser, dashboard(gateway));
    await stopRefreshing(page);
    await signIn(page, key);
    const queries: string[] = [];
    await page.route('**/v1/dashboard/usage?*', async (route) => {
      queries.push(new URL(route.request().url()).searchParams.get('from') ?? '');
      const response = await route.fetch();
      const answer = (await response.json()) as object;
      const archived_until = '2026-01-01T00:00:00.000Z';
      await route.fulfill({ response, json: { ...answer, archived_until } });
    });
    await openPart(page, 'ledger');
    await page.getByText('are in an archive').waitFor();
    await page.getByLabel('First day').focus();
    await page.keyboard.type('11222020');
    expect(await page.getByLabel('First day').inputValue()).toBe('2020-11-22');
    await page.keyboard.press('Enter');
    await page.waitForURL('**from=2020-11-22**');
    await loaded(page);
    expect(queries).toEqual(['', '2020-11-22']);
    await page.goBack();
    await eventually(async () => {
      expect(await page.getByLabel('First day').inputValue()).toBe('');
    });
    await page.unrouteAll({ behavior: 'wait' });
    expect(problems).toEqual([]);
    await context.close();
  });

  // F330: the measure is changed, and the days before the browser has told the page of that: the
  // page keeps both changes, not only the second.
  it('keeps the measure and the focus when the days of the plot change', async () => {
    const { page, context, problems } = await openPage(browser, dashboard(gateway));
    await signIn(page, key);
    await openPart(page, 'usage');
    await page.getByRole('button', { name: '30 days', pressed: true }).waitFor();
    await page.evaluate(() => {
      for (const name of ['Tokens', '90 days']) {
        const buttons = [...document.querySelectorAll('button')];
        buttons.find(({ textContent }) => textContent === name)!.click();
      }
    });
    for (const name of ['Tokens', '90 days']) {
      await page.getByRole('button', { name, pressed: true }).waitFor();
    }
    const days = page.getByRole('button', { name: '7 days', exact: true });
    await days.focus();
    await page.keyboard.press('Enter');
    await page.locator('figure').waitFor();
    await page.getByRole('button', { name: 'Tokens', pressed: true }).waitFor();
    expect(await days.evaluate(hasFocus)).toBe(true);
    expect(problems).toEqual([]);
    await context.close();
  });

  it('shares a read-only link that shows the figures, but no keys to manage', async () => {
    const { page, context, problems } = await openPage(browser, dashboard(gateway));
    await signIn(page, key);
    await page.getByRole('button', { name: 'Share a read-only link' }).click();
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByRole('button', { name: 'Make the link' }).click();
    const link = await page.getByLabel('the read-only link', { exact: true }).innerText();
    await page.keyboard.press('Escape');
    expect(await page.getByRole('button', { name: 'I have copied it' }).isVisible()).toBe(true);
    const [own] = await valuesOf(page, '#balance data');
    await context.close();
    // The link is opened in a tab that shows the data of another person.
    const reader = await openPage(browser, dashboard(gateway));
    await signIn(reader.page, other);
    await reader.page.goto(link);
    await reader.page.getByText('You opened a read-only link').waitFor();
    await reader.page.locator('#balance').waitFor();
    await eventually(async () => {
      expect(await valuesOf(reader.page, '#balance data')).toEqual([own]);
    });
    expect(reader.page.url()).not.toContain('gl_');
    await reader.page.reload();
    await reader.page.getByText('You opened a read-only link').waitFor();
    expect(await reader.page.getByRole('link', { name: 'Keys' }).count()).toBe(0);
    for (const part of ['ledger', 'statement', 'prices', 'connect', 'usage']) {
      await openPart(reader.page, part);
      await eventually(async () => {
        expect(await reader.page.getByRole('alert').count()).toBe(0);
      });
    }
    expect([...problems, ...reader.problems]).toEqual([]);
    await reader.context.close();
  });

  // F148: `#link=` with an API key in the address of the page: refused with a message, and removed
  // from the address; nobody is signed in.
  it('refuses a key in the address of a link, and signs nobody in with it', async () => {
    for (const token of [other, 'gw_short', 'x', 'gl', '<b>%']) {
      // In a tab that shows the data of another person, and in a new one.
      const { page, context, problems } = await openPage(browser, dashboard(gateway));
      await signIn(page, key);
      await page.goto(`${dashboard(gateway)}#link=${token}`);
      const fresh = await openPage(browser, `${dashboard(gateway)}#link=${token}`);
      for (const shown of [page, fresh.page]) {
        await shown.getByText('is not a read-only link').waitFor();
        await shown.getByLabel('API key').waitFor();
        expect(await shown.locator('#balance').count()).toBe(0);
        expect(new URL(shown.url()).hash).toBe('');
      }
      expect([...problems, ...fresh.problems]).toEqual([]);
      await context.close();
      await fresh.context.close();
    }
  });

  it('links to the address where the operator sells credit', async () => {
    const { page, context, problems } = await openPage(browser, dashboard(gateway));
    await signIn(page, key);
    const link = page.getByRole('link', { name: 'Top up' });
    await eventually(async () => {
      expect(await link.getAttribute('href')).toBe('https://shop.example.com/credit?from=page');
    });
    // Payments are not configured.
    expect(await page.getByRole('button', { name: 'Top up' }).count()).toBe(0);
    await openPart(page, 'statement');
    await page.getByRole('link', { name: 'Prices' }).waitFor();
    expect(await page.getByRole('link', { name: 'Payments' }).count()).toBe(0);
    expect(problems).toEqual([]);
    await context.close();
  });

  it('saves the statement that the endpoint sends as CSV', async () => {
    const { page, context, problems } = await openPage(browser, dashboard(gateway));
    await signIn(page, key);
    await openPart(page, 'statement');
    const waiting = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Save as CSV' }).click();
    const saved = readFileSync(await (await waiting).path(), 'utf8');
    const month = new Date().toISOString().slice(0, 7);
    const sent = await fetch(`${gateway.url}/v1/dashboard/statement?month=${month}&format=csv`, {
      headers: { authorization: `Bearer ${key}` },
    });
    expect(saved).toBe(await sent.text());
    expect(problems).toEqual([]);
    await context.close();
  });

  it('keeps the focus in a dialog that was opened by keyboard, and gives it back', async () => {
    const { page, context } = await openPage(browser, dashboard(gateway));
    await page.getByLabel('API key').focus();
    await page.keyboard.type(key);
    await page.keyboard.press('Enter');
    await page.getByRole('navigation').waitFor();
    await page.getByRole('link', { name: 'Keys' }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Caps: member' }).focus();
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog');
    await dialog.waitFor();
    expect(await page.getByLabel('Cap per day, USD').evaluate(hasFocus)).toBe(true);
    for (let presses = 0; presses < 12; presses += 1) {
      await page.keyboard.press('Tab');
      const isInside = await page.evaluate(
        () =>
          document.activeElement === document.body ||
          document.activeElement?.closest('dialog') != null,
      );
      expect(isInside).toBe(true);
    }
    await page.getByLabel('Cap per day, USD').fill('7');
    await page.keyboard.press('Enter');
    // The next stage of the dialog lacks the field that had the focus, so the heading gets it.
    await page.getByRole('button', { name: 'Change the caps' }).waitFor();
    expect(await dialog.getByRole('heading', { level: 2 }).evaluate(hasFocus)).toBe(true);
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    await eventually(async () => {
      expect(await page.locator(':focus').getAttribute('aria-label')).toBe('Caps: member');
    });
    await context.close();
  });

  it.each(LOOKS)('passes axe and fits the window at $width px in $theme', async (look) => {
    const watched = await openPage(browser, dashboard(gateway), look);
    const { page, context, problems } = watched;
    await checkScreen(watched, 'sign-in');
    await signIn(page, key);
    const screens = await eachScreen(page, (screen) => checkScreen(watched, screen));
    expect(screens).toContain('notices');
    await openPart(page, 'keys');
    await page.getByRole('button', { name: 'Caps: member' }).click();
    await checkScreen(watched, 'a dialog');
    expect(problems).toEqual([]);
    await context.close();
  });

  // F291
  it('is used by keyboard alone, on each screen and in each dialog', async () => {
    const watched = await openPage(browser, dashboard(gateway));
    const { page, context, problems } = watched;
    await signIn(page, key);
    const dialogs: string[] = [];
    await eachScreen(page, async (screen) => {
      expect({ screen, problems: await tabThrough(page) }).toEqual({ screen, problems: [] });
      const opened = await eachDialog(page, (name) => checkScreen(watched, `${screen}: ${name}`));
      dialogs.push(...opened);
    });
    expect(dialogs).toEqual(expect.arrayContaining(['Redeem a code', 'Caps', 'Create a key']));
    expect(problems).toEqual([]);
    await context.close();
  });
});
