/**
 * The built gateway as a process of its own: first start, second start, signals, the command line.
 */

import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import {
  copyFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { defaultPriceTableJson, parseUsd } from '@gateway/billing';
import { startUpstreamSimulator } from '@gateway/upstream-simulator';
import type { UpstreamSimulator } from '@gateway/upstream-simulator';
import { startGatedUpstream } from '../support/gated-upstream.js';
import { INHERITED, MAIN, commandProcess, gatewayCommand } from '../support/gateway-process.js';
import { MODEL, postChat, postMessages, userMessage, postResponses } from '../support/gateway.js';
import { startClients } from '../support/restless-clients.js';
import { fetchAsTyped } from '../support/typed-curl.js';
import { untilSteady } from '../support/steady-time.js';

/** Makes Node take standard output for a terminal. */
const IN_A_TERMINAL = '--import=data:text/javascript,process.stdout.isTTY=true';
const UPSTREAM_KEY = 'upstream-credential-canary';
const DAY_MS = 86_400_000;

let dataDir: string;
let simulator: UpstreamSimulator;
const children = new Set<ChildProcess>();
/** What tests of the command line use together: a start costs a second of CPU time. */
let shared: Served | undefined;

beforeAll(async () => {
  // `npm test` builds before it tests; run alone, this suite needs `npm run build` first.
  expect(existsSync(MAIN)).toBe(true);
  dataDir = mkdtempSync(join(tmpdir(), 'gateway-process-'));
  simulator = await startUpstreamSimulator({ apiKey: UPSTREAM_KEY, eventDelayMs: 20 });
});
afterEach(async () => {
  await Promise.all([...children].map(kill));
  children.clear();
});
afterAll(async () => {
  if (shared !== undefined) await kill(shared.child);
  await simulator.close();
  rmSync(dataDir, { recursive: true, force: true });
});

/** Resolves when it has ended, because the next test may open the same ledger. */
async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
}

function environment(extra: Record<string, string> = {}) {
  return {
    PORT: '0',
    ADMIN_PORT: '0',
    DATA_DIR: dataDir,
    UPSTREAM_URL: simulator.url,
    UPSTREAM_API_KEY: UPSTREAM_KEY,
    ...extra,
  };
}

interface Served {
  readonly child: ChildProcess;
  readonly url: string;
  readonly adminUrl: string;
  /** The demo key, or a new key with 5 USD if there is none. */
  readonly key: string;
  readonly output: () => string;
}

