/**
 * Replaces the calls between processes, because Jest cannot load `birpc`. Here, a worker's first
 * message is its answer to the call `serve`. Import this before everything that loads the workers.
 */

import { jest } from '@jest/globals';
import type { Channel } from '../../src/process/workers/rpc.js';

jest.mock('../../src/process/workers/rpc.js', () => ({
  openRpc(_ours: object, { send, onMessages }: Channel) {
    let close: (error: Error) => void = () => undefined;
    return {
      serve: () =>
        new Promise((resolve, reject) => {
          close = reject;
          onMessages(([answer]) => {
            resolve(answer);
          });
          setImmediate(send, ['serve']);
        }),
      drain: () => Promise.resolve({ abandoned: 0 }),
      connections: () => Promise.resolve(0),
      shedConnections: () => Promise.resolve(),
      close: (error: Error) => {
        close(error);
      },
    };
  },
  closeRpc(rpc: { readonly close: (error: Error) => void }) {
    rpc.close(new Error('closed'));
  },
}));
