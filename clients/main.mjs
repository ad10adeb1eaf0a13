/**
 * Runs real clients, most in their newest versions, against a gateway with the simulator.
 * Most checks print the usage that the client received. The sum of these usages must equal the
 * client's charges in the ledger. For clients that print none, the number of charged requests is
 * checked. Each client is a student of one course, with a member and a key of its own, and all its
 * charges must be of this member. The simulator, which is as strict as the API, must not refuse any
 * request. How much thinking the clients sent back, and how much of it still fitted, is printed.
 *
 * `npm run clients` runs all of them, `npm run clients -- openai-js llm` only those two. Each is
 * installed once, into `CLIENTS_DIR` (by default a folder in the system's temporary folder).
 */

import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { askNatively } from '../scripts/ask.mjs';
import { freePort } from '../scripts/free-port.cjs';
import { ensureBuilt, node, root, step } from '../scripts/setup.mjs';
import { CLIENTS } from './clients.mjs';
import { startSilentUpstream } from './silent-upstream.mjs';

const dir = process.env['CLIENTS_DIR'] ?? join(tmpdir(), 'gateway-clients');
const chosen = process.argv.slice(2);
const TIMEOUT_MS = 900_000;

ensureBuilt();
mkdirSync(dir, { recursive: true });
const data = mkdtempSync(join(tmpdir(), 'gateway-clients-data-'));
const [port, adminPort] = [await freePort(), await freePort()];
const adminToken = 'clients-admin-token-0123456789';
const url = `http://127.0.0.1:${port}`;
// Imported here, because it may have to be built first.
const { checkThinking, startUpstreamSimulator } =
  await import('../packages/upstream-simulator/dist/index.js');
const { defaultPriceTable } = await import('../packages/billing/dist/index.js');
/** The models that check what precedes their thinking. */
const BINDING_MODELS = defaultPriceTable()
  .list()
  .filter(({ traits, verifiedOnly }) => traits.bindsThinking && !verifiedOnly)
  .map(({ id }) => id)
  .join();
const simulator = await startUpstreamSimulator();
const upstream = await startSilentUpstream(simulator.url);
const gateway = spawn(node, [join(root, 'apps/gateway/dist/main.js')], {
  cwd: data,
  stdio: 'ignore',
  env: {
    PATH: process.env['PATH'],
    PORT: String(port),
    ADMIN_PORT: String(adminPort),
    ADMIN_TOKEN: adminToken,
    DATA_DIR: data,
    CHAT_JSON_SCHEMA: 'native',
    CHAT_REASONING: 'reasoning_content',
    ALLOW_FEATURES: 'web_search',
    UPSTREAM_URL: upstream.url,
    UPSTREAM_API_KEY: 'clients-upstream-key',
    LOG_LEVEL: 'silent',
  },
});

let failures = 0;
let course;
try {
  await untilReady();
  course = await createCourse();
  for (const client of CLIENTS) {
    if (chosen.length > 0 && !chosen.includes(client.name)) continue;
    if (!(await runClient(client))) failures += 1;
  }
} finally {
  gateway.kill('SIGTERM');
  await new Promise((resolve) => gateway.once('exit', resolve));
  upstream.close();
  await simulator.close();
  rmSync(data, { recursive: true, force: true });
}
process.exitCode = failures > 0 ? 1 : 0;

/**
 * @param {(typeof CLIENTS)[number]} client @returns whether the client worked and was charged as
 * expected
 */
async function runClient({ name, install, command, requests }) {
  step(name);
  const folder = join(dir, name);
  const programs = {
    PROGRAMS: join(root, 'clients/programs'),
    SNIPPET: join(root, 'clients/snippet.mjs'),
  };
  if (!existsSync(join(folder, 'installed'))) {
    mkdirSync(folder, { recursive: true });
    for (const line of [...install, 'touch installed']) {
      const { code, output } = await shell(line, folder, programs);
      if (code !== 0) return failed(`cannot be installed: ${output.slice(-500)}`);
    }
  }
  const { apiKey, memberId } = await createStudent(name);
  const exhaustedKey = await createExhaustedKey();
  const { apiKey: spentKey } = await createSpentStudent(name);
  const earlier = simulator.journal.requests().length;
  upstream.takeRefusals();
  const { code, output } = await shell(command, folder, {
    OPENAI_BASE_URL: `${url}/v1`,
    OPENAI_API_BASE: `${url}/v1`,
    OPENAI_API_KEY: apiKey,
    ANTHROPIC_BASE_URL: url,
    ANTHROPIC_API_KEY: apiKey,
    EXHAUSTED_API_KEY: exhaustedKey,
    SPENT_API_KEY: spentKey,
    GATEWAY_URL: url,
    BINDING_MODELS,
    ...programs,
    HOME: folder,
  });
  const checks = output.split('\n').flatMap(readCheck);
  for (const { check, usage } of checks) process.stdout.write(`  ${check}: ${shown(usage)}\n`);
  const refusals = upstream.takeRefusals();
  if (code !== 0) {
    return failed(`exited with ${code}: ${output.slice(-2000)}${refusals.join('\n')}`);
  }
  if (refusals.length > 0) return failed(`refused upstream: ${refusals.join('\n')}`);
  process.stdout.write(`  ${thinkingIn(simulator.journal.requests().slice(earlier))}\n`);
  const charged = await chargedTo(apiKey);
  const others = charged.members.filter((id) => id !== memberId);
  if (others.length > 0) return failed(`charged to ${others.join(', ')} and not to its member`);
  if (requests !== undefined) {
    const count = `${charged.requests} requests charged, at least ${requests} expected`;
    return charged.requests >= requests ? passed(count) : failed(`${count}: ${output}`);
  }
  const received = checks.reduce(
    (sum, { usage }) => ({ input: sum.input + usage.input, output: sum.output + usage.output }),
    { input: 0, output: 0 },
  );
  const figures = `received ${shown(received)}, charged ${shown(charged)}`;
  const isExact = received.input === charged.input && received.output === charged.output;
  return isExact ? passed(figures) : failed(figures);
}

