/**
 * Admissions and releases on their way to Redis: those that come together travel together.
 *
 * What is asked for in one turn of the event loop, or while a call is under way, makes one call of
 * one script: a busy process pays for a round trip per batch, an idle one waits for nothing.
 */

import type { Policy } from '../policy.js';
import { permitIntervalUs } from '../policy.js';
import { RedisTimeoutError, asNumbers, runScript, withTimeout } from './client.js';
import type { RedisClient } from './client.js';
import { ADMIT } from './scripts.js';

export interface AdmissionCallsOptions {
  readonly redis: RedisClient;
  readonly timeoutMs: number;
  readonly leaseTtlMs: number;
  /** Monotonic milliseconds. */
  readonly now: () => number;
  /** The keys of its leases and of its TAT. */
  readonly keysOf: (subject: string) => readonly [string, string];
  /** Leases of `subject` that this process holds. */
  readonly heldOf: (subject: string) => number;
  /** An admission that had been given up was answered after all. */
  readonly onLateAnswer: (subject: string, id: string) => void;
}

export interface AdmissionReply {
  /** One of `ADMIT_REPLY`. */
  readonly outcome: number;
  readonly waitUs: number;
  /** Redis knows of fewer leases than this process holds. */
  readonly hasLostLeases: boolean;
}

export interface AdmissionCalls {
  /** @throws {RedisTimeoutError} after `timeoutMs`; otherwise whatever Redis failed with. */
  admit(subject: string, policy: Policy, id: string): Promise<AdmissionReply>;
  /** Sent whatever state Redis is in, behind every admission before it. What gets lost lapses. */
  release(subject: string, id: string): void;
  /** Sends what waits. On one connection, whatever is asked afterwards is answered after it. */
  flush(): void;
}

/** A call that takes longer is not waited for by the next one. */
const PROMPT_MS = 5;
/** Redis does nothing else while a script runs: some 10 microseconds for each of these. */
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

  /** In a cluster subjects live on different nodes, so no call may hold two. */
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
        // Two long arguments cost the client far less than a hundred short ones.
        args: [leaseTtlMs, JSON.stringify(held), JSON.stringify(asked)],
      };
    });
    try {
      const answers = asNumbers(await withTimeout(reply, timeoutMs));
      admissions.forEach(({ subject, resolve }, index) => {
        const [outcome, waitUs, found] = [0, 1, 2].map((part) => answers[3 * index + part]);
        if (outcome === undefined || waitUs === undefined || found === undefined) {
          throw new TypeError('the limiter script answered less than it was asked');
        }
        const hasLostLeases = found < (held[numbers.get(subject) ?? -1] ?? 0);
        resolve({ outcome, waitUs, hasLostLeases });
      });
    } catch (error) {
      for (const { reject } of admissions) reject(error);
      if (!(error instanceof RedisTimeoutError)) return;
      // Those that waited for this answer have waited long enough, too.
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

/** @param numbers - Subjects by their place among the keys, from 0; Lua counts from 1. */
function stepOf(step: Step, numbers: ReadonlyMap<string, number>): readonly (string | number)[] {
  const number = 1 + (numbers.get(step.subject) ?? NaN);
  if (step.kind === 'release') return [number, step.id];
  const { concurrency, burst } = step.policy;
  return [number, concurrency, burst, permitIntervalUs(step.policy), step.id];
}
