/** A TCP proxy that delays messages to its target, or drops the answers. */

import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';

/** @returns the proxy; its `url` is the given one with the port of the proxy */
export async function startSlowLink(url: string) {
  const target = new URL(url);
  let delayMs = 0;
  let isMute = false;
  const sockets = new Set<Socket>();
  const server = createServer({ noDelay: true }, (inbound) => {
    const outbound = connect({
      host: target.hostname,
      port: Number(target.port),
      noDelay: true,
    });
    for (const [from, to] of [
      [inbound, outbound],
      [outbound, inbound],
    ] as const) {
      sockets.add(from);
      from.on('error', () => undefined);
      from.on('data', (bytes) => {
        if (from === outbound && isMute) return;
        if (from === inbound && delayMs > 0) setTimeout(() => to.write(bytes), delayMs);
        else to.write(bytes);
      });
      from.on('close', () => {
        sockets.delete(from);
        to.destroy();
      });
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const through = new URL(url);
  through.port = String((server.address() as AddressInfo).port);
  return {
    url: through.href,
    /** Delays each message to the target by this time. */
    setDelay(ms: number) {
      delayMs = ms;
    },
    /** From now on drops everything that the target sends. The target still receives everything. */
    mute() {
      isMute = true;
    },
    async stop() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
