/** Members, groups and budgets on the customer's page and on the console. */

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { parseUsd } from '@gateway/billing';
import { settlement } from '@gateway/balance-store/testing';
import type { Browser, Page } from 'playwright-core';
import type { TestGateway } from '../../../gateway/test/support/gateway.js';
import { createLaboratory } from '../../../gateway/test/support/laboratory.js';
import type { Laboratory, Student } from '../../../gateway/test/support/laboratory.js';
import { untilSteady } from '../../../gateway/test/support/steady-time.js';
import {
  LOOKS,
  consoleCookie,
  loaded,
  openBrowser,
  openConsole,
  openPage,
  openPart,
  signIn,
  valuesOf,
} from '../support/browser.js';
import { checkScreen, eachDialog, tabThrough } from '../support/screens.js';
import { ADMIN_TOKEN, READ_TOKEN, startPages } from '../support/traffic.js';

const MARKUP = '<img src=x onerror="document.title=\'owned\'">';

let browser: Browser;
let gateway: TestGateway;
/** With budgets of the operator. */
let lab: Laboratory;
let ada: Student;
let lead: Student;
beforeAll(async () => {
  await untilSteady('day');
  browser = await openBrowser();
  gateway = await startPages();
  lab = await createLaboratory(gateway);
  lead = await lab.student('Lead', { scope: 'manage' });
  ada = await lab.student('Ada');
  await ada.spend(tokensFor('16.8'));
  const { courseId: parent_id, accountId: account_id } = lab;
  await gateway.call('createGroup', { account_id, name: `Tutorial ${MARKUP}`, parent_id });
});
afterAll(async () => {
  await gateway.stop();
  await browser.close();
});

/** Tokens that cost this amount, or up to a token less. */
function tokensFor(usd: string): number {
  return Number(parseUsd(usd) / settlement('a key', { usage: { inputTokens: 1 } }).amount);
}

async function open(apiKey: string, look = LOOKS[2]) {
  const watched = await openPage(browser, `${gateway.url}/dashboard/`, look);
  await signIn(watched.page, apiKey);
  await openPart(watched.page, 'members');
  return watched;
}

const row = (page: Page, name: string) =>
  page.getByRole('region', { name: 'Members' }).getByRole('row').filter({ hasText: name });
const budgetRow = (page: Page, name: string) =>
  page.getByRole('region', { name: 'Budgets' }).getByRole('row').filter({ hasText: name });

