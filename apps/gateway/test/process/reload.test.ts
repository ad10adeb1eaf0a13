/**
 * Changes without a restart: the built gateway, as one process and with workers, reads its settings
 * again on SIGHUP and by `farthing reload`.
 */

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, it } from '@jest/globals';
import { defaultPriceTableJson } from '@gateway/billing';
import type { PriceScheduleJson } from '@gateway/billing';
import { startUpstreamSimulator } from '@gateway/upstream-simulator';
import { settings } from '../../src/endpoints/schemas.js';
import { createRemoteCaller } from '../../src/operator/operations/callers.js';
import { gatewayCommand, spawnGateway } from '../support/gateway-process.js';
import type { GatewayProcess } from '../support/gateway-process.js';
import { MODEL, postMessages, userMessage } from '../support/gateway.js';
import { until } from '../support/until.js';

const TOKEN = 'admin-token-of-the-tests';
const NEXT_TOKEN = 'the-next-admin-token-of-the-tests';
const READ_TOKEN = 'token-that-may-only-read';

type Variables = Readonly<Record<string, string>>;
type Changes = PriceScheduleJson['models'][number]['price_changes'];

type CleanUp = () => Promise<unknown> | void;
const cleanUps: CleanUp[] = [];
const lastCleanUps: CleanUp[] = [];
afterEach(() => runAll(cleanUps));
afterAll(() => runAll(lastCleanUps));

async function runAll(all: CleanUp[]): Promise<void> {
  for (const cleanUp of all.splice(0).reverse()) await cleanUp();
}

interface Setup {
  readonly gateway: GatewayProcess;
  readonly folder: string;
  readonly simulator: Awaited<ReturnType<typeof startUpstreamSimulator>>;
  readonly apiKey: string;
  /** Writes the file that ENV_FILE names. */
  configure(variables: Variables): void;
  price(rateIn: string, changes?: Changes): void;
}

const setups = new Map<string, Setup>();

/**
 * Returns a gateway that has the first settings. All tests with this number of workers share it,
 * because a start costs up to three seconds of CPU time.
 */
/** What an operator of an earlier version may still set. */
const RETIRED = { UPLOAD_STALL_S: '5' };

async function start(workers: string): Promise<Setup> {
  const known = setups.get(workers);
  if (known === undefined) {
    const setup = await startNew(workers);
    setups.set(workers, setup);
    return setup;
  }
  known.configure({});
  known.price('3.00');
  known.simulator.reset();
  // The test before may have replaced the token.
  const isReloaded = async (token: string) => (await reloadStatus(known, token)) === 200;
  expect((await isReloaded(TOKEN)) || (await isReloaded(NEXT_TOKEN))).toBe(true);
  return known;
}

async function startNew(workers: string): Promise<Setup> {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-reload-'));
  lastCleanUps.push(() => {
    rmSync(folder, { recursive: true, force: true });
  });
  const simulator = await startUpstreamSimulator({ apiKey: 'first-upstream-key' });
  lastCleanUps.push(() => simulator.close());
  const configure = (variables: Variables): void => {
    const all = {
      UPSTREAM_URL: simulator.url,
      UPSTREAM_API_KEY: 'first-upstream-key',
      ADMIN_TOKEN: TOKEN,
      PRICES: join(folder, 'prices.json'),
      ...variables,
    };
    const lines = Object.entries(all).map(([name, value]) => `${name}=${value}\n`);
    writeFileSync(join(folder, 'gateway.env'), lines.join(''));
  };
  const price = (rateIn: string, changes: Changes = []): void => {
    const models = defaultPriceTableJson.models.map((model) =>
      model.id === MODEL ? { ...model, rate_in: rateIn, price_changes: changes } : model,
    );
    writeFileSync(join(folder, 'prices.json'), JSON.stringify({ models }));
  };
  configure({});
  price('3.00');
  const gateway = await spawnGateway({
    ENV_FILE: join(folder, 'gateway.env'),
    DATA_DIR: join(folder, 'data'),
    WORKERS: workers,
    ...RETIRED,
  });
  lastCleanUps.push(async () => {
    gateway.send('SIGKILL');
    await gateway.exited;
  });
  const call = createRemoteCaller({ url: gateway.adminUrl, token: TOKEN });
  const { api_key: apiKey } = await call('createKey', { name: 'test', balance_usd: '10' });
  return { gateway, folder, simulator, apiKey: apiKey ?? '', configure, price };
}

