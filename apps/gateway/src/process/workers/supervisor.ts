/** Starts the workers, replaces those that end unexpectedly, and balances their connections. */

import cluster from 'node:cluster';
import type { Worker } from 'node:cluster';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { readEnvironment } from '../../config/config.js';
import type { Settings } from '../../config/settings.js';
import type { Environment } from '../../config/variables.js';
import type { WorkerMetrics } from '../../observe/registry.js';
import type { PrimaryCalls, Slot, WorkerCalls } from './rpc-interfaces.js';
import { closeRpc, openRpc } from './rpc.js';
import type { RpcTo } from './rpc.js';

export interface Workers {
  readonly url: string;
  /** The metrics of the workers that respond in time. */
  metrics(): Promise<readonly WorkerMetrics[]>;
  /** Sends settings to all workers, also to those that are started later. */
  readonly applySettings: (settings: Settings) => Promise<void>;
  /** The versions of the workers that respond in time. */
  readonly settingsVersions: () => Promise<
    readonly { readonly worker: Slot; readonly version: string }[]
  >;
  /** Makes `/readyz` answer 503 in each worker, also in those that are started later. */
  announceStop(): void;
  /** Lets each worker finish its requests, then ends it. */
  stop(): Promise<{ readonly abandoned: number }>;
}

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

interface Member {
  readonly slot: Slot;
  readonly worker: Worker;
  readonly rpc: RpcTo<WorkerCalls>;
  readonly serving: Promise<string>;
  /** Resolves when the process has ended and all of its messages were received. */
  readonly gone: Promise<void>;
}

/** Longer than a worker's own deadline for its requests. A worker that exceeds it is killed. */
const STOP_DEADLINE_MS = 130_000;
const ANSWER_DEADLINE_MS = 2_000;
/** Node does not emit `disconnect` if a handle was being sent over the channel. */
const DISCONNECT_DEADLINE_MS = 2_000;
/** Workers race to accept, so one can end up with all long-lived connections. */
const REBALANCE_EVERY_MS = 1_000;
/** A worker may exceed its share by this factor before it sheds connections. */
const SHARE_TOLERANCE = 1.1;
/** If two workers of a slot in a row end sooner than this, the next one starts after a pause. */
const STABLE_AFTER_MS = 10_000;
const FIRST_PAUSE_MS = 400;
const MAX_PAUSE_MS = 10_000;

export interface WorkersOptions {
  readonly size: number;
  /** Creates the functions that one worker may call. */
  readonly serve: () => Served;
  readonly settings: Settings;
  readonly log: Logger;
}

/**
 * @throws {WorkerStartError} if a worker answers that it cannot serve; another error if its process
 * cannot be started, or ends before it answers
 */
