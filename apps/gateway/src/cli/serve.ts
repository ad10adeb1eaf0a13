/** `gateway serve`: starts the gateway, prints how to use it, and serves until a signal ends it. */

import cluster from 'node:cluster';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { BalanceStore, KeyRecord } from '@gateway/balance-store';
import { formatUsd, parseUsd } from '@gateway/billing';
import { disableMemoryReducer } from '../base/heap-tuning.js';
import { ConfigError, readConfig } from '../config/config.js';
import type { Config } from '../config/config.js';
import { CONSOLE_PAGE, CUSTOMER_PAGE } from '../http/pages/addresses.js';
import { findPage } from '../http/pages/page-files.js';
import type { RunningGateway } from '../process/gateway.js';
import { startGateway } from '../process/single-process.js';
import { startGatewayWithWorkers } from '../process/workers/primary.js';
import { runWorker } from '../process/workers/worker.js';

/** The command that starts this program, as people type it: in a checkout, npm runs it. */
const COMMAND = existsSync(join(dirname(process.argv[1] ?? ''), '../../../pnpm-workspace.yaml'))
  ? 'npm run gateway --'
  : 'gateway';
const DEMO_NAME = 'demo';
const DEMO_BALANCE = parseUsd('5');

export async function serve(): Promise<void> {
  disableMemoryReducer();
  const config = readConfig(process.env);
  if (cluster.isWorker) {
    runWorker(config);
    return;
  }
  const gateway = await (config.workers === 1
    ? startGateway(config, { ownsProcess: true })
    : startGatewayWithWorkers(config));
  const demoKey = await ensureDemoKey(gateway, config);

  let stopping = false;
  const stop = (signal: NodeJS.Signals): void => {
    if (stopping) return;
    stopping = true;
    gateway.log.info({ signal }, 'draining');
    void gateway.stop().then(({ abandoned }) => {
      gateway.log.info({ abandoned }, 'stopped');
      process.exit(0);
    });
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
  const reload = (): void => {
    gateway.reload().catch((error: unknown) => {
      // The problems are already in the log.
      if (!(error instanceof ConfigError)) throw error;
    });
  };
  // In a terminal, the signal means that the terminal was closed.
  process.on('SIGHUP', process.stdin.isTTY ? stop : reload);
  // A gateway serves even if its output cannot be written, for example because the disk is full.
  process.stdout.on('error', () => undefined);
  // This is printed last, because a script may send a signal as soon as it reads this.
  process.stdout.write(banner(gateway, config, demoKey));
}

/**
 * With the embedded ledger, the first start creates a demo key. With a real upstream it does so
 * only in a terminal: elsewhere the output is a log, and its readers could spend the key.
 *
 * The key is credited only after its credential is stored. So if the first start is killed, the
 * next one either credits the stored key, or creates another one beside a key without money.
 *
 * @returns `undefined` too if the demo key was revoked, suspended or rotated
 */
async function ensureDemoKey(
  { dataDir, store, isSimulated }: RunningGateway,
  config: Config,
): Promise<string | undefined> {
  if (dataDir === undefined || !(isSimulated || process.stdout.isTTY)) return undefined;
  const known = dataDir.readDemoKey();
  if (known !== undefined) {
    const key = await store.findKeyByCredential(known);
    if (key?.state !== 'active') return undefined;
    if (key.credited === 0n) await creditDemoKey(store, key);
    return known;
  }
  const keys = await store.listKeys({ limit: 10 });
  if (keys.some(({ name, credited }) => name !== DEMO_NAME || credited > 0n)) return undefined;
  const { record, credential } = await store.createKey({
    name: DEMO_NAME,
    limits: config.keyLimits,
    expiresAt: null,
  });
  dataDir.writeDemoKey(credential);
  await creditDemoKey(store, record);
  return credential;
}

async function creditDemoKey(store: BalanceStore, { id }: KeyRecord): Promise<void> {
  await store.topUp({
    topUpId: `initial:${id}`,
    to: { keyId: id },
    amount: DEMO_BALANCE,
    source: 'promotional',
    by: { name: 'first start' },
  });
}

function banner(gateway: RunningGateway, config: Config, demoKey: string | undefined): string {
  const { url, adminUrl, isSimulated } = gateway;
  const lines = [
    '',
    `  The gateway is ready:  ${url}/v1`,
    '',
    isSimulated
      ? '  Upstream:  the bundled SIMULATOR. No model answers; set UPSTREAM_API_KEY for the real API.'
      : `  Upstream:  ${config.upstream?.url ?? `the accounts in ${config.upstreamsPath ?? ''}`}`,
    config.databaseUrl === undefined
      ? `  Ledger:    embedded, ${join(config.dataDir, 'ledger.db')}: every charge is written to disk before it is confirmed`
      : '  Ledger:    PostgreSQL',
    `  Limits:    ${limiterOf(config)}`,
    ...(config.workers === 1 ? [] : [`  Workers:   ${String(config.workers)} processes`]),
    ...(adminUrl === ''
      ? []
      : [`  Admin:     ${adminUrl} (token required), metrics at ${adminUrl}/metrics`]),
    ...pageLines(gateway, config),
    '',
  ];
  if (demoKey === undefined) {
    lines.push(`  Create a key:  ${COMMAND} keys create --name me --balance 5`, '');
    return `${lines.join('\n')}\n`;
  }
  const model = gateway.prices.list()[0]?.id ?? '';
  const ask = (path: string, headers: string, rest: string): string =>
    `  curl -s ${url}${path} -H "Authorization: Bearer ${demoKey}" ${headers}-H "content-type: application/json" ` +
    `-d '{"model":"${model}",${rest}}'`;
  const message = '"max_tokens":100,"messages":[{"role":"user","content":"Hello"}]';
  lines.push(
    `  Demo key:  ${demoKey}   (started with ${formatUsd(DEMO_BALANCE)} USD)`,
    '',
    '  Try it, in each format:',
    '',
    ask('/v1/messages', '-H "anthropic-version: 2023-06-01" ', message),
    '',
    ask('/v1/chat/completions', '', message),
    '',
    ask('/v1/responses', '', '"max_output_tokens":100,"input":"Hello"'),
    '',
    '  Anthropic SDK:  new Anthropic({ baseURL: ' + `'${url}', apiKey: '${demoKey}' })`,
    '  OpenAI SDK:     new OpenAI({ baseURL: ' + `'${url}/v1', apiKey: '${demoKey}' })`,
    '',
    '  Balance:        ' +
      `curl -s ${url}/v1/dashboard/balance -H "Authorization: Bearer ${demoKey}"`,
    `  Top up, audit:  ${COMMAND} keys list   (then keys top-up, ledger list, ledger audit)`,
    '',
  );
  return `${lines.join('\n')}\n`;
}

function pageLines({ url, adminUrl }: RunningGateway, { pagesDir }: Config): readonly string[] {
  const hasConsole = adminUrl !== '' && findPage('console', pagesDir) !== undefined;
  return [
    ...(findPage('customer', pagesDir) === undefined
      ? []
      : [`  Dashboard: ${url}${CUSTOMER_PAGE}/ (for the holder of a key)`]),
    ...(hasConsole
      ? [`  Console:   ${adminUrl}${CONSOLE_PAGE}/ (for you; log in with the token)`]
      : []),
  ];
}

function limiterOf({ redisUrls }: Config): string {
  if (redisUrls.length === 0) return 'in memory';
  return redisUrls.length === 1 ? 'Redis' : 'Redis Cluster';
}
