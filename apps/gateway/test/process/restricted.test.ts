/**
 * The built gateway under the restrictions that `deploy/` puts on it, and at a low priority: every
 * kind of work that operators start, on both ledgers.
 */

import { execFile } from 'node:child_process';
import { chmodSync, cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { usePostgresServer } from '../../../../packages/balance-store/test/postgres-server.js';
import type { PostgresServer } from '../../../../packages/balance-store/test/postgres-server.js';
import { ageLedger } from '../../../../packages/balance-store/test/rewrite-ledger.js';
import { isLong } from '../../../../scripts/runs.cjs';
import { createRemoteCaller } from '../../src/operator/operations/callers.js';
import { INHERITED, spawnGateway } from '../support/gateway-process.js';
import type { GatewayProcess } from '../support/gateway-process.js';
import { postMessages, userMessage } from '../support/gateway.js';
import { RESTRICTIONS, giveAway, missingFor, restrict } from '../support/restricted.js';
import { until } from '../support/until.js';

const ADMIN_TOKEN = 'admin-token-of-the-tests';
const KEY_PEPPER = 'the pepper of these tests';
const SECRETS = { ADMIN_TOKEN, KEY_PEPPER };
/** Older than a charge must be for an archive. */
const AGE_DAYS = 40;
const DAY_MS = 86_400_000;

let folder: string;
let postgres: PostgresServer;
let apiKey: string;
const running: GatewayProcess[] = [];
const old = (): string => join(folder, 'old');
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gateway-restricted-'));
  chmodSync(folder, 0o755);
  postgres = await usePostgresServer();
  const gateway = await spawnGateway({ ...SECRETS, DATA_DIR: old() });
  const call = createRemoteCaller({ url: gateway.adminUrl, token: ADMIN_TOKEN });
  const created = await call('createKey', { name: 'k', balance_usd: '5' });
  apiKey = created.api_key ?? '';
  for (let count = 0; count < 3; count += 1) await ask(gateway);
  await stopped(gateway);
  await ageLedger({ dataDir: old() }, AGE_DAYS);
});
afterEach(() => {
  for (const gateway of running.splice(0)) gateway.send('SIGKILL');
});
afterAll(async () => {
  await postgres.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function ask(gateway: Pick<GatewayProcess, 'url'>): Promise<void> {
  const response = await postMessages(gateway, apiKey, userMessage('Hello'));
  expect(response.status).toBe(200);
  await response.text();
}

const dayBefore = (days: number): string =>
  new Date(Date.now() - days * DAY_MS).toISOString().slice(0, 10);

async function stopped(gateway: GatewayProcess): Promise<void> {
  gateway.send('SIGTERM');
  expect(await gateway.exited).toBe(0);
}

/** Everything that the console and a script can start at a running gateway. */
async function workOf(gateway: GatewayProcess): Promise<unknown> {
  const call = createRemoteCaller({ url: gateway.adminUrl, token: ADMIN_TOKEN });
  const { id } = await call('startAudit', {});
  const audit = () => call('showAudit', { audit_id: id });
  await until(async () => (await audit()).state !== 'running');
  const month = new Date().toISOString().slice(0, 7);
  return {
    audit: await audit(),
    home: await call('showHome', {}),
    books: await call('showBooks', { month }),
    usage: await call('listUsage', { by: 'account', from: `${month}-01T00:00:00Z` }),
    failed: await failuresOf(gateway),
  };
}

const SOUND = { is_sound: true };
const DONE = {
  audit: { state: 'done', report: SOUND },
  home: { object: 'home' },
  books: { object: 'books' },
  usage: { object: 'list' },
  failed: [],
};

/** The operations that failed, by the metric on which the alert OperationsFailing relies. */
async function failuresOf({ adminUrl }: GatewayProcess): Promise<readonly string[]> {
  const text = await (await fetch(`${adminUrl}/metrics`)).text();
  const series = [
    ...text.matchAll(/^gateway_operations_failed_total\{operation="(\w+)"\} (\d+)$/gm),
  ];
  expect(series.length).toBeGreaterThan(50);
  return series.filter(([, , count]) => count !== '0').map(([, name]) => name!);
}

// A low priority takes no right away: the long form is enough for it.
const TRIED = RESTRICTIONS.filter((restriction) => isLong || restriction !== 'nice');

// F426: hardening that the program was never run under: an audit, the books and the console's home
// page fail as if the ledger were gone, while readiness is green.
describe.each(TRIED)('the gateway, restricted as by %s', (restriction) => {
  const reason = missingFor(restriction);
  if (reason !== undefined) {
    process.stderr.write(`NOT TESTED: the gateway, restricted as by ${restriction}: ${reason}\n`);
    it.skip(`is not tested here: ${reason}`, () => undefined);
    return;
  }

  it('does all work of operators, on both ledgers', async () => {
    const place = mkdtempSync(join(folder, `${restriction}-`));
    const { dataDir, command } = restrict(restriction, place);
    cpSync(old(), dataDir, { recursive: true });
    for (const name of readdirSync(dataDir)) giveAway(join(dataDir, name));
    const serve = async (env: Readonly<Record<string, string>>) => {
      const gateway = await spawnGateway({ ...env, ...SECRETS }, command());
      running.push(gateway);
      return gateway;
    };
    const run = async (env: Readonly<Record<string, string>>, ...args: readonly string[]) => {
      const [program, ...rest] = command(...args);
      const options = { env: { ...INHERITED, ...SECRETS, ...env } };
      const { stdout } = await promisify(execFile)(program!, rest, options);
      return stdout;
    };

    const embedded = { DATA_DIR: dataDir, SQLITE_TMPDIR: dataDir };
    const first = await serve(embedded);
    await ask(first);
    expect(await workOf(first)).toMatchObject(DONE);
    const archive = join(dataDir, 'archive.jsonl');
    await run(embedded, 'ledger', 'backup', '--to', join(dataDir, 'backup.db'));
    await run(embedded, 'ledger', 'archive', '--until', dayBefore(10), '--to', archive);
    await run(embedded, 'ledger', 'verify-archive', archive);
    await run(embedded, 'ledger', 'verify-archive', '--alone', archive);
    expect(JSON.parse(await run(embedded, 'ledger', 'audit', '--json'))).toMatchObject(SOUND);
    await stopped(first);

    const database = await postgres.createDatabase();
    await run(embedded, 'ledger', 'export', '--to', database);
    const onPostgres = { DATABASE_URL: database, DATA_DIR: join(dataDir, 'unused') };
    const second = await serve(onPostgres);
    await ask(second);
    expect(await workOf(second)).toMatchObject(DONE);
    await run(onPostgres, 'ledger', 'verify-archive', archive);
    expect(JSON.parse(await run(onPostgres, 'ledger', 'audit', '--json'))).toMatchObject(SOUND);
    await stopped(second);
  });
});
