/** Operations over the admin API of a gateway that cannot be reached. */

import { createServer } from 'node:http';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { OperationError } from '../../src/endpoints/operation-error.js';
import { createRemoteCaller } from '../../src/operator/operations/callers.js';

let server: Server;
let url: string;
beforeEach(async () => {
  server = createServer((_req, res) => res.writeHead(502).end('<html>Bad Gateway</html>'));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  url = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
});
afterEach(() => {
  server.close();
});

const failure = () =>
  createRemoteCaller({ url, token: 'token' })('listKeys', {}).catch((error: unknown) => error);

it('fail as unavailable, and name the variable', async () => {
  expect(await failure()).toMatchObject({
    status: 503,
    message: 'ADMIN_URL: the response is not JSON (status 502)',
  });
  server.close();
  server.closeAllConnections();
  await once(server, 'close');
  const unreachable = await failure();
  expect(unreachable).toBeInstanceOf(OperationError);
  expect(unreachable).toMatchObject({
    status: 503,
    message: 'ADMIN_URL: cannot be reached (ECONNREFUSED)',
  });
});
