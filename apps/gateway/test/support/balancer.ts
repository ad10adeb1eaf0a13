/**
 * A small load balancer: it asks each replica's `/readyz` and sends requests only to those that are
 * ready. It never sends a request twice.
 */

import { once } from 'node:events';
import { Agent, createServer, request } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

export interface Balancer {
  readonly url: string;
  /** The replicas that were ready when last asked. */
  ready(): readonly string[];
  close(): Promise<void>;
}

const ASK_EVERY_MS = 50;

/** @param targets - Addresses of the replicas, without a path. */
export async function startBalancer(targets: readonly string[]): Promise<Balancer> {
  const agents = new Map(targets.map((target) => [target, new Agent({ keepAlive: true })]));
  let ready: readonly string[] = [];
  let turn = 0;
  let isOver = false;

  async function askAll(): Promise<void> {
    const answers = targets.map(async (target) => {
      const res = await fetch(`${target}/readyz`).catch(() => undefined);
      return res?.ok === true ? [target] : [];
    });
    ready = (await Promise.all(answers)).flat();
  }

  function forward(req: IncomingMessage, res: ServerResponse): void {
    turn += 1;
    const target = ready[turn % Math.max(1, ready.length)];
    if (target === undefined) {
      res.writeHead(503).end();
      return;
    }
    const { method, url, headers } = req;
    const agent = agents.get(target)!;
    const onward = request(`${target}${url!}`, { method, headers, agent }, (answer) => {
      res.writeHead(answer.statusCode!, answer.headers);
      answer.pipe(res);
      answer.on('error', () => res.destroy());
    });
    onward.on('error', () => {
      if (res.headersSent) res.destroy();
      else res.writeHead(502).end();
    });
    req.pipe(onward);
  }

  const server = createServer(forward);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  await askAll();
  const asking = (async () => {
    while (!isOver) {
      await askAll();
      await sleep(ASK_EVERY_MS);
    }
  })();
  return {
    url: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`,
    ready: () => ready,
    async close() {
      isOver = true;
      await asking;
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      for (const agent of agents.values()) agent.destroy();
      await closed;
    },
  };
}
