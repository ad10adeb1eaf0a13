/**
 * Keeps responses in Redis, for gateways of several machines. They need no connection of their own
 * to each other: any of them can continue a response of another. The texts are sealed, because
 * others may be able to read or write that Redis.
 */

import type { Cluster, Redis } from 'ioredis';
import type { ResponseMemoryLimits } from '../../config/config.js';
import { FORGET, FORGET_ALL, RECALL, REMEMBER, SEALED } from './lua-scripts.js';
import { sizeOf } from './response-memory.js';
import type { ResponseMemory, ResponseOwner } from './response-memory.js';
import { SEAL_BYTES, createTextSeal } from './text-seal.js';
import type { Peppers } from '../../ledger/open-store.js';

type Call = (...args: (string | number | Uint8Array)[]) => Promise<unknown>;

type TextName = keyof typeof SEALED;

/** @param options.peppers - The texts are sealed under them. */
export function createRedisResponses({
  redis,
  ttlMs,
  maxBytes,
  peppers,
  prefix = 'gateway',
}: ResponseMemoryLimits & {
  readonly redis: Redis | Cluster;
  readonly peppers: Peppers;
  /** Several gateways that share one Redis but not their responses need different ones. */
  readonly prefix?: string;
}): ResponseMemory {
  const tag = `${prefix}:{responses}`;
  const remember = scriptOf(redis, 'rememberResponse', REMEMBER, 2);
  const recall = scriptOf(redis, 'recallResponse', RECALL, 2);
  const forget = scriptOf(redis, 'forgetResponse', FORGET, 2);
  const forgetAll = scriptOf(redis, 'forgetResponses', FORGET_ALL, 1);
  const keyOf = ({ keyId }: ResponseOwner, id: string) => `${tag}:one:${keyId}:${id}`;

  const seal = createTextSeal(peppers);
  const placeOf = ({ accountId, keyId }: ResponseOwner, id: string, name: TextName) =>
    [accountId, keyId, id, name] as const;

  /** Of each text: `undefined` if it is missing, or no gateway sealed it for this place. */
  async function texts(owner: ResponseOwner, id: string, names: readonly TextName[]) {
    const fields = names.map((name) => SEALED[name]);
    const reply = await recall(tag, keyOf(owner, id), ttlMs, ...fields);
    if (!Array.isArray(reply)) throw new TypeError('unexpected reply to a script');
    return names.map((name, n) => {
      const sealed: unknown = reply[n];
      return Buffer.isBuffer(sealed) ? seal.open(sealed, placeOf(owner, id, name)) : undefined;
    });
  }

  return {
    async remember(owner, id, kept) {
      const bytes = sizeOf(kept);
      const { accountId, keyId } = owner;
      const member = `${accountId} ${keyId} ${id} ${String(bytes)}`;
      const key = keyOf(owner, id);
      const sealed = (['conversation', 'response'] as const).map((name) =>
        seal.close(kept[name], placeOf(owner, id, name)),
      );
      const reply = await remember(tag, key, ttlMs, maxBytes, accountId, member, bytes, ...sealed);
      return reply === 1 ? 'kept' : 'no_room';
    },
    async measure(owner, id) {
      const key = keyOf(owner, id);
      const [conversation, response] = await Promise.all([
        redis.hstrlen(key, SEALED.conversation),
        redis.hstrlen(key, SEALED.response),
      ]);
      if (Math.min(conversation, response) < SEAL_BYTES) return undefined;
      return { conversation: conversation - SEAL_BYTES, response: response - SEAL_BYTES };
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
    forget: async (owner, id) => (await forget(tag, keyOf(owner, id))) === 1,
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
