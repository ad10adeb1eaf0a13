/** The settings as operators see them, and those that they change while the gateway serves. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { usePostgresServer } from '../../../../packages/balance-store/test/postgres-server.js';
import type { PostgresServer } from '../../../../packages/balance-store/test/postgres-server.js';
import { ConfigError, readConfig } from '../../src/config/config.js';
import { describeVariables } from '../../src/config/describe-variables.js';
import { BY_NAME } from '../../src/config/variables.js';
import { createRemoteCaller } from '../../src/operator/operations/callers.js';
import { startGateway } from '../../src/process/single-process.js';
import { startGatedUpstream } from '../support/gated-upstream.js';
import type { GatedUpstream } from '../support/gated-upstream.js';
import { gatewayCommand } from '../support/gateway-process.js';
import { MODEL, postMessages, userMessage } from '../support/gateway.js';
import { until } from '../support/until.js';

const ADMIN_TOKEN = 'admin-token-of-the-tests';
const READ_TOKEN = 'token-that-may-only-read';
const NAMES = [...BY_NAME.keys()];
/** The usual rate of the model is 3.00. */
const DOUBLED = JSON.stringify({ extends: 'specification', factor: '2' });

let postgres: PostgresServer;
let upstream: GatedUpstream;
let folder: string;
beforeAll(async () => {
  postgres = await usePostgresServer();
  upstream = await startGatedUpstream();
  folder = mkdtempSync(join(tmpdir(), 'changed-settings-'));
});
afterAll(async () => {
  await upstream.close();
  await postgres.stop();
  rmSync(folder, { recursive: true });
});

type Running = Awaited<ReturnType<typeof startGateway>>;

const callerOf = ({ adminUrl }: Running, token = ADMIN_TOKEN) =>
  createRemoteCaller({ url: adminUrl, token });

async function settingOf(gateway: Running, name: string) {
  const { variables } = await callerOf(gateway)('showSettings', {});
  return variables.find((variable) => variable.name === name);
}

async function rateSeen({ url }: Running, apiKey: string): Promise<string> {
  const response = await fetch(`${url}/v1/models/${MODEL}`, { headers: { 'x-api-key': apiKey } });
  return (await response.json()).rate_in as string;
}

const LEDGERS = { embedded: 'embedded', PostgreSQL: 'PostgreSQL' } as const;

