/**
 * Visits every screen of a page: the parts that its own navigation lists, and in them one address
 * of each form, such as one account. A new part is visited without a change here.
 */

import { expect } from '@jest/globals';
import type { Locator, Page } from 'playwright-core';
import { axeFindings, loaded, openPart, overflow } from './browser.js';
import type { WatchedPage } from './browser.js';

/** Expects that axe finds nothing, and that the page is not wider than its window. */
export async function checkScreen(watched: WatchedPage, screen: string): Promise<void> {
  await watched.page.locator('h1').first().waitFor();
  const findings = await axeFindings(watched);
  const result = { screen, findings, overflow: await overflow(watched.page) };
  expect(result).toEqual({ screen, findings: [], overflow: 0 });
}

/** @returns the names of the screens, in the order in which they were visited */
export async function eachScreen(
  page: Page,
  visit: (screen: string) => Promise<void>,
): Promise<readonly string[]> {
  const waiting = await addressesIn(page.getByRole('navigation'));
  const visited = new Set<string>();
  for (const address of waiting) {
    const form = formOf(address);
    if (visited.has(form)) continue;
    visited.add(form);
    await openPart(page, address);
    await visit(form);
    waiting.push(...(await addressesIn(page.locator('main'))));
  }
  return [...visited];
}

/** The addresses of links to parts of the page, without what they filter. */
async function addressesIn(area: Locator): Promise<string[]> {
  const links = await area
    .locator('a[href^="#/"]')
    .evaluateAll((all) => all.map((link) => link.getAttribute('href') ?? ''));
  return links.map((href) => href.slice(2).replace(/\?.*$/, ''));
}

/** `accounts/acct_1` and `accounts/acct_2` are one screen, and so are the parts of each. */
function formOf(address: string): string {
  return address.replace(/\/[a-z]+_[\w-]+(?=\/|$)/, '/…');
}

const FOCUSABLE =
  'a[href], button:enabled, input:enabled, select:enabled, textarea:enabled, summary, [tabindex="0"]';
/** Nothing on the screens of tests has as many elements. */
const MOST_PRESSES = 400;

/**
 * Presses Tab through the whole page.
 *
 * @returns the elements that never get the focus, or get it without anybody seeing where it is
 */
export async function tabThrough(page: Page): Promise<readonly string[]> {
  // What lies under the pointer while the page scrolls would be chosen.
  await page.mouse.move(0, 0);
  await page.evaluate((focusable) => {
    // With some fonts a text overflows its box, and a box that scrolls gets the focus too.
    for (const element of document.querySelectorAll<HTMLElement>('[data-touched]')) {
      delete element.dataset['touched'];
    }
    for (const element of document.querySelectorAll<HTMLElement>(focusable)) {
      // The bars of a plot are chosen by arrow keys, so that only one of them is in this order.
      if (element.tabIndex >= 0 && element.checkVisibility()) element.dataset['untouched'] = '';
    }
    document.querySelector<HTMLElement>(focusable)?.focus();
  }, FOCUSABLE);
  // Only a focus that came by keyboard is shown.
  await page.keyboard.press('Tab');
  await page.keyboard.press('Shift+Tab');
  const problems: string[] = [];
  for (let presses = 0; ; presses += 1) {
    if (presses === MOST_PRESSES) return [...problems, 'the focus never leaves the page'];
    const seen = await page.evaluate(lookAtFocus);
    if (seen === undefined) break;
    if (seen !== '') problems.push(seen);
    await page.keyboard.press('Tab');
  }
  const untouched = await page.locator('[data-untouched]').evaluateAll((all) =>
    all.map((element) => {
      delete (element as HTMLElement).dataset['untouched'];
      return `cannot be reached: ${element.outerHTML.slice(0, 160)}`;
    }),
  );
  return [...problems, ...untouched];
}

/** Runs in the page. @returns what is wrong with the focus; `undefined` after the last element */
function lookAtFocus(): string | undefined {
  const element = document.activeElement;
  const isOwn = element instanceof HTMLElement || element instanceof SVGElement;
  if (!isOwn || element === document.body) return undefined;
  const before = document.querySelector<HTMLElement>('[data-touched=now]');
  // A date has a place for the day, the month, the year and the calendar.
  if (element === before) return '';
  if (element.dataset['touched'] !== undefined) return undefined;
  if (before !== null) before.dataset['touched'] = 'before';
  element.dataset['touched'] = 'now';
  delete element.dataset['untouched'];
  const { outlineStyle, outlineWidth } = getComputedStyle(element);
  const ground = element.querySelector(':scope > .ground');
  const isOutlined =
    (outlineStyle !== 'none' && Number.parseFloat(outlineWidth) >= 2) ||
    (ground !== null && getComputedStyle(ground).stroke !== 'none');
  const box = element.getBoundingClientRect();
  const isOnScreen = box.bottom > 0 && box.top < innerHeight && box.right > 0;
  const name = element.outerHTML.slice(0, 160);
  if (!isOutlined) return `has no visible focus: ${name}`;
  return isOnScreen ? '' : `has the focus outside the window: ${name}`;
}

/** These act at once or leave the page, or are on each screen. */
const AT_ONCE = /^Search|CSV|Print|Send a test|Audit now|Compare|Load more|remove this filter|Copy/;

/**
 * Opens each dialog of the screen by Enter, once for each kind of button, and expects that the
 * focus stays inside, that Escape closes it, and that its button has the focus again.
 */
export async function eachDialog(
  page: Page,
  visit: (dialog: string) => Promise<void>,
): Promise<readonly string[]> {
  const opened = new Set<string>();
  const tried = new Set<string>();
  const buttons = page.locator('main button:enabled:not([aria-expanded], [aria-pressed], .sort)');
  for (let index = 0; index < (await buttons.count()); index += 1) {
    const button = buttons.nth(index);
    const name = ((await button.getAttribute('aria-label')) ?? (await button.innerText())).trim();
    const kind = name.replace(/: .*$/, '');
    if (tried.has(kind) || AT_ONCE.test(name) || !(await button.isVisible())) continue;
    tried.add(kind);
    await button.focus();
    await page.keyboard.press('Enter');
    await loaded(page);
    const dialog = page.getByRole('dialog');
    if ((await dialog.count()) === 0) continue;
    opened.add(kind);
    await visit(kind);
    for (let presses = 0; presses < 12; presses += 1) {
      await page.keyboard.press('Tab');
      expect(
        await page.evaluate(() => {
          const { activeElement, body } = document;
          return activeElement === body || activeElement?.closest('dialog') != null;
        }),
      ).toBe(true);
    }
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    expect([kind, await button.evaluate((of) => of === document.activeElement)]).toEqual([
      kind,
      true,
    ]);
  }
  return [...opened];
}
