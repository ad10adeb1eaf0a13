/** The part of a Redis client that the limiter needs, and how it runs a script. */

import type { Script } from './lua-scripts.js';

/** A structural subset of ioredis (`Redis` and `Cluster`), version 5 or newer. */
export interface RedisClient {
  /** If true, keys with different hash tags never share a call. */
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
 * Runs a script by its digest. If the server does not know the script yet, sends the source.
 *
 * @param call - Called for each of the two attempts, so that its arguments are up to date. If it
 * returns undefined, nothing is left to do, and the result is undefined.
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

/** Redis did not respond in time. It may or may not have executed the call. */
export class RedisTimeoutError extends Error {
  override readonly name = 'RedisTimeoutError';
}

/** A timeout is this many short timers, one after the other. */
const PARTS = 10;

/**
 * Settles as `reply` does, or rejects with {@link RedisTimeoutError} after `timeoutMs`.
 *
 * This process itself can be late: because of one long task, many short ones, or other processes
 * that use the cores. An answer that has arrived but was not read yet must not count as late. So
 * the timeout is split into parts, and in each part the event loop reads its sockets at least once.
 * A process that is late waits longer.
 */
export function withTimeout<T>(reply: Promise<T>, timeoutMs: number): Promise<T> {
  return new Promise((resolve, reject) => {
    let partsLeft = PARTS;
    let isSettled = false;
    let timer: NodeJS.Timeout | undefined;

    function waitOnePart(): void {
      // In each event-loop tick timers run before sockets are read, and immediates run after.
      timer = setTimeout(() => setImmediate(endPart), timeoutMs / PARTS);
      // The timer must not keep a finished process alive.
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

/** @throws {TypeError} if a script returned anything but numbers, which is a bug. */
export function asNumbers(reply: unknown): readonly number[] {
  if (Array.isArray(reply) && reply.every((item) => typeof item === 'number')) return reply;
  throw new TypeError('unexpected reply to a limiter script');
}