async function settingsOf({ gateway }: Setup, token = TOKEN) {
  const res = await fetch(`${gateway.adminUrl}/admin/settings`, {
    headers: { authorization: `Bearer ${token}` },
  });
  return { status: res.status, ...(await res.json()) };
}

async function reloadStatus({ gateway }: Setup, token: string): Promise<number> {
  const res = await fetch(`${gateway.adminUrl}/admin/reload`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}` },
  });
  const answer: unknown = await res.json();
  if (res.status === 200) settings.parse(answer);
  return res.status;
}

/** @returns what the gateway has logged since */
function logOf({ gateway }: Setup): () => string {
  const begin = gateway.output().length;
  return () => gateway.output().slice(begin);
}

/** Runs a command beside the gateway. @returns what it printed on both outputs */
async function cli(
  { gateway, folder }: Setup,
  args: readonly string[],
  env: Variables = {},
): Promise<{ readonly code: number; readonly out: string }> {
  const { code, out, err } = await gatewayCommand(args, {
    ENV_FILE: join(folder, 'gateway.env'),
    DATA_DIR: join(folder, 'data'),
    ADMIN_URL: gateway.adminUrl,
    ...env,
  });
  return { code, out: out + err };
}

/**
 * Reads the input rates that the processes report. Each request has a connection of its own, so
 * that all processes get requests.
 */
async function ratesSeen({ gateway, apiKey }: Setup, asks = 12): Promise<Set<string>> {
  const seen = new Set<string>();
  for (let ask = 0; ask < asks; ask += 1) {
    const res = await fetch(`${gateway.url}/v1/models/${MODEL}`, {
      headers: { 'x-api-key': apiKey, connection: 'close' },
    });
    seen.add((await res.json()).rate_in as string);
  }
  return seen;
}

describe.each(['1', '2'])('with WORKERS=%s', (workers) => {
  it('SIGHUP puts a changed price into force in all processes, and charges it', async () => {
    const setup = await start(workers);
    const before = await settingsOf(setup);
    const log = logOf(setup);
    setup.price('4.00');
    setup.gateway.send('SIGHUP');
    await until(async () => (await settingsOf(setup)).version !== before.version);
    expect(await ratesSeen(setup)).toEqual(new Set(['4.00']));
    const { version, workers: each } = await settingsOf(setup);
    expect(each).toEqual(workers === '1' ? [] : [1, 2].map((worker) => ({ worker, version })));
    const answer = await postMessages(setup.gateway, setup.apiKey, userMessage('Hello'));
    const { usage } = await answer.json();
    // Rates in units of 10^-6 USD per token: 4 and 15.
    const charge = (4 * usage.input_tokens + 15 * usage.output_tokens) / 1e6;
    expect(Number(answer.headers.get('x-gateway-charge-usd'))).toBeCloseTo(charge, 12);
    // Log lines are written after half a second.
    await until(() => log().includes('"msg":"settings loaded"'));
  });

  // F97: settings that cannot be used: nothing changes; answer, log and metric say so.
  it('an invalid file changes nothing; the answer names the variable and the place, and the refusal is logged and counted', async () => {
    const setup = await start(workers);
    const before = await settingsOf(setup);
    const log = logOf(setup);
    setup.price('0.00000001');
    setup.configure({ UPSTREAM_API_KEY: 'another-key' });
    const { code, out } = await cli(setup, ['reload']);
    expect(code).toBe(1);
    expect(out).toMatch(/nothing was changed: PRICES: .*rate_in: has 8 decimals/s);
    expect(await settingsOf(setup)).toEqual(before);
    expect(await ratesSeen(setup)).toEqual(new Set(['3.00']));
    expect(await postMessages(setup.gateway, setup.apiKey, userMessage('Hi'))).toMatchObject({
      status: 200,
    });
    // Log lines are written after half a second.
    await until(() => log().includes('"msg":"settings refused"'));
    const metrics = await (await fetch(`${setup.gateway.adminUrl}/metrics`)).text();
    expect(metrics).toMatch(/gateway_settings_reloads_total\{outcome="refused".*\} 1\n/);
  });

  it('prices of single customers are in force in all processes after a reload', async () => {
    const setup = await start(workers);
    const file = join(setup.folder, 'customers.json');
    const table = (factor: string) => {
      writeFileSync(file, JSON.stringify({ partners: { extends: 'prices', factor } }));
    };
    table('0.5');
    setup.configure({ CUSTOMER_PRICES: file });
    expect(await cli(setup, ['reload'])).toMatchObject({ code: 0 });
    const call = createRemoteCaller({ url: setup.gateway.adminUrl, token: TOKEN });
    const key = await call('createKey', { name: 'partner', balance_usd: '1' });
    await call('updateAccount', { account_id: key.account_id, prices: 'partners' });
    const partner = { ...setup, apiKey: key.api_key ?? '' };
    expect(await ratesSeen(partner)).toEqual(new Set(['1.5']));
    table('0.25');
    expect(await cli(setup, ['reload'])).toMatchObject({ code: 0 });
    expect(await ratesSeen(partner)).toEqual(new Set(['0.75']));
    table('0.0000001');
    const { code, out } = await cli(setup, ['reload']);
    expect([code, out]).toEqual([
      1,
      expect.stringMatching(/CUSTOMER_PRICES: partners.factor: has/),
    ]);
    expect(await ratesSeen(partner)).toEqual(new Set(['0.75']));
  });

  it('requests that begin after a reload use the new upstream and its key', async () => {
    const setup = await start(workers);
    const next = await startUpstreamSimulator({ apiKey: 'second-upstream-key' });
    cleanUps.push(() => next.close());
    setup.configure({ UPSTREAM_URL: next.url, UPSTREAM_API_KEY: 'second-upstream-key' });
    const { code, out } = await cli(setup, ['reload', '--json']);
    expect([code, JSON.parse(out)]).toMatchObject([0, [{ outcome: 'loaded', needs_restart: [] }]]);
    for (let request = 0; request < 6; request += 1) {
      const { status } = await postMessages(setup.gateway, setup.apiKey, userMessage('Hello'));
      expect(status).toBe(200);
    }
    const messages = ({ journal }: typeof next) =>
      journal.requests().filter(({ method }) => method === 'POST');
    expect(messages(setup.simulator)).toHaveLength(0);
    expect(messages(next)).toHaveLength(6);
  });

  it('a wrong key of the upstream is found by the reload, and by check-config before it', async () => {
    const setup = await start(workers);
    setup.configure({ UPSTREAM_API_KEY: 'wrong-upstream-key' });
    const checked = await cli(setup, ['check-config']);
    expect([checked.code, checked.out]).toEqual([
      2,
      expect.stringContaining('UPSTREAM_API_KEY: the upstream refuses it') as unknown,
    ]);
    expect(await reloadStatus(setup, TOKEN)).toBe(200);
    const call = createRemoteCaller({ url: setup.gateway.adminUrl, token: TOKEN });
    await until(async () => {
      const { gateway } = await call('showToday', {});
      return gateway?.upstream.credentials[0]?.outcome === 'refused';
    });
    expect(checked.out + setup.gateway.output()).not.toContain('wrong-upstream-key');
  });

  it('the admin token is replaced without interruption, because the previous one works until it is removed', async () => {
    const setup = await start(workers);
    setup.configure({ ADMIN_TOKEN: NEXT_TOKEN, ADMIN_TOKEN_PREVIOUS: TOKEN });
    expect(await cli(setup, ['reload'], { ADMIN_TOKEN: TOKEN })).toMatchObject({ code: 0 });
    for (const token of [TOKEN, NEXT_TOKEN]) {
      expect(await settingsOf(setup, token)).toMatchObject({ status: 200 });
    }
    setup.configure({ ADMIN_TOKEN: NEXT_TOKEN });
    expect(await cli(setup, ['reload'])).toMatchObject({ code: 0 });
    expect(await settingsOf(setup, TOKEN)).toMatchObject({ status: 401 });
    expect(await settingsOf(setup, NEXT_TOKEN)).toMatchObject({ status: 200 });
  });

  it('named admin tokens take effect after a reload, and only those with all rights can reload', async () => {
    const setup = await start(workers);
    setup.configure({ ADMIN_TOKENS: `ops:all:${NEXT_TOKEN},charts:read:${READ_TOKEN}` });
    expect(await settingsOf(setup, READ_TOKEN)).toMatchObject({ status: 401 });
    expect(await cli(setup, ['reload'])).toMatchObject({ code: 0 });
    expect(await settingsOf(setup, READ_TOKEN)).toMatchObject({ status: 200 });
    expect(await reloadStatus(setup, READ_TOKEN)).toBe(403);
    expect(await reloadStatus(setup, NEXT_TOKEN)).toBe(200);
  });

  it('a reload names variables that need a restart, and changes the limits of new keys', async () => {
    const setup = await start(workers);
    setup.configure({ OVERDRAFT: 'none', KEY_CONCURRENCY: '7' });
    const { code, out } = await cli(setup, ['reload']);
    expect([code, out]).toEqual([0, expect.stringContaining('needs a restart: OVERDRAFT')]);
    const call = createRemoteCaller({ url: setup.gateway.adminUrl, token: TOKEN });
    expect(await call('createKey', { name: 'later' })).toMatchObject({
      limits: { concurrency: 7 },
    });
  });

  // F99: price changes during requests: each is charged at the rate of the moment at which it
  // began.
  it('a price changes at its effective_from, for requests that begin then', async () => {
    const setup = await start(workers);
    const { soon, before } = await chargeBeforeChange(setup);
    const { version } = await settingsOf(setup);
    await until(() => Date.now() > soon);
    const after = await chargeNow(setup);
    expect([before.rate, after.rate]).toEqual(['3', '6']);
    // The same prompt each time: only the rate can change its charge.
    expect(after.header).not.toBe(before.header);
    expect([before.header, after.header]).toEqual([before.amount, after.amount]);
    expect((await settingsOf(setup)).version).toBe(version);
    expect(await ratesSeen(setup)).toEqual(new Set(['6.00']));
  });
});

interface Charged {
  readonly header: string | null;
  readonly amount: string | undefined;
  readonly rate: string | undefined;
}

async function chargeNow(setup: Setup): Promise<Charged> {
  const { headers } = await postMessages(setup.gateway, setup.apiKey, userMessage('Hello'));
  const id = headers.get('x-gateway-request-id');
  const call = createRemoteCaller({ url: setup.gateway.adminUrl, token: TOKEN });
  const { key_id } = await keyOf(setup);
  const find = async () => {
    const { data } = await call('listLedger', { key_id, kind: 'charge', limit: 1000 });
    return data.find((entry) => entry.id === id && entry.kind === 'charge');
  };
  await until(async () => (await find()) !== undefined);
  const entry = await find();
  return {
    header: headers.get('x-gateway-charge-usd'),
    amount: entry?.amount_usd.replace('-', ''),
    rate: entry?.kind === 'charge' ? entry.rates.input : undefined,
  };
}

/**
 * Schedules a change of the price and charges a request before it. On a busy machine the change can
 * take effect first; then a later change is scheduled.
 */
async function chargeBeforeChange(
  setup: Setup,
): Promise<{ readonly soon: number; readonly before: Charged }> {
  for (let wait = 3_000; ; wait *= 2) {
    const soon = new Date(Date.now() + wait);
    setup.price('3.00', [
      { effective_from: soon.toISOString(), rate_in: '6.00', rate_out: '15.00' },
    ]);
    expect(await cli(setup, ['reload'])).toMatchObject({ code: 0 });
    const before = await chargeNow(setup);
    if (Date.now() < soon.getTime()) return { soon: soon.getTime(), before };
  }
}

async function keyOf({ gateway }: Setup): Promise<{ readonly key_id: string }> {
  const call = createRemoteCaller({ url: gateway.adminUrl, token: TOKEN });
  const { data } = await call('listKeys', {});
  return { key_id: data.find(({ name }) => name === 'test')!.id };
}

// F98: worker dies after the files became unusable: its replacement has the settings in force.
it('a worker that replaces another has the settings in force, even if the files have changed', async () => {
  const setup = await start('2');
  setup.price('4.00');
  expect(await cli(setup, ['reload'])).toMatchObject({ code: 0 });
  writeFileSync(join(setup.folder, 'prices.json'), 'not JSON');
  writeFileSync(join(setup.folder, 'gateway.env'), 'PORT=none\n');
  const pid = String(setup.gateway.pid);
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ');
  const log = logOf(setup);
  process.kill(Number(children[0]), 'SIGKILL');
  await until(() => log().includes('worker replaced'));
  expect(await ratesSeen(setup)).toEqual(new Set(['4.00']));
  const { version, workers } = await settingsOf(setup);
  expect(workers).toEqual([
    { worker: 1, version },
    { worker: 2, version },
  ]);
});

describe('farthing reload', () => {
  // Nothing listens on these ports, so the answers show which addresses were used.
  const env = { ADMIN_TOKEN: TOKEN, ADMIN_PORT: '1' };

  it('finds the gateway of this machine if ADMIN_HOST is an IPv6 address', async () => {
    const { code, out } = await gatewayCommand(['reload'], { ...env, ADMIN_HOST: '::1' });
    expect([code, out]).toEqual([1, expect.stringMatching(/^\[::1\]:1: .*connect/) as unknown]);
  });

  it('reports each replica, also when the host name of another does not exist', async () => {
    const urls = ['http://nowhere.invalid:2', 'http://127.0.0.1:1'];
    const { code, out } = await gatewayCommand(['reload', ...urls], env);
    expect(code).toBe(1);
    expect(out).toMatch(/^nowhere\.invalid:2: .*\n127\.0\.0\.1:1: .*ECONNREFUSED/);
  });

  it('refuses an argument that is not a URL', async () => {
    const { code, err } = await gatewayCommand(['reload', '10.0.0.1:8081'], env);
    expect([code, err]).toEqual([2, expect.stringContaining('10.0.0.1:8081: ') as unknown]);
  });
});

describe('farthing check-config', () => {
  // F456: an operator still sets a variable that the gateway no longer has: the start and
  // `check-config` name it, and what applies in its place.
  it('names a retired variable, and so does the start', async () => {
    const setup = await start('1');
    const { code, out } = await cli(setup, ['check-config'], RETIRED);
    const sentence =
      'UPLOAD_STALL_S: is no longer a variable of the gateway; an upload may be silent for 60 s';
    expect([code, out]).toEqual([0, expect.stringContaining(`Look at ${sentence}`) as unknown]);
    expect(setup.gateway.output()).toContain(sentence);
  });

  it('checks the variables, their combinations and the files that they name, without starting', async () => {
    const setup = await start('1');
    const offered = defaultPriceTableJson.models.filter((model) => model.verified_only !== true);
    const { code: usable, out: said } = await cli(setup, ['check-config']);
    expect(usable).toBe(0);
    expect(said).toContain(`Models:    ${String(offered.length)}\n`);
    expect(said).toContain('UPSTREAM_API_KEY: the upstream accepts it');
    setup.price('x');
    const upstreams = join(setup.folder, 'upstreams.json');
    writeFileSync(upstreams, '{"accounts":[{"name":"a","api_key_file":"/does/not/exist"}]}');
    setup.configure({ UPSTREAMS: upstreams, UPSTREAM_URL: '', UPSTREAM_API_KEY: '' });
    const { code, out } = await cli(setup, ['check-config'], {
      REPLICAS: '2',
      BODY_MEMORY_BYTES: String(2 ** 50),
    });
    expect([code, out]).toEqual([2, expect.anything()]);
    for (const problem of [
      'PRICES: ',
      'UPSTREAMS: accounts.0.api_key_file: ',
      'REDIS_URL: ',
      'DATABASE_URL: ',
      'BODY_MEMORY_BYTES: ',
    ]) {
      expect(out).toContain(problem);
    }
  });
});

describe('farthing models diff', () => {
  it('prints an entry that lacks only its prices for each new model, and names models that are gone', async () => {
    const setup = await start('1');
    const upstream = await startUpstreamSimulator({ models: ['claude-opus-5', 'claude-next-6'] });
    cleanUps.push(() => upstream.close());
    const env = { UPSTREAM_URL: upstream.url };
    const own = await cli(setup, ['models', 'diff', '--json'], { ...env, ADMIN_URL: '' });
    setup.configure(env);
    expect(await reloadStatus(setup, TOKEN)).toBe(200);
    const { code, out } = await cli(setup, ['models', 'diff', '--json']);
    expect(own).toEqual({ code, out });
    expect(code).toBe(0);
    const { missing, gone } = JSON.parse(out);
    expect(missing).toHaveLength(1);
    expect(missing[0]).toMatchObject({ id: 'claude-next-6', rate_in: null, rate_out: null });
    expect(gone).toContain(MODEL);
    expect(gone).not.toContain('claude-opus-5');
    const text = await cli(setup, ['models', 'diff']);
    expect(text.out).toContain(JSON.stringify(missing[0], null, 2));
    const filled = { ...missing[0], rate_in: '1', rate_out: '2' };
    for (const [name, value] of Object.entries(filled)) filled[name] = value ?? 1000;
    const models = [...defaultPriceTableJson.models, filled];
    writeFileSync(join(setup.folder, 'prices.json'), JSON.stringify({ models }));
    expect(await cli(setup, ['check-config'])).toMatchObject({ code: 0 });
  });

  it('says that the upstream cannot be asked, and why', async () => {
    const setup = await start('1');
    // Nobody listens there, and no other test gets this port.
    setup.configure({ UPSTREAM_URL: 'http://127.0.0.1:1' });
    expect(await reloadStatus(setup, TOKEN)).toBe(200);
    const { code, out } = await cli(setup, ['models', 'diff']);
    expect(code).toBe(3);
    expect(out).toBe(
      "farthing: the upstream's models cannot be read: its response could not be received (ECONNREFUSED)\n",
    );
  });
});