describe.each(Object.values(LEDGERS))('on the %s ledger', (ledger) => {
  let env: Readonly<Record<string, string>>;
  let gateway: Running;
  let apiKey: string;
  const startAnother = () => startGateway(readConfig(env));
  const command = (...args: string[]) => gatewayCommand(args, env);

  beforeAll(async () => {
    env = {
      PORT: '0',
      ADMIN_PORT: '0',
      LOG_LEVEL: 'silent',
      UPSTREAM_URL: upstream.url,
      UPSTREAM_API_KEY: 'secret-of-the-upstream',
      ADMIN_TOKEN,
      ADMIN_TOKENS: `charts:read:${READ_TOKEN}`,
      METRICS_TOKEN: 'secret-of-the-metrics',
      KEY_PEPPER: 'secret-pepper-of-the-tests',
      PUBLIC_URL: 'https://somebody:secret-in-an-address@gateway.example.com',
      KEY_BURST: '70',
      ...(ledger === LEDGERS.embedded
        ? { DATA_DIR: join(folder, 'data') }
        : { DATABASE_URL: await postgres.createDatabase() }),
    };
    gateway = await startAnother();
    const key = await callerOf(gateway)('createKey', { name: 'test', balance_usd: '10' });
    apiKey = key.api_key ?? '';
  });
  afterAll(() => gateway.stop());

  it('are all listed with where they are set, and no secret has its value', async () => {
    const settings = await callerOf(gateway, READ_TOKEN)('showSettings', {});
    expect(settings.variables.map(({ name }) => name)).toEqual(NAMES);
    expect(settings.variables.filter(({ about }) => about === '')).toEqual([]);
    const text = JSON.stringify(settings);
    expect(text).not.toMatch(/secret-|admin-token-of|token-that-may/);
    expect(await settingOf(gateway, 'DATABASE_URL')).toMatchObject({ value: null });
    expect(await settingOf(gateway, 'METRICS_TOKEN')).toMatchObject({ is_set: true, value: null });
    expect(await settingOf(gateway, 'STRIPE_SECRET_KEY')).toMatchObject({ is_set: false });
    expect(await settingOf(gateway, 'KEY_BURST')).toMatchObject({
      value: '70',
      default: '60',
      set_in: 'environment',
      changes_by: 'gateway',
    });
    expect(await settingOf(gateway, 'PUBLIC_URL')).toMatchObject({
      value: 'https://…@gateway.example.com',
      changes_by: 'restart',
    });
    expect(await settingOf(gateway, 'UPSTREAM_API_KEY')).toMatchObject({ changes_by: 'reload' });
  });

  // F285: an operator changes prices while a request runs: it is charged at those that it began
  // with, and the next one at the new ones.
  it('charge each request at the prices that it began with', async () => {
    upstream.shut();
    const running = postMessages(gateway, apiKey, userMessage('Hello'));
    await until(() => upstream.waiting() === 1);
    await callerOf(gateway)('changeSetting', { name: 'PRICES', value: DOUBLED });
    upstream.open();
    const [first, second] = [await running, await postMessages(gateway, apiKey, userMessage('Hi'))];
    const charges = await Promise.all([chargeOf(first), chargeOf(second)]);
    expect(charges.map(({ rate }) => rate)).toEqual(['3', '6']);
    expect(await settingOf(gateway, 'PRICES')).toMatchObject({ value: DOUBLED, set_in: 'gateway' });
    const { data } = await callerOf(gateway)('listTrail', { limit: 1 });
    expect(data).toMatchObject([
      {
        actor: 'admin',
        action: 'settings.change',
        details: { PRICES: { before: null, after: DOUBLED } },
      },
    ]);
  });

  async function chargeOf(response: Response) {
    const id = response.headers.get('x-gateway-request-id') ?? '';
    const entry = await callerOf(gateway)('showEntry', { entry_id: id });
    if (entry.kind !== 'charge') throw new Error('there is no charge');
    expect(response.headers.get('x-gateway-charge-usd')).toBe(entry.amount_usd.replace('-', ''));
    return { rate: entry.rates.input };
  }

  it('are the same after a restart', async () => {
    await gateway.stop();
    gateway = await startAnother();
    expect(await rateSeen(gateway, apiKey)).toBe('6');
    const { code, out } = await command('models', 'list', '--json');
    expect(code).toBe(0);
    const { data } = JSON.parse(out) as { data: { id: string; rates: { input: string } }[] };
    expect(data.find(({ id }) => id === MODEL)?.rates.input).toBe('6');
  });

  // F286: settings change in another replica, or by the command line beside a gateway: it follows
  // by itself.
  it('are followed when something else changes them', async () => {
    const changed = await command('change-setting', 'PRICES', '--value', 'list');
    expect([changed.code, changed.err]).toEqual([0, '']);
    await until(async () => (await settingOf(gateway, 'PRICES'))?.value === 'list');
    await command('change-setting', 'PRICES', '--value', 'none');
    await until(async () => (await settingOf(gateway, 'PRICES'))?.set_in === 'default');
    expect(await settingOf(gateway, 'PRICES')).toMatchObject({ value: 'specification' });
    expect(await rateSeen(gateway, apiKey)).toBe('3.00');
    const { out } = await command('settings');
    expect(out).toMatch(/METRICS_TOKEN +│ \(set\)/);
    expect(out).not.toContain('secret-');
  });

  it('apply to what is created afterwards', async () => {
    const call = callerOf(gateway);
    await call('changeSetting', { name: 'KEY_CONCURRENCY', value: '7' });
    await call('changeSetting', { name: 'LOW_BALANCE_USD', value: '2.5' });
    const key = await call('createKey', { name: 'later' });
    expect(key.limits.concurrency).toBe(7);
    expect(await call('showAccount', { account_id: key.account_id })).toMatchObject({
      low_balance_usd: '2.5',
    });
  });

  const INHERITED = ['constructor', 'toString', '__proto__', 'hasOwnProperty'];
  // F321: an operator names a table by what all objects have, such as `constructor`: 400, not 500.
  it.each([
    ['METRICS_TOKEN', 'another-token-of-metrics', 'name: must be one of PRICES, LOW_BALANCE_USD'],
    ['UPSTREAM_URL', 'https://elsewhere.example.com', 'name: must be one of'],
    ['NOTHING', '1', 'name: must be one of'],
    ['PRICES', '/etc/passwd', 'PRICES: must be JSON, or the name of a table; not that of a file'],
    ...INHERITED.map((name) => ['PRICES', name, 'PRICES: must be JSON'] as const),
    ['COSTS', 'constructor', 'COSTS: must be JSON'],
    ['PRICES', '{"extends":"list","factor":"0.00000001"}', 'PRICES: .*factor: has'],
    ['PRICES', '{', 'PRICES: .*JSON'],
    ['CUSTOMER_PRICES', 'list', 'CUSTOMER_PRICES: '],
    ['KEY_BURST', 'many', 'KEY_BURST: must be a number'],
    ['VERIFIED_MODELS', 'claude-none', 'VERIFIED_MODELS: claude-none: must be models'],
    ['COSTS', '{"\u0000":1}', 'COSTS: '],
  ])('cannot be changed so: %s to %j', async (name, value, problem) => {
    const call = callerOf(gateway);
    const before = await call('showSettings', {});
    const refused = await call('changeSetting', { name, value }).catch((error: unknown) => error);
    expect(refused).toMatchObject({ status: 400 });
    expect((refused as Error).message).toMatch(new RegExp(`^${problem}`, 's'));
    expect(await call('showSettings', {})).toEqual(before);
  });

  it('are changed by operators who may change everything, and nobody else', async () => {
    const change = callerOf(gateway, READ_TOKEN)('changeSetting', {
      name: 'PRICES',
      value: 'list',
    });
    await expect(change).rejects.toMatchObject({ status: 403 });
  });

  // F287: two operators change settings at once: both changes are in force, or one is refused with
  // the reason.
  it('lose no change of two operators at once', async () => {
    const asked = { KEY_REQUESTS_PER_MINUTE: '11', ACCOUNT_REQUESTS_PER_MINUTE: '22' };
    const other = ledger === LEDGERS.embedded ? undefined : await startAnother();
    const replicas = [gateway, other ?? gateway];
    const outcomes = await Promise.all(
      Object.entries(asked).map(([name, value], index) =>
        callerOf(replicas[index]!)('changeSetting', { name, value }).then(
          () => ({ name, value }),
          (error: unknown) => {
            expect(error).toMatchObject({ status: 409 });
            return undefined;
          },
        ),
      ),
    );
    const done = outcomes.filter((outcome) => outcome !== undefined);
    expect(done.length).toBeGreaterThan(0);
    for (const replica of replicas) {
      for (const { name, value } of done) {
        await until(async () => (await settingOf(replica, name))?.value === value);
      }
    }
    await other?.stop();
  });

  // F288: what an operator changed no longer fits the environment: the gateway does not start with
  // other prices than it should, and says how to take the change back.
  it('keep a gateway from starting if they cannot be used, until they are taken back', async () => {
    const id = 'claude-mythos-5';
    await callerOf(gateway)('changeSetting', { name: 'VERIFIED_MODELS', value: id });
    await gateway.stop();
    const own = JSON.stringify({ extends: 'list', factor: '1' });
    const models = JSON.parse((await command('models', 'table')).out) as {
      models: { id: string }[];
    };
    const without = { models: models.models.filter((model) => model.id !== id) };
    env = { ...env, PRICES: JSON.stringify(without) };
    await expect(startAnother()).rejects.toThrow(ConfigError);
    await expect(startAnother()).rejects.toThrow(
      /VERIFIED_MODELS: claude-mythos-5: must be .*operators changed .*VERIFIED_MODELS.*change-setting/s,
    );
    expect((await command('models', 'list')).code).toBe(2);
    expect(await command('change-setting', 'VERIFIED_MODELS', '--value', 'none')).toMatchObject({
      code: 0,
    });
    env = { ...env, PRICES: own };
    gateway = await startAnother();
    expect(await settingOf(gateway, 'VERIFIED_MODELS')).toMatchObject({ set_in: 'default' });
  });
});

it('a secret of any kind is shown without its value', () => {
  const env = Object.fromEntries(NAMES.map((name) => [name, `shown-${name}`]));
  const all = { env, started: env, loaded: env, changed: {}, needsStart: () => false };
  const shown = describeVariables(all);
  expect(shown.map(({ value }) => value)).toEqual(
    NAMES.map((name) => (BY_NAME.get(name)?.isSecret === true ? null : `shown-${name}`)),
  );
});
