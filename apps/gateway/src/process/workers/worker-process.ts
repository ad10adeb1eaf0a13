/** The process of one worker, as the primary sees it. */

import cluster from 'node:cluster';
import type { Worker } from 'node:cluster';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Settings } from '../../config/settings.js';
import type { Environment } from '../../config/variables.js';
import type { PrimaryCalls, Slot, WorkerCalls } from './rpc-interfaces.js';
import { closeRpc, openRpc } from './rpc.js';
import type { RpcTo } from './rpc.js';

/** The primary's side of one worker. */
export interface Served {
  readonly calls: PrimaryCalls;
  /** Called when the worker has ended. */
  readonly leave: () => void;
}

/** A worker could not start. If this happens at the start, the gateway ends with `exitCode`. */
export class WorkerStartError extends Error {
  override readonly name = 'WorkerStartError';
  readonly exitCode: number;
  constructor(message: string, exitCode: number) {
    super(message);
    this.exitCode = exitCode;
  }
}

export interface WorkerProcess {
  readonly slot: Slot;
  readonly worker: Worker;
  readonly rpc: RpcTo<WorkerCalls>;
  readonly serving: Promise<string>;
  /** Resolves when the process has ended and all of its messages were received. */
  readonly gone: Promise<void>;
}

/** Longer than a worker's own deadline for its requests. A worker that exceeds it is killed. */
const STOP_DEADLINE_MS = 130_000;
/** Node does not emit `disconnect` if a handle was being sent over the channel. */
const DISCONNECT_DEADLINE_MS = 2_000;

export function startProcess(
  slot: Slot,
  { settings, variables }: { readonly settings: Settings; readonly variables: Environment },
  { calls, leave }: Served,
): WorkerProcess {
  const worker = cluster.fork(variables);
  const rpc = openRpc<WorkerCalls>(calls, {
    send: (messages) => {
      // A process that cannot be started may have no channel.
      if (worker.isConnected()) worker.send([...messages], undefined, undefined, () => undefined);
    },
    onMessages: (listener) => {
      worker.on('message', listener);
    },
  });
  const exited = eventOf(worker, 'exit');
  // The last messages of a process may arrive after its exit.
  const heard = Promise.race([
    eventOf(worker, 'disconnect'),
    exited.then(() => sleep(DISCONNECT_DEADLINE_MS, undefined, { ref: false })),
  ]);
  // A process that cannot be started emits only `error`, for example if the system has too many.
  const failed = new Promise<void>((resolve) => {
    worker.on('error', () => {
      if (worker.process.pid === undefined) resolve();
    });
  });
  const gone = Promise.race([failed, Promise.all([exited, heard])]).then(() => {
    closeRpc(rpc);
    leave();
  });
  const serving = rpc.serve({ slot, settings }).then((answer) => {
    if (answer.outcome === 'serving') return answer.url;
    worker.process.disconnect();
    throw new WorkerStartError(answer.message, answer.exitCode);
  });
  return { slot, worker, rpc, serving, gone };
}

/** Unlike `once` of `node:events`, it does not fail if the worker emits `error`. */
function eventOf(worker: Worker, name: 'exit' | 'disconnect'): Promise<void> {
  return new Promise((resolve) => {
    worker.once(name, () => {
      resolve();
    });
  });
}

/** Lets a worker finish its requests, then ends it. @returns how many it abandoned */
export async function stopProcess({ worker, rpc, gone }: WorkerProcess): Promise<number> {
  const abandoned = await Promise.race([
    reachDrain(rpc),
    gone.then(() => 0),
    sleep(STOP_DEADLINE_MS, undefined, { ref: false }),
  ]);
  if (abandoned === undefined) worker.process.kill('SIGKILL');
  else if (worker.isConnected()) worker.process.disconnect();
  await gone;
  return abandoned ?? 0;
}

async function reachDrain(rpc: RpcTo<WorkerCalls>): Promise<number> {
  try {
    return (await rpc.drain()).abandoned;
  } catch {
    return 0;
  }
}
