/** The little of a Redis client that the limiter needs, and how a script is run on it. */

import type { Script } from './scripts.js';

/** A structural subset of ioredis (`Redis` and `Cluster`), version 5 or newer. */
export interface RedisClient {
  /** Keys of different hash tags then never share a call. Absent means that they may. */
  readonly isCluster?: boolean;
  evalsha(sha: string, numberOfKeys: number, ...keysAndArguments: string[]): Promise<unknown>;
  eval(script: string, numberOfKeys: number, ...keysAndArguments: string[]): Promise<unknown>;
  zrem(key: string, ...members: string[]): Promise<unknown>;
}

export interface ScriptCall {
  readonly keys: readonly string[];
  readonly args: readonly (string | number)[];
}

/**
 * Runs a script by its digest; a server that does not know it yet is sent the source.
 *
 * @param call - Asked again for that second attempt, so that it can answer with what holds by then;
 * undefined when there is nothing left to do, and so is the result.
 */
export async function runScript(
  redis: RedisClient,
  script: Script,
  call: () => ScriptCall | undefined,
): Promise<unknown> {
  const first = call();
  if (first === undefined) return undefined;
  try {
    return await redis.evalsha(script.sha, first.keys.length, ...flatten(first));
  } catch (error) {
    if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error;
  }
  const second = call();
  if (second === undefined) return undefined;
  return redis.eval(script.source, second.keys.length, ...flatten(second));
}

function flatten({ keys, args }: ScriptCall): string[] {
  return [...keys, ...args.map(String)];
}

/** Redis did not answer in time. Whether it has done what it was asked is unknown. */
export class RedisTimeoutError extends Error {
  override readonly name = 'RedisTimeoutError';
}

/** A timeout is this many short timers, one after the other. */
const PARTS = 10;

/**
 * Settles as `reply` does, or rejects with {@link RedisTimeoutError} after `timeoutMs`.
 *
 * A process can be late itself: because of one long task, many short ones, or other processes that
 * use the cores. An answer that it has had no time to read is not late. So the timeout is split
 * into parts, and in each part the event loop reads its sockets at least once. A process that is
 * late waits longer.
 */
export function withTimeout<T>(reply: Promise<T>, timeoutMs: number): Promise<T> {
  return new Promise((resolve, reject) => {
    let partsLeft = PARTS;
    let isSettled = false;
    let timer: NodeJS.Timeout | undefined;

    function waitOnePart(): void {
      // In each event-loop tick timers run before sockets are read, and immediates run after.
      timer = setTimeout(() => setImmediate(endPart), timeoutMs / PARTS);
      // A process that is done need not wait for a Redis that is gone.
      timer.unref();
    }

    function endPart(): void {
      if (isSettled) return;
      partsLeft -= 1;
      if (partsLeft > 0) waitOnePart();
      else reject(new RedisTimeoutError(`Redis did not answer within ${timeoutMs} ms`));
    }

    waitOnePart();
    reply.then(resolve, reject).finally(() => {
      isSettled = true;
      clearTimeout(timer);
    });
  });
}

/** @throws {TypeError} when a script answered something else than it was written to: a bug. */
export function asNumbers(reply: unknown): readonly number[] {
  if (Array.isArray(reply) && reply.every((item) => typeof item === 'number')) return reply;
  throw new TypeError('unexpected reply to a limiter script');
}
