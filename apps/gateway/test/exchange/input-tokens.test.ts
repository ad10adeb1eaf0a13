/** `POST /v1/responses/input_tokens`: what is sent upstream, what it costs, and its errors. */

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { MODEL, startTestGateway } from '../support/gateway.js';
import type { TestGateway } from '../support/gateway.js';
import { readMetric } from '../support/metrics.js';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway({ env: { OVERDRAFT: 'none' } });
});
afterEach(() => {
  gateway.simulator.reset();
});
afterAll(() => gateway.stop());

const PATH = '/v1/responses/input_tokens';

function count(
  apiKey: string,
  body: Readonly<Record<string, unknown>>,
  { url }: Pick<TestGateway, 'url'> = gateway,
): Promise<Response> {
  return fetch(url + PATH, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: MODEL, ...body }),
  });
}

it('sends upstream what the model would read, and nothing else', async () => {
  const { apiKey } = await gateway.createKey();
  const response = await count(apiKey, {
    instructions: 'Be brief.',
    input: [{ role: 'user', content: 'Hello' }],
    tools: [{ type: 'function', name: 'look', parameters: { type: 'object' } }],
    max_output_tokens: 100,
    stream: true,
    temperature: 0.5,
    safety_identifier: 'alice',
  });
  expect(response.status).toBe(200);
  expect(await response.json()).toEqual({
    object: 'response.input_tokens',
    input_tokens: expect.any(Number),
  });
  const [sent, ...others] = gateway.simulator.journal.requests();
  expect(others).toEqual([]);
  expect(sent?.path).toBe('/v1/messages/count_tokens');
  expect(JSON.parse(String(sent?.body))).toEqual({
    model: MODEL,
    system: [{ type: 'text', text: 'Be brief.' }],
    messages: [{ role: 'user', content: [{ type: 'text', text: 'Hello' }] }],
    tools: [{ name: 'look', input_schema: { type: 'object' } }],
  });
});

it('is free: it places no hold, and a nearly empty balance is enough', async () => {
  const { id, apiKey } = await gateway.createKey({ balance_usd: '0.00000000000001' });
  expect((await count(apiKey, { input: 'Hello' })).status).toBe(200);
  expect((await gateway.call('showKey', { key_id: id })).spent_usd).toBe('0');
});

it('shares the limits of counting with the native format, four times those of messages', async () => {
  const { apiKey } = await gateway.createKey({ burst: 1, requests_per_minute: 1 });
  const statuses: number[] = [];
  for (let i = 0; i < 4; i += 1) {
    statuses.push((await count(apiKey, { input: 'Hello' })).status);
  }
  const native = await fetch(`${gateway.url}/v1/messages/count_tokens`, {
    method: 'POST',
    headers: {
      'x-api-key': apiKey,
      'content-type': 'application/json',
      'anthropic-version': '2023-06-01',
    },
    body: JSON.stringify({ model: MODEL, messages: [{ role: 'user', content: 'Hello' }] }),
  });
  expect([...statuses, native.status]).toEqual([200, 200, 200, 200, 429]);
});

it('reports its own errors in the form of the Responses API', async () => {
  const { apiKey } = await gateway.createKey();
  const refused = await count(apiKey, { input: [{ type: 'nonsense' }] });
  expect(refused.status).toBe(400);
  expect(await refused.json()).toMatchObject({
    error: { type: 'invalid_request_error', param: 'input[0].type', code: 'unsupported_value' },
  });
});

describe('an answer of the upstream that', () => {
  const upstream = createServer((_req, res) => {
    res.writeHead(answer.status, { 'content-type': 'application/json' }).end(answer.body);
  });
  let answer = { status: 200, body: '' };
  let strange: TestGateway;
  beforeAll(async () => {
    await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve));
    const { port } = upstream.address() as AddressInfo;
    const UPSTREAM_URL = `http://127.0.0.1:${String(port)}`;
    strange = await startTestGateway({ env: { UPSTREAM_URL } });
  });
  afterAll(async () => {
    await strange.stop();
    upstream.closeAllConnections();
    await new Promise((resolve) => upstream.close(resolve));
  });

  it('is an error keeps its text, in the form of the Responses API', async () => {
    const { apiKey } = await strange.createKey();
    const error = { type: 'invalid_request_error', message: 'prompt is too long' };
    answer = { status: 400, body: JSON.stringify({ type: 'error', error }) };
    const response = await count(apiKey, { input: 'Hello' }, strange);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({
      error: { ...error, param: null, code: 'context_length_exceeded' },
    });
  });

  it.each(['{}', '{"input_tokens":"5"}', '{"input_tokens":-1}', '[', ''])(
    'is %j and no count is refused with 502, and nothing is lost or set aside',
    async (body) => {
      const { apiKey } = await strange.createKey();
      answer = { status: 200, body };
      const response = await count(apiKey, { input: 'Hello' }, strange);
      expect(response.status).toBe(502);
      expect(await response.json()).toMatchObject({ error: { type: 'api_error', code: null } });
      const lost = 'gateway_unbilled_total{reason="malformed"}';
      expect(await readMetric(strange, lost)).toBe(0);
      expect((await strange.call('auditLedger', {})).quarantined).toBe(0);
    },
  );
});
