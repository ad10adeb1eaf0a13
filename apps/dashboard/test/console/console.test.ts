/** The operator's console in a browser, against the gateway. */

import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { formatUsd, parseUsd } from '@gateway/billing';
import type { Browser } from 'playwright-core';
import { gatewayCommand } from '../../../gateway/test/support/gateway-process.js';
import type { TestGateway } from '../../../gateway/test/support/gateway.js';
import { eventually } from '../../../gateway/test/support/until.js';
import {
  LOOKS,
  OTHER_NAME,
  axeFindings,
  consoleCookie,
  loaded,
  openBrowser,
  openConsole,
  openPage,
  openPart,
  signIn,
  valuesOf,
} from '../support/browser.js';
import type { Look } from '../support/browser.js';
import { checkScreen, eachDialog, eachScreen, tabThrough } from '../support/screens.js';
import { ADMIN_TOKEN, READ_TOKEN, sendTraffic, startPages } from '../support/traffic.js';

const MARKUP = '<img src=x onerror="document.title=\'owned\'">';

let browser: Browser;
let gateway: TestGateway;
let accountId: string;
let otherId: string;
let key: { readonly id: string; readonly apiKey: string };
let consoleUrl: string;
beforeAll(async () => {
  browser = await openBrowser();
  // The mail server is only named, so that an account may have an address for notices.
  gateway = await startPages({
    SMTP_URL: 'smtp://127.0.0.1:1',
    MAIL_FROM: 'billing@example.com',
  });
  consoleUrl = `${gateway.adminUrl}/console/`;
  const account = await gateway.call('createAccount', { name: MARKUP, balance_usd: '50' });
  accountId = account.id;
  otherId = (await gateway.call('createAccount', { name: 'other', balance_usd: '1' })).id;
  const created = await gateway.call('createKey', { name: 'member', account_id: accountId });
  key = { id: created.id, apiKey: created.api_key ?? '' };
  await sendTraffic(gateway, [key.apiKey], { count: 12, seed: 5 });
});
afterAll(async () => {
  await browser.close();
  await gateway.stop();
});

const sessions = new Map<string, string>();

/** Log-ins are limited, so the windows of these tests share one session for each token. */
async function sessionOf(token: string): Promise<string> {
  const known = sessions.get(token);
  if (known !== undefined) return known;
  const cookie = await consoleCookie(consoleUrl, token);
  sessions.set(token, cookie);
  return cookie;
}

async function open(token = ADMIN_TOKEN, look: Look = { width: 1280, theme: 'light' }) {
  return openConsole(browser, consoleUrl, await sessionOf(token), look);
}

const balanceOf = async (id: string) =>
  (await gateway.call('showAccount', { account_id: id })).balance_usd;

