/** Notices that a client leaves, or may have left, before anything is sent to it. */

import type { ServerResponse } from 'node:http';

export interface Leaving {
  /**
   * It has closed the connection in its direction. Most clients that do so have left, but some only
   * have nothing more to send, and read the response (see `httpAllowHalfOpen` in `http-server.ts`).
   */
  readonly onHalfClose: () => void;
  /** The connection is closed: nothing can be sent any more. */
  readonly onClose: () => void;
}

/**
 * Calls back at once if the client has left already.
 *
 * @returns a function that stops listening
 */
export function onLeaving(res: ServerResponse, { onHalfClose, onClose }: Leaving): () => void {
  const { socket } = res.req;
  const stop = (): void => {
    res.off('close', onClose);
    socket.off('close', onClose).off('end', onHalfClose);
  };
  if (res.destroyed || socket.destroyed) {
    onClose();
    return stop;
  }
  if (socket.readableEnded) {
    onHalfClose();
    return stop;
  }
  socket.once('end', onHalfClose);
  res.once('close', onClose);
  // The response to a pipelined request has no socket while an earlier one is being sent. If the
  // connection closes meanwhile, Node 22 does not tell this response.
  if (res.socket === null) socket.once('close', onClose);
  return stop;
}
