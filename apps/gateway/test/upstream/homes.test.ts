/**
 * A gateway in front of homes of the models, each simulated as strictly as its documents are: it
 * accepts one credential in one header, its own paths, and its own names of the models. The answers
 * are those of the provider's simulator, so a client must find them equal to a direct answer.
 */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import Anthropic from '@anthropic-ai/sdk';
import { startUpstreamSimulator } from '@gateway/upstream-simulator';
import type { UpstreamSimulator } from '@gateway/upstream-simulator';
import { checkCredentials, listUpstreamModels } from '../../src/upstream/list-models.js';
import { readUpstreams } from '../../src/config/upstreams-file.js';
import { gatewayCommand } from '../support/gateway-process.js';
import { MODEL, POSTS, startTestGateway, userMessage } from '../support/gateway.js';
import type { TestGateway } from '../support/gateway.js';
import { eventually } from '../support/until.js';

const OTHER = 'claude-haiku-4-5';
const SIMULATOR_KEY = 'key-of-the-simulator';

/** What a home accepts, and how an entry of `UPSTREAMS` describes it. */
interface Kind {
  readonly prefix: string;
  readonly auth: 'x-api-key' | 'bearer';
  /** The home's names; `undefined`: the provider's. */
  readonly names?: Readonly<Record<string, string>>;
  readonly paths: readonly string[];
  readonly required?: Readonly<Record<string, string>>;
  readonly entry: object;
}

const MESSAGES = '/v1/messages';
const COUNT = '/v1/messages/count_tokens';
const MODELS = '/v1/models';

const BEDROCK_NAMES = { [MODEL]: `anthropic.${MODEL}`, [OTHER]: `anthropic.${OTHER}` };
const DEPLOYMENTS = { [MODEL]: 'our-sonnet', [OTHER]: 'our-sonnet-small' };
const WORKSPACE = { 'anthropic-workspace-id': 'wrkspc_01AbCd' };
const KINDS = {
  'Claude Platform on AWS': {
    prefix: '',
    auth: 'x-api-key',
    paths: [MESSAGES, COUNT, MODELS],
    required: WORKSPACE,
    entry: { headers: WORKSPACE },
  },
  Foundry: {
    prefix: '/anthropic',
    auth: 'x-api-key',
    names: DEPLOYMENTS,
    paths: [MESSAGES, COUNT],
    entry: { models: DEPLOYMENTS, lacks: ['models'] },
  },
  "Bedrock's Messages endpoint": {
    prefix: '/anthropic',
    auth: 'bearer',
    names: BEDROCK_NAMES,
    paths: [MESSAGES],
    entry: { auth: 'bearer', models: BEDROCK_NAMES, lacks: ['models', 'count_tokens'] },
  },
} as const satisfies Record<string, Kind>;
type KindName = keyof typeof KINDS;
const NAMES = Object.keys(KINDS) as readonly KindName[];

let simulator: UpstreamSimulator;
let server: Server;
let gateway: TestGateway;
let apiKey: string;
let folder: string;
let file: string;
let keyFile: string;
/** What the home that is simulated now accepts. */
let kind: Kind;
let credential: string;
let key = 0;

