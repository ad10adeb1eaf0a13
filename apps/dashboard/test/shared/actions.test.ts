/** Actions on several things at once, and what tables do, in a browser against the gateway. */

import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import type { TestGateway } from '../../../gateway/test/support/gateway.js';
import { eventually } from '../../../gateway/test/support/until.js';
import {
  axeFindings,
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
import { ADMIN_TOKEN, sendTraffic, startPages } from '../support/traffic.js';

const FORMULA = '=HYPERLINK("https://evil.test";"name")';

let browser: Browser;
let gateway: TestGateway;
let cookie: string;
let accountId: string;
let lead: string;
beforeAll(async () => {
  browser = await openBrowser();
  gateway = await startPages();
  cookie = await consoleCookie(`${gateway.adminUrl}/console/`, ADMIN_TOKEN);
  const created = await gateway.call('createKey', {
    name: 'lead',
    account_name: 'Blue team',
    balance_usd: '20',
    scope: 'manage',
  });
  accountId = created.account_id;
  lead = created.api_key ?? '';
  for (const name of ['one', 'two', 'three']) {
    await gateway.call('createKey', { name, account_id: accountId });
  }
  await gateway.call('createAccount', { name: FORMULA, balance_usd: '0.00001' });
  await sendTraffic(gateway, [lead], { count: 3, seed: 11 });
});
afterAll(async () => {
  await browser.close();
  await gateway.stop();
});

const open = () => openConsole(browser, `${gateway.adminUrl}/console/`, cookie);

const stateOf = async (name: string) => {
  const { data } = await gateway.call('listKeys', { account_id: accountId });
  return data.find((key) => key.name === name)?.state;
};

describe('an account, its first credit and its first key', () => {
  // F259: the answer to the form for account, credit and key is lost, and it is sent again: one
  // account, one key, one credit.
  it('are made by one form, once', async () => {
    const { page, context, problems } = await open();
    await openPart(page, 'accounts');
    await page.getByRole('button', { name: 'Create an account' }).click();
    await page.getByLabel('Name', { exact: true }).fill('Colleague');
    await page.getByLabel('First credit, USD').fill('7.5');
    await page.getByLabel('Reason').selectOption('promotional');
    await page.getByLabel('Name of its first key').fill('laptop');
    await page.getByLabel('Cap per month, USD').fill('5');
    await page.getByRole('button', { name: 'Continue' }).click();
    let attempts = 0;
    await page.route('**/admin/keys', async (route) => {
      attempts += 1;
      const answer = await route.fetch();
      expect(answer.status()).toBe(200);
      await (attempts === 1 ? route.abort() : route.fulfill({ response: answer }));
    });
    const confirm = page.getByRole('button', { name: 'Create the account and the key' });
    await confirm.click();
    await page.getByRole('alert').waitFor();
    await confirm.click();
    await page.getByText('This request was carried out before').waitFor();
    const { data } = await gateway.call('listAccounts', { name: 'Colleague' });
    expect(data).toMatchObject([{ balance_usd: '7.5', usable_keys: 1 }]);
    const keys = await gateway.call('listKeys', { account_id: data[0]?.id });
    expect(keys.data).toMatchObject([{ name: 'laptop', caps: { month: { cap_usd: '5' } } }]);
    expect(problems).toEqual([]);
    await context.close();
  });

  // F336: Escape while a change is being sent: the dialog stays, and shows the credential that is
  // shown only once.
  it('shows the credential until it is copied', async () => {
    const { page, context, problems } = await open();
    await openPart(page, 'accounts');
    await page.getByRole('button', { name: 'Create an account' }).click();
    await page.getByLabel('Name', { exact: true }).fill('Without credit');
    await page.getByLabel('Name of its first key').fill('phone');
    let answer = () => {};
    const answered = new Promise<void>((resolve) => (answer = resolve));
    await page.route('**/admin/keys', async (route) => {
      const response = await route.fetch();
      await answered;
      await route.fulfill({ response });
    });
    // Nothing costs anything, so nothing is asked.
    await page.getByRole('button', { name: 'Create the account and the key' }).click();
    await page.getByText('Sending…').waitFor();
    for (let presses = 0; presses < 2; presses += 1) await page.keyboard.press('Escape');
    expect(await page.getByRole('dialog').isVisible()).toBe(true);
    answer();
    const shown = page.getByLabel('the new credential', { exact: true });
    const credential = await shown.innerText();
    await page.keyboard.press('Escape');
    await page.keyboard.press('Escape');
    expect(await shown.isVisible()).toBe(true);
    expect(await gateway.call('findKey', { api_key: credential })).toMatchObject({ name: 'phone' });
    await page.getByRole('button', { name: 'I have copied it' }).click();
    await page.getByRole('link', { name: 'Without credit' }).waitFor();
    expect(problems).toEqual([]);
    await context.close();
  });
});

describe('several keys', () => {
  // F260: one of several keys cannot be changed: the others are, and it is named.
  it('are suspended and resumed together, and the one that failed is named', async () => {
    const { page, context, problems } = await open();
    // The page must not see the key that is revoked below.
    await stopRefreshing(page);
    await openPart(page, `accounts/${accountId}`);
    for (const name of ['one', 'two']) await page.getByLabel(`Choose ${name}`).check();
    await page.getByRole('button', { name: 'Suspend 2 keys' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Suspend 2 keys' }).click();
    await page.getByText('2 keys: now suspended').waitFor();
    expect(await Promise.all(['one', 'two', 'three'].map(stateOf))).toEqual([
      'suspended',
      'suspended',
      'active',
    ]);
    await page.getByRole('button', { name: 'Close' }).click();

    await page.getByLabel('Choose all of the keys').check();
    const ids = (await gateway.call('listKeys', { account_id: accountId })).data;
    await gateway.call('revokeKey', { key_id: ids.find(({ name }) => name === 'one')?.id ?? '' });
    await page.getByRole('button', { name: 'Resume 2 keys' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Resume 2 keys' }).click();
    await page.getByText('1 key: now active').waitFor();
    expect(await page.getByRole('alert').innerText()).toMatch(/^one: Not possible/);
    expect(await Promise.all(['one', 'two'].map(stateOf))).toEqual(['revoked', 'active']);
    expect(problems).toEqual([]);
    await context.close();
  });

  it('are revoked by a customer only after their number is typed, and never the own key', async () => {
    const { page, context, problems } = await openPage(browser, `${gateway.url}/dashboard/`);
    const used = await gateway.call('createKey', { name: 'used', account_id: accountId });
    await sendTraffic(gateway, [used.api_key ?? ''], { count: 1, seed: 3 });
    await signIn(page, lead);
    await openPart(page, 'keys');
    expect(await page.getByLabel('Choose lead').count()).toBe(0);
    await page.getByLabel('Choose three').check();
    await page.getByLabel('Choose used').check();
    await page.getByRole('button', { name: 'Revoke 2 keys' }).click();
    const confirm = page.getByRole('dialog').getByRole('button', { name: 'Revoke 2 keys' });
    expect(await confirm.isDisabled()).toBe(true);
    await page.getByLabel('Type "2 keys" to confirm').fill('2 keys');
    await confirm.click();
    await page.getByText('2 keys: now revoked').waitFor();
    expect(await Promise.all(['three', 'used', 'lead'].map(stateOf))).toEqual([
      'revoked',
      'revoked',
      'active',
    ]);
    expect(problems).toEqual([]);
    await context.close();
  });
});

describe('a table', () => {
  it('names accounts and keys, and is filtered by a part of a name', async () => {
    const { page, context, problems } = await open();
    await openPart(page, 'ledger?kind=charge');
    await page.getByRole('link', { name: 'Blue team' }).first().waitFor();
    // Names come after the rows, each from an answer of its own.
    await page.waitForFunction(
      () => !/(?:acct|key)_/.test(document.querySelector('main')!.innerText),
    );
    expect(await page.locator('tr[data-entry]').first().innerText()).toMatch(/Blue team\s+\w+/);
    await page.getByLabel('Account').fill('blue');
    await page.getByRole('button', { name: 'Filter' }).click();
    await page.waitForFunction((id) => location.hash.includes(id), `account_id=${accountId}`);
    const field = await page.getByLabel('Account').elementHandle();
    await page.waitForFunction((input) => (input as HTMLInputElement).value === 'Blue team', field);
    expect(problems).toEqual([]);
    await context.close();
  });

  // F343: an order by a column of the gateway after one by a column of the page, or the first order
  // again on a phone: each is in force once it is chosen.
  it('is sorted by each column, exactly, and gives the order back', async () => {
    const { page, context, problems } = await open();
    await openPart(page, 'ledger');
    const amounts = () => valuesOf(page, 'td[data-label="Amount"] data');
    const sent = await amounts();
    const header = page.getByRole('columnheader').getByRole('button', { name: 'Amount' });
    await header.click();
    const falling = await amounts();
    expect(falling.at(0)).toBe('20');
    expect([...falling].sort((a, b) => Number(b) - Number(a))).toEqual(falling);
    expect(await page.locator('th[aria-sort=descending]').innerText()).toContain('Amount');
    await header.click();
    expect(await amounts()).toEqual(falling.toReversed());
    await header.click();
    expect(await amounts()).toEqual(sent);
    const width = page.viewportSize()!;
    await page.setViewportSize({ ...width, width: 390 });
    await page.getByLabel('Sorted by').selectOption('Amount');
    expect(await amounts()).toEqual(falling);
    await page.getByLabel('Sorted by').selectOption('the newest');
    expect(await amounts()).toEqual(sent);
    await page.setViewportSize(width);

    await openPart(page, 'accounts');
    const sortBy = async (label: string) => {
      await page.getByRole('columnheader').getByRole('button', { name: label }).click();
      await loaded(page);
      return page.locator('th[aria-sort]').allInnerTexts();
    };
    expect(await sortBy('Failed')).toEqual(['Failed ↓']);
    expect(await sortBy('Balance')).toEqual(['Balance ↑']);
    const balances = await valuesOf(page, 'td[data-label="Balance"] data');
    expect([...balances].sort((a, b) => Number(a) - Number(b))).toEqual(balances);
    expect(balances.length).toBeGreaterThan(2);
    expect(problems).toEqual([]);
    await context.close();
  });

  it('aligns the decimals of a column', async () => {
    const { page, context } = await open();
    await openPart(page, 'ledger');
    for (const isExact of [false, true]) {
      await page.getByLabel('Every digit').setChecked(isExact);
      const texts = await page.locator('td[data-label="Amount"]').allInnerTexts();
      expect(texts.length).toBeGreaterThan(4);
      expect(new Set(texts.map((text) => text.split('.')[1]?.length)).size).toBe(1);
    }
    await context.close();
  });

  // F261: a name that is a formula, in a file of a table that the page itself writes.
  it('is saved as CSV as it is shown, without formulas', async () => {
    const { page, context, problems } = await open();
    await openPart(page, 'accounts?order=balance');
    const waiting = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Save as CSV' }).click();
    const lines = readFileSync(await (await waiting).path(), 'utf8').split('\r\n');
    expect(lines[0]).toBe(
      'Account,Balance,Days left,30 days,Revenue,Margin,Failed,Spent,Usable keys,Last charge,Created',
    );
    const shown = await page
      .locator('tr[data-account]')
      .evaluateAll((rows) => rows.map((row) => row.querySelector('data')?.value ?? ''));
    expect(lines.slice(1, -1).map((line) => line.split(',').at(-10))).toEqual(shown);
    const row = lines.find((line) => line.includes('HYPERLINK')) ?? '';
    expect(row).toMatch(/^"'=HYPERLINK\(""https:\/\/evil\.test""；""name""\)",0\.00001,/);
    expect(problems).toEqual([]);
    await context.close();
  });

  // F473
  it('is saved as CSV with the rows that are not loaded yet', async () => {
    const { page, context, problems } = await open();
    await page.route('**/admin/trail?*', (route) =>
      route.continue({
        url: route
          .request()
          .url()
          .replace(/limit=\d+/, 'limit=2'),
      }),
    );
    await openPart(page, 'trail');
    await page.getByRole('button', { name: 'Load more' }).waitFor();
    const waiting = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Save as CSV' }).click();
    const lines = readFileSync(await (await waiting).path(), 'utf8')
      .trimEnd()
      .split('\r\n');
    const { data } = await gateway.call('listTrail', { limit: 1_000 });
    expect(data.length).toBeGreaterThan(4);
    expect(lines).toHaveLength(1 + data.length);
    await page.unrouteAll({ behavior: 'wait' });
    expect(problems).toEqual([]);
    await context.close();
  });

  // F262: a list of thousands of rows: what is near the window is drawn, and an open row stays.
  it('draws only the rows near the window, and keeps open ones', async () => {
    const { page, context, problems } = await open();
    await serveManyEntries(page);
    await openPart(page, 'ledger');
    await page.getByRole('button', { name: 'Load more' }).click();
    await loaded(page);
    const drawn = () => page.locator('tr[data-entry]').count();
    expect(
      await page.getByRole('table', { name: 'the ledger' }).getAttribute('aria-rowcount'),
    ).toBe('10001');
    expect(await drawn()).toBeLessThan(400);
    await page.getByRole('button', { name: 'Open entry entry-3acct_1' }).click();
    await page.evaluate(() => {
      scrollTo(0, document.body.scrollHeight);
    });
    await page.locator('tr[data-entry="entry-9999acct_1"]').waitFor();
    await eventually(async () => {
      expect(await drawn()).toBeLessThan(400);
    });
    // The first block has an open row, and the second one nothing.
    expect(await page.locator('tr.detail').count()).toBe(1);
    expect(await page.locator('tr[data-entry="entry-70acct_1"]').count()).toBe(0);
    expect(problems).toEqual([]);
    await context.close();
  });

  // F341: new rows come while one is open: it stays open wherever it moves to, and the list waits
  // for it before it would leave.
  it('keeps a row open that new rows move, or would replace', async () => {
    const { page, context, problems } = await open();
    await page.clock.install();
    await page.reload();
    let first = 50;
    await serveEntries(page, () => ({ ids: [first, first - 49], next: null }));
    await openPart(page, 'ledger');
    await page.getByRole('button', { name: 'Open entry entry-26acct_1' }).click();
    const refreshed = async (newest: number) => {
      first = newest;
      const answered = page.waitForResponse('**/admin/ledger?*');
      await page.clock.runFor(16_000);
      await answered;
      return page.locator(`tr[data-entry="entry-${String(newest)}acct_1"]`);
    };
    await (await refreshed(51)).waitFor();
    const close = page.getByRole('button', { name: 'Close entry entry-26acct_1' });
    expect(await close.count()).toBe(1);
    const leaving = await refreshed(90);
    await loaded(page);
    expect([await leaving.count(), await close.count()]).toEqual([0, 1]);
    await close.click();
    await (await refreshed(91)).waitFor();
    expect(problems).toEqual([]);
    await context.close();
  });
});

describe('the search', () => {
  // F344: an account and its keys are found, which lead to the same place: each has an id of its
  // own.
  it('finds accounts, keys, requests and parts of the console by keyboard alone', async () => {
    const { page, context, problems } = await open();
    const { data } = await gateway.call('listLedger', { kind: 'charge', limit: 1 });
    await gateway.call('createKey', { name: 'blue key', account_id: accountId });
    const search = async (text: string, found: RegExp) => {
      await page.keyboard.press('Control+k');
      await page.keyboard.type(text);
      await page.getByRole('option', { name: found, selected: true }).waitFor();
      // A screen reader finds the chosen one by its id.
      const ids = await page
        .locator('dialog [role=option]')
        .evaluateAll((options) => options.map(({ id: of }) => of));
      expect(new Set(ids).size).toBe(ids.length);
      await page.keyboard.press('Enter');
      await page.getByRole('dialog').waitFor({ state: 'detached' });
      await loaded(page);
      return page.evaluate(() => location.hash);
    };
    expect(await search('blue', /Account Blue team/)).toBe(`#/accounts/${accountId}`);
    expect(await search('lead', /Key lead gw_\S+ of Blue team/)).toBe(`#/accounts/${accountId}`);
    const id = data[0]?.id ?? '';
    expect(await search(id, /Request req_\w+ 200/)).toBe(`#/requests?id=${id}`);
    expect(await page.locator('tr[data-request]').count()).toBe(1);
    expect(await search('trai', /Part Trail/)).toBe('#/trail');
    // `/` is a character in a field, and opens the search elsewhere.
    await page.getByLabel('Account').fill('');
    await page.keyboard.type('/');
    expect(await page.getByRole('dialog').count()).toBe(0);
    await page.getByRole('heading', { name: 'Trail' }).click();
    await page.keyboard.press('/');
    await page.getByRole('dialog').getByRole('combobox').waitFor();
    expect(await axeFindings({ page, context, problems })).toEqual([]);
    expect(problems).toEqual([]);
    await context.close();
  });

  // F292: an amount that is typed into the search, or stands in the address of an account: nothing
  // is booked before the question is answered, and a reload does not ask it again.
  it('leads to the question of an action, which changes nothing by itself', async () => {
    const { page, context, problems } = await open();
    const balance = async () =>
      (await gateway.call('showAccount', { account_id: accountId })).balance_usd;
    const before = await balance();
    await page.keyboard.press('Control+k');
    await page.keyboard.type('paid out 5 blue');
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Take back 5 USD' }).waitFor();
    expect((await valuesOf(page, 'dialog data'))[0]).toBe(before);
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    expect(await page.evaluate(() => location.hash)).toBe(`#/accounts/${accountId}`);
    await page.getByRole('button', { name: 'Take back' }).click();
    expect(await page.getByLabel('Amount, USD').inputValue()).toBe('');
    expect(await balance()).toBe(before);
    expect(problems).toEqual([]);
    await context.close();
  });

  // F437: "refund 5 blue" took 5 USD away, and "give 2 blue" was booked as paid: a form that an
  // amount leads to has no reason, and the first answer to "refund" raises the balance.
  it.each([
    ['refund 5 blue', 'Give back 5 USD'],
    ['give back 5 blue', 'Give back 5 USD'],
    ['give 5 blue', 'Give 5 USD'],
  ])('never takes back for "%s", and presumes no reason', async (typed, first) => {
    const { page, context, problems } = await open();
    await page.keyboard.press('Control+k');
    await page.keyboard.type(typed);
    const found = page.getByRole('option');
    await eventually(async () => {
      expect(await found.first().innerText()).toContain(first);
    });
    expect(await found.first().innerText()).toContain('the balance rises');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Give credit to' }).waitFor();
    expect(await page.getByLabel('Amount, USD').inputValue()).toBe('5');
    expect(await page.getByLabel('Reason').inputValue()).toBe('');
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByText('Reason: choose one.').waitFor();
    expect(problems).toEqual([]);
    await context.close();
  });

  // F263: a credential in the search: the console asks for it in a body, as ever; the customer's
  // page sends it nowhere. No address has it.
  it('sends a pasted credential nowhere but to the endpoint that finds it', async () => {
    const { data } = await gateway.call('listKeys', { account_id: accountId });
    const { hint } = data.find(({ name }) => name === 'lead') ?? { hint: '' };
    const operator = await open();
    const customer = await openPage(browser, `${gateway.url}/dashboard/`);
    await signIn(customer.page, lead);
    await loaded(customer.page);
    for (const [{ page, context, problems }, expected] of [
      [operator, ['/admin/keys/find']],
      [customer, []],
    ] as const) {
      const sent: string[] = [];
      page.on('request', (request) => {
        const isSent = request.url().includes(lead) || request.postData()?.includes(lead) === true;
        if (isSent) sent.push(new URL(request.url()).pathname);
        expect(request.url()).not.toContain(lead);
      });
      await page.keyboard.press('Control+k');
      await page.getByRole('combobox', { name: 'Search' }).fill(lead);
      await page.getByRole('option', { name: `Key lead ${hint}` }).waitFor();
      expect(sent).toEqual(expected);
      // That of another provider, and the token of a link, are no names either.
      const asked: string[] = [];
      page.on('request', (request) => asked.push(request.url()));
      await page
        .getByRole('combobox', { name: 'Search' })
        .fill('sk-ant-api03-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa');
      await page.getByText('Nothing found.').waitFor();
      expect(asked.filter((url) => url.includes('sk-ant'))).toEqual([]);
      expect(await page.evaluate(() => location.href)).not.toContain(lead);
      expect(problems).toEqual([]);
      await context.close();
    }
  });
});

describe('the settings for clients', () => {
  // F264: a test request from the page: charged once, shown with its charge, and the key is kept
  // nowhere.
  it('have the key for each client, and a test request shows its charge and leads to it', async () => {
    const { page, context, problems } = await openPage(browser, `${gateway.url}/dashboard/`);
    await signIn(page, lead);
    await openPart(page, 'connect');
    await page.getByRole('button', { name: 'My key' }).click();
    const choices = page.getByRole('group', { name: 'Client' }).getByRole('button');
    const clients = await choices.allInnerTexts();
    expect(clients.slice(0, 5)).toEqual(['Claude Code', 'Codex', 'opencode', 'Cline', 'aider']);
    for (const choice of await choices.all()) {
      await choice.click();
      expect(await page.locator('main pre').allInnerTexts()).toContainEqual(
        expect.stringContaining(lead),
      );
    }
    await page.getByRole('button', { name: 'Send a test request' }).click();
    await page.getByText('It works.').waitFor();
    await page.locator('table.lines tfoot data').waitFor();
    const { data } = await gateway.call('listLedger', { kind: 'charge', limit: 1 });
    expect(await valuesOf(page, 'table.lines tfoot data')).toEqual([
      data[0]?.amount_usd.replace('-', ''),
    ]);
    expect(await page.getByRole('link', { name: 'Show the request' }).getAttribute('href')).toBe(
      `#/requests?id=${data[0]?.id ?? ''}`,
    );
    expect(
      await page.evaluate(() => JSON.stringify({ ...localStorage, ...sessionStorage })),
    ).not.toContain(lead);
    expect(problems).toEqual([]);
    await context.close();
  });
});

/** Answers a ledger of 10,000 entries in two pages. */
function serveManyEntries(page: Page): Promise<void> {
  return serveEntries(page, (isSecond) =>
    isSecond ? { ids: [50, 9_999], next: null } : { ids: [0, 49], next: 'next' },
  );
}

/** Answers the ledger with entries whose numbers are from the first to the second one. */
async function serveEntries(
  page: Page,
  pageOf: (isSecond: boolean) => {
    readonly ids: readonly [from: number, to: number];
    readonly next: string | null;
  },
): Promise<void> {
  const { data } = await gateway.call('listLedger', { kind: 'top_up', limit: 1 });
  await page.route('**/admin/ledger?*', (route) => {
    const { ids, next } = pageOf(route.request().url().includes('cursor='));
    const [from, to] = ids;
    const entries = Array.from({ length: Math.abs(to - from) + 1 }, (_, index) => {
      const number = String(from + Math.sign(to - from) * index);
      return { ...data[0], id: `entry-${number}`, account_id: 'acct_1', amount_usd: number };
    });
    return route.fulfill({
      json: { object: 'list', data: entries, has_more: next !== null, next_cursor: next },
    });
  });
}
