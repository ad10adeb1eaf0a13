/**
 * Keeps responses in Redis, for gateways of several machines. They need no connection of their own
 * to each other: any of them can continue a response of another.
 */

import type { Cluster, Redis } from 'ioredis';
import type { ResponseMemoryLimits } from '../../config/config.js';
import { FORGET, FORGET_ALL, RECALL, REMEMBER } from './lua-scripts.js';
import { sizeOf } from './response-memory.js';
import type { ResponseMemory, ResponseOwner } from './response-memory.js';

type Call = (...args: (string | number | Uint8Array)[]) => Promise<unknown>;

/** @param now - Milliseconds since the epoch. */
export function createRedisResponses({
  redis,
  ttlMs,
  maxBytes,
  now,
  prefix = 'gateway',
}: ResponseMemoryLimits & {
  readonly redis: Redis | Cluster;
  readonly now: () => number;
  /** Several gateways that share one Redis but not their responses need different ones. */
  readonly prefix?: string;
}): ResponseMemory {
  const tag = `${prefix}:{responses}`;
  const remember = scriptOf(redis, 'rememberResponse', REMEMBER, 2);
  const recall = scriptOf(redis, 'recallResponse', RECALL, 2);
  const forget = scriptOf(redis, 'forgetResponse', FORGET, 2);
  const forgetAll = scriptOf(redis, 'forgetResponses', FORGET_ALL, 1);
  const keyOf = ({ keyId }: ResponseOwner, id: string) => `${tag}:one:${keyId}:${id}`;

  async function texts(owner: ResponseOwner, id: string, names: readonly string[]) {
    const reply = await recall(tag, keyOf(owner, id), now(), ttlMs, ...names);
    if (!Array.isArray(reply)) throw new TypeError('unexpected reply to a script');
    return reply.filter((text) => Buffer.isBuffer(text));
  }

  return {
    async remember(owner, id, kept) {
      const bytes = sizeOf(kept);
      const { accountId, keyId } = owner;
      const member = `${accountId} ${keyId} ${id} ${String(bytes)}`;
      const { conversation, response } = kept;
      const limits = [now(), ttlMs, maxBytes] as const;
      const texts = [conversation, response] as const;
      const reply = await remember(
        tag,
        keyOf(owner, id),
        ...limits,
        accountId,
        member,
        bytes,
        ...texts,
      );
      return reply === 1 ? 'kept' : 'no_room';
    },
    async measure(owner, id) {
      const key = keyOf(owner, id);
      const [conversation, response] = await Promise.all([
        redis.hstrlen(key, 'conversation'),
        redis.hstrlen(key, 'response'),
      ]);
      return response === 0 ? undefined : { conversation, response };
    },
    async recall(owner, id) {
      const [conversation, response] = await texts(owner, id, ['conversation', 'response']);
      if (conversation === undefined || response === undefined) return undefined;
      return { conversation, response };
    },
    async recallResponse(owner, id) {
      const [response] = await texts(owner, id, ['response']);
      return response;
    },
    forget: async (owner, id) => (await forget(tag, keyOf(owner, id), now())) === 1,
    async forgetAll({ accountId, keyId = '' }) {
      await forgetAll(tag, accountId, keyId);
    },
    close() {
      redis.disconnect();
    },
  };
}

/** @returns a call of the script, whose texts in the reply are buffers */
function scriptOf(redis: Redis | Cluster, name: string, lua: string, numberOfKeys: number): Call {
  redis.defineCommand(name, { lua, numberOfKeys });
  const commands = redis as unknown as Readonly<Record<string, Call>>;
  const call = commands[`${name}Buffer`];
  if (call === undefined) throw new Error('ioredis defines no such command');
  return (...args) =>
    call.apply(
      redis,
      args.map((arg) =>
        arg instanceof Uint8Array ? Buffer.from(arg.buffer, arg.byteOffset, arg.byteLength) : arg,
      ),
    );
}
