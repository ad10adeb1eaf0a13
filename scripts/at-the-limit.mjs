/**
 * Forty requests at once, each of 1.38 cents, against a budget of 10 cents: how many are served,
 * and what is spent. Seven fit. Each may cost up to 1.685 cents, which is what is held for it.
 *
 *   node scripts/at-the-limit.mjs             a gateway and a simulated upstream of its own, with
 *                                             OVERDRAFT=none and with the default
 *   node scripts/at-the-limit.mjs URL KEY     any gateway of the Messages API, with a key
 *                                             that has a budget; its own pages say what is spent
 *
 * REQUESTS (40) and MODEL (claude-sonnet-4-6) change the requests. A request that is refused and
 * may be sent again (`x-should-retry: true`) is sent again after its `retry-after`.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from './free-port.cjs';
import { ensureBuilt, node, root } from './setup.mjs';

const REQUESTS = Number(process.env.REQUESTS ?? 40);
const MODEL = process.env.MODEL ?? 'claude-sonnet-4-6';
const BUDGET_USD = 0.1;
const COST_USD = 0.0138;
const MAX_TOKENS = 600;
/** At 3.75 and 15 USD per million, 1.38 cents. */
const USAGE = { input_tokens: 0, cache_creation_input_tokens: 1_280, output_tokens: MAX_TOKENS };
/** Longer than a gateway lets a request wait, so that some are told to come again. */
const ANSWER_MS = 6_000;
const SENT_AT_MOST = 10;

const [url, key] = process.argv.slice(2);
if (url !== undefined && key !== undefined) {
  report(await askAtOnce(url, key));
} else {
  ensureBuilt();
  const isExact = await tryMode('none', ({ served, spent }) => served === 7 && spent === 0.0966);
  const isBounded = await tryMode(
    'bounded',
    ({ spent }) => spent <= BUDGET_USD + REQUESTS * COST_USD,
  );
  process.exitCode = isExact && isBounded ? 0 : 1;
}

/**
 * @param {string} overdraft
 * @param {(result: { served: number, spent: number }) => boolean} isRight
 */
async function tryMode(overdraft, isRight) {
  const { startUpstreamSimulator } = await import('../packages/upstream-simulator/dist/index.js');
  const simulator = await startUpstreamSimulator();
  simulator.scriptWhen(() => true, {
    usage: USAGE,
    delayMs: ANSWER_MS,
  });
  const dataDir = mkdtempSync(join(tmpdir(), 'at-the-limit-'));
  const token = 'at-the-limit-admin-token';
  const gateway = await startGateway({
    DATA_DIR: dataDir,
    ADMIN_TOKEN: token,
    UPSTREAM_URL: simulator.url,
    UPSTREAM_API_KEY: 'simulated',
    OVERDRAFT: overdraft,
  });
  const operate = async (method, path, body) => {
    const answer = await fetch(`${gateway.adminUrl}/admin/${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    if (!answer.ok) throw new Error(`${path}: ${await answer.text()}`);
    return /** @type {any} */ (await answer.json());
  };
  try {
    const { api_key: apiKey, account_id } = await operate('POST', 'keys', {
      name: 'forty',
      balance_usd: '100',
      concurrency: REQUESTS,
      burst: 100 * REQUESTS,
      requests_per_minute: 100_000,
    });
    await operate('POST', 'budgets', {
      account_id,
      name: 'ten cents',
      scope: 'account',
      amount_usd: String(BUDGET_USD),
      period: 'once',
    });
    process.stdout.write(`\nOVERDRAFT=${overdraft}\n`);
    const result = await askAtOnce(gateway.url, apiKey);
    report(result);
    const balance = await fetch(`${gateway.url}/v1/dashboard/balance`, {
      headers: { authorization: `Bearer ${apiKey}` },
    });
    const { budgets } = /** @type {any} */ (await balance.json());
    const spent = Number(budgets[0].used_usd);
    process.stdout.write(`  spent ${spent} of ${BUDGET_USD} USD, as the gateway says\n`);
    return isRight({ ...result, spent });
  } finally {
    await gateway.stop();
    await simulator.close();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

async function startGateway(env) {
  const [port, adminPort] = [await freePort(), await freePort()];
  const url = `http://127.0.0.1:${port}`;
  const child = spawn(node, [join(root, 'apps/gateway/dist/main.js'), 'serve'], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { PORT: String(port), ADMIN_PORT: String(adminPort), LOG_LEVEL: 'error', ...env },
  });
  const isReady = () =>
    fetch(`${url}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    );
  while (child.exitCode === null && !(await isReady())) await sleep(100);
  return {
    url,
    adminUrl: `http://127.0.0.1:${adminPort}`,
    async stop() {
      child.kill('SIGTERM');
      if (child.exitCode === null) await once(child, 'exit');
    },
  };
}

async function askAtOnce(url, key) {
  const answers = await Promise.all(Array.from({ length: REQUESTS }, () => ask(url, key)));
  const count = (isMeant) => answers.filter(isMeant).length;
  return {
    served: count(({ status }) => status === 200),
    toldToComeAgain: count(({ sent }) => sent > 1),
    refused: count(({ status }) => status !== 200),
    reasons: [
      ...new Set(answers.map(({ reason }) => reason.replace(/"request_id":"[^"]+"/, '…'))),
    ].filter((text) => text !== ''),
  };
}

/** Sends one request, again and again while it may. */
async function ask(url, key) {
  for (let sent = 1; ; sent += 1) {
    const answer = await fetch(`${url}/v1/messages`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${key}`,
        'anthropic-version': '2023-06-01',
        'content-type': 'application/json',
      },
      body: JSON.stringify({
        model: MODEL,
        max_tokens: MAX_TOKENS,
        messages: [{ role: 'user', content: 'Hi' }],
      }),
    });
    const text = await answer.text();
    const mayComeAgain = answer.headers.get('x-should-retry') === 'true';
    if (answer.ok || !mayComeAgain || sent === SENT_AT_MOST) {
      return { status: answer.status, sent, reason: answer.ok ? '' : text };
    }
    await sleep(1_000 * Number(answer.headers.get('retry-after') ?? 1));
  }
}

function report({ served, toldToComeAgain, refused, reasons }) {
  process.stdout.write(
    `  ${REQUESTS} requests of ${COST_USD} USD at once: ${served} served\n` +
      `  ${toldToComeAgain} were told to come again, and did; ${refused} were refused in the end\n`,
  );
  for (const reason of reasons.slice(0, 3)) process.stdout.write(`    ${reason}\n`);
}
