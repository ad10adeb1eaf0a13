/** Numbers as people of several languages read, print and type them. */

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { formatUsd } from '@gateway/billing';
import { assert, bigInt, constantFrom, property } from 'fast-check';
import type { Browser, Page } from 'playwright-core';
import type { TestGateway } from '../../../gateway/test/support/gateway.js';
import { decimalText, numberStyle, readDecimal, typedText } from '../../src/shared/text/numbers.js';
import { exactUsd, readTypedUsd, roundedUsd, separatorProblem } from '../../src/shared/text/usd.js';
import {
  consoleCookie,
  loaded,
  openBrowser,
  openConsole,
  openPage,
  openPart,
  overflow,
  signIn,
} from '../support/browser.js';
import { ADMIN_TOKEN, createFolder, sendTraffic, startPages } from '../support/traffic.js';

const BALANCE = '12001441.09087654321098';
const LANGUAGES = ['en-US', 'de-DE', 'de-CH', 'fr-FR', 'en-IN', 'es-ES', 'ar-EG', 'hi-IN'] as const;
const german = numberStyle('de-DE');

describe('numbers', () => {
  // F433: thousands and decimals with the same sign: 79.755 tokens at 0.78125 in German.
  it.each(LANGUAGES)('have different signs for thousands and decimals in %s', (language) => {
    const { group, decimal } = numberStyle(language);
    expect(group).not.toBe(decimal);
  });

  it('are read as they are written, in every language', () => {
    const most = 10n ** 24n;
    assert(
      property(constantFrom(...LANGUAGES), bigInt({ min: -most, max: most }), (language, units) => {
        const style = numberStyle(language);
        const text = formatUsd(units);
        // Indian languages have groups of two digits, which are shown and never asked for.
        if (!/^..-IN$/.test(language)) {
          expect(readDecimal(decimalText(text, style), style)).toBe(text);
        }
        expect(readDecimal(typedText(text, style), style)).toBe(text);
      }),
    );
  });

  it('are written in the language of the browser, also amounts', () => {
    expect(exactUsd('-1234.5', { style: german })).toBe('−$1.234,5');
    expect(roundedUsd('1234.56789', { style: german })).toBe('$1.234,5679');
    expect(roundedUsd('836.4759', { style: german, most: 2 })).toBe('$836,48');
    expect(roundedUsd('0.00123', { most: 2 })).toBe('$0.0012');
  });

  // F434: a cap of "1.000" became 1 USD in German, and "5,50" was refused.
  it('are read in the language of the browser, or refused', () => {
    expect(readTypedUsd('1.000', german)).toBe('1000');
    expect(readTypedUsd('$1.234,50', german)).toBe('1234.5');
    expect(readTypedUsd('5,50', german)).toBe('5.5');
    for (const text of ['5.50', '1.00', '1,234.50', '1.0000', '0.500', '1..000']) {
      expect(readTypedUsd(text, german)).toBeUndefined();
      expect(separatorProblem(text, german)).toContain('decimals as 7,50 and thousands as 12.345');
    }
    expect(readTypedUsd('1 234,5', numberStyle('fr-FR'))).toBe('1234.5');
    expect(readTypedUsd("1'234.5", numberStyle('de-CH'))).toBe('1234.5');
  });
});

let browser: Browser;
let gateway: TestGateway;
let accountId: string;
let apiKey: string;
const folder = createFolder();

beforeAll(async () => {
  browser = await openBrowser();
  gateway = await startPages({ DATA_DIR: folder.path });
  const account = await gateway.call('createAccount', { name: 'Rich', balance_usd: BALANCE });
  accountId = account.id;
  const key = await gateway.call('createKey', { name: 'all', account_id: accountId });
  apiKey = key.api_key ?? '';
  await sendTraffic(gateway, [apiKey], { count: 12, seed: 5 });
});
afterAll(async () => {
  await browser.close();
  await gateway.stop();
  folder.remove();
});

