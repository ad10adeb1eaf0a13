/**
 * A TCP proxy between two parts of the system, which injects faults on demand: `latency` delays
 * each chunk, `slices` splits it, `stall` holds it back, and `down` ends all connections and
 * refuses new ones. `reset` resets all open connections once. While its fault is `none`, it
 * forwards all bytes.
 */

import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../scripts/free-port.cjs';

export async function startFaultProxy(target) {
  let fault = 'none';
  /** @type {Set<import('node:net').Socket>} */
  const sockets = new Set();
  const server = createServer({ noDelay: true }, (near) => {
    const far = connect({ host: target.host, port: target.port, noDelay: true });
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        sockets.delete(socket);
        near.destroy();
        far.destroy();
      });
    }
    void pump(near, far);
    void pump(far, near);
  });
  // The port must still be free when `down` ends.
  const port = await freePort();
  await once(server.listen(port, '127.0.0.1'), 'listening');

  async function pump(from, to) {
    try {
      for await (const chunk of from) {
        while (fault === 'stall') await sleep(20);
        if (fault === 'latency') await sleep(30);
        for (const piece of fault === 'slices' ? slices(chunk) : [chunk]) {
          if (!to.write(piece)) await drained(to);
          if (fault === 'slices') await sleep(0);
        }
      }
      to.end();
    } catch {
      to.destroy();
    }
  }

  return {
    port,
    set(next) {
      const wasDown = fault === 'down';
      fault = next;
      if (next === 'down' && !wasDown) {
        server.close();
        for (const socket of sockets) socket.destroy();
      }
      if (next !== 'down' && wasDown) server.listen(port, '127.0.0.1');
      if (next !== 'reset') return;
      for (const socket of sockets) socket.resetAndDestroy();
      fault = 'none';
    },
    stop() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

function slices(chunk) {
  const pieces = [];
  for (let at = 0; at < chunk.length; at += 97) pieces.push(chunk.subarray(at, at + 97));
  return pieces;
}

function drained(socket) {
  return new Promise((resolve) => {
    socket.once('drain', resolve);
    socket.once('close', resolve);
  });
}
