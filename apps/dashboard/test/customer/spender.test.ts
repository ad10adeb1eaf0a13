/** The customer's page of a person who spends within budgets, on the embedded ledger. */

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { settlement } from '@gateway/balance-store/testing';
import { formatUsd, parseUsd } from '@gateway/billing';
import type { Browser } from 'playwright-core';
import type { TestGateway } from '../../../gateway/test/support/gateway.js';
import { createLaboratory } from '../../../gateway/test/support/laboratory.js';
import type { Laboratory, Student } from '../../../gateway/test/support/laboratory.js';
import { untilSteady } from '../../../gateway/test/support/steady-time.js';
import { eventually } from '../../../gateway/test/support/until.js';
import { LOOKS, loaded, openBrowser, openPage, signIn, valuesOf } from '../support/browser.js';
import { checkScreen, eachScreen } from '../support/screens.js';
import { startPages } from '../support/traffic.js';

let browser: Browser;
let gateway: TestGateway;
let lab: Laboratory;
let ada: Student;
beforeAll(async () => {
  await untilSteady('day');
  browser = await openBrowser();
  gateway = await startPages({
    OPERATOR: 'Example University <help@example.com>',
    TOP_UP_URL: 'https://shop.example.com/credit',
  });
  lab = await createLaboratory(gateway);
  ada = await lab.student('Ada', { caps: { day: parseUsd('18.5') } });
  await ada.spend(tokensFor('16.8'));
  const bob = await lab.student('Bob');
  await bob.spend(tokensFor('70'));
  const outside = await gateway.call('createKey', { name: 'chair', account_id: lab.accountId });
  await lab.store.settle(settlement(outside.id), { deadlineMs: 60_000 });
});
afterAll(async () => {
  await gateway.stop();
  await browser.close();
});

/** Tokens that cost this amount, or up to a token less. */
function tokensFor(usd: string): number {
  return Number(parseUsd(usd) / settlement('a key', { usage: { inputTokens: 1 } }).amount);
}

const address = () => `${gateway.url}/dashboard/`;

async function accountOf({ apiKey }: Pick<Student, 'apiKey'>) {
  const response = await fetch(`${gateway.url}/v1/dashboard/account`, {
    headers: { authorization: `Bearer ${apiKey}` },
  });
  return (await response.json()) as {
    readonly balance_usd: string;
    readonly pace: { readonly spent_usd: string };
    readonly budgets: readonly {
      readonly name: string;
      readonly amount_usd: string;
      readonly used_usd: string;
      readonly left_usd: string;
    }[];
  };
}

