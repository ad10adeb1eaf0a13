/** `farthing serve`: starts the gateway, prints how to use it, and serves until a signal. */

import cluster from 'node:cluster';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
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

/** The built file is beside the sources only in a clone; packages contain none. */
const isClone = existsSync(fileURLToPath(new URL('../src/main.ts', import.meta.url)));
/** The command that starts this program, as people type it: in a clone, npm runs it. */
const COMMAND = isClone
  ? 'npm run farthing --'
  : process.env['npm_command'] === 'exec'
    ? 'npx farthing'
    : 'farthing';
const DEMO_NAME = 'demo';
const DEMO_BALANCE = parseUsd('5');
/** Also asked by the README. */
const ASKED_MODEL = 'claude-opus-5';

interface DemoKey {
  readonly credential: string;
  /** Of its account, in units of 10^-14 USD. */
  readonly balance: bigint;
}

export async function serve(): Promise<void> {
  const config = readConfig(process.env);
  if (config.tuning !== 'none') disableMemoryReducer();
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
  gateway.checkCredentials();
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
): Promise<DemoKey | undefined> {
  if (dataDir === undefined || !(isSimulated || process.stdout.isTTY)) return undefined;
  const known = dataDir.readDemoKey();
  if (known !== undefined) {
    const key = await store.findKeyByCredential(known);
    if (key?.state !== 'active') return undefined;
    if (key.credited > 0n) return { credential: known, balance: key.balance };
    await creditDemoKey(store, key);
    return { credential: known, balance: DEMO_BALANCE };
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
  return { credential, balance: DEMO_BALANCE };
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

/** What a newcomer needs next, in about 20 lines. The pages and the documents have the rest. */
function banner(gateway: RunningGateway, config: Config, demoKey: DemoKey | undefined): string {
  const { url, isSimulated } = gateway;
  const blocks = [
    [`Farthing is ready:  ${url}/v1`],
    isSimulated
      ? [
          'NO MODEL ANSWERS: the bundled simulator does. For real answers, start again with',
          isClone
            ? 'UPSTREAM_API_KEY=<your key> in the file .env.'
            : `your key:  UPSTREAM_API_KEY=<your key> ${COMMAND}`,
        ]
      : [`Upstream:  ${config.upstream?.url ?? `the accounts in ${config.upstreamsPath ?? ''}`}`],
    demoKey === undefined ? [] : demoLines(gateway, config, demoKey),
    operatorLines(gateway, config),
    [
      `Ledger:    ${ledgerOf(config)}`,
      `Limits:    ${limiterOf(config)}`,
      ...(config.workers === 1 ? [] : [`Workers:   ${String(config.workers)} processes`]),
    ],
  ];
  const text = blocks
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.map((line) => `  ${line}\n`).join(''))
    .join('\n');
  return `\n${text}\n`;
}

function demoLines(
  { url, prices }: RunningGateway,
  config: Config,
  { credential: demoKey, balance }: DemoKey,
): readonly string[] {
  const models = prices.list().map(({ id }) => id);
  const body = JSON.stringify({
    model: models.includes(ASKED_MODEL) ? ASKED_MODEL : (models[0] ?? ''),
    max_tokens: 100,
    messages: [{ role: 'user', content: 'Hello' }],
  });
  return [
    `Demo key:  ${demoKey}  (has ${formatUsd(balance)} USD)`,
    `Ask:       curl -s ${url}/v1/messages -H "x-api-key: ${demoKey}" \\`,
    `             -H "anthropic-version: 2023-06-01" -H "content-type: application/json" \\`,
    `             -d '${body}'`,
    `Claude:    ANTHROPIC_BASE_URL=${url} ANTHROPIC_AUTH_TOKEN=${demoKey} claude`,
    ...(config.prices === 'list'
      ? []
      : ['           The costs that it shows agree with the charges only with PRICES=list.']),
  ];
}

function operatorLines(gateway: RunningGateway, config: Config): readonly string[] {
  const { url, adminUrl, dataDir } = gateway;
  const { pagesDir, adminToken } = config;
  const hasAdmin = adminUrl !== '';
  const token =
    adminToken !== undefined || dataDir === undefined
      ? 'ADMIN_TOKEN'
      : `the token in ${join(dataDir.path, 'admin-token')}`;
  return [
    ...(findPage('customer', pagesDir) === undefined
      ? []
      : [
          `Dashboard: ${url}${CUSTOMER_PAGE}/  (sign in with a key; it also connects SDKs and Codex)`,
        ]),
    ...(!hasAdmin || findPage('console', pagesDir) === undefined
      ? []
      : consoleLines(gateway, token)),
    ...(hasAdmin
      ? [`Admin:     ${adminUrl} (API, with ${token}), metrics at ${adminUrl}/metrics`]
      : []),
    `A key:     ${COMMAND} keys create --name alice --balance 20 --cap-month 50`,
  ];
}

/** A link that signs in is printed in a terminal only: elsewhere the output is a log. */
function consoleLines(
  { adminUrl, makeConsoleLink }: RunningGateway,
  token: string,
): readonly string[] {
  const link = process.stdout.isTTY ? makeConsoleLink() : undefined;
  return link === undefined
    ? [`Console:   ${adminUrl}${CONSOLE_PAGE}/  (sign in with ${token})`]
    : [
        `Console:   ${link}`,
        `           (signs in once, within ten minutes; another: ${COMMAND} console-link)`,
      ];
}

function ledgerOf({ databaseUrl, dataDir }: Config): string {
  return databaseUrl === undefined
    ? `${join(dataDir, 'ledger.db')}: each charge is on disk before it is confirmed`
    : 'PostgreSQL';
}

function limiterOf({ redisUrls }: Config): string {
  if (redisUrls.length === 0) return 'in memory';
  return redisUrls.length === 1 ? 'Redis' : 'Redis Cluster';
}
