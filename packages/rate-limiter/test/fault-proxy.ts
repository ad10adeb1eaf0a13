/** A TCP proxy in front of Redis that can be cut, and stalled without being cut. */

import type { AddressInfo, NetConnectOpts, Socket } from 'node:net';
import { connect, createServer } from 'node:net';

export interface FaultProxy {
  readonly port: number;
  /** Ends every connection and refuses new ones. */
  cut(): void;
  /** Keeps connections open, and holds all bytes back. */
  stall(): void;
  /** Ends the fault: accepts connections, and forwards bytes, first those that were held back. */
  heal(): void;
  close(): Promise<void>;
}

export async function startFaultProxy(target: NetConnectOpts): Promise<FaultProxy> {
  let fault: 'none' | 'cut' | 'stalled' = 'none';
  const sockets = new Set<Socket>();

  function track(socket: Socket): void {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
    if (fault === 'stalled') socket.pause();
  }

  const server = createServer((inbound) => {
    if (fault === 'cut') {
      inbound.destroy();
      return;
    }
    const outbound = connect(target);
    for (const [from, to] of [
      [inbound, outbound],
      [outbound, inbound],
    ] as const) {
      from.on('data', (bytes) => to.write(bytes));
      from.on('close', () => to.destroy());
      track(from);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));

  return {
    port: (server.address() as AddressInfo).port,
    cut() {
      fault = 'cut';
      for (const socket of sockets) socket.destroy();
    },
    stall() {
      fault = 'stalled';
      for (const socket of sockets) socket.pause();
    },
    heal() {
      fault = 'none';
      for (const socket of sockets) socket.resume();
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
