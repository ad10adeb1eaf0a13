/** Starts the workers, replaces those that end unexpectedly, and balances their connections. */

import cluster from 'node:cluster';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { readEnvironment } from '../../config/config.js';
import type { Settings } from '../../config/settings.js';
import type { WorkerMetrics } from '../../observe/registry.js';
import type { Slot } from './rpc-interfaces.js';
import { startProcess, stopProcess } from './worker-process.js';
import type { Served, WorkerProcess } from './worker-process.js';

export interface WorkersOptions {
  /** Creates the functions that one worker may call. */
  readonly serve: () => Served;
  readonly settings: Settings;
  readonly log: Logger;
}

const ANSWER_DEADLINE_MS = 2_000;
/** Workers race to accept, so one can end up with all long-lived connections. */
const REBALANCE_EVERY_MS = 1_000;
/** A worker may exceed its share by this factor before it sheds connections. */
const SHARE_TOLERANCE = 1.1;
/** If two workers of a slot in a row end sooner than this, the next one starts after a pause. */
const STABLE_AFTER_MS = 10_000;
const FIRST_PAUSE_MS = 400;
const MAX_PAUSE_MS = 10_000;

export class Workers {
  readonly #serve: WorkersOptions['serve'];
  readonly #log: Logger;
  #settings: Settings;
  // The current values, because a file of variables may be unusable when a worker has to be
  // replaced later.
  readonly #variables = { ...readEnvironment(process.env), ENV_FILE: '' };
  readonly #members = new Map<Slot, WorkerProcess>();
  #rebalancing: NodeJS.Timeout | undefined;
  #isStopping = false;
  #isAnnounced = false;

  constructor({ serve, settings, log }: WorkersOptions) {
    this.#serve = serve;
    this.#settings = settings;
    this.#log = log;
    // All workers accept from one socket. If the primary distributed connections, a connection on
    // its way to a dying worker would be lost, and Node would never report the end of that worker.
    cluster.schedulingPolicy = cluster.SCHED_NONE;
    // The default, JSON, supports neither bigint nor Date.
    cluster.setupPrimary({ serialization: 'advanced' });
  }

  /**
   * @returns the address at which the workers serve
   * @throws {WorkerStartError} if a worker answers that it cannot serve; another error if its
   * process cannot be started, or ends before it answers
   */
  async start(size: number): Promise<string> {
    this.#rebalancing = setInterval(() => void this.#rebalance(), REBALANCE_EVERY_MS);
    try {
      // The first worker starts alone: if it cannot serve, the others could not either.
      const url = await this.#startWorker(1);
      const others = Array.from({ length: size - 1 }, (_, index) => this.#startWorker(index + 2));
      await Promise.all(others);
      return url;
    } catch (error) {
      await this.stop();
      throw error;
    }
  }

  /** The metrics of the workers that respond in time. */
  async metrics(): Promise<readonly WorkerMetrics[]> {
    const answers = await this.#askAll(({ rpc }) => rpc.metrics());
    return answers.map(({ answer }) => answer);
  }

  /** Sends settings to all workers, also to those that are started later. */
  async applySettings(next: Settings): Promise<void> {
    this.#settings = next;
    await this.#askAll(({ rpc }) => rpc.applySettings(next));
  }

  /** The versions of the workers that respond in time. */
  async settingsVersions(): Promise<
    readonly { readonly worker: Slot; readonly version: string }[]
  > {
    const answers = await this.#askAll(({ rpc }) => rpc.settingsVersion());
    return answers
      .map(({ member, answer }) => ({ worker: member.slot, version: answer }))
      .sort((a, b) => a.worker - b.worker);
  }

  /** Makes `/readyz` answer 503 in each worker, also in those that are started later. */
  announceStop(): void {
    this.#isAnnounced = true;
    for (const member of this.#members.values()) announce(member);
  }

  /** Lets each worker finish its requests, then ends it. */
  async stop(): Promise<{ readonly abandoned: number }> {
    this.#isStopping = true;
    clearInterval(this.#rebalancing);
    const abandoned = await Promise.all([...this.#members.values()].map(stopProcess));
    return { abandoned: abandoned.reduce((sum, count) => sum + count, 0) };
  }

  /**
   * Resolves when the worker serves. The worker is replaced when it ends. Throws if the system
   * cannot start a process, for example without memory.
   */
  #startWorker(slot: Slot, failures = 0): Promise<string> {
    const settings = this.#settings;
    const member = startProcess(slot, { settings, variables: this.#variables }, this.#serve());
    const since = performance.now();
    this.#members.set(slot, member);
    member.worker.on('error', ({ message }) => {
      this.#log.error({ worker: slot, reason: message }, 'worker cannot be started or reached');
    });
    void member.serving.then(
      () => {
        // While the worker was starting, the stop may have been announced and the settings may have
        // changed.
        if (this.#isAnnounced) announce(member);
        if (this.#settings !== settings) {
          member.rpc.applySettings(this.#settings).catch(() => undefined);
        }
      },
      () => undefined,
    );
    void member.gone.then(async () => {
      this.#members.delete(slot);
      if (this.#isStopping) return;
      const { exitCode, signalCode } = member.worker.process;
      this.#log.error({ worker: slot, code: exitCode, signal: signalCode }, 'worker ended');
      await this.#replace(slot, performance.now() - since < STABLE_AFTER_MS ? failures + 1 : 0);
    });
    return member.serving;
  }

  async #replace(slot: Slot, failures: number): Promise<void> {
    if (failures > 1) await sleep(Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (failures - 2)));
    if (this.#isStopping) return;
    let serving: Promise<string>;
    try {
      serving = this.#startWorker(slot, failures);
    } catch (error) {
      // There is no process whose end would start the next attempt.
      this.#log.error({ worker: slot, reason: String(error) }, 'worker cannot start');
      await this.#replace(slot, failures + 1);
      return;
    }
    try {
      await serving;
      this.#log.info({ worker: slot }, 'worker replaced');
    } catch (error) {
      this.#log.error({ worker: slot, reason: String(error) }, 'worker cannot start');
    }
  }

  /** Calls all workers. @returns the results of those that respond in time */
  async #askAll<Answer>(
    call: (member: WorkerProcess) => Promise<Answer | undefined>,
  ): Promise<{ readonly member: WorkerProcess; readonly answer: Answer }[]> {
    const asked = [...this.#members.values()].map(async (member) => {
      const answer = await Promise.race([
        call(member).catch(() => undefined),
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
  async #rebalance(): Promise<void> {
    const all = await this.#askAll(({ rpc }) => rpc.connections());
    const total = all.reduce((sum, { answer }) => sum + answer, 0);
    const share = Math.ceil((total / all.length) * SHARE_TOLERANCE);
    for (const { member, answer } of all) {
      member.rpc.shedConnections(Math.max(0, answer - share)).catch(() => undefined);
    }
  }
}

function announce({ rpc }: WorkerProcess): void {
  rpc.announceStop().catch(() => undefined);
}
