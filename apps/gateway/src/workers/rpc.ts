/**
 * Calls between the primary process and a worker, over the channel that Node opens between them.
 *
 * What is called in one turn of the event loop travels as one message: under load a request costs a
 * fraction of one.
 */

import { createBirpc } from 'birpc';
import type { BirpcReturn } from 'birpc';
import { StoreUnavailableError } from '@gateway/balance-store';

/** One end of the channel. */
export interface Channel {
  readonly send: (messages: readonly unknown[]) => void;
  readonly onMessages: (listener: (messages: readonly unknown[]) => void) => void;
}

/** What may be called on the other side. */
export type RpcTo<Calls> = {
  readonly [Name in keyof Calls]: Calls[Name] extends (...args: infer Args) => infer Result
    ? (...args: Args) => Promise<Awaited<Result>>
    : never;
} & Pick<BirpcReturn<object, object>, '$closed' | '$close'>;

/**
 * @param ours - What the other side may call.
 * @returns what this side may call. Close it with {@link closeRpc} when the other side is gone.
 */
export function openRpc<Theirs extends object>(ours: object, channel: Channel): RpcTo<Theirs> {
  let waiting: unknown[] = [];
  const rpc = createBirpc<Theirs, object>(ours, {
    post(message: unknown) {
      waiting.push(message);
      if (waiting.length > 1) return;
      setImmediate(() => {
        const messages = waiting;
        waiting = [];
        channel.send(messages);
      });
    },
    on(listener) {
      channel.onMessages((messages) => {
        for (const message of messages) listener(message);
      });
    },
    // The work that is called has deadlines of its own.
    timeout: -1,
    serialize: withPlainError,
    deserialize: withError,
  });
  return rpc as unknown as RpcTo<Theirs>;
}

/** Calls that are not answered, and any made from now on, fail with {@link StoreUnavailableError}. */
export function closeRpc(rpc: RpcTo<object>): void {
  rpc.$close(new StoreUnavailableError(LINK_CLOSED));
}

const LINK_CLOSED = 'the process that keeps the ledger has ended';

/** Calls over a rpc that may have been closed. */
export async function reach<Result>(
  rpc: RpcTo<object>,
  call: () => Promise<Result>,
): Promise<Result> {
  if (rpc.$closed) throw new StoreUnavailableError(LINK_CLOSED);
  return call();
}

interface Message {
  /** Why a call failed. */
  readonly e?: unknown;
}

/** Copies of errors lose their class on the way. */
function withPlainError(message: Message): Message {
  if (!(message.e instanceof Error)) return message;
  return { ...message, e: { name: message.e.name, message: message.e.message } };
}

function withError(message: Message): Message {
  if (message.e === undefined) return message;
  const { name, message: text } = message.e as Pick<Error, 'name' | 'message'>;
  if (name === 'StoreUnavailableError') return { ...message, e: new StoreUnavailableError(text) };
  return { ...message, e: name === 'RangeError' ? new RangeError(text) : new Error(text) };
}
