/** An address that leads to one server and then to another, as after a failover. */

import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';

/** @param url - Of the first server. */
export async function startMovingAddress(url: string) {
  let target = new URL(url);
  const sockets = new Set<Socket>();
  const server = createServer((inbound) => {
    const outbound = connect({ host: target.hostname, port: Number(target.port) });
    for (const [from, to] of [
      [inbound, outbound],
      [outbound, inbound],
    ] as const) {
      sockets.add(from);
      from.on('error', () => undefined);
      from.on('close', () => {
        sockets.delete(from);
        to.destroy();
      });
      from.pipe(to);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const through = new URL(url);
  through.port = String((server.address() as AddressInfo).port);
  return {
    url: through.href,
    /** New connections go to this server. */
    moveTo(next: string): void {
      target = new URL(next);
    },
    async close(): Promise<void> {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
