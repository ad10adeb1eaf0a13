/**
 * Every procedure of the handbook, from its own text: the commands and variables of its blocks are
 * typed on a machine with an embedded ledger, and each night also on one with two replicas on
 * PostgreSQL.
 */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { defaultPriceTableJson } from '@gateway/billing';
import { startUpstreamSimulator } from '@gateway/upstream-simulator';
import {
  querySql,
  startPostgresServer,
} from '../../../../packages/balance-store/test/postgres-server.js';
import { ageLedger } from '../../../../packages/balance-store/test/rewrite-ledger.js';
import { isLong } from '../../../../scripts/runs.cjs';
import { createRemoteCaller } from '../../src/operator/operations/callers.js';
import { MODEL, postMessages, userMessage } from '../support/gateway.js';
import { readHandbook } from '../support/handbook.js';
import type { HandbookMachine, Words } from '../support/handbook-machine.js';
import {
  NEW_TOKEN,
  OLD_TOKEN,
  UPSTREAM_KEY,
  addresses,
  askAll,
  createKey,
  openSites,
  runSql,
  statusesWith,
} from '../support/handbook-sites.js';
import type { HandbookSites, Site } from '../support/handbook-sites.js';
import { startMovingAddress } from '../support/moving-address.js';
import { until } from '../support/until.js';

/** Blocks that no test can run, by their first line. A new block needs a test, or a line here. */
const NOT_RUN: Readonly<Record<string, string>> = {
  'npx -y pnpm@12.21.0 install --frozen-lockfile':
    'needs root and systemd; check:deploy makes the install, restricted.test.ts runs it as the unit does',
  'ssh -N -L 8081:127.0.0.1:8081 SERVER    # on your machine, as long as you need it':
    'needs a second machine; the second line is run',
  'litestream replicate /var/lib/farthing/ledger.db s3://bucket/ledger':
    'needs a cloud; the handbook names the version with which it was tried',
  'journalctl --unit farthing --output cat --since 2026-11-01 > gateway.log': 'needs systemd',
  'farthing books close 2026-11                # or by itself: BOOKS_CLOSE_AFTER_DAYS':
    'needs a ledger older than a month; closed-months.test.ts closes and exports one',
  'farthing chargeback --day 2026-11-29 --into chargeback   # or by itself, each day: CHARGEBACK_DIR':
    'needs charges of a day that is over; chargeback.test.ts writes and checks the files of some',
  '/var/log/gateway.log {': 'needs logrotate, which the tests do not install',
};

/** Makes of an installation one as it was before 0.1.0. */
const NAMED_GATEWAY = `systemctl stop farthing
mv /opt/farthing /opt/gateway
mv /var/lib/farthing /var/lib/gateway
mv /etc/farthing /etc/gateway
mv /etc/gateway/farthing.env /etc/gateway/gateway.env
sed -i 's|/etc/farthing/|/etc/gateway/|' /etc/gateway/gateway.env
sed 's/farthing/gateway/g' /etc/systemd/system/farthing.service >/etc/systemd/system/gateway.service
rm /etc/systemd/system/farthing.service
systemctl start gateway`;

const handbook = readHandbook();
let sites: HandbookSites;
beforeAll(async () => {
  sites = await openSites(handbook);
});
afterEach(() => sites.stop());
afterAll(() => sites.close());

const SITES: Readonly<Record<string, () => Promise<Site>>> = {
  'an embedded ledger': () => sites.startEmbedded(),
  'two replicas on PostgreSQL': () => sites.startReplicas(),
};

async function follow(site: Site, heading: string, words: Words = {}): Promise<readonly string[]> {
  const outputs: string[] = [];
  for (const block of handbook.take(heading)) {
    outputs.push(await site.machine.follow(block, { ...addresses(site), ...words }));
  }
  return outputs;
}

const all = (site: Site, status: number) => site.urls().map(() => status);

/** The long form also types on replicas what is typed on one machine. */
const TRIED = Object.entries(SITES).slice(0, isLong ? undefined : 1);

