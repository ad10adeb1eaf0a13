/** A gateway in this process, in front of a simulator with a journal of requests and usages. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startUpstreamSimulator } from '@gateway/upstream-simulator';
import type { UpstreamSimulator, UpstreamSimulatorOptions } from '@gateway/upstream-simulator';
import { readConfig } from '../../src/config/config.js';
import { createRemoteCaller } from '../../src/operator/operations/callers.js';
import type { CallOperation, OperationInput } from '../../src/operator/operations/operations.js';
import { startGateway } from '../../src/process/single-process.js';

export const UPSTREAM_KEY = 'upstream-credential-canary';
export const MODEL = 'claude-sonnet-4-6';

/** The path of each dialect. */
export const PATHS = {
  messages: '/v1/messages',
  'chat.completions': '/v1/chat/completions',
  responses: '/v1/responses',
} as const;
export const ENDPOINTS = Object.keys(PATHS) as readonly (keyof typeof PATHS)[];
export const POSTS = {
  messages: postMessages,
  'chat.completions': postChat,
  responses: postResponses,
} as const satisfies Record<keyof typeof PATHS, unknown>;

export interface TestGateway {
  /** Root of the client-facing server, without `/v1`. */
  readonly url: string;
  readonly adminUrl: string;
  readonly running: Awaited<ReturnType<typeof startGateway>>;
  readonly simulator: UpstreamSimulator;
  /** Calls the operators' operations over the admin API. */
  readonly call: CallOperation;
  createKey(
    input?: Partial<OperationInput<'createKey'>>,
  ): Promise<{ readonly id: string; readonly apiKey: string }>;
  stop(): Promise<void>;
}

export async function startTestGateway(
  options: {
    readonly env?: Readonly<Record<string, string>>;
    readonly simulator?: UpstreamSimulatorOptions;
  } = {},
): Promise<TestGateway> {
  const dataDir = mkdtempSync(join(tmpdir(), 'gateway-test-'));
  const simulator = await startUpstreamSimulator({
    apiKey: UPSTREAM_KEY,
    allowScriptText: true,
    // So that tests of charges need no long prompts.
    minCachedTokens: 0,
    ...options.simulator,
  });
  const start = async () =>
    startGateway(
      readConfig({
        PORT: '0',
        ADMIN_PORT: '0',
        DATA_DIR: dataDir,
        LOG_LEVEL: 'silent',
        UPSTREAM_URL: simulator.url,
        UPSTREAM_API_KEY: UPSTREAM_KEY,
        KEY_CONCURRENCY: '1000',
        KEY_BURST: '100000',
        KEY_REQUESTS_PER_MINUTE: '1000000',
        TUNING: process.env['TUNING'],
        ...options.env,
      }),
    );
  const running = await start().catch(async (error: unknown) => {
    // An open server would keep the test's process alive.
    await simulator.close();
    throw error;
  });
  const token = options.env?.['ADMIN_TOKEN'] ?? running.dataDir?.secret('admin-token');
  if (token === undefined) throw new Error('with PostgreSQL, ADMIN_TOKEN must be given');
  const call = createRemoteCaller({ url: running.adminUrl, token });
  return {
    url: running.url,
    adminUrl: running.adminUrl,
    running,
    simulator,
    call,
    async createKey(input) {
      const key = await call('createKey', { name: 'test', balance_usd: '100', ...input });
      return { id: key.id, apiKey: key.api_key ?? '' };
    },
    async stop() {
      await running.stop();
      await simulator.close();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

/** Sends a native request. A `body` that is text or bytes is sent as it is. */
export function postMessages(
  gateway: Pick<TestGateway, 'url'>,
  apiKey: string,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> {
  return post(`${gateway.url}/v1/messages`, apiKey, body, {
    'anthropic-version': '2023-06-01',
    ...headers,
  });
}

export function postChat(
  gateway: Pick<TestGateway, 'url'>,
  apiKey: string,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> {
  return post(`${gateway.url}/v1/chat/completions`, apiKey, body, headers);
}

/** Sends a Responses request. An object may have the member names of the other two formats. */
export function postResponses(
  gateway: Pick<TestGateway, 'url'>,
  apiKey: string,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> {
  const isObject = typeof body === 'object' && !(body instanceof Uint8Array);
  const asked = isObject ? bodyFor('/v1/responses', body as JsonBody) : body;
  return post(`${gateway.url}/v1/responses`, apiKey, asked, headers);
}

type JsonBody = Readonly<Record<string, unknown>>;

/** The names that two members have in the Responses API. */
export const IN_RESPONSES: Readonly<Record<string, string>> = {
  messages: 'input',
  max_tokens: 'max_output_tokens',
};

/**
 * Takes a native or a chat body, and returns it with the member names of the endpoint at `path`.
 */
export function bodyFor(path: string, body: JsonBody): JsonBody {
  if (!path.startsWith('/v1/responses')) return body;
  const members = Object.entries(body).map(([name, value]) => [IN_RESPONSES[name] ?? name, value]);
  return Object.fromEntries(members) as JsonBody;
}

function post(
  url: string,
  apiKey: string,
  body: unknown,
  headers: Readonly<Record<string, string>>,
): Promise<Response> {
  return fetch(url, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${apiKey}`,
      'content-type': 'application/json',
      ...headers,
    },
    body:
      typeof body === 'string' || body instanceof Uint8Array
        ? (body as BodyInit)
        : JSON.stringify(body),
  });
}

/** Makes a request a tool loop: its answer may have nearly any usage. */
export const TOOL_LOOP = {
  max_tokens: 64_000,
  tools: [{ type: 'web_fetch_20250910', name: 'web_fetch' }],
};

export function userMessage(text: string, more: Readonly<Record<string, unknown>> = {}) {
  return { model: MODEL, max_tokens: 200, messages: [{ role: 'user', content: text }], ...more };
}
