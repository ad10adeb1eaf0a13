/**
 * An upstream that holds its answers back while the test keeps its gate shut, and records the
 * usages that it served.
 */

import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Served {
  readonly messageId: string;
  readonly input: number;
  readonly output: number;
}

export interface GatedUpstream {
  readonly url: string;
  /**
   * Number of requests that wait at the gate. The beginning of a stream is sent before it waits.
   */
  waiting(): number;
  /** Answers the waiting requests, and all further ones until the gate is shut again. */
  open(): void;
  shut(): void;
  /** The bodies of all requests, in the order of their arrival. */
  readonly bodies: readonly string[];
  /** The answers that were sent completely. Each has a different usage. */
  readonly served: readonly Served[];
  close(): Promise<void>;
}

/** @param options.moreOutput - Tokens that each answer has beyond its own small number. */
export async function startGatedUpstream(
  options: { readonly moreOutput?: number } = {},
): Promise<GatedUpstream> {
  const { moreOutput = 0 } = options;
  const served: Served[] = [];
  const bodies: string[] = [];
  const held = new Set<() => void>();
  let isOpen = true;
  let requests = 0;

  function passGate(res: ServerResponse): Promise<void> {
    if (isOpen) return Promise.resolve();
    return new Promise((resolve) => {
      const pass = () => {
        held.delete(pass);
        resolve();
      };
      held.add(pass);
      // A client that has disconnected stops waiting.
      res.once('close', pass);
    });
  }

  async function answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
    if (req.method === 'GET') {
      res.end(JSON.stringify({ data: [] }));
      return;
    }
    let body = '';
    for await (const bytes of req as AsyncIterable<Buffer>) body += bytes.toString();
    bodies.push(body);
    requests += 1;
    // No answer may report more output than a request with a small limit can have.
    const output_tokens = 1 + 2 * (requests % 400) + moreOutput;
    const usage = { input_tokens: requests, output_tokens };
    const messageId = `msg_${String(requests)}`;
    res.once('finish', () => {
      served.push({ messageId, input: usage.input_tokens, output: usage.output_tokens });
    });
    const { model, stream } = JSON.parse(body) as { model: string; stream?: boolean };
    const message = { id: messageId, type: 'message', role: 'assistant', model };
    if (stream !== true) {
      await passGate(res);
      res.writeHead(200, { 'content-type': 'application/json' });
      const content = [{ type: 'text', text: 'Hello' }];
      res.end(JSON.stringify({ ...message, content, stop_reason: 'end_turn', usage }));
      return;
    }
    res.writeHead(200, { 'content-type': 'text/event-stream' });
    const started = { ...message, content: [], stop_reason: null };
    res.write(
      event('message_start', { message: { ...started, usage: { ...usage, output_tokens: 1 } } }) +
        event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }) +
        event('content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'Hello' } }),
    );
    await passGate(res);
    res.end(
      event('content_block_stop', { index: 0 }) +
        event('message_delta', { delta: { stop_reason: 'end_turn' }, usage }) +
        event('message_stop', {}),
    );
  }

  const server = createServer((req, res) => {
    answer(req, res).catch(() => res.destroy());
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    url: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`,
    bodies,
    served,
    waiting: () => held.size,
    open() {
      isOpen = true;
      for (const pass of held) pass();
    },
    shut() {
      isOpen = false;
    },
    async close() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

function event(type: string, data: object): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`;
}
