/** Gateway processes that are restarted after they are killed. */

import { spawn } from 'node:child_process';
import { request } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { request as get } from 'undici';
import { endsWithUs } from '../scripts/servers.mjs';
import { node, root } from '../scripts/setup.mjs';

const MAIN = join(root, 'apps/gateway/dist/main.js');

/** Shell script that joins a control group and then executes the program. */
const JOIN = 'echo $$ > "$0" && exec "$@"';

/**
 * @param {string} name
 * @param {object} options
 * @param {number} options.port
 * @param {number} options.adminPort
 * @param {Readonly<Record<string, string>>} options.env
 * @param {readonly string[]} [options.nodeFlags]
 * @param {{ readonly processes: string }} [options.memoryLimit] - a limit set by the system, see
 *   `memory-limit.mjs`
 */
export function createReplica(name, { port, adminPort, env, nodeFlags = [], memoryLimit }) {
  let child;
  let output = '';
  function spawnGateway() {
    output = '';
    const program = [node, ...nodeFlags, MAIN, 'serve'];
    const [file, ...args] =
      memoryLimit === undefined
        ? program
        : ['/bin/sh', '-c', JOIN, memoryLimit.processes, ...program];
    child = spawn(file, args, {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        PATH: process.env.PATH,
        NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
        TUNING: process.env.TUNING,
        HOST: '127.0.0.1',
        PORT: String(port),
        ADMIN_PORT: String(adminPort),
        LOG_LEVEL: process.env.TORTURE_LOG ?? 'error',
        ...env,
      },
    });
    endsWithUs(child);
    child.once('exit', (code, signal) => {
      output += `${name} ended with ${code ?? signal}\n`;
    });
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk) => {
        output = (output + chunk.toString()).slice(-20_000);
      });
    }
  }
  const isRunning = () => child.exitCode === null && child.signalCode === null;
  async function untilReady() {
    for (let tries = 0; tries < 600; tries += 1) {
      if (!isRunning()) throw new Error(`${name} ended:\n${output}`);
      if ((await isReady(port)) && (await isReady(adminPort))) return;
      await sleep(50);
    }
    throw new Error(`${name} did not become ready:\n${output}`);
  }
  const exited = (process) =>
    process.exitCode === null && process.signalCode === null
      ? new Promise((resolve) => process.once('exit', resolve))
      : Promise.resolve();

  return {
    name,
    url: `http://127.0.0.1:${port}`,
    adminUrl: `http://127.0.0.1:${adminPort}`,
    get pid() {
      return child.pid;
    },
    /** The value of a metric of this process. A counter counts from the start of the process. */
    async metric(name) {
      const answer = await get(`http://127.0.0.1:${adminPort}/metrics`);
      const text = await answer.body.text();
      const line = text.split('\n').find((each) => each.startsWith(`${name} `));
      return Number(line?.split(' ')[1]);
    },
    output: () => output,
    async start() {
      spawnGateway();
      await untilReady();
    },
    untilReady,
    /**
     * Sends SIGKILL or SIGTERM and restarts the process after its end. Does not wait until the new
     * process is ready.
     *
     * @param {string} signal
     * @param {() => Promise<void>} [whileDown] - work between the end and the restart
     * @returns the exit code of the old process; null if the signal killed it
     */
    async restart(signal, whileDown) {
      const dying = child;
      dying.kill(signal);
      await exited(dying);
      const code = dying.exitCode;
      await whileDown?.();
      spawnGateway();
      return code;
    },
    pause: () => child.kill('SIGSTOP'),
    resume: () => child.kill('SIGCONT'),
    isRunning,
    async stop() {
      child.kill('SIGCONT');
      child.kill('SIGTERM');
      await exited(child);
      return child.exitCode;
    },
  };
}

/** A replica that cannot charge answers 200 too, with another status in the body. */
function isReady(port) {
  return new Promise((resolve) => {
    const probe = request({ host: '127.0.0.1', port, path: '/readyz', timeout: 3000 }, (res) => {
      let body = '';
      res.setEncoding('utf8').on('data', (text) => (body += text));
      res.on('end', () => resolve(body === '{"status":"ready"}'));
      res.on('error', () => resolve(false));
    });
    probe.on('timeout', () => probe.destroy());
    probe.on('error', () => resolve(false));
    probe.end();
  });
}
