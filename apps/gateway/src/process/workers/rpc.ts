/**
 * Calls between the primary process and a worker, over the channel that Node opens between them.
 *
 * All calls of one event-loop tick are sent in one message, so under load a request costs a
 * fraction of a message.
 */

import { createBirpc } from 'birpc';
import type { BirpcReturn } from 'birpc';
import { StoreUnavailableError } from '@gateway/balance-store';
import { withError, withPlainError } from './carried-errors.js';

/** One end of the channel. */
export interface Channel {
  readonly send: (messages: readonly unknown[]) => void;
  readonly onMessages: (listener: (messages: readonly unknown[]) => void) => void;
}

/** The functions of the other side, as this side calls them. */
export type RpcTo<Calls> = {
  readonly [Name in keyof Calls]: Calls[Name] extends (...args: infer Args) => infer Result
    ? (...args: Args) => Promise<Awaited<Result>>
    : never;
} & Pick<BirpcReturn<object, object>, '$closed' | '$close'>;

/**
 * @param ours - The functions that the other side may call.
 * @returns the functions of the other side. Close it with {@link closeRpc} when that side has
 * ended.
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
    // There is no general timeout, because each function has its own deadlines.
    timeout: -1,
    serialize: withPlainError,
    deserialize: withError,
  });
  return rpc as unknown as RpcTo<Theirs>;
}

/** Pending calls, and later ones by {@link reach}, fail with {@link StoreUnavailableError}. */
export function closeRpc(rpc: RpcTo<object>): void {
  rpc.$close(new StoreUnavailableError(LINK_CLOSED));
}

const LINK_CLOSED = 'the process that keeps the ledger has ended';

/** Makes a call, unless the other side has ended. */
export async function reach<Result>(
  rpc: RpcTo<object>,
  call: () => Promise<Result>,
): Promise<Result> {
  if (rpc.$closed) throw new StoreUnavailableError(LINK_CLOSED);
  return call();
}
