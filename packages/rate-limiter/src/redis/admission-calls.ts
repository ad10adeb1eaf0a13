/**
 * Sends admissions and releases to Redis in batches.
 *
 * Those of one event-loop tick share one call of a script. Those that arrive while a call is
 * pending wait and share the next one, unless the pending call takes long. A call has a limited
 * number of steps. In a cluster it has only the subjects of one group, or one subject without a
 * group. A busy process thus makes one round trip per batch, and an idle process does not wait for
 * a batch.
 */

import type { AskedLimit } from '../admission.js';
import { admissionIntervalUs, burstSpanUs } from '../policy.js';
import { RedisTimeoutError, asNumbers, runScript, withTimeout } from './client.js';
import type { RedisClient } from './client.js';
import { ADMIT } from './lua-scripts.js';

export interface AdmissionCallsOptions {
  readonly redis: RedisClient;
  readonly timeoutMs: number;
  readonly leaseTtlMs: number;
  /** Monotonic milliseconds. */
  readonly now: () => number;
  /** The keys of the subject's leases and of its TAT. Those of a group share its hash slot. */
  readonly keysOf: (subject: string) => readonly [string, string];
  /** Leases of `subject` that this process holds. */
  readonly heldOf: (subject: string) => number;
  /** Called when the response to an admission arrives after its timeout. */
  readonly onLateAnswer: (subjects: readonly string[], id: string) => void;
}

export interface AdmissionReply {
  /** One of `ADMIT_REPLY`. */
  readonly outcome: number;
  /** Index of the limit that denies. */
  readonly index: number;
  /** How long to wait in microseconds; once admitted, the number of permits that are left. */
  readonly waitOrRemaining: number;
  /** Redis has fewer leases than this process holds. */
  readonly hasLostLeases: boolean;
}

export interface AdmissionCalls {
  /**
   * @param limits - As `limitsOf` returns them.
   * @throws {RedisTimeoutError} after `timeoutMs`. Other errors are the Redis client's own, or tell
   * that the script's reply is malformed.
   */
  admit(limits: readonly AskedLimit[], id: string): Promise<AdmissionReply>;
  /**
   * Sends a release, in order behind earlier admissions. If it gets lost, the lease expires.
   *
   * @param subjects - The subject and its group, if any.
   */
  release(subjects: readonly string[], id: string): void;
  /** Sends the waiting batch. On one connection, later calls are executed after it. */
  flush(): void;
}

/**
 * A step that is added this long after the last batch was sent does not wait for a pending call.
 */
const PROMPT_MS = 5;
/** The most steps per call. A step takes some 20 µs, and Redis executes nothing else meanwhile. */
const MAX_STEPS = 200;

interface Admission {
  readonly kind: 'admit';
  /** The subject and its group, if any. */
  readonly subjects: readonly string[];
  readonly limits: readonly AskedLimit[];
  readonly id: string;
  readonly resolve: (reply: AdmissionReply) => void;
  readonly reject: (error: unknown) => void;
}
interface Release {
  readonly kind: 'release';
  readonly subjects: readonly string[];
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

  /** In a cluster, groups are on different nodes, so a call may contain only one. */
  function* batches(steps: readonly Step[]): Generator<readonly Step[]> {
    for (const group of redis.isCluster === true ? bySlot(steps) : [steps]) {
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
    for (const { subjects } of steps) {
      for (const subject of subjects) {
        if (!numbers.has(subject)) numbers.set(subject, numbers.size);
      }
    }
    const subjects = [...numbers.keys()];
    const admissions = steps.filter((step) => step.kind === 'admit');
    const reply = runScript(redis, ADMIT, () => {
      const asked = steps.map((step) => stepOf(step, numbers));
      return {
        keys: subjects.flatMap(keysOf),
        // Two long arguments cost the Redis client far less than a hundred short ones.
        args: [leaseTtlMs, JSON.stringify(subjects.map(heldOf)), JSON.stringify(asked)],
      };
    });
    try {
      const answers = asNumbers(await withTimeout(reply, timeoutMs));
      admissions.forEach(({ resolve }, number) => {
        const [outcome, index, waitOrRemaining, lost] = answers.slice(4 * number, 4 * number + 4);
        if (
          outcome === undefined ||
          index === undefined ||
          waitOrRemaining === undefined ||
          lost === undefined
        ) {
          throw new TypeError('the limiter script returned too few results');
        }
        resolve({ outcome, index, waitOrRemaining, hasLostLeases: lost === 1 });
      });
    } catch (error) {
      for (const { reject } of admissions) reject(error);
      if (!(error instanceof RedisTimeoutError)) return;
      // Admissions that wait behind this call are late as well, so they fail with the same error.
      for (const step of waiting) if (step.kind === 'admit') step.reject(error);
      waiting = waiting.filter((step) => step.kind === 'release');
      reply.then(
        () => {
          for (const { subjects, id } of admissions) onLateAnswer(subjects, id);
        },
        () => {},
      );
    }
  }

  return {
    admit(limits, id) {
      const subjects = limits.map(({ subject }) => subject);
      return new Promise((resolve, reject) => {
        add({ kind: 'admit', subjects, limits, id, resolve, reject });
      });
    },
    release(subjects, id) {
      add({ kind: 'release', subjects, id });
    },
    flush,
  };
}

/** Steps of one group, or of a subject without a group, are in one slot. */
function bySlot(steps: readonly Step[]): Iterable<readonly Step[]> {
  const slots = new Map<string | undefined, Step[]>();
  for (const step of steps) {
    const name = step.subjects.at(-1);
    const slot = slots.get(name);
    if (slot === undefined) slots.set(name, [step]);
    else slot.push(step);
  }
  return slots.values();
}

/** @param numbers - The number of each subject, from 0. Lua counts from 1. */
function stepOf(step: Step, numbers: ReadonlyMap<string, number>): readonly (string | number)[] {
  const numberOf = (subject: string): number => 1 + (numbers.get(subject) ?? NaN);
  if (step.kind === 'release') return [step.id, ...step.subjects.map(numberOf)];
  const asked = step.limits.flatMap(({ subject, policy }) => [
    numberOf(subject),
    policy.concurrency,
    burstSpanUs(policy),
    admissionIntervalUs(policy),
  ]);
  return [step.id, ...asked];
}
