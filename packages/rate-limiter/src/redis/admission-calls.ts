/**
 * Sends admissions and releases to Redis in batches.
 *
 * Those of one event-loop tick share one call of a script. Those that arrive while a call is
 * pending wait and share the next one, unless the pending call takes long. A call has a limited
 * number of steps and, in a cluster, only one subject. A busy process thus makes one round trip per
 * batch, and an idle process does not wait for a batch.
 */

import type { Policy } from '../policy.js';
import { permitIntervalUs } from '../policy.js';
import { RedisTimeoutError, asNumbers, runScript, withTimeout } from './client.js';
import type { RedisClient } from './client.js';
import { ADMIT } from './lua-scripts.js';

export interface AdmissionCallsOptions {
  readonly redis: RedisClient;
  readonly timeoutMs: number;
  readonly leaseTtlMs: number;
  /** Monotonic milliseconds. */
  readonly now: () => number;
  /** The keys of the subject's leases and of its TAT. */
  readonly keysOf: (subject: string) => readonly [string, string];
  /** Leases of `subject` that this process holds. */
  readonly heldOf: (subject: string) => number;
  /** Called when the response to an admission arrives after its timeout. */
  readonly onLateAnswer: (subject: string, id: string) => void;
}

export interface AdmissionReply {
  /** One of `ADMIT_REPLY`. */
  readonly outcome: number;
  readonly waitUs: number;
  /** Redis has fewer leases than this process holds. */
  readonly hasLostLeases: boolean;
}

export interface AdmissionCalls {
  /**
   * @throws {RedisTimeoutError} after `timeoutMs`. Other errors are the Redis client's own, or tell
   * that the script's reply is malformed.
   */
  admit(subject: string, policy: Policy, id: string): Promise<AdmissionReply>;
  /** Sends a release, in order behind earlier admissions. If it gets lost, the lease expires. */
  release(subject: string, id: string): void;
  /** Sends the waiting batch. On one connection, later calls are executed after it. */
  flush(): void;
}

/**
 * A step that is added this long after the last batch was sent does not wait for a pending call.
 */
const PROMPT_MS = 5;
/** The most steps per call. A step takes some 10 µs, and Redis executes nothing else meanwhile. */
const MAX_STEPS = 200;

interface Admission {
  readonly kind: 'admit';
  readonly subject: string;
  readonly id: string;
  readonly policy: Policy;
  readonly resolve: (reply: AdmissionReply) => void;
  readonly reject: (error: unknown) => void;
}
interface Release {
  readonly kind: 'release';
  readonly subject: string;
  readonly id: string;
}
type Step = Admission | Release;

export function createAdmissionCalls(options: AdmissionCallsOptions): AdmissionCalls {
  const { redis, timeoutMs, leaseTtlMs, now, keysOf, heldOf, onLateAnswer } = options;
  let waiting: Step[] = [];
  let isScheduled = false;
  let lastSentAt = -Infinity;
  let runningCount = 0;

  function add(step: Step): void {
    waiting.push(step);
    schedule();
  }

  function schedule(): void {
    if (isScheduled || waiting.length === 0) return;
    if (runningCount > 0 && now() - lastSentAt < PROMPT_MS) return;
    isScheduled = true;
    setImmediate(() => {
      isScheduled = false;
      flush();
    });
  }

  function flush(): void {
    lastSentAt = now();
    const steps = waiting;
    waiting = [];
    for (const batch of batches(steps)) start(batch);
  }

  /** In a cluster, subjects are on different nodes, so a call may contain only one. */
  function* batches(steps: readonly Step[]): Generator<readonly Step[]> {
    for (const group of redis.isCluster === true ? bySubject(steps) : [steps]) {
      for (let at = 0; at < group.length; at += MAX_STEPS) yield group.slice(at, at + MAX_STEPS);
    }
  }

  function start(steps: readonly Step[]): void {
    runningCount += 1;
    void call(steps).finally(() => {
      runningCount -= 1;
      schedule();
    });
  }

  async function call(steps: readonly Step[]): Promise<void> {
    const numbers = new Map<string, number>();
    for (const { subject } of steps) {
      if (!numbers.has(subject)) numbers.set(subject, numbers.size);
    }
    const subjects = [...numbers.keys()];
    const admissions = steps.filter((step) => step.kind === 'admit');
    let held: readonly number[] = [];
    const reply = runScript(redis, ADMIT, () => {
      held = subjects.map(heldOf);
      const asked = steps.map((step) => stepOf(step, numbers));
      return {
        keys: subjects.flatMap(keysOf),
        // Two long arguments cost the Redis client far less than a hundred short ones.
        args: [leaseTtlMs, JSON.stringify(held), JSON.stringify(asked)],
      };
    });
    try {
      const answers = asNumbers(await withTimeout(reply, timeoutMs));
      admissions.forEach(({ subject, resolve }, index) => {
        const [outcome, waitUs, found] = [0, 1, 2].map((part) => answers[3 * index + part]);
        if (outcome === undefined || waitUs === undefined || found === undefined) {
          throw new TypeError('the limiter script returned too few results');
        }
        const hasLostLeases = found < (held[numbers.get(subject) ?? -1] ?? 0);
        resolve({ outcome, waitUs, hasLostLeases });
      });
    } catch (error) {
      for (const { reject } of admissions) reject(error);
      if (!(error instanceof RedisTimeoutError)) return;
      // Admissions that wait behind this call are late as well, so they fail with the same error.
      for (const step of waiting) if (step.kind === 'admit') step.reject(error);
      waiting = waiting.filter((step) => step.kind === 'release');
      reply.then(
        () => {
          for (const { subject, id } of admissions) onLateAnswer(subject, id);
        },
        () => {},
      );
    }
  }

  return {
    admit(subject, policy, id) {
      return new Promise((resolve, reject) => {
        add({ kind: 'admit', subject, id, policy, resolve, reject });
      });
    },
    release(subject, id) {
      add({ kind: 'release', subject, id });
    },
    flush,
  };
}

function bySubject(steps: readonly Step[]): Iterable<readonly Step[]> {
  const groups = new Map<string, Step[]>();
  for (const step of steps) {
    const group = groups.get(step.subject);
    if (group === undefined) groups.set(step.subject, [step]);
    else group.push(step);
  }
  return groups.values();
}

/** @param numbers - The number of each subject, from 0. Lua counts from 1. */
function stepOf(step: Step, numbers: ReadonlyMap<string, number>): readonly (string | number)[] {
  const number = 1 + (numbers.get(step.subject) ?? NaN);
  if (step.kind === 'release') return [number, step.id];
  const { concurrency, burst } = step.policy;
  return [number, concurrency, burst, permitIntervalUs(step.policy), step.id];
}