async function serve(extra?: Record<string, string>): Promise<Served> {
  const child = spawn(process.execPath, [MAIN], {
    env: { ...INHERITED, ...environment(extra) },
    stdio: 'pipe',
  });
  children.add(child);
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()));
  while (!output.includes('Farthing is ready')) {
    if (child.exitCode !== null) throw new Error(`the gateway ended: ${output}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  const adminUrl = /Admin: +(http\S+)/.exec(output)![1]!;
  return {
    child,
    url: /ready: {2}(http\S+)\/v1/.exec(output)![1]!,
    adminUrl,
    key:
      /Demo key: {2}(\S+)/.exec(output)?.[1] ??
      (await createKey(adminUrl, extra?.['DATA_DIR'] ?? dataDir)),
    output: () => output,
  };
}

async function sharedGateway(): Promise<Served> {
  shared ??= await serve();
  children.delete(shared.child);
  return shared;
}

async function createKey(adminUrl: string, folder: string): Promise<string> {
  const token = readFileSync(join(folder, 'admin-token'), 'utf8').trim();
  const response = await fetch(`${adminUrl}/admin/keys`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'test', balance_usd: '5' }),
  });
  return (await response.json()).api_key;
}

function cli(args: readonly string[], extra?: Record<string, string>) {
  return gatewayCommand(args, environment(extra));
}

/** A gateway that is expected to end by itself. */
const serveProcess = (extra?: Record<string, string>) => commandProcess([], environment(extra));

/** The result of a command that succeeds. */
async function json(args: readonly string[], extra?: Record<string, string>) {
  const { code, out, err } = await cli([...args, '--json'], extra);
  expect({ code, err }).toEqual({ code: 0, err: '' });
  return JSON.parse(out);
}

async function waitFor(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await new Promise((resolve) => setTimeout(resolve, 10));
}

describe('farthing serve', () => {
  it('prints a demo key on the first start, keeps the key and its balance on the second, prints a link to the console in a terminal only, and drains on SIGTERM', async () => {
    const simulated = { UPSTREAM_URL: '', UPSTREAM_API_KEY: '', DATA_DIR: join(dataDir, 'demo') };
    const first = await serve(simulated);
    // F441: the banner named another model than the README, and 5 USD whatever the key had.
    expect(first.output()).toContain(`Demo key:  ${first.key}  (has 5 USD)`);
    const [, asked = 'no model'] = /"model":"([^"]+)"/.exec(first.output()) ?? [];
    expect(readFileSync(join(__dirname, '../../../../README.md'), 'utf8')).toContain(
      `"model":"${asked}"`,
    );
    // F442: Claude Code shows costs at list prices, and nothing said that charges differ.
    expect(first.output()).toContain('agree with the charges only with PRICES=list');
    expect(first.output()).toContain('NO MODEL ANSWERS');
    expect(await (await fetch(first.url)).json()).toMatchObject({ simulated: true });
    const session = await fetch(`${first.adminUrl}/console/session`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${readFileSync(join(dataDir, 'demo/admin-token'), 'utf8')}`,
      },
    });
    expect(await session.json()).toMatchObject({ name: 'admin', simulated: true });
    expect(first.output()).toContain(
      `ANTHROPIC_BASE_URL=${first.url} ANTHROPIC_AUTH_TOKEN=${first.key} claude`,
    );
    expect(first.output()).toContain(`sign in with the token in ${dataDir}/demo/admin-token`);
    expect(first.output().split('\n').length).toBeLessThanOrEqual(22);
    const [, typed] = /Ask: +(curl [^]*?'\{.*\}')\n/.exec(first.output())!;
    expect(await (await fetchAsTyped(typed!)).json()).toMatchObject({ type: 'message' });
    expect(statSync(join(dataDir, 'demo', 'demo-key')).mode & 0o077).toBe(0);

    const plain = await postMessages(first, first.key, userMessage('Hello'));
    const balance = plain.headers.get('x-gateway-balance-usd')!;
    expect(parseUsd(balance)).toBeLessThan(parseUsd('5'));

    const streamed = await postChat(
      first,
      first.key,
      userMessage('Tell me something', { stream: true }),
    );
    first.child.kill('SIGTERM');
    const text = await streamed.text();
    expect(text).toContain('data: [DONE]');
    const [code] = (await once(first.child, 'exit')) as [number];
    expect(code).toBe(0);

    expect(first.output()).not.toContain('#link=');
    const second = await serve({ ...simulated, NODE_OPTIONS: IN_A_TERMINAL });
    expect(second.key).toBe(first.key);
    const [, linkCode] = /Console: +http:\/\/127\.0\.0\.1:\d+\/console\/#link=(\S+)\n/.exec(
      second.output(),
    )!;
    const signIn = await fetch(`${second.adminUrl}/console/link`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ code: linkCode }),
    });
    expect(await signIn.json()).toMatchObject({ name: 'admin', right: 'all' });
    expect(second.output().split('\n').length).toBeLessThanOrEqual(23);
    const entries = await (
      await fetch(`${second.url}/v1/dashboard/usage`, {
        headers: { authorization: `Bearer ${second.key}` },
      })
    ).json();
    expect(entries.data).toHaveLength(3);
    expect(entries.data[1].balance_after_usd).toBe(balance);
    expect(entries.data[0]).toMatchObject({ streamed: true, endpoint: 'chat.completions' });
    second.child.kill('SIGTERM');
    await once(second.child, 'exit');
  });

  it('credits a demo key although the first start was killed, and does not print it once it is revoked', async () => {
    const folder = join(dataDir, 'killed');
    const simulated = { UPSTREAM_URL: '', UPSTREAM_API_KEY: '', DATA_DIR: folder };
    const start = async (): Promise<Served> => {
      const gateway = await serve(simulated);
      gateway.child.kill('SIGTERM');
      await once(gateway.child, 'exit');
      return gateway;
    };
    // Here the gateway was killed before it wrote the file of the demo key. Below, it was killed
    // after that, but before it credited the key.
    expect(await cli(['migrate'], simulated)).toMatchObject({ code: 0 });
    await json(['keys', 'create', '--name', 'demo'], simulated);
    const { output, key } = await start();
    expect(output()).toContain(`Demo key:  ${key}`);
    const stored = await json(['keys', 'create', '--name', 'demo'], simulated);
    writeFileSync(join(folder, 'demo-key'), stored.api_key);
    expect((await start()).key).toBe(stored.api_key);
    expect(await json(['keys', 'show', stored.id], simulated)).toMatchObject({ balance_usd: '5' });
    await json(['keys', 'revoke', stored.id], simulated);
    expect((await start()).output()).not.toContain('Demo key:');
  });

  it('makes no demo key with a real upstream, because its output may be a log', async () => {
    const folder = join(dataDir, 'production');
    const gateway = await serve({ DATA_DIR: folder });
    expect(gateway.output()).toContain('keys create --name');
    expect(gateway.output()).not.toContain('gw_');
    expect(existsSync(join(folder, 'demo-key'))).toBe(false);
    const keys = await json(['keys', 'list'], { DATA_DIR: folder });
    expect(keys).toMatchObject({ data: [{ name: 'test' }], has_more: false });
    expect(keys.data).toHaveLength(1);
  });

  // F5
  it('ends on SIGTERM although clients keep sending, and answers on every connection', async () => {
    const gateway = await serve({
      LOG_LEVEL: 'silent',
      DATA_DIR: join(dataDir, 'busy'),
      KEY_REQUESTS_PER_MINUTE: '1000000',
      KEY_BURST: '100000',
    });
    const clients = startClients(gateway.url, gateway.key, { staying: 8, coming: 0 });
    await waitFor(() => clients.outcomes.size > 0);
    gateway.child.kill('SIGTERM');
    const [code] = (await once(gateway.child, 'exit')) as [number];
    await waitFor(() => clients.outcomes.has('refused'));
    await clients.stop();
    expect(code).toBe(0);
    expect([...clients.outcomes.keys()]).toEqual([200, 'refused']);
  });

  // F4, F481
  it('when it is killed, loses no charge that a client saw, and doubles none', async () => {
    const seen: { id: string; output: number }[] = [];
    for (let round = 0; round < 3; round += 1) {
      const gateway = await serve({ LOG_LEVEL: 'silent' });
      const before = seen.length;
      const clients = Array.from({ length: 8 }, async () => {
        for (;;) {
          const response = await postMessages(gateway, gateway.key, userMessage('Hello'));
          const { usage } = await response.json();
          seen.push({
            id: response.headers.get('x-gateway-request-id')!,
            output: usage.output_tokens,
          });
          if (seen.length === before + 20) gateway.child.kill('SIGKILL');
        }
      });
      await Promise.allSettled(clients);
      if (gateway.child.exitCode === null && gateway.child.signalCode === null)
        await once(gateway.child, 'exit');
    }
    expect(seen.length).toBeGreaterThanOrEqual(60);
    const entries = new Map<string, { usage: { output_tokens: number } }>();
    for (let cursor: string | null = ''; cursor !== null;) {
      const page = await cli([
        'ledger',
        'list',
        '--kind',
        'charge',
        '--limit',
        '1000',
        '--json',
        ...(cursor === '' ? [] : ['--after', cursor]),
      ]);
      const { data, next_cursor } = JSON.parse(page.out);
      for (const entry of data) entries.set(entry.id, entry);
      cursor = next_cursor;
    }
    for (const { id, output } of seen) {
      expect(entries.get(id)).toMatchObject({ usage: { output_tokens: output } });
    }
    const audit = await cli(['ledger', 'audit', '--json']);
    expect(audit.code).toBe(0);
    expect(JSON.parse(audit.out)).toMatchObject({ is_sound: true, gap_usd: '0' });

    // Sums by program have all requests that are listed, and the rest of the ledger is named.
    const listed = JSON.parse((await cli(['requests', '--limit', '1000', '--json'])).out);
    const day = (ms: number) => `${new Date(ms).toISOString().slice(0, 10)}T00:00:00Z`;
    const range = ['--from', day(Date.now() - DAY_MS), '--until', day(Date.now() + DAY_MS)];
    const { out } = await cli(['breakdown', '--by', 'client', ...range, '--json']);
    interface Spent {
      readonly charged_usd: string | null;
    }
    const { groups, not_recorded: rest, total } = JSON.parse(out);
    const sum = (figures: readonly Spent[]) =>
      figures.reduce((usd, { charged_usd }) => usd + parseUsd(charged_usd ?? '0'), 0n);
    const parts = (groups as { total: Spent }[]).map((group) => group.total);
    expect(sum(parts)).toBe(sum(listed.data));
    expect(sum([...parts, rest.total])).toBe(sum([total]));
    expect(total.charges).toBe(entries.size);
  });

  it('names a variable that it cannot use, and exits with status 2', async () => {
    const result = await serveProcess({ PORT: 'eighty' });
    expect(result.code).toBe(2);
    expect(result.err).toContain('PORT');
  });

  // F23: price that is not exact: does not start: exits with 2 and names the field.
  it('does not start with a price that is not exact', async () => {
    const table = join(dataDir, 'prices.json');
    const [model] = defaultPriceTableJson.models;
    for (const [change, problem] of [
      [{ rate_in: '0.000000000000001' }, 'models[0].rate_in: has 15 decimals'],
      [{ rate_in: '0.000001', cache_read: '0.025' }, 'models[0].cache_read: '],
    ] as const) {
      writeFileSync(table, JSON.stringify({ models: [{ ...model, ...change }] }));
      const result = await cli(['serve'], { PRICES: table });
      expect(result.code).toBe(2);
      expect(result.err).toContain('PRICES');
      expect(result.err).toContain(problem);
    }
  });

  // F27
  // F28: start while another still drains: refused until the old process has charged and ended.
  it('starts on a directory only after the previous process has drained, charged and ended, and says why not', async () => {
    const expectRefused = async () => {
      const { code, err } = await serveProcess();
      expect(code).toBe(3);
      expect(err).toMatch(/already|another/);
    };
    const upstream = await startGatedUpstream();
    const first = await serve({ UPSTREAM_URL: upstream.url });
    upstream.shut();
    const stream = await postMessages(first, first.key, userMessage('Hello', { stream: true }));
    first.child.kill('SIGTERM');
    await waitFor(() => first.output().includes('"draining"'));
    await expectRefused();
    upstream.open();
    expect(await stream.text()).toContain('event: message_stop');
    expect((await once(first.child, 'exit'))[0]).toBe(0);

    const second = await serve();
    const requestId = stream.headers.get('x-gateway-request-id')!;
    const charge = await fetch(`${second.url}/v1/dashboard/usage/${requestId}`, {
      headers: { authorization: `Bearer ${first.key}` },
    });
    const [served] = upstream.served;
    expect(await charge.json()).toMatchObject({
      usage: { input_tokens: served!.input, output_tokens: served!.output },
    });
    // Now the other process is not ending.
    await expectRefused();
    await upstream.close();
  });

  // F59
  // F60: secrets: never in a log, a metric, an error or a span.
  it('writes no credential, prompt or completion to its log', async () => {
    const gateway = await serve({ LOG_LEVEL: 'trace' });
    const banner = gateway.output().length;
    const canary = 'canary-prompt-5d1f';
    await (await postMessages(gateway, gateway.key, userMessage(canary))).text();
    await (
      await postChat(gateway, gateway.key, userMessage(canary, { stream: true, user: canary }))
    ).text();
    await (await postMessages(gateway, `${gateway.key}x`, userMessage(canary))).text();
    const content = [{ type: 'text', text: canary }];
    for (const script of [
      { content },
      { error: { type: 'authentication_error', message: canary } },
      { error: { type: 'invalid_request_error', message: canary } },
      { status: 200, body: `{"content":"${canary}"` },
      { content, usage: { output_tokens: canary } },
      { content, streamError: { afterEvents: 5, type: 'api_error', message: canary } },
      { content, cut: { afterEvents: 5 } },
    ] as const) {
      simulator.script(script);
      const stream = 'cut' in script || 'streamError' in script;
      const headers = { 'anthropic-beta': canary, cookie: canary };
      const body = userMessage('Hello', { stream });
      await (await postMessages(gateway, gateway.key, body, headers)).text();
    }
    const answers = await Promise.all([
      postMessages(gateway, gateway.key, { ...userMessage('Hello'), model: `a\r\n${canary}` }),
      postMessages(gateway, gateway.key, userMessage('Hello'), {
        'x-api-key': gateway.key,
      }),
      fetch(`${gateway.url}/v1/dashboard/usage/%0d%0a${canary}?model=%0a`, {
        headers: { authorization: `Bearer ${gateway.key}` },
      }),
    ]);
    for (const answer of answers) expect(await answer.text()).not.toContain(gateway.key);
    await (await postMessages(gateway, gateway.key, `{"model":"${canary}"`)).text();
    await fetch(`${gateway.url}/${canary}?key=${gateway.key}`);
    const admin = {
      url: gateway.adminUrl,
      token: readFileSync(join(dataDir, 'admin-token'), 'utf8').trim(),
    };
    for (const token of [admin.token, gateway.key, 'wrong']) {
      const body = JSON.stringify({ name: 5, [canary]: token });
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
      const answer = await fetch(`${admin.url}/admin/keys`, { method: 'POST', headers, body });
      expect(await answer.text()).not.toContain(token);
    }
    const metrics = await (await fetch(`${admin.url}/metrics`)).text();
    gateway.child.kill('SIGTERM');
    await once(gateway.child, 'exit');

    const log = gateway.output().slice(banner);
    expect(log).toContain('"key_id"');
    // No input of a client starts a new line in the log.
    for (const line of log.trim().split('\n')) expect(JSON.parse(line)).toHaveProperty('time');
    expect(metrics).toContain(`gateway_tokens_total{model="${MODEL}",class="input"}`);
    for (const secret of [canary, gateway.key, UPSTREAM_KEY, admin.token]) {
      expect(log + metrics).not.toContain(secret);
    }
  });
});