describe('the console', () => {
  it('shows the sums and the report of the audit, to the last digit', async () => {
    const { page, context, problems } = await open();
    const audit = await gateway.call('auditLedger', {});
    await openPart(page, 'usage');
    expect((await valuesOf(page, '.figures tfoot data'))[0]).toBe(audit.charged_usd);
    await openPart(page, 'audit');
    await page.getByRole('button', { name: 'Audit now' }).click();
    await page.getByText('sound', { exact: true }).waitFor();
    const shown = await valuesOf(page, '#audit-figures data.money');
    expect(shown).toEqual([
      audit.credited_usd,
      audit.adjusted_usd,
      audit.expired_usd,
      audit.charged_usd,
      audit.written_off_usd,
      audit.balances_usd,
      audit.gap_usd,
    ]);
    expect(problems).toEqual([]);
    await context.close();
  });

  // F130: a button is pressed twice; the response is lost: done once.
  it('credits once, however often the button is pressed, and shows the old and new balance', async () => {
    const { page, context, problems } = await open();
    await openPart(page, `accounts/${accountId}`);
    const before = await balanceOf(accountId);
    const after = formatUsd(parseUsd(before) + parseUsd('2.00000000000001'));
    await page.getByRole('button', { name: 'Give credit' }).click();
    await page.getByLabel('Amount, USD').fill('nothing');
    await page.getByRole('button', { name: 'Continue' }).click();
    await eventually(async () => {
      expect(await page.getByRole('alert').innerText()).toContain('Amount: a number above 0');
    });
    await page.getByLabel('Amount, USD').fill('2.00000000000001');
    await page.getByLabel('Reason').selectOption('paid');
    // The second click lands on the question, and must not confirm it.
    await page.getByRole('button', { name: 'Continue' }).dblclick();
    await eventually(async () => {
      expect(await valuesOf(page, 'dialog data')).toEqual([before, after]);
    });
    // The answer to the first attempt is lost on its way.
    let attempts = 0;
    await page.route('**/top-ups', async (route) => {
      attempts += 1;
      if (attempts > 1) {
        await route.continue();
        return;
      }
      const sent = route.request();
      const headers = {
        authorization: `Bearer ${ADMIN_TOKEN}`,
        'content-type': 'application/json',
      };
      const booked = await fetch(sent.url(), { method: 'POST', headers, body: sent.postData() });
      expect(booked.status).toBe(200);
      await route.abort();
    });
    const button = page.getByRole('button', { name: 'Give 2.00000000000001 USD' });
    await button.dblclick();
    await page.getByRole('alert').waitFor();
    await button.dblclick();
    await page.getByText('This was booked before. It is not booked again.').waitFor();
    expect(attempts).toBe(2);
    expect(await balanceOf(accountId)).toBe(after);
    await page.getByRole('button', { name: 'Close' }).click();
    await page.waitForFunction(
      (value) => document.querySelector('.balance data')?.getAttribute('value') === value,
      after,
    );
    expect(problems).toEqual([]);
    await context.close();
  });

  // F186: a refund that is typed with the wrong sign: the action has the sign, and the question
  // repeats reason, reference and note.
  // F342: an account is changed while somebody edits it: only what that person typed is changed.
  it('takes back, transfers and edits, each after one confirmation', async () => {
    const { page, context, problems } = await open();
    await openPart(page, `accounts/${accountId}`);
    const before = parseUsd(await balanceOf(accountId));
    await page.getByRole('button', { name: 'Take back' }).click();
    // The action has the sign; a sign of the amount would be a second one.
    await page.getByLabel('Amount, USD').fill('-0.5');
    await page.getByRole('button', { name: 'Continue' }).click();
    await eventually(async () => {
      expect(await page.getByRole('alert').innerText()).toContain('Amount: a number above 0');
    });
    await page.getByLabel('Amount, USD').fill('0.5');
    await page.getByLabel('Reason').selectOption('refund');
    await page.getByLabel('Reference').fill('invoice 7');
    await page.getByLabel('Note').fill('asked by phone');
    await page.getByRole('button', { name: 'Continue' }).click();
    expect(await balanceOf(accountId)).toBe(formatUsd(before));
    expect(await page.getByRole('dialog').innerText()).toMatch(
      /Reason\s+Paid out to the customer elsewhere \(refund\)\s+Reference\s+invoice 7\s+Note, for operators only\s+asked by phone/,
    );
    await page.getByRole('button', { name: 'Take back 0.5 USD' }).click();
    await page.getByRole('button', { name: 'Close' }).click();
    await page.getByRole('button', { name: 'Transfer' }).click();
    await page.getByLabel('To the account').fill(otherId);
    await page.getByLabel('Amount, USD').fill('1.25');
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByRole('button', { name: 'Transfer 1.25 USD' }).click();
    await page.getByText('The other account now has').waitFor();
    await page.getByRole('button', { name: 'Close' }).click();
    expect(await balanceOf(accountId)).toBe(formatUsd(before - parseUsd('1.75')));
    const { data } = await gateway.call('listLedger', { account_id: accountId, limit: 2 });
    expect(data[1]).toMatchObject({
      kind: 'adjustment',
      amount_usd: '-0.5',
      reason: 'refund',
      reference: 'invoice 7',
      note: 'asked by phone',
    });
    expect(await balanceOf(otherId)).toBe('2.25');
    await page.getByRole('button', { name: 'Edit', exact: true }).click();
    await gateway.call('updateAccount', { account_id: accountId, external_id: 'set meanwhile' });
    await page.getByLabel('Low-balance notice').fill('4');
    await page.getByLabel('Prices', { exact: true }).fill('0.9');
    await page.getByLabel('Allowance of each month').fill('2.5');
    await page.getByLabel('Notices at').fill('90, 50 %');
    await page.getByLabel('Notices by mail to').fill(' person@customer.example ');
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByRole('button', { name: 'Change the account' }).click();
    await page.getByRole('button', { name: 'Close' }).click();
    expect(await gateway.call('showAccount', { account_id: accountId })).toMatchObject({
      name: MARKUP,
      external_id: 'set meanwhile',
      low_balance_usd: '4',
      prices: '0.9',
      allowance_usd: '2.5',
      notice_shares: [50, 90],
      notice_email: 'person@customer.example',
    });
    expect(problems).toEqual([]);
    await context.close();
  });

  it('reverses an entry once, after it has named the entry, also if the answer is lost', async () => {
    const { page, context, problems } = await open();
    const { id } = await gateway.call('createAccount', { name: 'reversed', balance_usd: '7' });
    const at = { account_id: id };
    const wrong = { amount_usd: '-1.5', reason: 'correction', note: 'typed twice' } as const;
    await gateway.call('adjustBalance', { ...at, adjustment_id: 'wrong', ...wrong });
    const moved = { to_account_id: otherId, transfer_id: 'moved', amount_usd: '0.25' };
    await gateway.call('transfer', { ...at, ...moved });
    await openPart(page, `accounts/${id}`);
    const row = (entry: string) => page.locator(`tr[data-entry="${entry}${id}"]`);
    const openRow = (entry: string) => row(entry).getByRole('button', { name: /^Open/ }).click();
    const reverse = page.getByRole('button', { name: 'Reverse this entry' });
    await openRow('transfer:moved:out');
    await page.getByText('transfer:moved:out', { exact: true }).waitFor();
    expect(await reverse.count()).toBe(0);
    await openRow('adjustment:wrong');
    await reverse.click();
    await eventually(async () => {
      expect(await valuesOf(page, 'dialog data')).toEqual(['5.25', '6.75']);
    });
    const dialog = page.getByRole('dialog');
    expect(await dialog.innerText()).toMatch(
      /Reverses\s+adjustment:wrong\s+Amount\s+−1\.5 USD\s+Booked\s+\S+\s+Account\s+reversed/,
    );
    expect(await balanceOf(id)).toBe('5.25');
    let attempts = 0;
    await page.route('**/reversals', async (route) => {
      attempts += 1;
      if (attempts > 1) {
        await route.continue();
        return;
      }
      await gateway.call('reverseEntry', {
        ...at,
        ...(route.request().postDataJSON() as { reversal_id: string; reverses: string }),
      });
      await route.abort();
    });
    const confirm = dialog.getByRole('button', { name: 'Reverse this entry' });
    await confirm.dblclick();
    await page.getByRole('alert').waitFor();
    await confirm.dblclick();
    await page.getByText('This was booked before. It is not booked again.').waitFor();
    expect(attempts).toBe(2);
    await dialog.getByRole('button', { name: 'Close' }).click();
    await dialog.waitFor({ state: 'detached' });
    expect(await balanceOf(id)).toBe('6.75');
    const { data } = await gateway.call('listLedger', { ...at, limit: 2 });
    expect(data[0]).toMatchObject({ amount_usd: '1.5', reverses: 'adjustment:wrong' });
    await openRow('adjustment:wrong');
    await reverse.click();
    await confirm.click();
    expect(await dialog.getByRole('alert').innerText()).toContain('was reversed before');
    expect(await balanceOf(id)).toBe('6.75');
    expect(problems).toEqual([]);
    await context.close();
  });

  // F290: an account whose state has changed while the dialog says so: its title still names what
  // was done, not what may be done next.
  it('suspends an account with all its keys, says so beside each, and resumes it', async () => {
    const { page, context, problems } = await open();
    await openPart(page, `accounts/${accountId}`);
    const state = async () => {
      const { state: of } = await gateway.call('showAccount', { account_id: accountId });
      return of;
    };
    await page.getByRole('button', { name: 'Suspend', exact: true }).click();
    await page.getByRole('button', { name: 'Suspend the account' }).click();
    await page.getByText('is now suspended.').waitFor();
    const dialog = page.getByRole('dialog');
    await page.getByRole('button', { name: 'Resume', exact: true, includeHidden: true }).waitFor();
    expect(await dialog.getByRole('heading').first().innerText()).toMatch(/^Suspend /);
    expect(await state()).toBe('suspended');
    await page.getByRole('button', { name: 'Close' }).click();
    await page.getByText('with its account').first().waitFor();
    await page.getByRole('button', { name: 'Resume', exact: true }).click();
    await page.getByRole('button', { name: 'Resume the account' }).click();
    await page.getByText('is now active.').waitFor();
    expect(await state()).toBe('active');
    expect(problems).toEqual([]);
    await context.close();
  });

  it('rotates a key, shows the new credential, and finds the account by it', async () => {
    const { page, context, problems } = await open();
    await openPart(page, `accounts/${accountId}`);
    await page.getByRole('button', { name: 'Rotate: member' }).click();
    await page.getByLabel('Hours').fill('0');
    await page.getByRole('button', { name: 'Continue' }).dblclick();
    // The key was used today, and its old credential ends at once.
    await page.getByLabel('Type "member" to confirm').fill('member');
    await page.getByRole('button', { name: 'Rotate the key' }).dblclick();
    const credential = await page.getByLabel('the new credential', { exact: true }).innerText();
    await page.getByRole('button', { name: 'I have copied it' }).click();
    await openPart(page, 'keys');
    await page.getByLabel('Whose credential is this?').fill(credential);
    await page.getByRole('button', { name: 'Find' }).click();
    await page.getByRole('link', { name: 'this account' }).click();
    await page.waitForFunction((id) => location.hash.endsWith(id), accountId);
    expect(await gateway.call('findKey', { api_key: credential })).toMatchObject({ id: key.id });
    expect(problems).toEqual([]);
    await context.close();
  });

  it('shows the statement of an account, saves it as CSV, and prints it alone', async () => {
    const { page, context, problems } = await open();
    const month = new Date().toISOString().slice(0, 7);
    const statement = await gateway.call('showStatement', { account_id: accountId, month });
    await page.goto(`${consoleUrl}#/accounts/${accountId}`);
    await page.getByRole('button', { name: 'Statement', exact: true }).click();
    await page.locator('.statement').waitFor();
    const amounts = await valuesOf(page, '.statement td.n:last-child data');
    expect(amounts.at(0)).toBe(statement.opening_balance_usd);
    expect(amounts.at(-1)).toBe(statement.closing_balance_usd);
    expect(amounts).toHaveLength(
      2 +
        statement.bookings.length +
        statement.charges.reduce((sum, { lines }) => sum + lines.length, 0),
    );

    const download = page.waitForEvent('download');
    const history = page.getByRole('region', { name: 'History' });
    await history.getByRole('button', { name: 'Save as CSV' }).click();
    const saved = await download;
    expect(saved.suggestedFilename()).toBe(`statement-${accountId}-${month}.csv`);
    const csv = readFileSync(await saved.path(), 'utf8');
    const last = csv.trimEnd().split('\r\n').at(-1) ?? '';
    expect(last.endsWith(`,${statement.closing_balance_usd}`)).toBe(true);

    // On paper there is the statement alone.
    await page.emulateMedia({ media: 'print' });
    expect(await page.locator('main').innerText()).toMatch(/^(Farthing console\s+)?Statement of/);
    for (const name of ['Account', 'Usage', 'Keys']) {
      expect(await page.getByRole('region', { name, exact: true }).isVisible()).toBe(false);
    }
    expect(problems).toEqual([]);
    await context.close();
  });

  // F188: notifications of operators without a receiver: no alarm; the list has the newest first.
  it('raises no alarm about notifications that nobody should receive, and lists the newest first', async () => {
    const { page, context, problems } = await open();
    const card = page.getByRole('region', { name: 'Needs attention' });
    await card.getByText('no receiver is configured').waitFor();
    expect(await card.locator('.badge.warning').count()).toBe(0);
    await card.getByRole('link', { name: 'notifications' }).click();
    await loaded(page);
    const { data } = await gateway.call('listEvents', { limit: 100 });
    expect(data.length).toBeGreaterThan(1);
    await eventually(async () => {
      const times = await page
        .locator('main tbody time')
        .evaluateAll((all) => all.map((each) => each.getAttribute('datetime')));
      expect(times).toEqual(data.map(({ created_at }) => created_at).toReversed());
    });
    expect(problems).toEqual([]);
    await context.close();
  });

  it('saves the ledger and the usage as CSV, and shows balances only where they add up', async () => {
    const { page, context, problems } = await open();
    const saved = async () => {
      const waiting = page.waitForEvent('download');
      await page.getByRole('button', { name: 'Save as CSV' }).first().click();
      return readFileSync(await (await waiting).path(), 'utf8')
        .trimEnd()
        .split('\r\n');
    };
    await openPart(page, 'ledger');
    expect(await page.getByText('Balance after', { exact: true }).count()).toBe(0);
    const { data } = await gateway.call('listLedger', { limit: 1_000 });
    const lines = await saved();
    expect(lines[0]).toContain('amount_usd');
    expect(lines).toHaveLength(1 + data.length);
    data.forEach(({ id, amount_usd }, index) => {
      expect(lines[index + 1]).toContain(id);
      expect(lines[index + 1]).toContain(amount_usd);
    });
    await openPart(page, `ledger?account_id=${accountId}`);
    await page.getByRole('columnheader', { name: 'Balance after' }).waitFor();
    await openPart(page, 'usage');
    const sums = await saved();
    expect(sums[0]).toContain('charged_usd');
    expect(sums.length).toBeGreaterThan(1);
    expect(problems).toEqual([]);
    await context.close();
  });

  it('keeps the filters of the ledger in the address', async () => {
    const { page, context, problems } = await open();
    const { data } = await gateway.call('listLedger', { kind: 'charge', limit: 100 });
    await openPart(page, 'ledger');
    await page.getByLabel('Show').selectOption('charge');
    await loaded(page);
    const address = page.url();
    expect(address).toContain('kind=charge');
    await eventually(async () => {
      expect(await page.locator('tr[data-entry]').count()).toBe(data.length);
    });
    await page.reload();
    await loaded(page);
    expect(page.url()).toBe(address);
    await eventually(async () => {
      expect(await page.locator('tr[data-entry]').count()).toBe(data.length);
    });
    // The date keeps the focus while it is typed.
    await page.getByLabel('Last day').focus();
    await page.keyboard.type('11222020');
    expect(page.url()).toBe(address);
    expect(await page.getByLabel('Last day').inputValue()).toBe('2020-11-22');
    await page.keyboard.press('Enter');
    await page.getByText(/Nothing here fits .*the last day “2020-11-22”\./).waitFor();
    expect(page.url()).toContain('until=2020-11-22');
    await openPart(page, 'ledger?until=20261-01-01');
    await eventually(async () => {
      expect(await page.getByRole('alert').innerText()).toContain('Until:');
    });
    expect(problems).toEqual([]);
    await context.close();
  });

  it('sorts accounts and keys, and keeps the order in the address', async () => {
    const { page, context, problems } = await open();
    const rows = (part: string) =>
      page
        .locator(`tr[data-${part}]`)
        .evaluateAll((all, name) => all.map((row) => row.getAttribute(`data-${name}`) ?? ''), part);
    for (const [part, list, row] of [
      ['accounts', 'listAccounts', 'account'],
      ['keys', 'listKeys', 'key'],
    ] as const) {
      await openPart(page, part);
      for (const [order, header] of [
        ['spent', 'Spent'],
        ['balance', /balance$/i],
        ['last_charged', 'Last charge'],
      ] as const) {
        await page.getByRole('columnheader').getByRole('button', { name: header }).click();
        await page.waitForFunction((name) => location.hash.includes(`order=${name}`), order);
        await loaded(page);
        const { data } = await gateway.call(list, { order });
        const expected = data.map(({ id }) => id);
        expect(await rows(row)).toEqual(expected);
        await page.reload();
        await page.getByRole('navigation').waitFor();
        await loaded(page);
        expect(await rows(row)).toEqual(expected);
      }
    }
    expect(problems).toEqual([]);
    await context.close();
  });

  it('shows the charge of a disputed request, and whether the pasted usage object agrees with it', async () => {
    const { page, context, problems } = await open();
    const { data } = await gateway.call('listLedger', { kind: 'charge', limit: 1 });
    const [entry] = data;
    if (entry?.kind !== 'charge') throw new Error('there is no charge');
    await openPart(page, `dispute?request_id=${entry.id}`);
    await eventually(async () => {
      expect(await valuesOf(page, '.lines tfoot data')).toEqual([
        entry.amount_usd.replace('-', ''),
      ]);
    });
    const { cache_creation_1h_input_tokens: _of1h, ...usage } = entry.usage;
    await page.getByLabel('Usage object').fill(JSON.stringify(usage));
    await page.getByRole('button', { name: 'Compare' }).click();
    await page.getByText('charged for exactly these tokens').waitFor();
    await page
      .getByLabel('Usage object')
      .fill(JSON.stringify({ ...usage, output_tokens: 999_999 }));
    await page.getByRole('button', { name: 'Compare' }).click();
    await page.getByText('The ledger differs').waitFor();
    // The id of the message is not that of the request.
    const received = JSON.stringify({ id: entry.upstream_id, usage });
    await page.getByLabel('Usage object').fill(`${received}\n${received}`);
    await page.getByRole('button', { name: 'Compare' }).click();
    await page.getByText('only one request can be compared').waitFor();
    await page.getByLabel('Usage object').fill(received);
    await page.getByRole('button', { name: 'Compare' }).click();
    await page.getByText('charged for exactly these tokens').waitFor();
    await openPart(page, 'dispute?request_id=req_unknown');
    await eventually(async () => {
      expect(await page.getByRole('alert').innerText()).toContain('Not possible. There is no such');
    });
    // The verdict was about the request before.
    expect(await page.getByText('charged for exactly these tokens').count()).toBe(0);
    await page.goBack();
    await page.getByText('charged for exactly these tokens').waitFor();
    expect(problems).toEqual([]);
    await context.close();
  });

  it('shows each id in a list on one line at 390 px, with the whole id as its text', async () => {
    const { page, context, problems } = await open(ADMIN_TOKEN, { width: 390, theme: 'light' });
    // Ids are shown where a name cannot be read.
    await page.route(/\/admin\/(accounts|keys)[/?]/, (route) => route.abort());
    for (const part of ['ledger', 'trail']) {
      await openPart(page, part);
      await page.locator('.short-id').first().waitFor();
      const ids = await page.locator('.short-id').evaluateAll((elements) =>
        elements.map((element) => ({
          text: (element as HTMLElement).innerText,
          whole: element.getAttribute('title'),
          lines: Math.round(element.getBoundingClientRect().height / 20),
        })),
      );
      expect(ids.length).toBeGreaterThan(0);
      for (const { text, whole, lines } of ids) {
        expect(lines).toBe(1);
        expect(text).toBe(whole);
      }
    }
    expect(problems).toEqual([]);
    await context.close();
  });

  it('shows the name of the open part at 390 px', async () => {
    const { page, context } = await open(ADMIN_TOKEN, { width: 390, theme: 'light' });
    const links = page.getByRole('navigation').getByRole('link');
    const parts = await links.evaluateAll((all) => all.map((link) => link.getAttribute('href')));
    for (const part of [...parts, ...parts.toReversed()]) {
      await openPart(page, (part ?? '').replace('#/', ''));
      await eventually(async () => {
        const box = await page.locator('nav [aria-current]').last().boundingBox();
        expect(box?.x).toBeGreaterThanOrEqual(0);
        expect((box?.x ?? 0) + (box?.width ?? 0)).toBeLessThanOrEqual(390);
      });
    }
    await context.close();
  });

  // F125: markup in names: it is shown as text.
  it('shows markup in names as text', async () => {
    const { page, context, problems } = await open();
    for (const part of ['today', 'accounts', `accounts/${accountId}`]) {
      await openPart(page, part);
      await eventually(async () => {
        expect(await page.getByText(MARKUP).count()).toBeGreaterThan(0);
      });
      expect(await page.locator('main img').count()).toBe(0);
    }
    expect(await page.title()).not.toBe('owned');
    expect(problems).toEqual([]);
    await context.close();
  });

  it('offers no action to a token that may only read', async () => {
    const { page, context, problems } = await open(READ_TOKEN);
    await page.getByText('read only').waitFor();
    await openPart(page, 'accounts');
    expect(await page.getByRole('button', { name: /^Create / }).count()).toBe(0);
    expect(await page.getByRole('checkbox', { name: /^Choose/ }).count()).toBe(0);
    await openPart(page, `accounts/${accountId}`);
    await page.locator('tr[data-key]').first().waitFor();
    await page.locator('tr[data-entry]', { hasText: 'Credit' }).first().getByRole('button').click();
    for (const name of [/^Give/, /^Take/, /^Transfer/, /^Edit/, /^Rotate/, /^Create /, /^Rev/]) {
      expect(await page.getByRole('button', { name }).count()).toBe(0);
    }
    expect(problems).toEqual([]);
    await context.close();
  });

  it('keeps no token where a script could read it, and stays signed in after a reload', async () => {
    const { page, context, problems } = await openPage(browser, consoleUrl);
    await signIn(page, ADMIN_TOKEN);
    const readable = await page.evaluate(() =>
      JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie]),
    );
    expect(readable).toBe('[{},{},""]');
    await page.reload();
    await page.getByRole('navigation').waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('Admin token').waitFor();
    await page.reload();
    await page.getByLabel('Admin token').waitFor();
    expect(problems).toEqual([]);
    await context.close();
  });

  // F126
  it('asks to sign in again when another window has signed out', async () => {
    const { page, context } = await open();
    const second = await context.newPage();
    await second.goto(consoleUrl);
    await second.getByRole('navigation').waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('Admin token').waitFor();
    await openPart(second, 'keys');
    await second.getByText('Your session has ended. Sign in again.').waitFor();
    expect(await second.locator('tr[data-key]').count()).toBe(0);
    await context.close();
  });

  it('signs in once with a link, which is not in the address afterwards, and explains why a used one is refused', async () => {
    const env = { ADMIN_URL: gateway.adminUrl, ADMIN_TOKEN };
    const made = await gatewayCommand(['console-link', '--json'], env);
    const { url } = JSON.parse(made.out) as { readonly url: string };
    const { page, context, problems } = await openPage(browser, url);
    await page.getByRole('navigation').waitFor();
    expect(page.url()).toBe(consoleUrl);
    // In the same browser, the link leads to the session that it started.
    await page.goto(url);
    await page.getByRole('navigation').waitFor();
    expect(page.url()).toBe(consoleUrl);
    const other = await openPage(browser, url);
    await other.page.getByText('This link was used before').waitFor();
    await other.page.getByText('console-link" makes another link').waitFor();
    expect(await other.page.getByLabel('Admin token').isVisible()).toBe(true);
    expect(other.page.url()).toBe(consoleUrl);
    expect([...problems, ...other.problems, ...(await axeFindings(other))]).toEqual([]);
    await context.close();
    await other.context.close();
  });

  it('asks for no token where it was opened without TLS, and says how to reach it', async () => {
    const { hostname, port } = new URL(consoleUrl);
    const watched = await openPage(browser, consoleUrl.replace(hostname, OTHER_NAME));
    const { page, context, problems } = watched;
    await page.getByText(`ssh -N -L ${port}:127.0.0.1:${port} ${OTHER_NAME}`).waitFor();
    const there = page.getByRole('link', { name: 'the console there' });
    expect(await there.getAttribute('href')).toBe(consoleUrl);
    expect(await page.locator('input').count()).toBe(0);
    // Chromium says that it ignores a header for want of TLS.
    const others = problems.filter((problem) => !problem.includes('Cross-Origin-Opener-Policy'));
    expect([...others, ...(await axeFindings(watched))]).toEqual([]);
    await context.close();
  });

  // F127, F128
  it('says when the token is wrong, and when log-ins are limited', async () => {
    const { page, context, problems } = await openPage(browser, consoleUrl);
    const attempt = async () => {
      await page.getByLabel('Admin token').fill('not-the-token');
      await page.getByRole('button', { name: 'Sign in' }).click();
    };
    await attempt();
    await page.getByText('This is not an admin token').waitFor();
    await page.route('**/console/session', (route) =>
      route.fulfill({
        status: 429,
        headers: { 'retry-after': '30' },
        json: { error: { message: 'one address may log in 10 times a minute; wait 30 seconds' } },
      }),
    );
    await attempt();
    await page.getByText('Too many requests').waitFor();
    await eventually(async () => {
      expect(await page.getByRole('alert').innerText()).toContain('wait 30 seconds');
    });
    expect(problems).toEqual([]);
    await context.close();
  });

  // F124: a page of another origin sends a form to the admin API: 403, nothing changed, although
  // the browser sends the cookie.
  it('refuses a form that a page of another origin sends', async () => {
    const { page, context } = await open();
    const before = await balanceOf(accountId);
    const action = `${gateway.adminUrl}/admin/accounts/${accountId}/top-ups`;
    const forged = createServer((_req, res) => {
      res.setHeader('content-type', 'text/html');
      res.end(
        `<form method="post" enctype="text/plain" action="${action}">` +
          `<input name='{"top_up_id":"forged","amount_usd":"1000","note":"' value='"}'></form>` +
          '<script>document.forms[0].submit()</script>',
      );
    });
    await new Promise<void>((resolve) => forged.listen(0, '127.0.0.1', resolve));
    const { port } = forged.address() as AddressInfo;
    const answered = page.waitForResponse(action);
    await page.goto(`http://127.0.0.1:${String(port)}/`);
    // Another port of this machine belongs to the same site, so the browser sends the cookie.
    expect((await answered).request().headers()['origin']).toBe(`http://127.0.0.1:${String(port)}`);
    expect((await answered).status()).toBe(403);
    expect(await balanceOf(accountId)).toBe(before);
    forged.close();
    await context.close();
  });

  it.each(LOOKS)('passes axe and fits the window at $width px in $theme', async (look) => {
    const watched = await open(ADMIN_TOKEN, look);
    const { page, context, problems } = watched;
    const screens = await eachScreen(page, (screen) => checkScreen(watched, screen));
    expect(screens).toEqual(expect.arrayContaining(['audit', 'accounts/…', 'payments']));
    await openPart(page, `accounts/${accountId}`);
    await page.getByRole('button', { name: 'Give credit' }).click();
    await checkScreen(watched, 'a dialog');
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('Admin token').waitFor();
    await checkScreen(watched, 'sign-in');
    expect(problems).toEqual([]);
    await context.close();
  });

  // F291: an action that is not reached by keyboard, a focus that nobody sees, or one that goes
  // through each bar of a plot before it reaches the table below.
  it('is used by keyboard alone, on each screen and in each dialog', async () => {
    const watched = await open();
    const { page, context, problems } = watched;
    const visit = async (screen: string) => {
      expect({ screen, problems: await tabThrough(page) }).toEqual({ screen, problems: [] });
      return eachDialog(page, (name) => checkScreen(watched, `${screen}: ${name}`));
    };
    await eachScreen(page, async (screen) => void (await visit(screen)));
    await openPart(page, `accounts/${accountId}`);
    expect(await visit('an account with keys')).toEqual(
      expect.arrayContaining(['Give credit', 'Transfer', 'Edit', 'Rotate', 'Link', 'Revoke']),
    );
    expect(problems).toEqual([]);
    await context.close();
  });
});