beforeAll(async () => {
  simulator = await startUpstreamSimulator({ apiKey: SIMULATOR_KEY, minCachedTokens: 0 });
  server = createServer((req, res) => {
    void serveHome(req, res);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  folder = mkdtempSync(join(tmpdir(), 'gateway-homes-'));
  file = join(folder, 'upstreams.json');
  keyFile = join(folder, 'key');
  // A reload reads the environment of the process again.
  process.env['UPSTREAMS'] = file;
  configure('Foundry');
  gateway = await startTestGateway({
    env: { UPSTREAMS: file, UPSTREAM_URL: '', UPSTREAM_API_KEY: '' },
  });
  ({ apiKey } = await gateway.createKey());
});
afterAll(async () => {
  delete process.env['UPSTREAMS'];
  await gateway.stop();
  server.closeAllConnections();
  server.close();
  await simulator.close();
  rmSync(folder, { recursive: true, force: true });
});

function configure(name: KindName, more: object = {}): void {
  kind = KINDS[name];
  credential = `home-credential-${String((key += 1))}`;
  writeFileSync(keyFile, credential);
  const url = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}${kind.prefix}`;
  const account = { name: 'home', url, api_key_file: keyFile, ...kind.entry, ...more };
  writeFileSync(file, JSON.stringify({ accounts: [account] }));
}

async function use(...given: Parameters<typeof configure>): Promise<void> {
  configure(...given);
  await gateway.running.reload();
  simulator.reset();
}

function renamed(text: string, names: readonly (readonly [string, string])[]): string {
  return names.reduce((all, [from, to]) => all.replaceAll(`"${from}"`, `"${to}"`), text);
}

/** Checks what the home demands, and lets the simulator answer under the home's names. */
async function serveHome(req: IncomingMessage, res: ServerResponse): Promise<void> {
  const body = await buffer(req);
  const refuse = (status: number, type: string, message: string): void => {
    res.writeHead(status, { 'content-type': 'application/json' });
    res.end(JSON.stringify({ type: 'error', error: { type, message } }));
  };
  const { 'x-api-key': apiKeyHeader, authorization } = req.headers;
  const presented = kind.auth === 'bearer' ? authorization : apiKeyHeader;
  const other = kind.auth === 'bearer' ? apiKeyHeader : authorization;
  const expected = kind.auth === 'bearer' ? `Bearer ${credential}` : credential;
  if (presented !== expected || other !== undefined) {
    refuse(401, 'authentication_error', 'invalid credential');
    return;
  }
  const missing = Object.entries(kind.required ?? {}).find(([name, value]) => {
    return req.headers[name] !== value;
  });
  if (missing !== undefined) {
    refuse(400, 'invalid_request_error', `${missing[0]}: header is required`);
    return;
  }
  const path = req.url?.startsWith(kind.prefix) === true ? req.url.slice(kind.prefix.length) : '';
  if (!kind.paths.includes(path.split('?')[0] ?? '')) {
    refuse(404, 'not_found_error', 'no such path');
    return;
  }
  const ours = Object.entries(kind.names ?? {});
  const asked = body.length === 0 ? undefined : (JSON.parse(body.toString()) as { model?: string });
  const isKnown = kind.names === undefined || ours.some(([, name]) => name === asked?.model);
  if (asked?.model !== undefined && !isKnown) {
    refuse(404, 'not_found_error', `model: ${asked.model}`);
    return;
  }
  const theirs = ours.map(([id, name]) => [name, id] as const);
  const answer = await fetch(simulator.url + path, {
    method: req.method ?? 'GET',
    headers: {
      'content-type': 'application/json',
      'x-api-key': SIMULATOR_KEY,
      'anthropic-version': String(req.headers['anthropic-version']),
    },
    ...(asked === undefined ? {} : { body: renamed(body.toString(), theirs) }),
  });
  const text = Buffer.from(renamed(await answer.text(), ours));
  res.writeHead(answer.status, { 'content-type': String(answer.headers.get('content-type')) });
  for (let at = 0; at < text.length; at += 700) res.write(text.subarray(at, at + 700));
  res.end();
}

/** The bodies of requests of customers. A check of a credential may arrive at any time. */
function sentBodies(): readonly string[] {
  const bodies = simulator.journal.requests().map(({ body }) => body?.toString() ?? '');
  return bodies.filter((body) => /"messages":(?!\[\])/.test(body));
}

const sdkAt = (baseURL: string, withKey: string) =>
  new Anthropic({ baseURL, apiKey: withKey, maxRetries: 0 });
const weather = {
  name: 'get_weather',
  description: 'Tells the weather of a city',
  input_schema: { type: 'object' as const, properties: { city: { type: 'string' } } },
};
const params = {
  model: MODEL,
  max_tokens: 100,
  tools: [weather],
  messages: [{ role: 'user' as const, content: 'Please call get_weather for Paris' }],
};

/** What an application gets from the SDK; the simulator numbers its messages and calls. */
async function answersOf(client: Anthropic) {
  simulator.reset();
  const message = await client.messages.create(params);
  simulator.reset();
  const events: unknown[] = [];
  for await (const event of client.messages.stream(params)) events.push(event);
  const text = JSON.stringify({ message, events });
  return JSON.parse(text.replace(/"(msg|toolu)_\w+"/g, '"$1"')) as Record<string, unknown>;
}

describe.each(NAMES)('%s', (name) => {
  beforeAll(() => use(name));

  it('answers the official SDK as the provider itself does, and is charged for our model', async () => {
    const direct = await answersOf(sdkAt(simulator.url, SIMULATOR_KEY));
    const through = await answersOf(sdkAt(gateway.url, apiKey));
    expect(through).toEqual(direct);
    expect(direct['message']).toMatchObject({ model: MODEL, stop_reason: 'tool_use' });
    const { data } = await gateway.call('listLedger', { kind: 'charge', limit: 1 });
    expect(data).toMatchObject([{ model: MODEL, upstream_account: 'home' }]);
  });

  it('answers translated formats under our names', async () => {
    for (const dialect of ['chat.completions', 'responses'] as const) {
      const answer = await POSTS[dialect](gateway, apiKey, userMessage('Hello', { model: OTHER }));
      expect([answer.status, await answer.json()]).toMatchObject([200, { model: OTHER }]);
    }
  });

  it('counts tokens, or that is refused by name', async () => {
    const { max_tokens: _max, ...counted } = params;
    const counting = sdkAt(gateway.url, apiKey).messages.countTokens(counted);
    if (kind.paths.includes(COUNT)) {
      const direct = await sdkAt(simulator.url, SIMULATOR_KEY).messages.countTokens(counted);
      expect(await counting).toEqual(direct);
      return;
    }
    await expect(counting).rejects.toMatchObject({
      status: 404,
      message: expect.stringContaining('count_tokens: no upstream of this gateway counts'),
    });
  });

  it('is found usable by check-config, and a wrong credential is found, without showing it', async () => {
    const check = () => gatewayCommand(['check-config'], { UPSTREAMS: file, DATA_DIR: folder });
    const right = await check();
    expect([right.code, right.err]).toEqual([0, '']);
    expect(right.out).toContain('UPSTREAMS: the key of account "home": the upstream accepts it');
    const wrong = credential;
    credential = 'another';
    const refused = await check();
    credential = wrong;
    expect([refused.code, refused.err]).toEqual([
      2,
      expect.stringContaining(
        'account "home": the upstream refuses it (it answered with status 401',
      ),
    ]);
    expect(right.out + refused.out + refused.err).not.toContain('home-credential-');
  });
});

describe('a home with names of its own', () => {
  beforeAll(() => use("Bedrock's Messages endpoint"));

  it('gets the bytes of the client, but for the name', async () => {
    const odd = `{ "model" : "${MODEL}","max_tokens":10,\n "messages":[{"role":"user","content":"\\u00e9"}] }`;
    expect((await POSTS.messages(gateway, apiKey, odd)).status).toBe(200);
    // The home gives the simulator its own name of the model.
    expect(sentBodies()).toEqual([odd]);
  });

  it('refuses models that it does not serve by name, before anything is sent', async () => {
    const answer = await POSTS.messages(
      gateway,
      apiKey,
      userMessage('x', { model: 'claude-opus-5' }),
    );
    const message = 'model: no upstream of this gateway serves claude-opus-5 to your account';
    expect([answer.status, await answer.json()]).toMatchObject([
      404,
      { error: { type: 'not_found_error', message } },
    ]);
    expect(sentBodies()).toHaveLength(1);
  });

  it('names our model in its errors', async () => {
    await use("Bedrock's Messages endpoint", { models: { [MODEL]: 'anthropic.wrong' } });
    const answer = await POSTS.messages(gateway, apiKey, userMessage('x'));
    expect([answer.status, await answer.json()]).toMatchObject([
      404,
      { error: { message: `model: ${MODEL}` } },
    ]);
  });

  it('uses a new credential once its file has changed, without a reload', async () => {
    await use("Bedrock's Messages endpoint");
    expect((await POSTS.messages(gateway, apiKey, userMessage('x'))).status).toBe(200);
    credential = 'renewed';
    writeFileSync(keyFile, credential);
    await eventually(async () => {
      expect((await POSTS.messages(gateway, apiKey, userMessage('x'))).status).toBe(200);
    });
  });
});

describe('what a home is asked before it is used', () => {
  const check = async (name: KindName, more: object) => {
    configure(name, more);
    const [found] = await checkCredentials(readUpstreams(file), {});
    return found;
  };

  it('finds models that it does not serve under their names', async () => {
    const models = { ...DEPLOYMENTS, [OTHER]: 'not-deployed' };
    expect(await check('Foundry', { models })).toEqual({
      account: 'home',
      outcome: 'accepted',
      reason: undefined,
      found: 'it counts tokens for 1 model',
      missing: [`it answers with status 404 for "not-deployed", which models.${OTHER} names`],
    });
    expect(await check('Claude Platform on AWS', { models: { [MODEL]: 'none' } })).toMatchObject({
      outcome: 'accepted',
      missing: [`its list has no model "none", which models.${MODEL} names`],
    });
    const config = { UPSTREAMS: file, DATA_DIR: folder };
    const { code, out, err } = await gatewayCommand(['check-config'], config);
    expect([code, err]).toEqual([2, expect.stringContaining('its list has no model "none"')]);
    expect(out).toMatch(/Look at UPSTREAMS: no account without only_for serves .*claude-opus-5/);
  });

  it('can be an empty request, if it has neither a list nor a count', async () => {
    expect(await check("Bedrock's Messages endpoint", {})).toMatchObject({
      outcome: 'accepted',
      found: 'the names of 2 models were not tried',
    });
  });

  it('says which path is missing if its lacks are not configured', async () => {
    expect(await check("Bedrock's Messages endpoint", { lacks: [] })).toMatchObject({
      outcome: 'unclear',
      reason: 'it answered with status 404',
    });
  });

  it('lists its models under our ids, or what is configured', async () => {
    const list = async (name: KindName, more: object = {}) => {
      configure(name, more);
      const reading = await listUpstreamModels(readUpstreams(file), {});
      return reading.outcome === 'listed' ? reading.models.map(({ id }) => id) : reading;
    };
    expect(await list('Foundry')).toEqual([MODEL, OTHER]);
    expect(await list('Claude Platform on AWS', { models: { [OTHER]: MODEL } })).toEqual([OTHER]);
    expect(await list('Claude Platform on AWS')).toContain('claude-opus-5');
    expect(await list('Foundry', { models: undefined })).toEqual({
      outcome: 'failed',
      reason: 'account "home": it has no list of models',
    });
  });
});