describe.each(TRIED)('with %s', (_name, start) => {
  // F427: a rotation of the admin token by the handbook: `farthing reload` shows the new token to
  // gateways that know only the old one, and they answer 401.
  it('the admin token is replaced', async () => {
    const site = await start();
    const [both, reload, alone, reloadAgain] = handbook.take('Replace the admin token');
    const words = addresses(site);
    await site.machine.follow(both!, words);
    await site.machine.follow(reload!, words);
    expect(await statusesWith(site, NEW_TOKEN)).toEqual(all(site, 200));
    expect(await statusesWith(site, OLD_TOKEN)).toEqual(all(site, 200));
    await site.machine.follow(alone!, words);
    await site.machine.follow(reloadAgain!, words);
    expect(await statusesWith(site, NEW_TOKEN)).toEqual(all(site, 200));
    expect(await statusesWith(site, OLD_TOKEN)).toEqual(all(site, 401));
  });

  it('the pepper is replaced, and customers keep their credentials', async () => {
    const site = await start();
    const [used, unused] = [await createKey(site), await createKey(site)];
    expect(await askAll(site, used.apiKey)).toEqual(all(site, 200));
    for (const block of handbook.take('Replace the pepper')) {
      const out = await site.machine.follow(block);
      if (block.kind === 'commands') {
        expect(out).toContain(unused.id);
        expect(out).not.toContain(used.id);
      } else await site.restart();
      expect(await askAll(site, used.apiKey)).toEqual(all(site, 200));
    }
    expect(await askAll(site, unused.apiKey)).toEqual(all(site, 401));
  });

  it('settings change without a restart', async () => {
    const site = await start();
    const [reload, prices] = handbook.take('Changes without a restart');
    const file = join(site.machine.folder, 'prices.json');
    const { price_changes } = JSON.parse(`{${prices!.code}}`) as {
      price_changes: readonly object[];
    };
    const models = defaultPriceTableJson.models.map((model) =>
      model.id === MODEL ? { ...model, price_changes } : model,
    );
    writeFileSync(file, JSON.stringify({ models }));
    site.machine.configure({ PRICES: file });
    const out = await site.machine.follow(reload!, addresses(site));
    expect(out).toContain('The configuration can be used.');
    const versions = [...out.matchAll(/: version (\w+), in force/g)].map(([, version]) => version);
    expect(versions.length).toBe(3);
    expect(new Set(versions).size).toBe(1);
    for (const block of handbook.take('Metrics, logs and traces')) {
      await site.machine.follow(block, { '…': 'of-the-collector' });
    }
    expect(await site.machine.type('farthing check-config')).toMatchObject({ code: 0 });
  });

  it('a request is found, and the bill of the provider compared', async () => {
    const site = await start();
    const { apiKey } = await createKey(site);
    // Refused, so that the log has a line, but neither the ledger nor the bill.
    const refused = await postMessages({ url: site.urls()[0]! }, apiKey, { model: MODEL });
    expect(refused.status).toBe(400);
    await until(() => site.log().includes('"request_id"'));
    writeFileSync(join(site.machine.folder, 'log/gateway.log'), site.log());
    const [bill] = await follow(site, "Compare with the provider's bill");
    expect(bill).toContain('2026-11-01 until 2026-12-01');
    const response = await postMessages({ url: site.urls()[0]! }, apiKey, userMessage('Hello'));
    await response.text();
    const ids = ['request-id', 'x-gateway-request-id'].map((name) => response.headers.get(name)!);
    const call = createRemoteCaller({ url: site.adminUrls()[0]!, token: OLD_TOKEN });
    await until(async () => (await call('listRequests', { id: ids[1]! })).data.length > 0);
    for (const id of ids) {
      const [found] = await follow(site, 'Find a request that a customer asks about', {
        'req_…': id,
      });
      expect(found).toContain(ids[1]);
    }
    const lost = await site.machine.type(`farthing ledger show ${ids[0]!}`);
    expect(lost.err).toContain('farthing requests --id');
  });

  it('what was done with a leaked secret is seen, and stopped', async () => {
    const site = await start();
    const { id, apiKey } = await createKey(site);
    expect(await askAll(site, apiKey)).toEqual(all(site, 200));
    const [customer] = await follow(site, "A customer's key", { 'gw_…': apiKey, 'key_…': id });
    expect(customer).toContain(id);
    // Another process may admit the old credential for a second.
    await until(async () => (await askAll(site, apiKey)).every((status) => status === 401));
    const [admin] = await follow(site, 'An admin token');
    expect(admin).toContain('account.create');
    const provider = await startUpstreamSimulator({ apiKey: 'the-new-upstream-key' });
    site.machine.configure({
      UPSTREAM_API_KEY: 'the-new-upstream-key',
      UPSTREAM_URL: provider.url,
    });
    const [replaced] = await follow(site, 'An upstream key').finally(() => provider.close());
    expect(replaced).toContain('The configuration can be used.');
  });
});

