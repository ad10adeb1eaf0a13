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

/**
 * Settles as `reply` does, or rejects with {@link RedisTimeoutError} after `timeoutMs`. A process that was
 * too busy to read in time first reads: an answer that has arrived counts.
 */
export function withTimeout<T>(reply: Promise<T>, timeoutMs: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      // Timers run before sockets are read; an immediate runs after.
      setImmediate(() => {
        reject(new RedisTimeoutError(`Redis did not answer within ${timeoutMs} ms`));
      });
    }, timeoutMs);
    // A process that is done need not wait for a Redis that is gone.
    timer.unref();
    reply.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

/** @throws {TypeError} when a script answered something else than it was written to: a bug. */
export function asNumbers(reply: unknown): readonly number[] {
  if (Array.isArray(reply) && reply.every((item) => typeof item === 'number')) return reply;
  throw new TypeError('unexpected reply to a limiter script');
}
