/**
 * The programs of `examples/`, each run against a started gateway whose upstream is the simulator.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { askNatively } from './ask.mjs';
import { freePort } from './free-port.cjs';
import { node, root } from './setup.mjs';

const TIMEOUT_MS = 60_000;
const WEBHOOK_SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const MODEL = 'claude-opus-5';

/** The programs, by file. Each throws if it does not do what its comment says. */
const PROGRAMS = {
  async 'chat.ts'(site) {
    const chat = site.start('chat.ts', [], 'Hello\nAnd again\n');
    const shown = await chat.ended();
    const charges = [...shown.matchAll(/^\((\S+) USD\)$/gm)].map(([, amount]) => amount);
    expect(charges.length === 2 && same(charges, await site.charges()), shown);
  },
  async 'stream.ts'(site) {
    const before = (await site.charges()).length;
    const shown = await site.start('stream.ts', ['Hello']).ended();
    expect(/^\S[^]*\n\(\d+ tokens in, \d+ out\)\n$/.test(shown), shown);
    expect((await site.charges()).length === before + 1, 'it was not charged');
  },
  async 'shop.ts'(site) {
    const shop = site.start('shop.ts', ['order-1', '0.00001']);
    const [, key] = await shop.shows(/order-1: (gw_\S+)\n/);
    await shop.shows(/order-1: credited\n/);
    await site.ask(key);
    await shop.shows(/order-1: used up\n/);
    shop.stop();
  },
  async 'costs.ts'(site) {
    const answer = await site.ask();
    const shown = await site.start('costs.ts', [], `${JSON.stringify(answer.message)}\n`).ended();
    expect(
      shown === `${MODEL} ${answer.chargeUsd} USD\n`,
      `${shown} instead of ${answer.chargeUsd}`,
    );
  },
};

/**
 * @param dir - Where the packages are installed and the programs are.
 * @param report - Called with the name of each program that works.
 */
export async function runPrograms(dir, report) {
  const names = programNames();
  if (!same(Object.keys(PROGRAMS), names)) throw new Error(`examples/ has ${names.join(', ')}`);
  const site = await openSite(dir);
  try {
    for (const name of names) {
      await PROGRAMS[name](site).catch((error) => {
        throw new Error(`examples/${name}: ${error.message}`);
      });
      report(name);
    }
  } finally {
    await site.close();
  }
}

export function programNames() {
  return readdirSync(join(root, 'examples')).filter((name) => name.endsWith('.ts'));
}

/** Starts a gateway as `npm start` does, with its demo key, in an empty data directory. */
async function openSite(dir) {
  const shopPort = String(await freePort());
  const gateway = runProgram(node, [join(root, 'apps/gateway/dist/main.js')], dir, {
    PORT: '0',
    ADMIN_PORT: '0',
    DATA_DIR: join(dir, 'data'),
    ADMIN_TOKEN: 'token-of-the-examples',
    WEBHOOK_SECRET,
    WEBHOOK_URL: `http://127.0.0.1:${shopPort}/`,
    WEBHOOK_ALLOW_PRIVATE: 'true',
  });
  const [, url] = await gateway.shows(/ready: {2}(\S+)\/v1/);
  const [, apiKey] = await gateway.shows(/Demo key: {2}(\S+)/);
  const [, adminUrl] = await gateway.shows(/Admin: +(\S+)/);
  return {
    start: (name, args, input = '') =>
      runProgram(
        node,
        [name, ...args],
        dir,
        {
          GATEWAY_URL: url,
          API_KEY: apiKey,
          MODEL,
          ADMIN_URL: adminUrl,
          ADMIN_TOKEN: 'token-of-the-examples',
          WEBHOOK_SECRET,
          PORT: shopPort,
        },
        input,
      ),
    /** What the ledger charged the demo key, each as USD, in the order of time. */
    async charges() {
      const headers = { authorization: `Bearer ${apiKey}` };
      const usage = await fetch(`${url}/v1/dashboard/usage?kind=charge`, { headers });
      const { data } = await usage.json();
      return data.map(({ charge_usd }) => charge_usd).reverse();
    },
    /** Asks in the native format. */
    async ask(key = apiKey) {
      const response = await askNatively(url, key, MODEL);
      const chargeUsd = response.headers.get('x-gateway-charge-usd');
      return { message: await response.json(), chargeUsd };
    },
    async close() {
      gateway.stop();
      await gateway.exited;
    },
  };
}

/** Starts a program. @returns ways to wait for what it prints and for its end */
function runProgram(command, args, cwd, env, input = '') {
  const child = spawn(command, args, {
    cwd,
    env: { PATH: process.env['PATH'], ...env },
    stdio: 'pipe',
    timeout: TIMEOUT_MS,
  });
  child.stdin.end(input);
  let text = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (bytes) => (text += bytes));
  const exited = once(child, 'close').then(([code]) => code);
  return {
    exited,
    stop: () => child.kill('SIGTERM'),
    /** @returns all that it printed @throws if it fails */
    async ended() {
      const code = await exited;
      if (code !== 0) throw new Error(`it ends with ${code}: ${text}`);
      return text;
    },
    async shows(pattern) {
      while (!pattern.test(text)) {
        if (child.exitCode !== null) throw new Error(`it ends: ${text}`);
        await Promise.race([exited, once(child.stdout, 'data')]);
      }
      return pattern.exec(text) ?? [];
    },
  };
}

function expect(isSo, shown) {
  if (!isSo) throw new Error(`does something else than it says: ${shown}`);
}

function same(some, others) {
  return JSON.stringify([...some].sort()) === JSON.stringify([...others].sort());
}
