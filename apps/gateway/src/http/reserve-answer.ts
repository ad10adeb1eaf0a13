/** The memory of an answer that waits until its client reads it. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { ByteReservation } from '../base/byte-budget.js';
import type { Refusal } from '../base/errors/refusal.js';
import { reserve } from './body.js';

/** What the answers on each connection have reserved. */
const reservedOn = new WeakMap<Socket, Set<ByteReservation>>();

/**
 * Reserves memory for an answer until its last byte has left this process or its connection is
 * closed.
 *
 * @returns the refusal, if there is no memory for the answer
 */
export function reserveAnswer(
  res: ServerResponse<IncomingMessage>,
  memory: ByteReservation,
  bytes: number,
): Refusal | undefined {
  const refusal = reserve(memory, bytes);
  if (refusal !== undefined) return refusal;
  const { socket } = res.req;
  const reserved = reservedOn.get(socket) ?? releaseAtClose(socket);
  reserved.add(memory);
  const release = (): void => {
    reserved.delete(memory);
    memory.release();
  };
  res.once('close', release);
  if (socket.destroyed) release();
  return undefined;
}

/**
 * The response to a pipelined request has no socket while an earlier response is being sent. If the
 * connection closes meanwhile, Node 22 does not tell this response. One listener for all of them,
 * because Node warns of more than ten.
 */
function releaseAtClose(socket: Socket): Set<ByteReservation> {
  const reserved = new Set<ByteReservation>();
  reservedOn.set(socket, reserved);
  socket.once('close', () => {
    for (const memory of reserved) memory.release();
  });
  return reserved;
}
