/** Fills a ledger, serves it, and asks all questions at each width. See `../questions.mjs`. */

import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { writeDemo } from '../demo/write-demo.mjs';
import { CUSTOMER } from './customer.mjs';
import { readFacts } from './facts.mjs';
import { OPERATOR } from './operator.mjs';
import { Person } from './person.mjs';
import { ADMIN_TOKEN, openChromium, serveDemo } from './serve-demo.mjs';

const MAX_CLICKS = 3;
const MAX_SECONDS = 20;
const HEIGHTS = { 390: 844, 1024: 768, 1440: 900 };

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
const gateway = await serveDemo(dataDir, settings);
try {
  const results = await askAll();
  const bad = results.filter(isBad).length;
  process.stdout.write(`${String(results.length - bad)} of ${String(results.length)} answered\n`);
  if (bad > 0) process.exitCode = 1;
} finally {
  await gateway.stop();
  rmSync(dataDir, { recursive: true });
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
  const browser = await openChromium();
  const facts = (now = Date.now()) => readFacts(dataDir, now);
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
        const startedAt = Date.now();
        const before = await question.before?.({ admin, facts: facts() });
        const context = await browser.newContext({
          viewport: { width, height: HEIGHTS[width] ?? 900 },
          extraHTTPHeaders: { 'x-forwarded-for': `10.0.${String(windows >> 8)}.${windows & 255}` },
          reducedMotion: 'reduce',
        });
        const person = await Person.signedIn(context, url, before?.secret ?? secret, {
          isTimed: !options.untimed,
        });
        const asked = { demoKey, url: gateway.url, ...before };
        const result = await answered(() => question.ask(person, asked), person);
        // The page may have read its figures before a new day, hour or five minutes began.
        const [then, now] = [startedAt, Date.now()].map((at) =>
          String(question.expected(facts(at), asked)),
        );
        const expected = then === result.answer ? then : now;
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
