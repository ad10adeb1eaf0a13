/**
 * Does what the first page says, as a stranger: in an empty folder, with an empty home, and with
 * nothing of this repository but the text under "Start" in the README. Each of its blocks is typed.
 *
 *   node scripts/stranger.mjs [registry]
 *
 * What it changes in the text: the ports, which may be in use, the demo key for `<API_KEY>`, and a
 * key of the simulated provider for `sk-ant-…`.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { freePort } from './free-port.cjs';
import { textUnder } from './headings.cjs';
import { KEPT } from './release/fetch-npm.mjs';
import { root } from './setup.mjs';

const INSTALL_AND_START_MS = 300_000;
const PROVIDER_KEY = 'key-of-the-simulated-provider';

/** The blocks of shell commands that a newcomer types, in their order. */
export function firstSteps() {
  const start = textUnder(readFileSync(join(root, 'README.md'), 'utf8'), 'Start');
  return [...start.matchAll(/^```\n([^]*?)^```$/gm)].map(([, code]) => code.trim());
}

/**
 * @param {object} options
 * @param {string} [options.registry] - Of npm, instead of the configured one.
 * @param {NodeJS.ProcessEnv} [options.env] - Of the stranger's machine.
 * @returns how many blocks were typed
 * @throws {Error} if a block does something else than the page says
 */
export async function followFirstPage({ registry, env: given = process.env } = {}) {
  const { startUpstreamSimulator } = await import('../packages/upstream-simulator/dist/index.js');
  const provider = await startUpstreamSimulator({ apiKey: PROVIDER_KEY });
  const folder = mkdtempSync(join(tmpdir(), 'stranger-'));
  const [port, adminPort] = [String(await freePort()), String(await freePort())];
  const env = {
    ...Object.fromEntries(KEPT.flatMap((name) => (given[name] ? [[name, given[name]]] : []))),
    HOME: folder,
    PORT: port,
    ADMIN_PORT: adminPort,
    ...(registry === undefined ? {} : { npm_config_registry: registry }),
  };
  let gateway;
  let demoKey = '<API_KEY>';
  const type = (code) => {
    const isReal = code.includes('sk-ant-…');
    const text = code
      .replaceAll('http://127.0.0.1:8080', `http://127.0.0.1:${port}`)
      .replaceAll('<API_KEY>', demoKey)
      .replaceAll('sk-ant-…', PROVIDER_KEY);
    // Only with a key of the provider's: without one, the gateway has its own simulator.
    return shell(text, folder, isReal ? { ...env, UPSTREAM_URL: provider.url } : env);
  };
  try {
    const steps = firstSteps();
    for (const code of steps) {
      if (isServer(code)) {
        await gateway?.stop();
        gateway = type(code);
        await gateway.shows(/is ready: +\S+/);
        demoKey = /Demo key: +(\S+)/.exec(gateway.output())?.[1] ?? demoKey;
      } else {
        expectedOf(code)(await type(code).ended());
      }
    }
    const question = steps.find((code) => code.startsWith('curl ')) ?? '';
    const before = provider.journal.requests().length;
    expectedOf(question)(await type(question).ended());
    if (provider.journal.requests().length === before) throw new Error('the provider is not asked');
    return steps.length;
  } finally {
    await gateway?.stop();
    await provider.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A block that goes on until it is stopped. */
function isServer(code) {
  return /(?:^| )npx farthing$/.test(code);
}

/** @returns a check of what a block prints */
function expectedOf(code) {
  if (code.startsWith('curl ')) {
    return (text) => {
      if (JSON.parse(text).type !== 'message') throw new Error(`${code}\nprints ${text}`);
    };
  }
  if (code.includes(' keys create ')) {
    return (text) => {
      if (!/\bgw_\w+/.test(text)) throw new Error(`${code}\nprints ${text}`);
    };
  }
  throw new Error(`nobody knows what this block of the first page should do:\n${code}`);
}

/** Starts a shell in a process group of its own, because npx passes no signals on. */
function shell(code, cwd, env) {
  const child = spawn('sh', ['-c', code], { cwd, env, stdio: 'pipe', detached: true });
  child.stdin.end();
  let text = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (part) => (text += part));
  }
  const closed = once(child, 'close');
  return {
    output: () => text,
    async ended() {
      const [code] = await closed;
      if (code !== 0) throw new Error(`it ends with ${code}:\n${text}`);
      return text;
    },
    async shows(pattern) {
      const until = Date.now() + INSTALL_AND_START_MS;
      while (!pattern.test(text)) {
        if (child.exitCode !== null || Date.now() > until) throw new Error(`not ready:\n${text}`);
        await sleep(100);
      }
    },
    async stop() {
      if (child.exitCode === null && child.pid !== undefined) process.kill(-child.pid, 'SIGTERM');
      await closed;
    },
  };
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const count = await followFirstPage({ registry: process.argv[2] });
  process.stdout.write(`  the first page: each of its ${count} blocks does what it says\n`);
}
