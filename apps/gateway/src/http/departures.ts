/**
 * Judges how fast clients read their answers, so that slow clients get them to the end, and clients
 * that do not read hold neither connections nor memory (docs/decisions/0056).
 *
 * A response is judged when its end was written, and an export from its beginning. While the relay
 * still writes a response, it has limits of its own: see `exchange/relay/client-response.ts`.
 */

import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Pace } from './arrivals.js';

/** A connection, with two members that only Node's source documents. */
export type AnswerSocket = Pick<Socket, 'bytesWritten' | 'writableLength'> & {
  /** The response in progress. Responses to pipelined requests come one after another. */
  readonly _httpMessage?: Pick<ServerResponse, 'writableEnded'> | null;
  readonly _handle?: {
    /** What was passed to the system. */
    readonly bytesWritten: number;
    /** The part of it for which the system's buffers have no room yet. */
    readonly writeQueueSize: number;
  } | null;
};

/** One connection, and how its client reads. */
export class Departure {
  #pace: Pace | undefined;

  /**
   * @param elapsedMs - The time since the last look.
   * @param stallMs - How long a client may read nothing, or less than the least pace of uploads.
   * @returns whether the client is late: the caller must close the connection
   */
  look(elapsedMs: number, socket: AnswerSocket, stallMs: number): boolean {
    if (socket.writableLength === 0 || isBeingWritten(socket)) {
      this.#pace = undefined;
      return false;
    }
    this.#pace ??= new Pace({ stallMs, maxMs: Infinity });
    return this.#pace.isLate(elapsedMs, sentBytes(socket));
  }
}

/**
 * How many bytes have left this process. Node's own counts change only when a whole write has left,
 * so a large answer would seem to stand still while its client reads it slowly.
 */
function sentBytes({ _handle, bytesWritten, writableLength }: AnswerSocket): number {
  if (_handle === undefined || _handle === null) return bytesWritten - writableLength;
  return _handle.bytesWritten - _handle.writeQueueSize;
}

const judgedEarly = new WeakSet<object>();

/** The client must read this response at the least pace before its end is written, too. */
export function judgeWhileWritten(res: ServerResponse): void {
  judgedEarly.add(res);
}

function isBeingWritten({ _httpMessage: res }: AnswerSocket): boolean {
  return res?.writableEnded === false && !judgedEarly.has(res);
}

const charged = new WeakSet<object>();

/**
 * A process that stops waits for the client of this response up to its deadline, because the
 * response was charged.
 */
export function waitForClientOf(res: ServerResponse): void {
  charged.add(res);
}

export function isWaitedFor({ _httpMessage }: AnswerSocket): boolean {
  return _httpMessage !== undefined && _httpMessage !== null && charged.has(_httpMessage);
}
