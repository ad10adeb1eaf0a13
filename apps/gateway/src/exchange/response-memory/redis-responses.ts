/**
 * Keeps responses in Redis, for gateways of several machines. They need no connection of their own
 * to each other: any of them can continue a response of another. The texts are sealed, because
 * others may be able to read or write that Redis.
 */

import type { Cluster, Redis } from 'ioredis';
import type { ResponseMemoryLimits } from '../../config/config.js';
import { FORGET, FORGET_ALL, MEASURE, RECALL, REMEMBER, SEALED } from './lua-scripts.js';
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
  const measure = scriptOf(redis, 'measureResponses', MEASURE);
  const recall = scriptOf(redis, 'recallResponses', RECALL);
  const forget = scriptOf(redis, 'forgetResponse', FORGET, 2);
  const forgetAll = scriptOf(redis, 'forgetResponses', FORGET_ALL, 1);
  const keyOf = ({ keyId }: ResponseOwner, id: string) => `${tag}:one:${keyId}:${id}`;

  const seal = createTextSeal(peppers);
  const placeOf = ({ accountId, keyId }: ResponseOwner, id: string, name: TextName) =>
    [accountId, keyId, id, name] as const;

  /** The texts of each id: `undefined` if one is missing, or no gateway sealed it for its place. */
  async function texts(owner: ResponseOwner, ids: readonly string[], names: readonly TextName[]) {
    const keys = ids.map((id) => keyOf(owner, id));
    const fields = names.map((name) => SEALED[name]);
    const reply = await recall(keys.length + 1, tag, ...keys, ttlMs, ...fields);
    if (!Array.isArray(reply)) throw new TypeError(UNEXPECTED);
    return ids.map((id, index) => {
      const found: unknown = reply[index];
      return names.map((name, n) => {
        const sealed: unknown = Array.isArray(found) ? found[n] : undefined;
        return Buffer.isBuffer(sealed) ? seal.open(sealed, placeOf(owner, id, name)) : undefined;
      });
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
    async measure(owner, ids, needed = 0) {
      const keys = ids.map((id) => keyOf(owner, id));
      const reply = await measure(keys.length, ...keys, needed);
      if (!Array.isArray(reply)) throw new TypeError(UNEXPECTED);
      const lengths = reply.map(Number);
      return Array.from({ length: lengths.length / 2 }, (_, index) => {
        const [conversation = 0, response = 0] = lengths.slice(2 * index, 2 * index + 2);
        if (Math.min(conversation, response) < SEAL_BYTES) return undefined;
        return { conversation: conversation - SEAL_BYTES, response: response - SEAL_BYTES };
      });
    },
    async recall(owner, ids) {
      const found = await texts(owner, ids, ['conversation', 'response']);
      return found.map(([conversation, response]) =>
        conversation === undefined || response === undefined
          ? undefined
          : { conversation, response },
      );
    },
    async recallResponses(owner, ids) {
      return (await texts(owner, ids, ['response'])).map(([response]) => response);
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

const UNEXPECTED = 'unexpected reply to a script';

/**
 * @param numberOfKeys - Absent if it differs from call to call: it is then the first argument.
 * @returns a call of the script, whose texts in the reply are buffers
 */
function scriptOf(redis: Redis | Cluster, name: string, lua: string, numberOfKeys?: number): Call {
  redis.defineCommand(name, numberOfKeys === undefined ? { lua } : { lua, numberOfKeys });
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
