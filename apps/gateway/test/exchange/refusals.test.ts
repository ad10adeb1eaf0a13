/**
 * Refusals as SDKs and Claude Code see them: whether a retry makes sense, and the texts that they
 * show unchanged.
 */

import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  postChat,
  postMessages,
  startTestGateway,
  userMessage,
  postResponses,
} from '../support/gateway.js';
import type { TestGateway } from '../support/gateway.js';

let gateway: TestGateway;
let apiKey: string;
beforeAll(async () => {
  gateway = await startTestGateway({ env: { MAX_BODY_BYTES: '100000' } });
  ({ apiKey } = await gateway.createKey());
});
afterAll(() => gateway.stop());
beforeEach(() => {
  gateway.simulator.reset();
});

type Post = typeof postMessages;
const HELLO = userMessage('Hello');
const keyWith = async (input: Parameters<TestGateway['createKey']>[0]): Promise<string> =>
  (await gateway.createKey(input)).apiKey;
async function inactiveKey(operation: 'suspendKey' | 'revokeKey'): Promise<string> {
  const key = await gateway.createKey();
  await gateway.call(operation, { key_id: key.id });
  return key.apiKey;
}

/** Refusals that the same request would get again. */
const FINAL: [what: string, status: number, ask: (post: Post) => Promise<Response>][] = [
  ['no key', 401, (post) => post(gateway, '', HELLO)],
  ['an unknown key', 401, (post) => post(gateway, 'gw_nobody', HELLO)],
  ['a revoked key', 401, async (post) => post(gateway, await inactiveKey('revokeKey'), HELLO)],
  ['a suspended key', 401, async (post) => post(gateway, await inactiveKey('suspendKey'), HELLO)],
  [
    'an expired key',
    401,
    async (post) => post(gateway, await keyWith({ expires_at: '2020-01-01T00:00:00Z' }), HELLO),
  ],
  [
    'an exhausted key',
    401,
    async (post) =>
      post(gateway, (await gateway.call('createKey', { name: 'a' })).api_key ?? '', HELLO),
  ],
  ['two credentials', 400, (post) => post(gateway, apiKey, HELLO, { 'x-api-key': 'another' })],
  ['invalid JSON', 400, (post) => post(gateway, apiKey, '{')],
  ['an invalid field', 400, (post) => post(gateway, apiKey, { ...HELLO, max_tokens: 'x' })],
  ['a model that is not offered', 404, (post) => post(gateway, apiKey, { ...HELLO, model: 'm' })],
  ['a large body', 413, (post) => post(gateway, apiKey, userMessage('x'.repeat(100_000)))],
  [
    'an unsupported media type',
    415,
    (post) => post(gateway, apiKey, HELLO, { 'content-type': 'text/plain' }),
  ],
  [
    'a request that the upstream rejects',
    400,
    (post) => {
      gateway.simulator.script({ error: { type: 'invalid_request_error', message: 'no' } });
      return post(gateway, apiKey, HELLO);
    },
  ],
  [
    'a request that is too large for the upstream',
    413,
    (post) => {
      gateway.simulator.script({ error: { type: 'request_too_large', message: 'no' } });
      return post(gateway, apiKey, HELLO);
    },
  ],
];

/** Refusals of temporary conditions. */
const PASSING: [
  what: string,
  status: number,
  wait: string | null,
  ask: (post: Post) => Promise<Response>,
][] = [
  [
    'a rate limit',
    429,
    expect.stringMatching(/^\d+$/) as never,
    async (post) => {
      const key = await keyWith({ burst: 1, requests_per_minute: 1 });
      await (await post(gateway, key, HELLO)).text();
      return post(gateway, key, HELLO);
    },
  ],
  [
    'a rate limit of the upstream',
    429,
    expect.stringMatching(/^\d+$/) as never,
    (post) => {
      gateway.simulator.script({ error: { type: 'rate_limit_error' } });
      return post(gateway, apiKey, HELLO);
    },
  ],
  [
    'a failing upstream',
    500,
    null,
    (post) => {
      gateway.simulator.script({ error: { type: 'api_error' } });
      return post(gateway, apiKey, HELLO);
    },
  ],
];