describe('with an embedded ledger', () => {
  it('it is backed up and restored, and what the restore lost is booked again', async () => {
    const site = await sites.startEmbedded();
    const { machine } = site;
    const { apiKey } = await createKey(site);
    expect(await machine.type('farthing ledger backup --to /backups/ledger-1.db')).toMatchObject({
      code: 0,
    });
    expect(await askAll(site, apiKey)).toEqual([200]);
    await sealed(machine);
    const [restore, , compare] = handbook.take('Back up and restore');
    await machine.follow(restore!);
    writeFileSync(join(machine.folder, 'log/gateway-1.log'), machine.log());
    // Each charge is booked once, also from a log that is given twice.
    writeFileSync(join(machine.folder, 'log/gateway-2.log'), machine.log());
    await site.restart();
    const [anchors, audit, recharge] = compare!.code.split('\n');
    const found = await machine.follow({ kind: 'commands', code: anchors! });
    const { block, hash } = JSON.parse(found.trim().split('\n').at(-1)!);
    const lost = await machine.type(audit!.replace('42:9f86d0…', `${block}:${hash}`));
    expect(lost).toMatchObject({ code: 1 });
    await machine.follow({ kind: 'commands', code: recharge! });
    const call = createRemoteCaller({ url: machine.adminUrl, token: OLD_TOKEN });
    expect((await call('listLedger', { kind: 'charge' })).data).toHaveLength(1);
  });

  it('it is upgraded, archived, and moved to PostgreSQL; a link opens the console', async () => {
    const site = await sites.startEmbedded();
    const { machine } = site;
    const { apiKey } = await createKey(site);
    expect(await askAll(site, apiKey)).toEqual([200]);
    const [tunnel] = handbook.take('The console of a server');
    const link = tunnel!.code.split('\n').find((line) => line.startsWith('farthing '))!;
    expect(await machine.follow({ kind: 'commands', code: link })).toContain('#link=');

    await follow(site, 'Upgrade');
    expect(await askAll(site, apiKey)).toEqual([200]);
    await machine.type('systemctl stop farthing');
    await ageLedger({ dataDir: machine.path('/var/lib/farthing') }, 100);
    await follow(site, 'Retention and erasure', { '2026-10-01': dayBefore(50) });

    const database = await sites.createDatabase();
    const address = 'postgres://gateway:letters-and-digits@db.internal:5432/gateway';
    const [moved] = await follow(site, 'From the embedded ledger to PostgreSQL', {
      [address]: database,
    });
    expect(moved).toContain('DATABASE_URL');
    machine.configure({ DATABASE_URL: database });
    expect(await machine.type('farthing check-config --ledger')).toMatchObject({ code: 0 });
    expect(await machine.type('systemctl start farthing')).toMatchObject({ code: 0 });
    expect(await askAll(site, apiKey)).toEqual([200]);
    expect(await machine.type('farthing ledger audit')).toMatchObject({ code: 0 });
  });

  // F460: an installation from before the name, whose unit, folders and user are called gateway: it
  // serves the new version as it is, and the handbook renames it with its ledger and its settings.
  it('an installation named gateway serves, and is renamed', async () => {
    const site = await sites.startEmbedded();
    const { machine } = site;
    const { apiKey } = await createKey(site);
    const prices = machine.path('/etc/farthing/prices.json');
    writeFileSync(prices, JSON.stringify(defaultPriceTableJson));
    machine.configure({ PRICES: prices });
    await machine.follow({ kind: 'commands', code: NAMED_GATEWAY });
    expect(await askAll(site, apiKey)).toEqual([200]);

    await follow(site, 'An installation named gateway');
    expect(await askAll(site, apiKey)).toEqual([200]);
    expect(await machine.type('ls /etc/systemd/system')).toMatchObject({
      out: 'farthing.service\n',
    });
    expect(await machine.type('farthing check-config')).toMatchObject({ code: 0 });
    expect(await machine.type('farthing ledger audit')).toMatchObject({ code: 0 });
    const call = createRemoteCaller({ url: machine.adminUrl, token: OLD_TOKEN });
    expect((await call('listLedger', { kind: 'charge' })).data).toHaveLength(2);
  });
});

