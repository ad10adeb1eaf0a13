/**
 * This gateway as a contestant, with its default settings: info logs to a file, metrics on, two
 * hundred keys that send in turn.
 */

import { join } from 'node:path';
import { request } from 'undici';
import { freePort } from '../scripts/free-port.cjs';
import { NODE_FLAGS } from '../scripts/run-gateway.mjs';
import { node, root } from '../scripts/setup.mjs';
import { openBatchCounter } from './batches.mjs';
import { startServer } from './server.mjs';

export const MAIN = join(root, 'apps/gateway/dist/main.js');
const ADMIN_TOKEN = 'benchmark-admin-token';
const KEYS = 200;
/** Limits that the benchmark cannot reach, and enough money for the whole benchmark. */
const KEY = {
  name: 'benchmark',
  balance_usd: '1000000',
  concurrency: 100_000,
  burst: 1_000_000,
  requests_per_minute: 10_000_000,
};

/**
 * This gateway with its limits in Redis and its charges in PostgreSQL. All other settings have
 * their defaults unless `env` sets them.
 *
 * @param env - additional settings
 */
export function gatewayOnServers({ name, title, env = {} }) {
  return {
    title,
    does: 'the work of this gateway, embedded, but with limits in Redis and charges in PostgreSQL, both on this machine',
    isOurs: true,
    translates: true,
    fidelity: 'bytes',
    needsServers: true,
    start: (context) => startGatewayOnServers({ ...context, name, env }),
  };
}

/** @param {any} context - as the session makes it, with `name` and `env` */
export async function startGatewayOnServers({ env, ...context }) {
  const { databaseUrl, redisUrl, pids } = context.servers;
  const gateway = await startGateway({
    ...context,
    env: {
      DATABASE_URL: databaseUrl,
      REDIS_URL: redisUrl,
      KEY_PEPPER: 'benchmark-pepper-benchmark-pepper',
      ...env,
    },
  });
  const batches = await openBatchCounter(databaseUrl, gateway.keyIds);
  return {
    ...gateway,
    serverPids: pids,
    settlements: batches.read,
    async stop() {
      await gateway.stop();
      await batches.close();
    },
  };
}

/**
 * @param {any} context - as the session makes it, with `name` and `env`; `main`: the program,
 * unless it is that of this checkout; `hasBudgets`: whether budgets on four levels count each key
 */
export async function startGateway({
  name,
  upstreamUrl,
  scratch,
  nodeFlags,
  env,
  main = MAIN,
  hasBudgets = false,
}) {
  const port = await freePort();
  const adminPort = await freePort();
  const admin = `http://127.0.0.1:${adminPort}`;
  const server = await startServer({
    name,
    command: node,
    args: [...NODE_FLAGS, ...nodeFlags, main, 'serve'],
    env: {
      HOST: '127.0.0.1',
      PORT: String(port),
      ADMIN_PORT: String(adminPort),
      ADMIN_TOKEN,
      UPSTREAM_URL: upstreamUrl,
      UPSTREAM_API_KEY: 'benchmark',
      ...env,
    },
    port,
    scratch,
    isReady: () => isReady(admin),
  });
  const keys = [];
  while (keys.length < KEYS) keys.push(await ask(admin, 'POST', '/admin/keys', KEY));
  if (hasBudgets) for (const key of keys) await limit(admin, key);
  return {
    ...server,
    port,
    headers: keys.map((key) => ({ authorization: `Bearer ${key.api_key}` })),
    keyIds: keys.map(({ id }) => id),
    /** The sum of the keys' charges, in units of 10^-14 USD. */
    async charged() {
      let sum = 0n;
      for (const { id } of keys) {
        const { spent_usd: spent } = await ask(admin, 'GET', `/admin/keys/${id}`);
        sum += unitsOf(spent);
      }
      return sum;
    },
  };
}

/** Sets budgets that the benchmark cannot reach, on four levels. */
async function limit(admin, { id, account_id: accountId }) {
  const of = { account_id: accountId, name: 'benchmark' };
  const group = await ask(admin, 'POST', '/admin/groups', of);
  const member = await ask(admin, 'POST', '/admin/members', { ...of, group_id: group.id });
  await ask(admin, 'PATCH', `/admin/keys/${id}`, { member_id: member.id });
  const budget = { ...of, amount_usd: '1000000', period: 'month' };
  for (const level of [
    { scope: 'account' },
    { scope: 'group', subject: group.id },
    { scope: 'member' },
    { scope: 'key', subject: id },
  ]) {
    await ask(admin, 'POST', '/admin/budgets', { ...budget, ...level });
  }
}

async function isReady(admin) {
  try {
    const { statusCode, body } = await request(`${admin}/readyz`);
    await body.dump();
    return statusCode === 200;
  } catch {
    return false;
  }
}

async function ask(admin, method, path, content) {
  const response = await request(admin + path, {
    method,
    headers: { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' },
    ...(content === undefined ? {} : { body: JSON.stringify(content) }),
  });
  const answer = /** @type {any} */ (await response.body.json());
  if (response.statusCode >= 300) throw new Error(`${method} ${path}: ${JSON.stringify(answer)}`);
  return answer;
}

function unitsOf(usd) {
  const [whole, decimals = ''] = usd.split('.');
  return BigInt(whole + decimals.padEnd(14, '0'));
}
