/** Gateways for the procedures of the handbook, each with the machine of its operator. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startUpstreamSimulator } from '@gateway/upstream-simulator';
import {
  querySql,
  startPostgresServer,
} from '../../../../packages/balance-store/test/postgres-server.js';
import type { OwnPostgresServer } from '../../../../packages/balance-store/test/postgres-server.js';
import { createRemoteCaller } from '../../src/operator/operations/callers.js';
import { spawnGateway } from './gateway-process.js';
import type { GatewayProcess } from './gateway-process.js';
import { postMessages, userMessage } from './gateway.js';
import type { Block, Handbook } from './handbook.js';
import { createMachine } from './handbook-machine.js';
import type { HandbookMachine, Words } from './handbook-machine.js';

/** As the handbook calls them. */
export const OLD_TOKEN = 'the-old-admin-token';
export const NEW_TOKEN = 'the-new-admin-token';
const OLD_PEPPER = 'the-old-pepper-of-all-keys';
export const UPSTREAM_KEY = 'upstream-credential-canary';

/** A running gateway, or several on one ledger, and the machine on which its operator types. */
export interface Site {
  readonly machine: HandbookMachine;
  readonly urls: () => readonly string[];
  readonly adminUrls: () => readonly string[];
  /** What all processes have logged so far. */
  readonly log: () => string;
  /** One after the other, with the variables that are in the file then. */
  readonly restart: () => Promise<void>;
}

export type HandbookSites = Awaited<ReturnType<typeof openSites>>;

/** @returns functions that start sites, and one that stops all that were started */
export async function openSites(handbook: Handbook) {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-handbook-'));
  const [, shellFunction] = handbook.take('Under systemd');
  const postgres = await startPostgresServer();
  const cleanUps: (() => Promise<unknown>)[] = [];

  async function newMachine(): Promise<HandbookMachine> {
    const simulator = await startUpstreamSimulator({ apiKey: UPSTREAM_KEY });
    cleanUps.push(() => simulator.close());
    const machine = await createMachine(mkdtempSync(join(folder, 'm-')), shellFunction!.code);
    machine.configure({
      UPSTREAM_URL: simulator.url,
      UPSTREAM_API_KEY: UPSTREAM_KEY,
      ANTHROPIC_ADMIN_KEY: 'sk-ant-admin-of-the-tests',
      ANTHROPIC_ADMIN_URL: simulator.url,
      ADMIN_TOKEN: OLD_TOKEN,
      KEY_PEPPER: OLD_PEPPER,
    });
    return machine;
  }

  async function startEmbedded(): Promise<Site> {
    const machine = await newMachine();
    cleanUps.push(() => machine.type('systemctl stop farthing'));
    const restart = async () => {
      const { code, err } = await machine.type(
        'systemctl stop farthing && systemctl start farthing',
      );
      if (code !== 0) throw new Error(err);
    };
    await restart();
    const { url, adminUrl } = machine;
    return { machine, urls: () => [url], adminUrls: () => [adminUrl], log: machine.log, restart };
  }

  /** @returns the address of the database that the handbook's SQL makes on the server */
  async function createDatabase(server: OwnPostgresServer = postgres): Promise<string> {
    for (const statement of ['DATABASE IF EXISTS gateway WITH (FORCE)', 'ROLE IF EXISTS gateway']) {
      await querySql(server.url(), `DROP ${statement}`);
    }
    await runSql(handbook.take('PostgreSQL and Redis'), server.url());
    return `postgres://gateway:letters-and-digits@${new URL(server.url()).host}/gateway`;
  }

  /** @param count - How many replicas. */
  async function startReplicas(database?: string, count = 2): Promise<Site> {
    const machine = await newMachine();
    machine.configure({ DATABASE_URL: database ?? (await createDatabase()) });
    const replicas: GatewayProcess[] = [];
    cleanUps.push(() => Promise.all(replicas.map(stopped)));
    const start = () => spawnGateway({ ENV_FILE: machine.envFile, DATA_DIR: machine.folder });
    const nameFirst = () => {
      machine.configure({ ADMIN_URL: replicas[0]!.adminUrl });
    };
    while (replicas.length < count) replicas.push(await start());
    nameFirst();
    return {
      machine,
      urls: () => replicas.map(({ url }) => url),
      adminUrls: () => replicas.map(({ adminUrl }) => adminUrl),
      log: () => replicas.map((replica) => replica.output()).join(''),
      async restart() {
        for (const [at, replica] of replicas.entries()) {
          await stopped(replica);
          replicas[at] = await start();
        }
        nameFirst();
      },
    };
  }

  return {
    newMachine,
    createDatabase,
    startEmbedded,
    startReplicas,
    /** Stops what was started since the last call. */
    async stop() {
      for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
    },
    async close() {
      await postgres.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function stopped(gateway: GatewayProcess): Promise<void> {
  gateway.send('SIGTERM');
  await gateway.exited;
}

/** Runs the SQL among the blocks, each statement in a transaction of its own. */
export async function runSql(blocks: readonly Block[], url: string): Promise<void> {
  for (const { code } of blocks.filter(({ kind }) => kind === 'sql')) {
    for (const statement of code.split('\n')) await querySql(url, statement);
  }
}

/** What the handbook calls its replicas. */
export function addresses({ adminUrls }: Site): Words {
  const [first, second = first] = adminUrls();
  return { 'http://10.0.0.1:8081': first!, 'http://10.0.0.2:8081': second! };
}

export async function createKey(site: Site) {
  const call = createRemoteCaller({ url: site.adminUrls()[0]!, token: OLD_TOKEN });
  const { id, api_key: apiKey } = await call('createKey', { name: 'k', balance_usd: '5' });
  return { id, apiKey: apiKey! };
}

/** @returns the status at each replica */
export async function askAll(site: Site, apiKey: string): Promise<readonly number[]> {
  const statuses: number[] = [];
  for (const url of site.urls()) {
    const response = await postMessages({ url }, apiKey, userMessage('Hello'));
    await response.text();
    statuses.push(response.status);
  }
  return statuses;
}

/** @returns the status at each replica */
export async function statusesWith(site: Site, token: string): Promise<readonly number[]> {
  const headers = { authorization: `Bearer ${token}` };
  const asked = site.adminUrls().map((url) => fetch(`${url}/admin/settings`, { headers }));
  return (await Promise.all(asked)).map(({ status }) => status);
}
