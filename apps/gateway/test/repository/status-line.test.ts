/** The status line for Claude Code, as a process of its own that asks a real gateway. */

import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync } from 'node:fs';
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo, Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { formatUsd, parseUsd } from '@gateway/billing';
import { textUnder } from '../../../../scripts/headings.cjs';
import { startTestGateway } from '../support/gateway.js';
import type { TestGateway } from '../support/gateway.js';
import { createLaboratory } from '../support/laboratory.js';

const ROOT = resolve(__dirname, '../../../..');
const SECTION = textUnder(readFileSync(join(ROOT, 'docs/clients.md'), 'utf8'), 'Claude Code');

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway({ env: { PAGES_DIR: join(ROOT, 'apps/dashboard/dist') } });
});
afterAll(() => gateway.stop());

/** The home of a person, with the script as the document has it fetched. */
let home: string;
beforeEach(async () => {
  home = mkdtempSync(join(tmpdir(), 'status-line-'));
  mkdirSync(join(home, '.claude'));
  const [, typed = ''] = /^```\n(curl .*)\n```$/m.exec(SECTION) ?? [];
  const fetched = await run(typed, { ANTHROPIC_BASE_URL: gateway.url });
  expect(fetched).toEqual({ code: 0, out: '', err: '' });
});
afterEach(() => {
  rmSync(home, { recursive: true });
});

/** Runs a command as Claude Code does: by a shell, with JSON on its standard input. */
async function run(command: string, env: Readonly<Record<string, string>>) {
  const { PATH } = process.env;
  const child = spawn('sh', ['-c', command], {
    env: { PATH, HOME: home, TZ: 'UTC', ...env },
    stdio: 'pipe',
  });
  let [out, err] = ['', ''];
  child.stdout.on('data', (bytes: Buffer) => (out += bytes.toString()));
  child.stderr.on('data', (bytes: Buffer) => (err += bytes.toString()));
  // It may have ended without reading.
  child.stdin.on('error', () => undefined);
  child.stdin.end(JSON.stringify({ session_id: 'x', model: { id: 'claude-opus-5' } }));
  const [code] = (await once(child, 'close')) as [number];
  return { code, out, err };
}

function statusLine(env: Readonly<Record<string, string>>) {
  const [, json = ''] = /^```json settings.json\n([^]*?)^```$/m.exec(SECTION) ?? [];
  const { statusLine: setting } = JSON.parse(json) as {
    statusLine: { type: string; command: string };
  };
  expect(setting.type).toBe('command');
  return run(setting.command, { ANTHROPIC_BASE_URL: gateway.url, ...env });
}

/** What it prints of a new answer. On a busy machine, some do not come in time. */
async function answered(env: Readonly<Record<string, string>>): Promise<string> {
  for (;;) {
    rmSync(join(home, '.cache'), { recursive: true, force: true });
    const { code, out, err } = await statusLine(env);
    expect(code).toBe(0);
    if (err === '') return out;
    expect(err).toContain('TimeoutError');
  }
}

const cents = (units: bigint) => formatUsd(units - (units % 10n ** 12n));