it('several upstream accounts are configured', async () => {
  const machine = await sites.newMachine();
  const [accounts] = handbook.take('Several upstream accounts');
  for (const name of ['main', 'spare', 'acme']) {
    writeFileSync(join(machine.folder, name), UPSTREAM_KEY);
  }
  const { accounts: listed } = JSON.parse(
    accounts!.code.replaceAll('/run/secrets', machine.folder),
  ) as { accounts: readonly object[] };
  const file = join(machine.folder, 'upstreams.json');
  const provider = await startUpstreamSimulator({ apiKey: UPSTREAM_KEY });
  const reached = listed.map((account) => ({ ...account, url: provider.url }));
  writeFileSync(file, JSON.stringify({ accounts: reached }));
  machine.configure({ UPSTREAMS: file, UPSTREAM_API_KEY: '', UPSTREAM_URL: '' });
  const checked = await machine.type('farthing check-config');
  await provider.close();
  expect(checked).toMatchObject({ code: 0, err: '' });
  expect(checked.out).toContain('acme');
});

it('a standby of PostgreSQL takes over, and each response that was served is charged', async () => {
  const primary = await startPostgresServer();
  const database = await sites.createDatabase(primary);
  // Copied to the standby with the files, where it would make each commit wait.
  await querySql(primary.url(), "ALTER SYSTEM SET synchronous_standby_names = '*'");
  const standby = await startPostgresServer(undefined, primary.url());
  await querySql(primary.url(), 'SELECT pg_reload_conf()');
  const address = await startMovingAddress(database);
  try {
    const site = await sites.startReplicas(address.url, 1);
    const { apiKey } = await createKey(site);
    expect(await askAll(site, apiKey)).toEqual([200]);
    await primary.stopImmediately();
    await until(async () => (await askAll(site, apiKey))[0] === 503);
    await runSql(handbook.take('Failover of PostgreSQL'), standby.url());
    address.moveTo(standby.url());
    let served = 1;
    await until(async () => {
      const [status] = await askAll(site, apiKey);
      if (status === 200) served += 1;
      return status === 200;
    });
    expect(await site.machine.type('farthing ledger audit')).toMatchObject({ code: 0 });
    const call = createRemoteCaller({ url: site.adminUrls()[0]!, token: OLD_TOKEN });
    expect((await call('listLedger', { kind: 'charge' })).data).toHaveLength(served);
  } finally {
    await sites.stop();
    await address.close();
    await standby.stop();
    await primary.stop();
  }
});

it('every block of the handbook is run by a test, or a reason says why not', () => {
  const firstLines = handbook.blocks.map(({ code }) => code.split('\n')[0]!);
  expect(firstLines.length).toBeGreaterThan(30);
  expect(Object.keys(NOT_RUN).filter((line) => !firstLines.includes(line))).toEqual([]);
  const forgotten = handbook.untaken().map(({ code }) => code.split('\n')[0]!);
  expect(forgotten.filter((line) => !(line in NOT_RUN))).toEqual([]);
});

const DAY_MS = 86_400_000;
const dayBefore = (days: number): string =>
  new Date(Date.now() - days * DAY_MS).toISOString().slice(0, 10);

/** Waits until the log names the charge's block. */
async function sealed({ log }: HandbookMachine): Promise<void> {
  const charged = log().lastIndexOf('"charge_usd"');
  while (log().lastIndexOf('"ledger sealed"') <= charged) {
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