/** The numbers that are shown. Each is on one line, and inside of what frames it. */
async function numbersOf(page: Page): Promise<readonly string[]> {
  const numbers = await page.locator('.money, .number').evaluateAll((elements) =>
    elements
      .filter((element) => element.getClientRects().length > 0)
      .map((element) => ({
        text: element.textContent,
        lines: element.getClientRects().length,
        isIn:
          element.closest('.table-frame') !== null ||
          element.getBoundingClientRect().right <= innerWidth,
      })),
  );
  expect(numbers.filter(({ lines, isIn }) => lines !== 1 || !isIn)).toEqual([]);
  expect(await overflow(page)).toBeLessThanOrEqual(0);
  return numbers.map(({ text }) => text);
}

const SHAPES = {
  'en-US': /^−?\$?\d{1,3}(,\d{3})*(\.\d+)?$/,
  'de-DE': /^−?\$?\d{1,3}(\.\d{3})*(,\d+)?$/,
} as const;

describe.each(['en-US', 'de-DE'] as const)('the pages in %s', (locale) => {
  const inLocale = (text: string) => exactUsd(text, { style: numberStyle(locale) });

  // F435: amounts broke in mid-number, as $12,001,441.09|08, on the screen and on paper.
  it.each([390, 1280] as const)('have every number on one line, %i pixels wide', async (width) => {
    const { page, context } = await openPage(browser, `${gateway.url}/dashboard/`, {
      width,
      theme: 'light',
      locale,
    });
    await signIn(page, apiKey);
    for (const part of ['', 'usage', 'ledger', 'prices', 'statement']) {
      await openPart(page, part);
      const switched = page.getByLabel('Every digit');
      if ((await switched.count()) > 0) await switched.first().check();
      const shown = await numbersOf(page);
      expect(shown.length).toBeGreaterThan(3);
      expect(shown.filter((text) => !SHAPES[locale].test(text))).toEqual([]);
    }
    await page.emulateMedia({ media: 'print' });
    await page.setViewportSize({ width: 680, height: 960 });
    expect(await numbersOf(page)).toContain(inLocale(BALANCE));
    await context.close();
  });

  // F436: the headline had four decimals, and "Every digit" was forgotten after F5.
  it('have two decimals in the headline, and remember who wants every digit', async () => {
    const { page, context, problems } = await openPage(browser, `${gateway.url}/dashboard/`, {
      width: 1280,
      theme: 'light',
      locale,
    });
    await signIn(page, apiKey);
    await loaded(page);
    const balance = page.locator('#balance data');
    expect(await balance.innerText()).toMatch(/^\$12[.,]001[.,]44\d[.,]\d\d$/);
    await page.getByLabel('Every digit').check();
    const exact = inLocale((await balance.getAttribute('value')) ?? '');
    expect(await balance.innerText()).toBe(exact);
    await page.reload();
    await loaded(page);
    expect(await balance.innerText()).toBe(exact);
    await page.getByLabel('Every digit').uncheck();
    await page.reload();
    await loaded(page);
    expect(await balance.innerText()).not.toBe(exact);
    expect(problems).toEqual([]);
    await context.close();
  });

  it('read back what is typed with separators', async () => {
    const url = `${gateway.adminUrl}/console/`;
    const cookie = await consoleCookie(url, ADMIN_TOKEN);
    const { page, context } = await openConsole(browser, url, cookie, {
      width: 1280,
      theme: 'light',
      locale,
    });
    await openPart(page, `accounts/${accountId}`);
    await page.getByRole('button', { name: 'Take back' }).click();
    const amount = page.getByLabel('Amount, USD');
    const [thousand, foreign] = locale === 'de-DE' ? ['1.000', '5.50'] : ['1,000', '5,50'];
    await amount.fill(thousand);
    await page.getByText(`Read as ${inLocale('1000.00')}.`).waitFor();
    await amount.fill(foreign);
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByText('Write decimals as').waitFor();
    await context.close();
  });
});
