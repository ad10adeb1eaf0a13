/** Delays `100 Continue` until the body is wanted, so that a refused client does not send it. */

import type { IncomingMessage, ServerResponse } from 'node:http';

/** Requests that expect `100 Continue`, which was not sent yet. */
const waiting = new WeakSet<IncomingMessage>();

/** Call it for a request that expects `100 Continue`, which Node has not sent. */
export function holdBody(req: IncomingMessage): void {
  waiting.add(req);
}

/** Whether the client may be waiting for a `100 Continue` before it sends its body. */
export function awaitsContinue(req: IncomingMessage): boolean {
  return waiting.has(req);
}

/** Sends `100 Continue` if the client expects it. Call it before the body is read. */
export function inviteBody(req: IncomingMessage, res: ServerResponse): void {
  if (waiting.delete(req)) res.writeContinue();
}