/** Answers the question of a dialog, and closes it. */
async function confirm(page: Page, button: string) {
  await page.getByRole('dialog').getByRole('button', { name: button }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Close' }).click();
  await loaded(page);
}

describe('the customer’s page of a key that may manage', () => {
  it('shows groups as a tree, members with what they used, and who set the budgets', async () => {
    const { page, context, problems } = await open(lead.apiKey);
    const tree = page.getByRole('region', { name: 'Groups' });
    expect(await tree.locator('ul.tree > li > ul.tree > li').innerText()).toContain(MARKUP);
    expect(await tree.locator('.use').first().innerText()).toMatch(
      /^\$16\.\d+ of \$400\.00 until \w+ \d+, 2099$/,
    );
    expect(await row(page, 'Ada').locator('.use').innerText()).toMatch(
      /^\$16\.\d+ of \$20\.00 this month$/,
    );
    const meter = row(page, 'Ada').getByRole('meter', { name: 'course Databases: Ada' });
    expect(await meter.getAttribute('aria-valuetext')).toMatch(/^\$16\.\d+ of \$20\.00 used$/);
    const term = budgetRow(page, 'term');
    expect(await term.innerText()).toMatch(/set by your operator[^]*group Databases/);
    // What only the operator can change is not offered.
    expect(await term.getByRole('button').allInnerTexts()).toEqual(['Open']);
    expect(await row(page, 'Ada').getByRole('button').allInnerTexts()).toEqual([
      'Key',
      'Budget',
      'Change',
      'End',
    ]);
    const course = budgetRow(page, 'each member of Databases');
    await course.getByRole('button', { name: 'Open' }).click();
    await page.getByRole('list', { name: 'Used of course Databases' }).getByText('Ada').waitFor();
    expect(await page.title()).not.toBe('owned');
    expect(problems).toEqual([]);
    await context.close();
  });

  it('adds a group, a member and a key, bounds all members in one form, raises one, and ends', async () => {
    const { id: account_id } = await gateway.call('createAccount', {
      name: 'own',
      balance_usd: '50',
    });
    const { api_key } = await gateway.call('createKey', {
      account_id,
      name: 'lead',
      scope: 'manage',
    });
    const { page, context, problems } = await open(api_key ?? '');
    await page.getByText('There are no members yet.').waitFor();
    await page.getByRole('button', { name: 'Add a group' }).click();
    await page.getByLabel('Name').last().fill('Course');
    await confirm(page, 'Add the group');
    await page.getByRole('button', { name: 'Add a member' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name').fill(' ');
    await page.getByRole('button', { name: 'Add the member' }).click();
    await page.getByRole('alert').getByText('Name: say who it is.').waitFor();
    await dialog.getByLabel('Name').fill('Ben');
    await dialog.getByLabel('Group').selectOption({ label: 'Course' });
    await dialog.getByLabel('Mail').fill('ben@example.com');
    await confirm(page, 'Add the member');
    const [ben] = (await gateway.call('listMembers', { account_id })).data;
    expect(ben).toMatchObject({ name: 'Ben', email: 'ben@example.com', groups: [ben!.group_id] });

    // "Each member 20 USD a month" in one form.
    await page.getByRole('button', { name: 'Create a budget' }).click();
    await dialog.getByLabel('Amount, USD').fill('20');
    await dialog.getByRole('button', { name: 'Continue' }).click();
    await confirm(page, 'Create the budget');
    const [budget] = (await gateway.call('listBudgets', { account_id })).data;
    expect(budget).toMatchObject({
      name: 'each member, each month',
      scope: 'member',
      subject: null,
      within_group: null,
      amount_usd: '20',
      period: 'month',
      action: 'refuse',
      created_by: 'holder',
    });
    await row(page, 'Ben').getByText('of $20.00 this month').waitFor();

    await row(page, 'Ben').getByRole('button', { name: 'Key: Ben' }).click();
    await dialog.getByLabel('Name').fill('laptop');
    await dialog.getByRole('button', { name: 'Create the key' }).click();
    const credential = await page.getByLabel('the new credential', { exact: true }).innerText();
    await dialog.getByRole('button', { name: 'I have copied it' }).click();
    const key = await gateway.call('findKey', { api_key: credential });
    expect(key).toMatchObject({ name: 'laptop', member_id: ben!.id, account_id });

    // "10 more until Friday".
    await row(page, 'Ben').getByRole('button', { name: 'Raise: Ben' }).click();
    await dialog.getByLabel('More, USD').fill('10');
    await dialog.getByLabel('Until').fill('2099-01-02T12:00');
    await dialog.getByRole('button', { name: 'Continue' }).click();
    await dialog.getByText('$30.00').waitFor();
    await confirm(page, 'Raise the budget');
    await row(page, 'Ben').getByText('of $30.00 this month').waitFor();
    const { raises } = await gateway.call('showBudget', { budget_id: budget!.id });
    expect(raises).toMatchObject([{ subject: ben!.id, amount_usd: '10' }]);

    await budgetRow(page, 'each member')
      .getByRole('button', { name: /^Change/ })
      .click();
    await dialog.getByLabel('Amount, USD').fill('25.5');
    await dialog.getByRole('button', { name: 'Continue' }).click();
    await confirm(page, 'Change the budget');
    await row(page, 'Ben').getByText('of $35.50 this month').waitFor();
    await budgetRow(page, 'each member').getByRole('button', { name: /^End/ }).click();
    await confirm(page, 'End the budget');
    await page.getByText('There are no budgets').waitFor();

    await row(page, 'Ben').getByRole('button', { name: 'End: Ben' }).click();
    const end = dialog.getByRole('button', { name: 'End the member' });
    expect(await end.isDisabled()).toBe(true);
    await dialog.getByLabel('Type "Ben" to confirm').fill('Ben');
    await end.click();
    await dialog.getByText('and 1 key with it').waitFor();
    await dialog.getByRole('button', { name: 'Close' }).click();
    expect(await gateway.call('showKey', { key_id: key.id })).toMatchObject({ state: 'revoked' });
    await page.getByLabel('Show').selectOption({ label: 'Members that have ended' });
    await row(page, 'Ben').getByText('ended').waitFor();
    expect(problems).toEqual([]);
    await context.close();
  });

  it('bounds a tag in a time zone, with a reserve that pays next', async () => {
    const { id: account_id } = await gateway.call('createAccount', { name: 'chains' });
    const holder = { account_id, name: 'lead', scope: 'manage' } as const;
    const { id: keyId, api_key } = await gateway.call('createKey', holder);
    const { page, context, problems } = await open(api_key ?? '');
    const dialog = page.getByRole('dialog');
    async function create(whose: string, fill: () => Promise<void>) {
      await page.getByRole('button', { name: 'Create a budget' }).click();
      await dialog.getByLabel('For', { exact: true }).selectOption({ label: whose });
      await dialog.getByLabel('Amount, USD').fill('5');
      await fill();
      await dialog.getByRole('button', { name: 'Continue' }).click();
      await confirm(page, 'Create the budget');
    }
    await create('a reserve, which pays for other budgets', async () => {
      await dialog.getByLabel('Name').fill('of the chair');
    });
    await create('a tag', async () => {
      await dialog.getByLabel('Tag').fill('thesis');
      await dialog.getByLabel('Time zone of the period').fill('Europe/Berlin');
      await dialog.getByLabel('Then pays').selectOption({ label: 'of the chair' });
    });
    const [reserve, budget] = (await gateway.call('listBudgets', { account_id })).data;
    expect(reserve).toMatchObject({ scope: 'reserve', subject: null, time_zone: 'UTC' });
    expect(budget).toMatchObject({
      name: 'tag thesis, each month',
      scope: 'tag',
      subject: 'thesis',
      time_zone: 'Europe/Berlin',
      then: reserve!.id,
      then_name: 'of the chair',
    });
    const tag = budgetRow(page, 'tag thesis');
    expect(await tag.innerText()).toMatch(/each month \(Europe\/Berlin\)[^]*then of the chair/);
    // The operator's reserve stays when the holder changes the amount, and can be left.
    const ofOperator = await gateway.call('createBudget', {
      account_id,
      name: 'of the operator',
      scope: 'reserve',
      amount_usd: '1',
      period: 'once',
    });
    await gateway.call('updateBudget', { budget_id: budget!.id, then: ofOperator.id });
    await openPart(page, 'home');
    await openPart(page, 'members');
    const change = async (fill: () => Promise<void>) => {
      await tag.getByRole('button', { name: /^Change/ }).click();
      await fill();
      await dialog.getByRole('button', { name: 'Continue' }).click();
      await confirm(page, 'Change the budget');
      return gateway.call('showBudget', { budget_id: budget!.id });
    };
    expect(await change(() => dialog.getByLabel('Amount, USD').fill('6'))).toMatchObject({
      amount_usd: '6',
      then_name: 'of the operator',
    });
    const pays = dialog.getByLabel('Then pays');
    const left = await change(async () => {
      expect(await pays.locator('option').allInnerTexts()).toEqual([
        'nobody',
        'of the chair',
        'of the operator',
      ]);
      await pays.selectOption({ label: 'nobody' });
    });
    expect(left).toMatchObject({ then: null });
    expect(await tag.innerText()).toContain('requests are refused');
    // One that a request gave to its run.
    const run = { accountId: account_id, run: 'build-17', onlyFor: keyId };
    const by = { name: 'tests', holderOf: account_id };
    await gateway.running.store.setRunBudget({ ...run, name: 'header', amount: 1n }, by);
    await openPart(page, 'home');
    await openPart(page, 'members');
    expect(await budgetRow(page, 'header').innerText()).toContain('run build-17 of lead');
    expect(problems).toEqual([]);
    await context.close();
  });

  it('lists 800 members page by page, and finds one by name and by group', async () => {
    const { store } = gateway.running;
    const { id: accountId } = await gateway.call('createAccount', { name: 'large' });
    const { api_key } = await gateway.call('createKey', {
      account_id: accountId,
      name: 'lead',
      scope: 'manage',
    });
    const by = { name: 'tests' };
    const group = await store.createGroup({ accountId, name: 'Small' }, { by });
    const groupId = group.outcome === 'created' ? group.record.id : '';
    for (let index = 0; index < 800; index += 1) {
      const name = `Student ${String(index).padStart(3, '0')}`;
      const given = index % 400 === 7 ? { accountId, name, groupId } : { accountId, name };
      await store.createMember(given, { by });
    }
    const each = { scope: 'member', period: 'week', amount: parseUsd('5') } as const;
    await store.createBudget({ accountId, name: 'each', ...each }, { by });
    const { page, context, problems } = await open(api_key ?? '');
    const students = page.getByRole('region', { name: 'Members' }).locator('tr[data-member]');
    expect(await students.count()).toBe(50);
    expect(await students.first().innerText()).toMatch(/of \$5\.00 this week/);
    const asked: string[] = [];
    page.on('request', (request) => asked.push(request.url()));
    await page.getByLabel('Name').fill('777');
    await page.getByRole('button', { name: 'Search', exact: true }).click();
    await loaded(page);
    await row(page, 'Student 777').waitFor();
    expect(await students.count()).toBe(1);
    expect(asked.filter((url) => url.includes('/members')).length).toBe(1);
    await openPart(page, 'members');
    await page.getByRole('link', { name: 'Small' }).click();
    await page.getByRole('heading', { name: 'Members of Small' }).waitFor();
    await loaded(page);
    expect(await students.locator('td').first().innerText()).toMatch(/^Student 007/);
    expect(await students.count()).toBe(2);
    await page.getByRole('link', { name: 'Show the members of all groups' }).click();
    await loaded(page);
    expect(await students.count()).toBe(50);
    expect(problems).toEqual([]);
    await context.close();
  });

  it.each(LOOKS)('passes axe and fits, at $width px in $theme', async (look) => {
    const watched = await open(lead.apiKey, look);
    await checkScreen(watched, 'members');
    await watched.page.getByRole('button', { name: 'Create a budget' }).click();
    await checkScreen(watched, 'create a budget');
    expect(watched.problems).toEqual([]);
    await watched.context.close();
  });

  it('is for no other key', async () => {
    const { page, context } = await open(ada.apiKey);
    const names = await page.getByRole('navigation').getByRole('link').allInnerTexts();
    expect(names).toContain('Home');
    expect(names).not.toContain('Keys and budgets');
    expect(await page.getByRole('region', { name: 'Members' }).count()).toBe(0);
    await context.close();
  });
});

describe('the console', () => {
  const place = () => `accounts/${lab.accountId}/members`;

  it('shows and changes the same for an account, also what the operator set', async () => {
    const url = `${gateway.adminUrl}/console/`;
    const watched = await openConsole(browser, url, await consoleCookie(url, ADMIN_TOKEN));
    const { page, context, problems } = watched;
    await openPart(page, `accounts/${lab.accountId}`);
    await page.getByRole('link', { name: 'Members and budgets' }).click();
    await loaded(page);
    expect(await valuesOf(page, 'tr[data-member] data')).toContain('20');
    await checkScreen(watched, 'members of an account');
    expect(await tabThrough(page)).toEqual([]);
    const dialogs = await eachDialog(page, (name) => checkScreen(watched, name));
    expect(dialogs).toEqual(
      expect.arrayContaining([
        'Add a group',
        'Add a member',
        'Create a budget',
        'Key',
        'Budget',
        'Raise',
        'Change',
        'End',
      ]),
    );
    await budgetRow(page, 'each member of Databases')
      .getByRole('button', { name: /^Raise/ })
      .click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('More, USD').fill('2');
    await dialog.getByLabel('Until').fill('2099-01-02T12:00');
    await dialog.getByRole('button', { name: 'Continue' }).click();
    await confirm(page, 'Raise the budget');
    await row(page, 'Ada').getByText('of $22.00 this month').waitFor();
    expect(problems).toEqual([]);
    await context.close();
  });

  it('offers no change to a token that only reads', async () => {
    const url = `${gateway.adminUrl}/console/`;
    const { page, context } = await openConsole(
      browser,
      url,
      await consoleCookie(url, READ_TOKEN),
      LOOKS[0],
    );
    await openPart(page, place());
    await row(page, 'Ada').waitFor();
    for (const name of ['Add a group', 'Add a member', 'Create a budget', 'End: Ada']) {
      expect([name, await page.getByRole('button', { name }).count()]).toEqual([name, 0]);
    }
    await context.close();
  });
});
