/** Starts the process of a contestant and waits until it is ready. */

import { spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const PATIENCE_MS = 60_000;
const POLL_MS = 50;

/**
 * @param {object} server
 * @param {string} server.name
 * @param {string} server.command
 * @param {readonly string[]} server.args
 * @param {Readonly<Record<string, string>>} [server.env] - its whole environment except PATH, so
 *   that it does not inherit the caller's variables
 * @param {number} server.port
 * @param {string} server.scratch
 * @param {() => Promise<boolean>} [server.isReady] - default: it is ready when its port accepts
 *   connections
 * @param {number} [server.patienceMs] - 60 s if absent
 * @returns its pid, and `stop`, which resolves when it has ended
 */
export async function startServer(server) {
  const { name, command, args, env = {}, port, scratch, isReady } = server;
  const { patienceMs = PATIENCE_MS } = server;
  const logPath = join(scratch, `${name}.log`);
  const log = openSync(logPath, 'a');
  const child = spawn(command, args, {
    stdio: ['ignore', log, log],
    cwd: scratch,
    env: { PATH: process.env.PATH, ...env },
  });
  closeSync(log);
  const ended = new Promise((resolve) => child.once('close', resolve));
  child.once('error', () => {});
  for (let waitedMs = 0; !(await (isReady?.() ?? accepts(port))); waitedMs += POLL_MS) {
    if (child.exitCode !== null || child.pid === undefined || waitedMs > patienceMs) {
      child.kill('SIGKILL');
      throw new Error(`${name} did not start:\n${readFileSync(logPath, 'utf8').slice(-2_000)}`);
    }
    await sleep(POLL_MS);
  }
  return {
    pid: child.pid,
    stop() {
      child.kill('SIGTERM');
      return ended;
    },
  };
}

function accepts(port) {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port });
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