describe('the command line', () => {
  const life = async (): Promise<void> => {
    await untilSteady('day');
    const created = await cli(['keys', 'create', '--name', 'alice', '--balance', '1.5', '--json']);
    expect(created.code).toBe(0);
    const key = JSON.parse(created.out);
    expect(key).toMatchObject({ name: 'alice', balance_usd: '1.5', is_active: true });

    const topUp = ['keys', 'top-up', key.id, '0.00000000000001', '--id', `invoice-${key.id}`];
    expect((await cli(topUp)).out).toContain('Credited.');
    expect((await cli(topUp)).out).toContain('Already credited before');
    expect((await cli(['keys', 'top-up', key.id, '7', '--id', `invoice-${key.id}`])).code).toBe(1);
    expect((await cli(['keys', 'show', key.id])).out).toContain('1.50000000000001');

    const update = ['keys', 'update', key.id];
    const networks = ['--allowed-networks', '192.0.2.0/24, 2001:db8::1'];
    const rules = ['--cap-day', '1', '--cap-total', '2', '--models', MODEL, ...networks];
    const more = ['--expires-at', '2099-01-01', '--external-id', 'crm-1'];
    expect(await json([...update, ...rules, ...more])).toMatchObject({
      caps: { day: { cap_usd: '1' }, total: { cap_usd: '2' } },
      models: [MODEL],
      allowed_networks: ['192.0.2.0/24', '2001:db8::1/128'],
      expires_at: '2099-01-01T00:00:00.000Z',
      external_id: 'crm-1',
    });
    const all = ['--models', 'all', '--allowed-networks', 'all'];
    const noRules = ['--cap-day', 'none', '--cap-total', 'none', ...all];
    const noMore = ['--expires-at', 'none', '--external-id', 'none'];
    expect(await json([...update, ...noRules, ...noMore])).toMatchObject({
      caps: { day: { cap_usd: null }, total: { cap_usd: null } },
      models: null,
      allowed_networks: null,
      expires_at: null,
      external_id: null,
    });
    const account = ['accounts', 'update', key.account_id];
    const shop = ['--low-balance', '1', '--external-id', 'shop-1'];
    expect(await json([...account, ...shop])).toMatchObject({
      low_balance_usd: '1',
      external_id: 'shop-1',
    });
    const noShop = ['--low-balance', 'none', '--external-id', 'none'];
    expect(await json([...account, ...noShop])).toMatchObject({
      low_balance_usd: null,
      external_id: null,
    });
    const adjusted = await cli([
      'accounts',
      'adjust',
      key.account_id,
      '-1.6',
      '--reason',
      'refund',
    ]);
    expect(adjusted.out).toContain('more than 0.09999999999999 USD must be credited');
    expect((await json(['usage', '--from', '2026-01-01'])).object).toBe('list');
    expect((await cli(['keys', 'find'])).err).toContain('GATEWAY_KEY: set this');
    const month = new Date().toISOString().slice(0, 7);
    expect((await cli(['books', month])).out).toContain('in all');
    expect((await cli(['books', month, '--csv'])).out).toMatch(
      /^account_id,.*adjusted_usd\.refund/,
    );

    expect(JSON.parse((await cli(['keys', 'suspend', key.id, '--json'])).out).state).toBe(
      'suspended',
    );
    expect(JSON.parse((await cli(['keys', 'resume', key.id, '--json'])).out).state).toBe('active');
    expect(JSON.parse((await cli(['keys', 'revoke', key.id, '--json'])).out).state).toBe('revoked');
    expect((await cli(['keys', 'list'])).out).toContain('alice');
    expect((await cli(['ledger', 'list', '--key', key.id])).out).toContain('top_up');
    expect((await cli(['models', 'list'])).out).toContain(MODEL);
    expect((await cli(['ledger', 'audit'])).out).toContain('The ledger is sound.');
    expect((await cli(['ledger', 'holds'])).out).toBe('No holds.\n');
    const anchored = await cli(['ledger', 'audit', '--anchor', `1:${'0'.repeat(64)}`]);
    expect(anchored.code).toBe(1);
    expect(anchored.out).toContain('The ledger is NOT sound.');
    expect((await cli(['ledger', 'audit', '--anchor', 'x'])).err).toContain('anchor: must be');
    expect((await cli(['ledger', 'export'])).code).toBe(2);

    expect((await cli(['keys', 'show', 'key_nobody'])).code).toBe(1);
    expect((await cli(['keys', 'top-up', key.id, 'ten'])).err).toContain('<amount_usd>: ');
    expect((await cli(['keys', 'top-up', key.id])).code).toBe(2);
    expect((await cli(['keys', 'frobnicate'])).code).toBe(2);
  };

  it('works while no gateway runs', async () => {
    await life();
  });

  // F29
  it('compares the ledger with a witness file, line by line', async () => {
    const gateway = await sharedGateway();
    const limits = ['--burst', '1000', '--concurrency', '10'];
    const { out } = await cli([
      'keys',
      'create',
      '--name',
      'w',
      '--balance',
      '5',
      ...limits,
      '--json',
    ]);
    const apiKey: string = JSON.parse(out).api_key;
    const lines: string[] = [];
    const note = async (response: Response) => {
      const { usage } = await response.json();
      const request_id = response.headers.get('x-gateway-request-id');
      lines.push(JSON.stringify({ request_id, usage }));
    };
    for (let i = 0; i < 230; i += 1) {
      const post = [postMessages, postChat, postResponses][i % 3]!;
      await note(await post(gateway, apiKey, userMessage('Hello', { max_tokens: 5 })));
    }
    const file = join(dataDir, 'witness.jsonl');
    writeFileSync(file, `${lines.join('\n')}\n\n`);
    const agreed = await cli(['ledger', 'audit', '--witness', file, '--json']);
    expect(agreed.code).toBe(0);
    expect(JSON.parse(agreed.out).witness).toEqual({ compared: 230, differences: [] });

    // The gateway's own output: its log, after the addresses that it prints at the start.
    await waitFor(() => gateway.output().split('"charge_usd"').length > 230);
    writeFileSync(file, gateway.output());
    expect((await json(['ledger', 'audit', '--witness', file])).witness).toEqual({
      compared: 230,
      differences: [],
    });

    const stranger = {
      request_id: 'req_nobody',
      usage: {
        prompt_tokens: 7,
        completion_tokens: 2,
        prompt_tokens_details: { cached_tokens: 4 },
      },
    };
    // In the responses format `input_tokens` counts the whole prompt: 4 + 2 + 3.
    const responses = {
      request_id: 'req_nobody_either',
      usage: {
        input_tokens: 9,
        output_tokens: 1,
        total_tokens: 10,
        input_tokens_details: { cached_tokens: 2, cache_write_tokens: 3 },
      },
    };
    const changed = JSON.parse(lines[0]!);
    changed.usage.output_tokens += 1;
    writeFileSync(
      file,
      [...lines, ...[stranger, responses, changed].map((line) => JSON.stringify(line))].join(
        '\r\n',
      ),
    );
    const differing = await cli(['ledger', 'audit', '--witness', file]);
    expect(differing.code).toBe(1);
    expect(differing.out).toContain('req_nobody');
    expect(differing.out).toContain('input 3, output 2, cache read 4, cache creation 0');
    expect(differing.out).toContain('input 4, output 1, cache read 2, cache creation 3');
    expect(differing.out).toContain('no charge');
    expect(differing.out).toContain(changed.request_id);
    expect(differing.out).toContain('does NOT agree with the witness in 3 usages');

    writeFileSync(file, `${lines[0]!}\n{"request_id":"a","usage":{"input_tokens":-1}}\n`);
    const unusable = await cli(['ledger', 'audit', '--witness', file]);
    expect(unusable.code).toBe(1);
    expect(unusable.err).toContain('witness.jsonl:2: usage: must be a usage object');
  });

  // F93
  it('works while the embedded gateway runs', async () => {
    await sharedGateway();
    await life();
  });

  // F95
  it('changes the schema only with `migrate`', async () => {
    const fresh = { DATA_DIR: mkdtempSync(join(tmpdir(), 'gateway-fresh-')) };
    const early = await cli(['keys', 'list'], fresh);
    expect(early.code).toBe(3);
    expect(early.err).toMatch(/^farthing: there is no ledger in .* Run "farthing migrate"/);
    expect(await cli(['migrate'], fresh)).toMatchObject({ code: 0, err: '' });
    expect(await cli(['keys', 'list'], fresh)).toMatchObject({ code: 0, err: '' });
    rmSync(fresh.DATA_DIR, { recursive: true });
  });

  it('works over the admin API of a remote gateway, with only the admin token, and without its ledger', async () => {
    const gateway = await sharedGateway();
    const token = readFileSync(join(dataDir, 'admin-token'), 'utf8').trim();
    const elsewhere = mkdtempSync(join(tmpdir(), 'gateway-elsewhere-'));
    const remote = { ADMIN_URL: gateway.adminUrl, DATA_DIR: elsewhere };
    const created = await cli(['keys', 'create', '--name', 'bob', '--json'], {
      ...remote,
      ADMIN_TOKEN: token,
    });
    expect(JSON.parse(created.out)).toMatchObject({ name: 'bob' });
    expect((await cli(['keys', 'list'])).out).toContain('bob');
    const refused = await cli(['keys', 'list'], { ...remote, ADMIN_TOKEN: 'x'.repeat(40) });
    expect(refused).toMatchObject({ code: 1, out: '' });
    expect((await cli(['keys', 'list'], remote)).err).toContain(
      'ADMIN_TOKEN: is needed when ADMIN_URL is set',
    );
    expect(readdirSync(elsewhere)).toEqual([]);
    rmSync(elsewhere, { recursive: true });
  });

  // F29, F94
  it('backs the ledger up while the gateway serves; what a restore lost is booked from the log, once', async () => {
    const gateway = await sharedGateway();
    const begin = gateway.output().length;
    const output = () => gateway.output().slice(begin);
    const ask = async () => {
      const response = await postMessages(gateway, gateway.key, userMessage('Hello'));
      expect(response.status).toBe(200);
      await response.text();
    };
    for (let i = 0; i < 5; i += 1) await ask();
    const backup = join(dataDir, 'backup.db');
    const made = await cli(['ledger', 'backup', '--to', backup]);
    expect(made.out).toContain('has the whole ledger');
    expect((await cli(['ledger', 'backup', '--to', backup])).err).toContain('exists');
    for (const post of [postMessages, postChat, postResponses]) {
      expect((await post(gateway, gateway.key, userMessage('Hello'))).status).toBe(200);
    }
    await waitFor(() => output().split('"charge_usd"').length > 8);
    gateway.child.kill('SIGKILL');
    await once(gateway.child, 'exit');
    const after = JSON.parse((await cli(['ledger', 'audit', '--json'])).out);

    for (const suffix of ['-wal', '-shm'])
      rmSync(join(dataDir, `ledger.db${suffix}`), { force: true });
    copyFileSync(backup, join(dataDir, 'ledger.db'));
    const restored = JSON.parse((await cli(['ledger', 'audit', '--json'])).out);
    expect(restored).toMatchObject({ is_sound: true, gap_usd: '0', entries: after.entries - 3 });

    const log = join(dataDir, 'gateway.log');
    const lines = output().split('\n');
    const logged = lines.filter((line) => line.startsWith('{'));
    writeFileSync(log, logged.join('\n'));
    // As if two replicas had written it.
    const logs = [0, 1].map((replica) => {
      const path = join(dataDir, `gateway-${String(replica)}.log`);
      writeFileSync(path, logged.filter((_line, index) => index % 2 === replica).join('\n'));
      return path;
    });
    const missing = JSON.parse(
      (await cli(['ledger', 'audit', '--witness', ...logs, '--json'])).out,
    );
    expect(missing.witness).toMatchObject({
      compared: 8,
      differences: Array(3).fill({ found: expect.stringMatching(/^no charge$/) }),
    });
    const recharge = (...files: readonly string[]) =>
      cli(['ledger', 'recharge', '--witness', ...files, '--json']);
    const booked = await recharge(...logs);
    expect([booked.code, JSON.parse(booked.out)]).toEqual([
      0,
      { booked: 3, charged_usd: expect.any(String), already_charged: 5, refused: [] },
    ]);
    expect(JSON.parse((await recharge(log)).out)).toMatchObject({ booked: 0, already_charged: 8 });
    const repaired = JSON.parse((await cli(['ledger', 'audit', '--witness', log, '--json'])).out);
    expect(repaired).toMatchObject({ is_sound: true, balances_usd: after.balances_usd });
    expect(repaired.witness).toEqual({ compared: 8, differences: [] });

    const charged = lines
      .filter((line) => line.includes('"charge_usd"'))
      .map((line) => JSON.parse(line));
    const [entry] = charged;
    const invented = [
      { ...entry, request_id: 'req_1', charge_usd: '0.5' },
      { ...entry, request_id: 'req_2', key_id: 'key_nobody' },
      { ...entry, request_id: 'req_3', model: 'claude-nothing' },
      { ...entry, output_tokens: entry.output_tokens + 1 },
    ];
    writeFileSync(log, invented.map((line) => JSON.stringify(line)).join('\n'));
    const refused = await recharge(log);
    expect(refused.code).toBe(1);
    expect(JSON.parse(refused.out)).toMatchObject({
      booked: 0,
      refused: [
        {
          request_id: 'req_1',
          reason: expect.stringContaining('charge_usd: with written_off_usd, the record says 0.5'),
        },
        {
          request_id: 'req_2',
          reason: 'key_id: the ledger has no such key; it may have been created after the backup',
        },
        { request_id: 'req_3', reason: 'model: is not in the price table' },
        { request_id: entry.request_id, reason: expect.stringContaining('other counts') },
      ],
    });
    writeFileSync(
      log,
      JSON.stringify({ request_id: 'req_4', usage: { input_tokens: 1, output_tokens: 1 } }),
    );
    expect((await recharge(log)).err).toContain('gateway.log:1: key_id: is missing');
    const again = await serve();
    expect((await postMessages(again, gateway.key, userMessage('Hello'))).status).toBe(200);
  });
});
