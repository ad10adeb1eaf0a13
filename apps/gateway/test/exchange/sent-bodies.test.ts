/** A body takes no memory once it is sent upstream, even if the response lasts for long. */

import { request } from 'node:http';
import type { ClientRequest } from 'node:http';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { startGatedUpstream } from '../support/gated-upstream.js';
import type { GatedUpstream } from '../support/gated-upstream.js';
import { MODEL, PATHS, bodyFor, startTestGateway } from '../support/gateway.js';
import type { TestGateway } from '../support/gateway.js';
import { readMetric } from '../support/metrics.js';
import { eventually, until } from '../support/until.js';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

const REQUESTS = 8;
const PIECE = Buffer.alloc(64 * 1024, 'word ');
const PIECES = 32;

let upstream: GatedUpstream;
let gateway: TestGateway;
beforeAll(async () => {
  upstream = await startGatedUpstream();
  upstream.shut();
  // So that no conversation waits to be kept with its response.
  const env = { UPSTREAM_URL: upstream.url, RESPONSE_MEMORY_BYTES: String(PIECE.length) };
  gateway = await startTestGateway({ env });
});
afterAll(async () => {
  await upstream.close();
  await gateway.stop();
});

it.each(Object.values(PATHS))(
  '%s keeps no body in memory while its response streams',
  async (path) => {
    const { apiKey } = await gateway.createKey();
    const heldBytes = () => {
      collectGarbage();
      return process.memoryUsage().arrayBuffers;
    };
    const reservedBytes = () => readMetric(gateway, 'gateway_memory_reserved_bytes');
    const before = heldBytes();
    const sent = Array.from({ length: REQUESTS }, () => upload(path, apiKey));
    await until(() => upstream.waiting() === REQUESTS);
    await until(async () => (await reservedBytes()) === 0);
    // At most one of the bodies, 2 MiB each, may remain.
    await eventually(() => {
      expect(heldBytes() - before).toBeLessThan(2 * PIECES * PIECE.length);
      return Promise.resolve();
    });
    for (const client of sent) client.destroy();
    // The gateway reads each response to its end, although its client has left.
    upstream.open();
    await until(() => upstream.waiting() === 0);
    upstream.shut();
  },
);

/** Sends a body of which this process has only one piece. */
function upload(path: string, apiKey: string): ClientRequest {
  const [head = '', tail = ''] = JSON.stringify(
    bodyFor(path, {
      model: MODEL,
      max_tokens: 10,
      stream: true,
      messages: [{ role: 'user', content: '<text>' }],
    }),
  ).split('<text>');
  const client = request(`${gateway.url}${path}`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${apiKey}`,
      'content-type': 'application/json',
      'anthropic-version': '2023-06-01',
      'content-length': head.length + PIECES * PIECE.length + tail.length,
    },
  });
  client.on('error', () => undefined);
  client.write(head);
  for (let piece = 0; piece < PIECES; piece += 1) client.write(PIECE);
  client.end(tail);
  return client;
}
