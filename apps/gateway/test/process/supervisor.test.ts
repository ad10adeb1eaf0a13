/** A worker is replaced, although at first the system cannot start the new process. */

import '../support/plain-rpc.js';
import cluster from 'node:cluster';
import type { Worker } from 'node:cluster';
import { EventEmitter } from 'node:events';
import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { pino } from 'pino';
import type { Settings } from '../../src/config/settings.js';
import { Workers } from '../../src/process/workers/supervisor.js';
import type { WorkersOptions } from '../../src/process/workers/supervisor.js';

const SETTINGS = { version: '1' } as unknown as Settings;
const fork = jest.spyOn(cluster, 'fork');
const lines: string[] = [];
const log = pino({}, { write: (line: string) => lines.push(line) });

beforeEach(() => {
  jest.spyOn(cluster, 'setupPrimary').mockReturnValue(undefined);
});
afterEach(() => {
  jest.restoreAllMocks();
});

/** A worker that serves, without a process. */
function servingWorker() {
  let isConnected = true;
  const end = (): void => {
    isConnected = false;
    worker.emit('disconnect');
    worker.emit('exit');
  };
  const worker = Object.assign(new EventEmitter(), {
    process: { pid: 1, exitCode: 0, signalCode: null, disconnect: end },
    isConnected: () => isConnected,
    send: () => worker.emit('message', [{ outcome: 'serving', url: 'http://gateway.test' }]),
  });
  return { worker: worker as unknown as Worker, end };
}

/** What `fork` returns if the system has no process left: it emits `error`, and never `exit`. */
function stillborn(): Worker {
  const worker = Object.assign(new EventEmitter(), {
    process: { pid: undefined, exitCode: -11, signalCode: null },
    isConnected: () => false,
    send: () => {
      throw new Error('there is no channel');
    },
  });
  process.nextTick(() => worker.emit('error', new Error('spawn node EAGAIN')));
  return worker as unknown as Worker;
}

async function start(leave: () => void): Promise<Workers> {
  const serve = () => ({ calls: {}, leave }) as unknown as ReturnType<WorkersOptions['serve']>;
  const workers = new Workers({ serve, settings: SETTINGS, log });
  await workers.start(1);
  return workers;
}

it('tries again until the process can be started', async () => {
  const first = servingWorker();
  const leave = jest.fn();
  fork
    .mockReturnValueOnce(first.worker)
    .mockImplementationOnce(stillborn)
    .mockImplementationOnce(() => {
      throw new Error('spawn ENOMEM');
    })
    .mockImplementationOnce(() => servingWorker().worker);
  const workers = await start(leave);
  first.end();
  while (!lines.some((line) => line.includes('worker replaced'))) {
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  expect(fork).toHaveBeenCalledTimes(4);
  expect(leave).toHaveBeenCalledTimes(2);
  expect(lines.join('')).toContain('EAGAIN');
  expect(lines.join('')).toContain('ENOMEM');
  expect(await workers.stop()).toEqual({ abandoned: 0 });
  expect(leave).toHaveBeenCalledTimes(3);
});
