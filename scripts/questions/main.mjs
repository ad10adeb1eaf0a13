/** Fills a ledger, serves it, and asks all questions at each width. See `../questions.mjs`. */

import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { writeDemo } from '../demo/write-demo.mjs';
import { freePort } from '../free-port.cjs';
import { NODE_FLAGS } from '../run-gateway.mjs';
import { startServers } from '../servers.mjs';
import { node, root } from '../setup.mjs';
import { CUSTOMER } from './customer.mjs';
import { readFacts } from './facts.mjs';
import { OPERATOR } from './operator.mjs';
import { Person } from './person.mjs';

const { chromium } = createRequire(join(root, 'apps/dashboard/package.json'))('playwright-core');

const MAX_CLICKS = 3;
const MAX_SECONDS = 20;
const HEIGHTS = { 390: 844, 1024: 768, 1440: 900 };
const ADMIN_TOKEN = 'admin-token-of-the-questions';

const { values: options } = parseArgs({
  options: {
    widths: { type: 'string', default: '1440,1024,390' },
    page: { type: 'string' },
    shots: { type: 'string' },
    untimed: { type: 'boolean', default: false },
  },
});

const dataDir = mkdtempSync(join(tmpdir(), 'questions-'));
const settings = writeDemo(dataDir);
const gateway = await serve();
try {
  const results = await askAll();
  const bad = results.filter(isBad).length;
  process.stdout.write(`${String(results.length - bad)} of ${String(results.length)} answered\n`);
  if (bad > 0) process.exitCode = 1;
} finally {
  gateway.child.kill();
  await gateway.ended;
  rmSync(dataDir, { recursive: true });
}

async function serve() {
  const [port, adminPort] = [await freePort(), await freePort()];
  const main = join(root, 'apps/gateway/dist/main.js');
  const child = spawn(node, [...NODE_FLAGS, main, 'serve'], {
    cwd: dataDir,
    // Each window has an address of its own, because log-ins and reads are limited per address.
    env: {
      ...settings,
      PATH: process.env['PATH'],
      PORT: String(port),
      ADMIN_PORT: String(adminPort),
      ADMIN_TOKEN,
      TRUST_PROXY: '1',
    },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  const [url, adminUrl] = [port, adminPort].map((each) => `http://127.0.0.1:${String(each)}`);
  for (let tries = 0; ; tries += 1) {
    const answer = await fetch(`${adminUrl}/health`).catch(() => undefined);
    if (answer !== undefined) break;
    if (tries > 200 || child.exitCode !== null) throw new Error('the gateway did not start');
    await sleep(100);
  }
  return { url, adminUrl, child, ended };
}

/** Calls the admin API, for what the questions need before they are asked. */
async function admin(method, path, body) {
  const answer = await fetch(`${gateway.adminUrl}${path}`, {
    method,
    headers: { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  if (!answer.ok) throw new Error(`${method} ${path}: ${await answer.text()}`);
  return answer.json();
}

async function askAll() {
  const { env } = await startServers({ postgres: false, redis: false, chromium: true });
  const browser = await chromium.launch({
    executablePath: env.TEST_CHROMIUM,
    args: ['--no-sandbox', '--disable-background-networking'],
  });
  const facts = () => readFacts(dataDir);
  const demoKey = readFileSync(join(dataDir, 'demo-key'), 'utf8').trim();
  const pages = {
    customer: { url: `${gateway.url}/dashboard/`, secret: demoKey, questions: CUSTOMER },
    operator: { url: `${gateway.adminUrl}/console/`, secret: ADMIN_TOKEN, questions: OPERATOR },
  };
  const names = options.page === undefined ? Object.keys(pages) : [options.page];
  const results = [];
  let windows = 0;
  for (const width of options.widths.split(',').map(Number)) {
    for (const name of names) {
      const { url, secret, questions } = pages[name];
      for (const [index, question] of questions.entries()) {
        windows += 1;
        const before = await question.before?.({ admin, facts: facts() });
        const context = await browser.newContext({
          viewport: { width, height: HEIGHTS[width] ?? 900 },
          extraHTTPHeaders: { 'x-forwarded-for': `10.0.${String(windows >> 8)}.${windows & 255}` },
          reducedMotion: 'reduce',
        });
        const person = await Person.signedIn(context, url, before?.secret ?? secret);
        const asked = { demoKey, url: gateway.url, ...before };
        const result = await answered(() => question.ask(person, asked), person);
        const expected = String(await question.expected(facts(), asked));
        results.push({ width, page: name, question: question.text, expected, ...result });
        print(results.at(-1));
        if (options.shots !== undefined) {
          mkdirSync(options.shots, { recursive: true });
          const path = join(options.shots, `${name}-${String(index + 1)}-${String(width)}.png`);
          await person.page.screenshot({ path });
        }
        await context.close();
        await question.after?.({ admin, facts: facts() });
      }
    }
  }
  await browser.close();
  return results;
}

async function answered(ask, person) {
  let answer;
  try {
    answer = String(await ask());
  } catch (error) {
    answer = `no answer: ${error instanceof Error ? error.message.split('\n')[0] : String(error)}`;
  }
  return { answer, clicks: person.clicks, seconds: person.seconds };
}

function isBad({ answer, expected, clicks, seconds }) {
  const isLate = !options.untimed && seconds > MAX_SECONDS;
  return answer !== expected || clicks > MAX_CLICKS || isLate;
}

function print(result) {
  const { width, page, question, clicks, seconds, answer, expected } = result;
  const figures = `${String(clicks)} clicks, ${seconds.toFixed(1).padStart(4)} s`;
  process.stdout.write(
    `${isBad(result) ? '✗' : '✓'} ${String(width).padStart(4)} ${page}  ` +
      `${question.padEnd(52)} ${figures}  ${answer}\n` +
      (answer === expected ? '' : `${' '.repeat(17)}the ledger has: ${expected}\n`),
  );
}