describe('the page of a member', () => {
  it('says first what is left of the nearest budget or cap, and shows all of them as bars', async () => {
    const { page, context, problems } = await openPage(browser, address());
    await signIn(page, ada.apiKey);
    await loaded(page);
    const { budgets } = await accountOf(ada);
    const [monthly, term] = budgets;
    const used = monthly!.used_usd;
    const left = (amount: string) => formatUsd(parseUsd(amount) - parseUsd(used));
    const card = page.getByRole('region', { name: 'Budget' });
    expect(await valuesOf(page, '#balance data')).toEqual([left('18.5'), '18.5']);
    expect(await page.locator('#balance').innerText()).toMatch(
      /^\$1\.7\d of \$18\.50 left until \w+ \d+, \d{4}$/,
    );
    await card.getByRole('heading', { name: 'Cap of this key per day' }).waitFor();
    const bars = card.getByRole('list', { name: 'Budgets and caps' }).getByRole('listitem');
    const capBar = [used, '18.5', left('18.5')];
    const monthlyBar = [used, '20', left('20')];
    const termBar = [term!.used_usd, '400', term!.left_usd];
    expect(await valuesOf(page, '.limits data')).toEqual([...capBar, ...monthlyBar, ...termBar]);
    expect(await bars.nth(1).innerText()).toMatch(
      /^course Databases\s+\$16\.\d+ of \$20\.00 used, \$3\.2\d* left until \w+ 1, \d{4}$/,
    );
    expect(await bars.nth(2).innerText()).toMatch(/^term shared by Databases/);
    const meters = card.getByRole('meter');
    expect(
      await meters.evaluateAll((all) =>
        all.map((each) => [each.getAttribute('aria-label'), each.getAttribute('value')]),
      ),
    ).toEqual([
      ['Cap of this key per day', String(partOf(used, '18.5'))],
      ['course Databases', String(partOf(used, '20'))],
      ['term', String(partOf(term!.used_usd, '400'))],
    ]);
    expect(await meters.nth(1).getAttribute('aria-valuetext')).toMatch(
      /^\$16\.\d+ of \$20\.00 used$/,
    );
    await card.getByText('This key works.').waitFor();
    await page.getByText('of Ada, in the account Chair of Informatics').waitFor();
    expect(problems).toEqual([]);
    await context.close();
  });

  it.each(LOOKS)(
    'never shows the money of the account, passes axe and fits, at $width px in $theme',
    async (look) => {
      const watched = await openPage(browser, address(), look);
      const { page, context, problems } = watched;
      await signIn(page, ada.apiKey);
      await loaded(page);
      const { balance_usd: balance, pace } = await accountOf(ada);
      const seen = async () =>
        page
          .locator('data')
          .evaluateAll((all) => all.map((each) => each.getAttribute('value') ?? ''));
      const screens = await eachScreen(page, async (screen) => {
        await checkScreen(watched, screen);
        const shown = (await seen()).map((value) => value.replace('-', ''));
        for (const hidden of [balance, '1200', pace.spent_usd]) expect(shown).not.toContain(hidden);
      });
      expect(screens.toSorted()).toEqual([
        'check',
        'connect',
        'home',
        'ledger',
        'prices',
        'requests',
        'usage',
      ]);
      const text = await page.locator('main').innerText();
      expect(text).not.toMatch(/At the pace|Balance|Top up|Redeem|credit/);
      expect(problems).toEqual([]);
      await context.close();
    },
  );

  it('says which budget refuses, until when, and whom to ask', async () => {
    const eve = await lab.student('Eve');
    const { page, context } = await openPage(browser, address(), { ...LOOKS[2]!, locale: 'de-DE' });
    await signIn(page, eve.apiKey);
    await loaded(page);
    // In the language of the browser.
    expect(await page.locator('#balance').innerText()).toMatch(
      /^\$20,00 of \$20,00 left until 0?1\.\d+\.\d{4}$/,
    );
    await eve.spend(tokensFor('21'));
    await page.reload();
    const card = page.getByRole('region', { name: 'Budget' });
    await card.getByText('budget used up', { exact: true }).waitFor();
    await eventually(async () => {
      const text = await card.innerText();
      expect(text).toMatch(
        /Requests are refused: a budget is used up\. course Databases: \$20,00, until .*\. Ask Prof\. Codd for more\./,
      );
      expect(text).not.toContain('This key works');
    });
    expect((await valuesOf(page, '#balance data'))[0]).toBe('0');
    await context.close();
  });

  it('names the reserve that pays next, and raises with their end', async () => {
    const other = await createLaboratory(gateway);
    const amount = parseUsd('50');
    const reserve = { name: 'of the chair', scope: 'reserve', period: 'once', amount } as const;
    const thenId = await other.budget(reserve);
    const budgets = await other.store.listBudgets({ accountId: other.accountId, limit: 9 });
    const { id: budgetId } = budgets.find(({ name }) => name === 'course Databases')!;
    await other.store.updateBudget(budgetId, { thenId }, { name: 'tests' });
    const raise = { budgetId, amount: parseUsd('10'), until: new Date('2099-01-02T12:00:00Z') };
    await other.store.raiseBudget(raise, { by: { name: 'tests' } });
    const max = await other.student('Max');
    const { page, context } = await openPage(browser, address());
    await signIn(page, max.apiKey);
    await loaded(page);
    const bar = page.locator('.limits li').first();
    expect(await bar.innerText()).toMatch(
      /^course Databases[^]*\$10\.00 more until Jan 2, 2099\s+Then of the chair pays\.$/,
    );
    await max.spend(tokensFor('35'));
    await page.reload();
    await loaded(page);
    // What can still refuse stands first, not the budget that the reserve pays for.
    expect(await valuesOf(page, '#balance data')).toEqual([
      (await accountOf(max)).budgets[0]!.left_usd,
      '50',
    ]);
    await page.getByRole('heading', { name: 'of the chair' }).waitFor();
    await context.close();
  });

  it('shows the balance if the account lets its members see it, and none if it does not', async () => {
    const other = await createLaboratory(gateway);
    const kim = await other.student('Kim');
    const set = (members_see_balance: boolean) =>
      gateway.call('updateAccount', { account_id: other.accountId, members_see_balance });
    await set(true);
    const { page, context, problems } = await openPage(browser, address());
    await signIn(page, kim.apiKey);
    await loaded(page);
    expect(await valuesOf(page, '#balance data')).toEqual(['20', '20']);
    expect(await valuesOf(page, '#figures data')).toContain('1200');
    await set(false);
    await page.reload();
    await loaded(page);
    expect(await page.locator('#figures').count()).toBe(0);
    await page.getByText('This key works.').waitFor();
    await gateway.call('suspendKey', { key_id: kim.keyId });
    await page.reload();
    await page.getByText('this key is suspended, or the account has nothing left').waitFor();
    expect(problems).toEqual([]);
    await context.close();
  });

  it('says what was spent if nothing limits it', async () => {
    const other = await createLaboratory(gateway);
    for (const { id } of await other.store.listBudgets({ accountId: other.accountId, limit: 9 })) {
      await other.store.endBudget(id, { name: 'tests' });
    }
    const free = await other.student('Fred');
    const spent = await free.spend(1_000);
    const { page, context } = await openPage(browser, address());
    await signIn(page, free.apiKey);
    await loaded(page);
    const card = page.getByRole('region', { name: 'Budget' });
    await card.getByRole('heading', { name: 'Spent in 7 days' }).waitFor();
    expect(await valuesOf(page, '#balance data')).toEqual([formatUsd(spent)]);
    expect(await page.locator('.limits').count()).toBe(0);
    await context.close();
  });
});

describe('the page of a key that may manage the account', () => {
  it('shows the account beside the budgets', async () => {
    const lead = await lab.student('Lead', { scope: 'manage' });
    const { page, context } = await openPage(browser, address());
    await signIn(page, lead.apiKey);
    await loaded(page);
    const { balance_usd: balance } = await accountOf(lead);
    expect(await valuesOf(page, '#balance data')).toEqual(['20', '20']);
    expect(await valuesOf(page, '#figures data')).toContain(balance);
    expect(await page.locator('.limits li').count()).toBe(2);
    await page.getByRole('link', { name: 'Top up' }).waitFor();
    await context.close();
  });
});

/** Of a bar of 1,000. */
function partOf(used: string, amount: string): bigint {
  return (parseUsd(used) * 1_000n) / parseUsd(amount);
}