describe('the status line', () => {
  it('prints what is left of the nearest budget or cap, or else of the balance', async () => {
    const lab = await createLaboratory(gateway);
    const ada = await lab.student('Ada');
    const spent = await ada.spend(5_555_555);
    const left = cents(parseUsd('20') - spent);
    const renewal = new Date(Date.UTC(new Date().getUTCFullYear(), new Date().getUTCMonth() + 1));
    const until = renewal.toLocaleDateString('en-GB', {
      day: 'numeric',
      month: 'short',
      timeZone: 'UTC',
    });
    const line = `course Databases: ${left} of 20 USD left until ${until}\n`;
    expect(await answered({ ANTHROPIC_AUTH_TOKEN: ada.apiKey })).toBe(line);
    const capped = await gateway.createKey({ cap_total_usd: '3.5' });
    const out = await answered({ ANTHROPIC_API_KEY: capped.apiKey });
    expect(out).toBe('cap in all: 3.50 of 3.5 USD left\n');
    const free = await gateway.createKey({ balance_usd: '12.349' });
    const url = `${gateway.url}/`;
    const env = { ANTHROPIC_AUTH_TOKEN: free.apiKey, ANTHROPIC_BASE_URL: url };
    expect(await answered(env)).toBe('12.34 USD left\n');
    await gateway.call('suspendKey', { key_id: free.id });
    expect(await answered(env)).toBe('this key is disabled, balance 12.34 USD\n');
  });

  it('prints a name with control characters without them', async () => {
    const { id: keyId, apiKey } = await gateway.createKey();
    const { store } = gateway.running;
    const { accountId } = (await store.getKey(keyId))!;
    const budget = { accountId, scope: 'account', period: 'once', amount: parseUsd('1') } as const;
    await store.createBudget({ ...budget, name: 'red\u001b[31m' }, { by: { name: 'tests' } });
    const out = await answered({ ANTHROPIC_AUTH_TOKEN: apiKey });
    expect(out).toBe('red [31m: 1.00 of 1 USD left\n');
  });

  it('prints the reserve that pays for a budget that is used up', async () => {
    const { id: keyId, apiKey } = await gateway.createKey();
    const { store } = gateway.running;
    const { accountId } = (await store.getKey(keyId))!;
    const each = { accountId, period: 'once', name: 'course' } as const;
    const reserve = { ...each, scope: 'reserve', name: 'chair', amount: parseUsd('3') } as const;
    const made = await store.createBudget(reserve, { by: { name: 'tests' } });
    const thenId = made.outcome === 'created' ? made.record.id : '';
    const empty = { ...each, scope: 'account', amount: 0n, thenId } as const;
    await store.createBudget(empty, { by: { name: 'tests' } });
    const out = await answered({ ANTHROPIC_AUTH_TOKEN: apiKey });
    expect(out).toBe('chair: 3.00 of 3 USD left\n');
  });

  it('keeps an answer, without the key and for its owner only, and prints it while none comes', async () => {
    const { id, apiKey } = await gateway.createKey({ balance_usd: '5' });
    const env = { ANTHROPIC_AUTH_TOKEN: apiKey };
    expect(await answered(env)).toBe('5.00 USD left\n');
    await gateway.call('adjustBalance', {
      account_id: (await gateway.call('showKey', { key_id: id })).account_id,
      adjustment_id: 'adjustment',
      amount_usd: '-1',
      reason: 'correction',
    });
    expect((await statusLine(env)).out).toBe('5.00 USD left\n');
    const folder = join(home, '.cache/farthing');
    const [name = '', ...others] = readdirSync(folder);
    expect(others).toEqual([]);
    expect(statSync(join(folder, name)).mode & 0o777).toBe(0o600);
    expect(name + readFileSync(join(folder, name), 'utf8')).not.toContain(apiKey);
    expect(await answered(env)).toBe('4.00 USD left\n');
  });

  it('ends soon without an answer, and prints nothing that it does not know', async () => {
    const silent = createServer(() => undefined);
    const ANTHROPIC_BASE_URL = await listen(silent);
    const env = { ANTHROPIC_AUTH_TOKEN: 'a key', ANTHROPIC_BASE_URL };
    const { code, out, err } = await statusLine(env);
    silent.close();
    expect([code, out]).toEqual([0, '']);
    expect(err).toContain('TimeoutError');
    // It does not ask again at once.
    expect(await statusLine(env)).toEqual({ code: 0, out: '', err: '' });
    const unknown = await statusLine({ ANTHROPIC_AUTH_TOKEN: 'not-a-key' });
    expect([unknown.code, unknown.out]).toEqual([0, '']);
    expect(unknown.err).toMatch(/401|TimeoutError/);
    const unset = await statusLine({});
    expect([unset.code, unset.out]).toEqual([0, '']);
    expect(unset.err).toContain('are not set');
  });
});

async function listen(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
}