describe.each([
  ['messages', postMessages],
  ['chat.completions', postChat],
  ['responses', postResponses],
] as const)('a refusal of %s', (_dialect, post) => {
  // F78
  it.each(FINAL)(
    'for %s (%i) has the header with which SDKs do not retry',
    async (_what, status, ask) => {
      const response = await ask(post);
      expect(response.status).toBe(status);
      expect(response.headers.get('x-should-retry')).toBe('false');
      expect(response.headers.get('retry-after')).toBe(null);
      // Claude Code replaces any text that contains this by "Invalid API key".
      expect(await response.text()).not.toMatch(/x-api-key/i);
    },
  );

  it.each(PASSING)(
    'for %s (%i) leaves it to SDKs whether to retry',
    async (_what, status, wait, ask) => {
      const response = await ask(post);
      expect(response.status).toBe(status);
      expect(response.headers.get('x-should-retry')).toBe(null);
      expect(response.headers.get('retry-after')).toEqual(wait);
      expect(await response.text()).not.toMatch(/x-api-key/i);
    },
  );
});

describe('the refusal of', () => {
  // F79: two credentials: 400 with a text that Claude Code shows. Claude Code replaces any text
  // that contains `x-api-key` by "Invalid API key", so no refusal contains it.
  it('two credentials names the variables to check', async () => {
    const response = await postMessages(gateway, apiKey, HELLO, { 'x-api-key': 'another' });
    const { error } = await response.json();
    expect(error.message).toMatch(
      /^two different credentials were sent, .*ANTHROPIC_AUTH_TOKEN or /,
    );
    expect(error.message).not.toContain(apiKey);
  });

  it.each(['/v1/dashboard/balance', '/v1/dashboard/usage'])(
    'a key in the wrong header at %s names the right header',
    async (path) => {
      const response = await fetch(gateway.url + path, { headers: { 'x-api-key': apiKey } });
      expect(response.status).toBe(401);
      expect(response.headers.get('x-should-retry')).toBe('false');
      const text = await response.text();
      expect(text).toContain('Authorization: Bearer <API_KEY>');
      expect(text).not.toMatch(/x-api-key/i);
    },
  );

  // F81: conversation without a message: 400 that says so.
  it.each([
    ['messages', postMessages, 'messages: at least one message is required'],
    ['chat.completions', postChat, 'messages: at least one message must have content'],
    ['responses', postResponses, 'input: at least one item must have content'],
  ] as const)(
    'an empty conversation says that a message is missing: %s',
    async (_dialect, post, text) => {
      const response = await post(gateway, apiKey, { ...HELLO, messages: [] });
      expect(response.status).toBe(400);
      expect((await response.json()).error.message).toContain(text);
    },
  );

  it.each([
    ['chat.completions', postChat, 'context_length_exceeded', 'model_not_found'],
    ['responses', postResponses, 'context_length_exceeded', 'model_not_found'],
    ['messages', postMessages, undefined, undefined],
  ] as const)(
    "the upstream has OpenAI's code only in OpenAI's formats: %s",
    async (_dialect, post, tooLong, unknown) => {
      const errors = [
        [400, 'invalid_request_error', 'prompt is too long: 208310 tokens > 200000', tooLong],
        [404, 'not_found_error', 'model: claude-none', unknown],
      ] as const;
      for (const [status, type, message, code] of errors) {
        gateway.simulator.script({ status, error: { type, message } });
        const response = await post(gateway, apiKey, HELLO);
        expect(response.status).toBe(status);
        const { error } = await response.json();
        expect([error.type, error.message, error.code]).toEqual([type, message, code]);
      }
    },
  );
});