/** @param {readonly { readonly body: Buffer | undefined }[]} requests */
function thinkingIn(requests) {
  let [sent, unfit] = [0, 0];
  for (const { body } of requests) {
    if (body === undefined || body.length === 0) continue;
    const request = JSON.parse(body.toString());
    const blocks = (request.messages ?? []).flatMap(({ content }) => content);
    sent += blocks.filter(({ type }) => /^(redacted_)?thinking$/.test(type)).length;
    unfit += checkThinking(request).dropped.length;
  }
  return `${sent} thinking blocks sent back, ${unfit} of them no longer fitted`;
}

function readCheck(line) {
  return line.startsWith('{"check"') ? [JSON.parse(line)] : [];
}

function shown({ input, output }) {
  return `${input} input and ${output} output tokens`;
}

function passed(text) {
  process.stdout.write(`  ok: ${text}\n`);
  return true;
}

function failed(text) {
  process.stdout.write(`  FAILED: ${text}\n`);
  return false;
}

/** @returns the charges of a key in the ledger: requests, tokens of all kinds, and members */
async function chargedTo(apiKey) {
  const headers = { authorization: `Bearer ${apiKey}` };
  const response = await fetch(`${url}/v1/dashboard/usage?limit=1000`, { headers });
  const { data: entries } = await response.json();
  let [input, output] = [0, 0];
  for (const { usage } of entries) {
    input += usage.input_tokens + usage.cache_read_input_tokens + usage.cache_creation_input_tokens;
    output += usage.output_tokens;
  }
  const members = [...new Set(entries.map(({ member_id: id }) => id ?? 'nobody'))];
  return { requests: entries.length, input, output, members };
}

/** An account with a group of members, a budget of it, and one of each member. */
async function createCourse() {
  const { id: account_id } = await operate('accounts', { name: 'chair', balance_usd: '1000' });
  const { id: group_id } = await operate('groups', { account_id, name: 'Databases' });
  const budget = { account_id, period: 'month', contact: 'chair@example.com' };
  const ofAll = { ...budget, name: 'the course', scope: 'group', subject: group_id };
  await operate('budgets', { ...ofAll, amount_usd: '400' });
  const ofEach = { ...budget, name: 'each student', scope: 'member', within_group: group_id };
  await operate('budgets', { ...ofEach, amount_usd: '20' });
  return { account_id, group_id, budget };
}

async function createStudent(name) {
  const { account_id, group_id } = course;
  const { id: member_id } = await operate('members', { account_id, group_id, name });
  const { api_key: apiKey } = await operate('keys', { account_id, member_id, name });
  return { apiKey, memberId: member_id };
}

/** @returns a student whose own budget is used up */
async function createSpentStudent(name) {
  const student = await createStudent(`${name}, spent`);
  await operate('budgets', {
    ...course.budget,
    name: 'the thesis',
    scope: 'member',
    subject: student.memberId,
    amount_usd: '0.00001',
  });
  const response = await askNatively(url, student.apiKey);
  const text = await response.text();
  if (!response.ok) throw new Error(text);
  return student;
}

/** @returns a key that has used up its balance */
async function createExhaustedKey() {
  const balance = { name: 'exhausted', balance_usd: '0.00001' };
  const { api_key: apiKey } = await operate('keys', balance);
  const response = await askNatively(url, apiKey);
  const text = await response.text();
  if (!response.ok) throw new Error(text);
  return apiKey;
}

async function operate(what, body) {
  const response = await fetch(`http://127.0.0.1:${adminPort}/admin/${what}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${what}: ${await response.text()}`);
  return response.json();
}

async function untilReady() {
  for (let attempt = 0; attempt < 150; attempt += 1) {
    const isReady = await fetch(`${url}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    );
    if (isReady) return;
    await sleep(200);
  }
  throw new Error('the gateway does not start');
}

function shell(command, cwd, env) {
  return new Promise((resolve) => {
    const child = spawn('bash', ['-c', command], {
      cwd,
      // npm installs the newest version that runs on the Node in the path.
      env: { ...process.env, PATH: `${dirname(node)}:${process.env['PATH']}`, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: TIMEOUT_MS,
    });
    let output = '';
    child.stdout.on('data', (bytes) => (output += bytes));
    child.stderr.on('data', (bytes) => (output += bytes));
    child.on('close', (code) => resolve({ code, output }));
  });
}
