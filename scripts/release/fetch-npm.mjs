/**
 * Gets the server from npm as a stranger does, with `npx` in an empty home, and asks it lines of
 * the specification. Needs only Node and npm.
 *
 *   node fetch-npm.mjs farthing@0.1.0 [registry]
 */

import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { checkSpecification } from './specification-lines.mjs';

const INSTALL_AND_START_MS = 5 * 60_000;
/** What the server prints: its address, the demo key, the folder of the ledger. */
const BANNER = /is ready: +(\S+)\/v1[^]*Demo key: +(\S+)[^]*Ledger: +(\S+)\/ledger\.db/;
/** What a new user of the machine has, and what the machine needs to reach a registry. */
export const KEPT = [
  'PATH',
  'LANG',
  'NODE_EXTRA_CA_CERTS',
  'HTTPS_PROXY',
  'HTTP_PROXY',
  'NO_PROXY',
];

/**
 * @param {string} spec - such as `farthing@0.1.0`
 * @param {{ registry?: string, env?: NodeJS.ProcessEnv }} options - `registry`: by default npm's
 */
export async function fetchFromNpm(spec, { registry, env: given = process.env } = {}) {
  const home = mkdtempSync(join(tmpdir(), 'farthing-home-'));
  const kept = KEPT.flatMap((name) => (given[name] === undefined ? [] : [[name, given[name]]]));
  const env = {
    ...Object.fromEntries(kept),
    HOME: home,
    PORT: '0',
    ADMIN_PORT: '0',
    ...(registry === undefined ? {} : { npm_config_registry: registry }),
  };
  const command = (...args) => ['--yes', spec, ...args];
  // A group of its own, because npx does not pass signals on to what it started.
  const serving = spawn('npx', command(), { cwd: home, env, stdio: 'pipe', detached: true });
  // When the last process of the group has closed its output.
  const ended = once(serving, 'close');
  let output = '';
  for (const stream of [serving.stdout, serving.stderr]) {
    stream.setEncoding('utf8').on('data', (text) => (output += text));
  }
  try {
    const ready = printed(() => output, BANNER);
    const [, url, key, folder] = await Promise.race([
      ready,
      ended.then(([code]) => {
        throw new Error(`npx ${spec} ended with ${code}: ${output}`);
      }),
    ]);
    if (folder !== join(home, '.local/share/farthing') || !existsSync(join(folder, 'ledger.db'))) {
      throw new Error(`the ledger is in ${folder}`);
    }
    const lines = await checkSpecification(url, key);
    const page = await fetch(`${url}/dashboard/`);
    if (!page.ok) throw new Error(`${page.url}: status ${page.status}`);
    const created = spawnSync('npx', command('keys', 'create', '--name', 'alice', '--json'), {
      // Anywhere: the ledger is that of the user.
      cwd: tmpdir(),
      env,
      encoding: 'utf8',
    });
    if (created.status !== 0) throw new Error(`keys create failed: ${created.stderr}`);
    if (JSON.parse(created.stdout).name !== 'alice') throw new Error(created.stdout);
    return lines;
  } finally {
    if (serving.exitCode === null && serving.pid !== undefined) {
      process.kill(-serving.pid, 'SIGTERM');
    }
    await ended;
    rmSync(home, { recursive: true, force: true });
  }
}

async function printed(output, pattern) {
  const end = Date.now() + INSTALL_AND_START_MS;
  for (;;) {
    const found = pattern.exec(output());
    if (found !== null) return found;
    if (Date.now() > end) throw new Error(`it does not serve: ${output()}`);
    await sleep(100);
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const [spec, registry] = process.argv.slice(2);
  const lines = await fetchFromNpm(spec, { registry });
  process.stdout.write(`  npx ${spec}: serves, and ${lines} lines of the specification hold\n`);
}
