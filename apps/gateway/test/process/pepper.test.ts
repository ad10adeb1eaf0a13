/** Replacing `KEY_PEPPER` as an operator does: three starts of the gateway, on both ledgers. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { startUpstreamSimulator } from '@gateway/upstream-simulator';
import type { UpstreamSimulator } from '@gateway/upstream-simulator';
import { usePostgresServer } from '../../../../packages/balance-store/test/postgres-server.js';
import type { PostgresServer } from '../../../../packages/balance-store/test/postgres-server.js';
import { createRemoteCaller } from '../../src/operator/operations/callers.js';
import type { CallOperation } from '../../src/operator/operations/operations.js';
import { gatewayCommand, spawnGateway } from '../support/gateway-process.js';
import type { GatewayProcess } from '../support/gateway-process.js';
import { postMessages, userMessage } from '../support/gateway.js';

type Env = Readonly<Record<string, string>>;
type Running = GatewayProcess & { readonly call: CallOperation };

const ADMIN_TOKEN = 'admin-token-of-the-tests';
const OLD = 'the pepper before the rotation';
const NEW = 'the pepper after the rotation';

let simulator: UpstreamSimulator;
let postgres: PostgresServer;
let dataDir: string;
const running = new Set<GatewayProcess>();

beforeAll(async () => {
  simulator = await startUpstreamSimulator();
  postgres = await usePostgresServer();
  dataDir = mkdtempSync(join(tmpdir(), 'gateway-pepper-'));
});
afterEach(async () => {
  for (const gateway of running) {
    gateway.send('SIGKILL');
    await gateway.exited;
  }
  running.clear();
});
afterAll(async () => {
  await simulator.close();
  await postgres.stop();
  rmSync(dataDir, { recursive: true, force: true });
});

async function start(env: Env): Promise<Running> {
  const upstream = { UPSTREAM_URL: simulator.url, UPSTREAM_API_KEY: 'upstream-key' };
  const gateway = await spawnGateway({ ADMIN_TOKEN, ...upstream, ...env });
  running.add(gateway);
  const call = createRemoteCaller({ url: gateway.adminUrl, token: ADMIN_TOKEN });
  return { ...gateway, call };
}

async function stop(gateway: Running): Promise<void> {
  gateway.send('SIGTERM');
  expect(await gateway.exited).toBe(0);
  running.delete(gateway);
}

async function newKey({ call }: Running): Promise<{ readonly id: string; readonly key: string }> {
  const { id, api_key: key } = await call('createKey', { name: 'test', balance_usd: '5' });
  return { id, key: key ?? '' };
}

const statusOf = async (gateway: Running, key: string): Promise<number> =>
  (await postMessages(gateway, key, userMessage('Hello'))).status;

/** Keys that still need the previous pepper, as the metric counts them. */
async function counted({ adminUrl }: Running): Promise<number> {
  const metrics = await (await fetch(`${adminUrl}/metrics`)).text();
  return Number(/^gateway_keys_previous_pepper\S* (\d+)$/m.exec(metrics)?.[1]);
}

async function listed(env: Env): Promise<readonly string[]> {
  const { out } = await gatewayCommand(['keys', 'list', '--pepper', 'previous', '--json'], env);
  const { data } = JSON.parse(out) as { readonly data: readonly { readonly id: string }[] };
  return data.map(({ id }) => id);
}

describe.each([
  ['PostgreSQL', async (): Promise<Env> => ({ DATABASE_URL: await postgres.createDatabase() })],
  ['embedded, two workers', () => Promise.resolve<Env>({ DATA_DIR: dataDir, WORKERS: '2' })],
])('replacing the pepper: %s', (_name, environment) => {
  // F115
  it('keeps the keys that are used while both peppers are set; the others are counted and listed', async () => {
    const ledger = await environment();
    const before = await start({ ...ledger, KEY_PEPPER: OLD });
    const [used, idle] = [await newKey(before), await newKey(before)];
    const link = await before.call('createLink', { key_id: used.id });
    await stop(before);

    const env = { ...ledger, KEY_PEPPER: NEW, KEY_PEPPER_PREVIOUS: OLD };
    const during = await start(env);
    const old = await listed(env);
    expect(old).toEqual(expect.arrayContaining([used.id, idle.id]));
    expect(await counted(during)).toBe(old.length);
    expect(await statusOf(during, used.key)).toBe(200);
    expect(await listed(env)).toEqual(old.filter((id) => id !== used.id));
    const made = await newKey(during);
    expect(await statusOf(during, made.key)).toBe(200);
    const read = await fetch(`${during.url}/v1/dashboard/balance`, {
      headers: { authorization: `Bearer ${link.link}` },
    });
    expect(read.status).toBe(200);
    expect(during.output()).not.toContain(OLD);
    await stop(during);

    const after = await start({ ...ledger, KEY_PEPPER: NEW });
    expect(await statusOf(after, used.key)).toBe(200);
    expect(await statusOf(after, made.key)).toBe(200);
    expect(await statusOf(after, idle.key)).toBe(401);
    // Still counted, so that an operator who dropped the old pepper too early can see it.
    expect(await counted(after)).toBe(old.length - 1);
    await stop(after);
  });
});
