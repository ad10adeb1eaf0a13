/**
 * Starts the processes of the benchmark itself (upstream, load, settler) and calls them over IPC.
 */

import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/**
 * @returns `ready`, the first message of the process, and `ask`, which resolves with its answer.
 */
export async function startHelper(file, args = []) {
  const child = fork(fileURLToPath(new URL(file, import.meta.url)), args, {
    serialization: 'advanced',
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const waiting = new Map();
  let lastId = 0;
  const ready = await new Promise((resolve, reject) => {
    child.once('exit', (code) => {
      const error = new Error(`${file} ended with ${code}`);
      reject(error);
      for (const { reject: fail } of waiting.values()) fail(error);
    });
    child.on('message', (/** @type {any} */ message) => {
      if (message.ready !== undefined) resolve(message.ready);
      else settle(message);
    });
  });

  function settle({ id, result, error }) {
    const { resolve, reject } = waiting.get(id);
    waiting.delete(id);
    if (error === undefined) resolve(result);
    else reject(new Error(error));
  }

  return {
    pid: child.pid,
    ready,
    ask(command, argument) {
      const id = ++lastId;
      return new Promise((resolve, reject) => {
        waiting.set(id, { resolve, reject });
        child.send({ id, command, argument });
      });
    },
    stop() {
      if (child.connected) child.disconnect();
    },
  };
}
