/** Pages that call the gateway from a browser. CORS_ORIGINS lists their origins. */

import type { Server } from 'node:http';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { close, createHttpServer, listen, urlOf } from '../../src/http/http-server.js';
import { createApp } from '../../src/process/app.js';
import { postChat, postMessages, startTestGateway, userMessage } from '../support/gateway.js';
import type { TestGateway } from '../support/gateway.js';

const ORIGIN = 'https://app.example.com';
const OTHER = 'https://app.example.com.evil.test';
/** The headers that the browser builds of both SDKs send. */
const ASKED_HEADERS =
  'anthropic-dangerous-direct-browser-access,anthropic-version,authorization,content-type,x-api-key,x-stainless-lang';

let gateway: TestGateway;
let apiKey: string;
beforeAll(async () => {
  gateway = await startTestGateway({
    env: { CORS_ORIGINS: `https://first.example.com, ${ORIGIN}` },
  });
  ({ apiKey } = await gateway.createKey());
});
afterAll(() => gateway.stop());

const servers: Server[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    await close(server);
  }
});

/** Serves the same gateway to pages of other origins. */
async function serveTo(...origins: string[]): Promise<{ readonly url: string }> {
  const app = createApp({ ...gateway.running.appParts, corsOrigins: new Set(origins) });
  const server = createHttpServer(app);
  servers.push(server);
  await listen(server, { host: '127.0.0.1', port: 0 });
  return { url: urlOf(server) };
}

const preflight = (
  at: { readonly url: string },
  origin: string,
  path = '/v1/messages',
  method = 'POST',
) =>
  fetch(at.url + path, {
    method: 'OPTIONS',
    headers: {
      origin,
      'access-control-request-method': method,
      'access-control-request-headers': ASKED_HEADERS,
    },
  });
const corsHeaders = ({ headers }: Response): string[] =>
  [...headers.keys()].filter((name) => name.startsWith('access-control-'));

describe('pages in a browser', () => {
  it('get no CORS headers by default', async () => {
    const closed = await serveTo();
    const asked = await preflight(closed, ORIGIN);
    expect(asked.status).toBe(405);
    const answered = await postMessages(closed, apiKey, userMessage('Hello'), { origin: ORIGIN });
    expect(answered.status).toBe(200);
    expect([...corsHeaders(asked), ...corsHeaders(answered)]).toEqual([]);
  });

  it('of a listed origin may call every endpoint, and read the headers that SDKs read', async () => {
    for (const path of [
      '/v1/messages',
      '/v1/messages/count_tokens',
      '/v1/chat/completions',
      '/v1/models',
      '/v1/responses',
      '/responses',
      '/v1/responses/input_tokens',
      '/v1/dashboard/balance',
      '/chat/completions',
    ]) {
      const asked = await preflight(gateway, ORIGIN, path);
      expect(asked.status).toBe(204);
      expect(asked.headers.get('access-control-allow-origin')).toBe(ORIGIN);
      expect(asked.headers.get('access-control-allow-methods')).toMatch(/^GET,POST\b/);
      expect(asked.headers.get('access-control-allow-headers')).toBe(ASKED_HEADERS);
      expect(asked.headers.get('vary')).toMatch(/origin/i);
      // Keys are sent in headers, never in cookies.
      expect(asked.headers.get('access-control-allow-credentials')).toBe(null);
    }
    for (const [post, key, body, status] of [
      [postMessages, apiKey, userMessage('Hello'), 200],
      [postChat, apiKey, userMessage('Hello', { stream: true }), 200],
      [postMessages, apiKey, userMessage('Hello'), 500],
      [postMessages, apiKey, '{', 400],
      [postChat, 'gw_nobody', userMessage('Hello'), 401],
    ] as const) {
      if (status === 500) gateway.simulator.script({ error: { type: 'api_error' } });
      const response = await post(gateway, key, body, { origin: ORIGIN });
      await response.text();
      expect(response.status).toBe(status);
      expect(response.headers.get('access-control-allow-origin')).toBe(ORIGIN);
      const exposed = response.headers.get('access-control-expose-headers')!.split(',');
      expect(exposed).toEqual(
        expect.arrayContaining(['request-id', 'x-request-id', 'retry-after', 'x-should-retry']),
      );
      // A page may read every `x-` header but `x-accel-buffering`, which is for reverse proxies.
      const own = [...response.headers.keys()].filter((name) => name.startsWith('x-'));
      expect(own.filter((name) => !exposed.includes(name) && name !== 'x-accel-buffering')).toEqual(
        [],
      );
    }
  });

  it('of a listed origin may use every method that an endpoint takes', async () => {
    for (const [method, path] of [
      ['GET', '/v1/dashboard/balance'],
      ['POST', '/v1/dashboard/keys'],
      ['PATCH', '/v1/dashboard/keys/key_1'],
      ['PUT', '/v1/dashboard/auto-top-up'],
      ['DELETE', '/v1/dashboard/auto-top-up'],
    ] as const) {
      const asked = await preflight(gateway, ORIGIN, path, method);
      expect(asked.headers.get('access-control-allow-methods')!.split(',')).toContain(method);
    }
  });

  it('of another origin get no permission to read responses', async () => {
    for (const origin of [OTHER, 'https://example.com', 'http://app.example.com', 'null']) {
      const asked = await preflight(gateway, origin);
      expect(asked.headers.get('access-control-allow-origin')).toBe(null);
      const answered = await postMessages(gateway, apiKey, userMessage('Hello'), { origin });
      expect(answered.headers.get('access-control-allow-origin')).toBe(null);
      expect(answered.headers.get('vary')).toMatch(/origin/i);
    }
  });

  it('of any origin may call the gateway if CORS_ORIGINS is *', async () => {
    const asked = await preflight(await serveTo('*'), OTHER);
    expect(asked.headers.get('access-control-allow-origin')).toBe('*');
  });
});
