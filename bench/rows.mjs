/**
 * `node bench/rows.mjs`: a table of 10,000 rows in the console: the CPU time of the page's main
 * thread for each interaction, and the heap of the page. `npm start` must have built the pages.
 */

/* global document, scrollTo */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { writeDemo } from '../scripts/demo/write-demo.mjs';
import { ADMIN_TOKEN, openChromium, serveDemo } from '../scripts/questions/serve-demo.mjs';
import { summary } from './statistics.mjs';

const ROWS = 10_000;
const FIRST_PAGE = 50;
const TIMES = 8;
const MAX_MS = 50;
const MAX_MB = 60;

const ALL_ROWS = `table[aria-rowcount="${String(ROWS + 1)}"]`;

const dataDir = mkdtempSync(join(tmpdir(), 'rows-'));
const gateway = await serveDemo(dataDir, writeDemo(dataDir));
const browser = await openChromium();
try {
  await measure();
} finally {
  await browser.close();
  await gateway.stop();
  rmSync(dataDir, { recursive: true });
}

async function measure() {
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
  await serveRows(page);
  await page.goto(`${gateway.adminUrl}/console/`);
  await page.locator('input[type=password]').fill(ADMIN_TOKEN);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('navigation').waitFor();
  await page.getByRole('link', { name: 'Ledger', exact: true }).first().click();
  const loadAll = async () => {
    const more = page.getByRole('button', { name: 'Load more' });
    await more.or(page.locator(ALL_ROWS)).first().waitFor();
    if (await more.isVisible()) await more.click();
    await page.locator(ALL_ROWS).waitFor();
  };
  await loadAll();
  const session = await page.context().newCDPSession(page);
  await session.send('Performance.enable', { timeDomain: 'threadTicks' });
  const cpuMs = async () => {
    const { metrics } = await session.send('Performance.getMetrics');
    return 1_000 * (metrics.find(({ name }) => name === 'TaskDuration')?.value ?? 0);
  };
  const header = async (label) => {
    await page.evaluate(() => {
      scrollTo(0, 0);
    });
    await sleep(300);
    const box = await page.getByRole('button', { name: label, exact: true }).boundingBox();
    return () => page.mouse.click((box?.x ?? 0) + 10, (box?.y ?? 0) + 5);
  };
  const byWheel = (px) => () => page.mouse.wheel(0, px);
  const amount = await header('Amount');
  const time = await header('Time');
  await page.mouse.move(700, 700);
  let isFiltered = false;
  const interactions = {
    'scroll by half a screen': byWheel(450),
    'scroll by ten screens': byWheel(9_000),
    'sort by an amount': amount,
    'sort by a time': time,
    'jump to the middle': () =>
      page.evaluate(() => {
        scrollTo(0, document.documentElement.scrollHeight / 2);
      }),
    'filter by a kind': () => {
      isFiltered = !isFiltered;
      return page.getByLabel('Show').selectOption(isFiltered ? 'Credits' : 'Everything');
    },
  };
  let isGood = true;
  for (const [name, act] of Object.entries(interactions)) {
    const samples = [];
    for (let times = 0; times < TIMES; times += 1) {
      if (name.startsWith('sort') || name.startsWith('jump')) await header('Time');
      if (name.startsWith('filter')) await loadAll();
      await sleep(400);
      const before = await cpuMs();
      await act();
      await sleep(400);
      samples.push((await cpuMs()) - before);
    }
    const { median = 0, max = 0 } = summary(samples) ?? {};
    isGood &&= median <= MAX_MS;
    process.stdout.write(
      `  ${name.padEnd(28)} ${median.toFixed(1).padStart(6)} ms of CPU time, at most ${max.toFixed(1)}\n`,
    );
  }
  await session.send('HeapProfiler.collectGarbage');
  const { usedSize } = await session.send('Runtime.getHeapUsage');
  const mb = usedSize / 2 ** 20;
  process.stdout.write(`  heap: ${mb.toFixed(1)} MB\n`);
  if (!isGood || mb > MAX_MB) process.exitCode = 1;
}

/** Answers a ledger of so many entries in two pages. */
async function serveRows(page) {
  const entry = {
    object: 'ledger_entry',
    kind: 'top_up',
    account_id: 'acct_1',
    created_at: new Date(0).toISOString(),
    source: 'paid',
    actor: 'demo',
  };
  const entries = Array.from({ length: ROWS }, (_, index) => ({
    ...entry,
    id: `entry-${String(index)}`,
    created_at: new Date(index * 1_000_000_000).toISOString(),
    amount_usd: `${String((index * 7_919) % ROWS)}.25`,
    balance_after_usd: '1',
  }));
  await page.route('**/admin/ledger?*', (route) => {
    const isSecond = route.request().url().includes('cursor=');
    return route.fulfill({
      json: {
        object: 'list',
        data: isSecond ? entries.slice(FIRST_PAGE) : entries.slice(0, FIRST_PAGE),
        has_more: !isSecond,
        next_cursor: isSecond ? null : 'next',
      },
    });
  });
}
