/** Guesses at an admin token on the admin API, and at the token of the metrics. */

import { request } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { startTestGateway } from '../support/gateway.js';
import type { TestGateway } from '../support/gateway.js';

const ADMIN_TOKEN = 'admin-token-of-the-tests';
const METRICS_TOKEN = 'metrics-token-of-the-tests';
const GUESSES = 10;

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway({ env: { ADMIN_TOKEN, METRICS_TOKEN } });
});
afterAll(() => gateway.stop());

/** @param localAddress - The address from which the request comes. */
function ask(authorization: string, localAddress: string, path = '/admin/keys') {
  return new Promise<IncomingMessage>((resolve, reject) => {
    request(`${gateway.adminUrl}${path}`, { localAddress, headers: { authorization } })
      .on('response', (response) => resolve(response.resume()))
      .on('error', reject)
      .end();
  });
}

const statusOf = async (...asked: Parameters<typeof ask>) => (await ask(...asked)).statusCode;

// F149: guesses at an admin token or the metrics token: 10 a minute for each address, then 429;
// other addresses and scrapes are not affected.
// F397: wrong tokens locked out the right ones of their address: a program of the same machine, or
// behind the same proxy, kept the shop from adding credit. A right token is always accepted.
it.each([
  ['/admin/keys', ADMIN_TOKEN, '127.0.0.2'],
  ['/metrics', METRICS_TOKEN, '127.0.0.5'],
])(
  'on %s are limited for each address, from which a right one is accepted all the same',
  async (path, token, attacker) => {
    // Neither right tokens nor headers of another form are guesses.
    for (let i = 0; i <= 2 * GUESSES; i += 1) {
      expect(await statusOf(`Bearer ${token}`, attacker, path)).toBe(200);
      expect(await statusOf('Basic b3BlcmF0b3I6', attacker, path)).toBe(401);
    }
    for (let i = 0; i < GUESSES; i += 1) {
      expect(await statusOf(`Bearer guess-${String(i)}`, attacker, path)).toBe(401);
    }
    for (let i = 0; i < 3; i += 1) {
      const refused = await ask('Bearer another-guess', attacker, path);
      expect(refused.statusCode).toBe(429);
      expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
      expect(await statusOf(`Bearer ${token}`, attacker, path)).toBe(200);
    }
  },
);

// F149
it('of one address neither refuse the tokens of another nor a scrape of the metrics', async () => {
  const [attacker, operator] = ['127.0.0.3', '127.0.0.4'];
  const guesses = Array.from({ length: 4 * GUESSES }, (_, i) =>
    statusOf(`Bearer guess-${String(i)}`, attacker),
  );
  const statuses = await Promise.all(guesses);
  expect(statuses.filter((status) => status === 401)).toHaveLength(GUESSES);
  expect(statuses.filter((status) => status === 429)).toHaveLength(3 * GUESSES);
  expect(await statusOf(`Bearer ${ADMIN_TOKEN}`, operator)).toBe(200);
  expect(await statusOf(`Bearer ${METRICS_TOKEN}`, attacker, '/metrics')).toBe(200);
});