export async function startWorkers({
  size,
  serve,
  settings: initial,
  log,
}: WorkersOptions): Promise<Workers> {
  let settings = initial;
  // The current values, because a file of variables may be unusable when a worker has to be
  // replaced later.
  const variables = { ...readEnvironment(process.env), ENV_FILE: '' };
  const members = new Map<Slot, Member>();
  let isStopping = false;
  let isAnnounced = false;
  // All workers accept from one socket. If the primary distributed connections, a connection on its
  // way to a dying worker would be lost, and Node would never report the end of that worker.
  cluster.schedulingPolicy = cluster.SCHED_NONE;
  // The default, JSON, supports neither bigint nor Date.
  cluster.setupPrimary({ serialization: 'advanced' });

  /**
   * Resolves when the worker serves. The worker is replaced when it ends. Throws if the system
   * cannot start a process, for example without memory.
   */
  function startWorker(slot: Slot, failures = 0): Promise<string> {
    const given = settings;
    const member = startMember(slot, { settings: given, variables }, serve());
    const since = performance.now();
    members.set(slot, member);
    member.worker.on('error', ({ message }) => {
      log.error({ worker: slot, reason: message }, 'worker cannot be started or reached');
    });
    void member.serving.then(
      () => {
        // While the worker was starting, the stop may have been announced and the settings may have
        // changed.
        if (isAnnounced) announce(member);
        if (settings !== given) member.rpc.applySettings(settings).catch(() => undefined);
      },
      () => undefined,
    );
    void member.gone.then(async () => {
      members.delete(slot);
      if (isStopping) return;
      const { exitCode, signalCode } = member.worker.process;
      log.error({ worker: slot, code: exitCode, signal: signalCode }, 'worker ended');
      await replace(slot, performance.now() - since < STABLE_AFTER_MS ? failures + 1 : 0);
    });
    return member.serving;
  }

  async function replace(slot: Slot, failures: number): Promise<void> {
    if (failures > 1) await sleep(Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (failures - 2)));
    if (isStopping) return;
    let serving: Promise<string>;
    try {
      serving = startWorker(slot, failures);
    } catch (error) {
      // There is no process whose end would start the next attempt.
      log.error({ worker: slot, reason: String(error) }, 'worker cannot start');
      await replace(slot, failures + 1);
      return;
    }
    try {
      await serving;
      log.info({ worker: slot }, 'worker replaced');
    } catch (error) {
      log.error({ worker: slot, reason: String(error) }, 'worker cannot start');
    }
  }

  async function stopMember({ worker, rpc, gone }: Member): Promise<number> {
    const drained = reachDrain(rpc);
    const abandoned = await Promise.race([
      drained,
      gone.then(() => 0),
      sleep(STOP_DEADLINE_MS, undefined, { ref: false }),
    ]);
    if (abandoned === undefined) worker.process.kill('SIGKILL');
    else if (worker.isConnected()) worker.process.disconnect();
    await gone;
    return abandoned ?? 0;
  }

  async function stop(): Promise<{ readonly abandoned: number }> {
    isStopping = true;
    clearInterval(rebalancing);
    const abandoned = await Promise.all([...members.values()].map(stopMember));
    return { abandoned: abandoned.reduce((sum, count) => sum + count, 0) };
  }

  async function start(): Promise<string> {
    // The first worker starts alone: if it cannot serve, the others could not either.
    const url = await startWorker(1);
    await Promise.all(Array.from({ length: size - 1 }, (_, index) => startWorker(index + 2)));
    return url;
  }

  /** Calls all workers. @returns the results of those that respond in time */
  async function askAll<Answer>(
    call: (rpc: Member['rpc']) => Promise<Answer | undefined>,
  ): Promise<{ readonly member: Member; readonly answer: Answer }[]> {
    const asked = [...members.values()].map(async (member) => {
      const answer = await Promise.race([
        call(member.rpc).catch(() => undefined),
        member.gone.then(() => undefined),
        sleep(ANSWER_DEADLINE_MS, undefined, { ref: false }),
      ]);
      return answer === undefined ? undefined : { member, answer };
    });
    return (await Promise.all(asked)).filter((asked) => asked !== undefined);
  }

  /**
   * Workers with more connections than their share close the surplus; the least busy ones accept
   * the clients again.
   */
  async function rebalance(): Promise<void> {
    const all = await askAll((rpc) => rpc.connections());
    const total = all.reduce((sum, { answer }) => sum + answer, 0);
    const share = Math.ceil((total / all.length) * SHARE_TOLERANCE);
    for (const { member, answer } of all) {
      member.rpc.shedConnections(Math.max(0, answer - share)).catch(() => undefined);
    }
  }

  const rebalancing = setInterval(() => void rebalance(), REBALANCE_EVERY_MS);
  const url = await start().catch(async (error: unknown) => {
    await stop();
    throw error;
  });

  return {
    url,
    async metrics() {
      const answers = await askAll((rpc) => rpc.metrics());
      return answers.map(({ answer }) => answer);
    },
    async applySettings(next) {
      settings = next;
      await askAll((rpc) => rpc.applySettings(next));
    },
    async settingsVersions() {
      const answers = await askAll((rpc) => rpc.settingsVersion());
      return answers
        .map(({ member, answer }) => ({ worker: member.slot, version: answer }))
        .sort((a, b) => a.worker - b.worker);
    },
    announceStop() {
      isAnnounced = true;
      for (const member of members.values()) announce(member);
    },
    stop,
  };
}

function announce({ rpc }: Member): void {
  rpc.announceStop().catch(() => undefined);
}

async function reachDrain(rpc: RpcTo<WorkerCalls>): Promise<number> {
  try {
    return (await rpc.drain()).abandoned;
  } catch {
    return 0;
  }
}

function startMember(
  slot: Slot,
  { settings, variables }: { readonly settings: Settings; readonly variables: Environment },
  { calls, leave }: Served,
): Member {
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
