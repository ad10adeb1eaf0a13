/** Headless Chromium, and pages that record errors and forbidden requests. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { chromium } from 'playwright-core';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { isLong } from '../../../../scripts/runs.cjs';

/** The built pages. `npm test` builds before it tests. */
export const PAGES_DIR = join(__dirname, '../../dist');

/** A name of this machine that browsers do not take for a loopback address. */
export const OTHER_NAME = 'gateway.test';

/** Chromium runs without its sandbox, and does not call Google's services. */
const ARGUMENTS = [
  `--host-resolver-rules=MAP ${OTHER_NAME} 127.0.0.1`,
  '--no-sandbox',
  '--disable-quic',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--no-first-run',
];

export function openBrowser(): Promise<Browser> {
  const executablePath = process.env['TEST_CHROMIUM'];
  if (executablePath === undefined) throw new Error('TEST_CHROMIUM: is not set');
  return chromium.launch({ executablePath, args: ARGUMENTS });
}

export interface WatchedPage {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Errors on the console, violations of the policy, uncaught errors and foreign requests. */
  readonly problems: readonly string[];
}

export interface Look {
  readonly width: 390 | 1280;
  readonly theme: 'light' | 'dark';
}

export const LOOKS: readonly Look[] = [
  { width: 390, theme: 'light' },
  { width: 390, theme: 'dark' },
  { width: 1280, theme: 'light' },
  { width: 1280, theme: 'dark' },
];

export interface PageOptions extends Look {
  readonly cookie?: string;
  /** The language of the browser, such as `de-DE`. */
  readonly locale?: string;
  /** Another origin that the page may open, such as that of a payment provider's page. */
  readonly leadsTo?: string;
}

let pages = 0;

/** Opens a page that shares nothing with others, not even the client's address. */
export async function openPage(
  browser: Browser,
  url: string,
  { width, theme, cookie, leadsTo, locale }: PageOptions = { width: 1280, theme: 'light' },
): Promise<WatchedPage> {
  pages += 1;
  const context = await browser.newContext({
    extraHTTPHeaders: {
      'x-forwarded-for': `10.0.${String(pages >> 8)}.${String(pages & 255)}`,
    },
    viewport: { width, height: 900 },
    colorScheme: theme,
    ...(locale === undefined ? {} : { locale }),
    reducedMotion: 'reduce',
    acceptDownloads: true,
  });
  // Ends waits that would never end. A slow machine needs longer than Playwright's 30 seconds.
  context.setDefaultTimeout(120_000);
  if (cookie !== undefined) {
    const [name = '', value = ''] = cookie.split('=', 2);
    const { hostname: domain } = new URL(url);
    const kept = { domain, path: '/', httpOnly: true, sameSite: 'Strict' } as const;
    await context.addCookies([{ name, value, ...kept }]);
  }
  if (isLong) await delayRequests(context);
  const page = await context.newPage();
  const problems: string[] = [];
  const { origin } = new URL(url);
  page.on('pageerror', (error) => problems.push(`uncaught: ${error.message}`));
  page.on('console', (message) => {
    // Chromium itself writes this line for each answer above 399, which tests cause on purpose.
    const isStatus = message.text().startsWith('Failed to load resource');
    if (message.type() === 'error' && !isStatus) problems.push(`console: ${message.text()}`);
    if (message.type() === 'warning') problems.push(`console: ${message.text()}`);
  });
  page.on('request', (request) => {
    const isOwn = request.url().startsWith(`${origin}/`) || request.url().startsWith('blob:');
    const isLedTo =
      leadsTo !== undefined &&
      request.isNavigationRequest() &&
      request.url().startsWith(`${leadsTo}/`);
    if (!isOwn && !isLedTo) problems.push(`foreign request: ${request.url()}`);
  });
  await page.goto(url);
  return { page, context, problems };
}

/**
 * Lets each request wait for a moment of its own, as on a slow network, so that answers come late
 * and in other orders: a test that does not wait for what it reads fails.
 */
async function delayRequests(context: BrowserContext): Promise<void> {
  await context.route('**', async (route) => {
    await sleep(Math.random() * 400);
    await route.continue();
  });
}

/**
 * Stops the date of the page, while its timers continue. What it loads from then on never becomes
 * old enough to be loaded again by itself, however slow the machine is.
 */
export async function stopRefreshing(page: Page): Promise<void> {
  await page.clock.setFixedTime(Date.now());
}

/** Signs in to the console without the browser. @returns the cookie of the session */
export async function consoleCookie(consoleUrl: string, token: string): Promise<string> {
  const response = await fetch(`${consoleUrl}session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ token }),
  });
  const [cookie = ''] = (response.headers.get('set-cookie') ?? '').split(';');
  return cookie;
}

/** Opens the console with the cookie of a session. */
export async function openConsole(
  browser: Browser,
  consoleUrl: string,
  cookie: string,
  look: Look & Pick<PageOptions, 'locale'> = { width: 1280, theme: 'light' },
): Promise<WatchedPage> {
  const watched = await openPage(browser, consoleUrl, { ...look, cookie });
  await watched.page.getByRole('navigation').waitFor();
  await loaded(watched.page);
  return watched;
}

export async function signIn(page: Page, secret: string): Promise<void> {
  await page.locator('input[type=password]').fill(secret);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('navigation').waitFor();
}

/** Opens a part of the page, and waits until nothing of it is loading. */
export async function openPart(page: Page, part: string): Promise<void> {
  await page.evaluate((hash) => {
    location.hash = hash;
  }, `#/${part}`);
  await loaded(page);
}

/**
 * Waits until nothing is loading. The page draws a change of its address only after the event
 * `hashchange`, so two frames pass before the first look.
 */
export async function loaded(page: Page): Promise<void> {
  await page.evaluate(
    () =>
      new Promise((resolve) => {
        requestAnimationFrame(() => requestAnimationFrame(resolve));
      }),
  );
  await page.waitForFunction(() => document.querySelector('.loading, [aria-busy=true]') === null);
}

/** Returns the exact amounts or counts that elements show. */
export function valuesOf(page: Page, selector: string): Promise<readonly string[]> {
  return page
    .locator(selector)
    .evaluateAll((elements) => elements.map((element) => element.getAttribute('value') ?? ''));
}

const axeSource = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

/** @returns the findings of axe, each with its element */
export async function axeFindings({ page, context }: WatchedPage): Promise<readonly string[]> {
  // Evaluated by the browser, because the content security policy would refuse a script element.
  const session = await context.newCDPSession(page);
  const known = await session.send('Runtime.evaluate', { expression: "typeof axe === 'object'" });
  if (known.result.value !== true) {
    await session.send('Runtime.evaluate', { expression: axeSource });
  }
  const { result } = await session.send('Runtime.evaluate', {
    expression:
      'axe.run().then(({ violations }) => violations.flatMap(({ id, nodes }) =>' +
      ' nodes.map(({ html }) => id + ": " + html)))',
    awaitPromise: true,
    returnByValue: true,
  });
  await session.detach();
  return result.value as readonly string[];
}

/**
 * By how much the page is wider than its window. Content that scrolls within its own element is not
 * counted.
 */
export function overflow(page: Page): Promise<number> {
  return page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
}
