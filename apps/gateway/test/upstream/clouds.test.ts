/**
 * A gateway in front of the simulated clouds. What the official SDK of a cloud sends and gets is
 * what the gateway sends and gets for a client of Anthropic's own API.
 */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import Anthropic from '@anthropic-ai/sdk';
import type { UpstreamSimulator } from '@gateway/upstream-simulator';
import { TOO_LONG } from '../../../../packages/upstream-simulator/test/cloud-requests.js';
import { readUpstreams } from '../../src/config/upstreams-file.js';
import { checkCredentials, listUpstreamModels } from '../../src/upstream/list-models.js';
import { CLOUDS, DENIED, HAIKU, OPUS, writeAwsFiles } from '../support/clouds.js';
import type { Cloud, MessagesSdk, Sending } from '../support/clouds.js';
import { POSTS, startTestGateway, userMessage } from '../support/gateway.js';
import type { TestGateway } from '../support/gateway.js';
import { until } from '../support/until.js';

const NAMES = Object.keys(CLOUDS) as readonly (keyof typeof CLOUDS)[];
/** What names the operator's accounts and credentials in the simulated clouds. */
const IDENTITIES =
  /arn:|123456789012|simulated-(?:project|tenant)|wrkspc_|AKIA|gserviceaccount|the-secret|projects\//;

let folder: string;
let file: string;
let gateway: TestGateway;
let apiKey: string;
let before: NodeJS.ProcessEnv;
let rate = 1_000_000;

beforeAll(async () => {
  before = { ...process.env };
  folder = mkdtempSync(join(tmpdir(), 'gateway-clouds-'));
  file = join(folder, 'upstreams.json');
  // A reload reads the environment of the process again, and so does AWS's library.
  Object.assign(process.env, writeAwsFiles(folder), { UPSTREAMS: file });
  writeEntry({ url: 'http://127.0.0.1:1', api_key: 'none' });
  gateway = await startTestGateway({
    env: { UPSTREAMS: file, UPSTREAM_URL: '', UPSTREAM_API_KEY: '' },
  });
  ({ apiKey } = await gateway.createKey());
});
afterAll(async () => {
  await gateway.stop();
  process.env = before;
  rmSync(folder, { recursive: true, force: true });
});

function writeEntry(entry: object): void {
  writeFileSync(file, JSON.stringify({ accounts: [{ name: 'home', ...entry }] }));
}

/** Ends once the gateway has asked whether its credential is accepted. */
async function use({ simulator, entry, checks }: Cloud, more: object = {}): Promise<void> {
  simulator.reset();
  writeEntry({ ...entry, requests_per_minute: (rate += 1), ...more });
  await gateway.running.reload();
  await until(() => simulator.journal.requests().length >= checks);
  simulator.reset();
}

const client = () => new Anthropic({ baseURL: gateway.url, apiKey, maxRetries: 0 });
const weather = {
  name: 'get_weather',
  input_schema: { type: 'object' as const, properties: { city: { type: 'string' } } },
};
const params = (model: string) => ({
  model,
  max_tokens: 100,
  tools: [weather],
  messages: [{ role: 'user' as const, content: 'Please call get_weather for "Paris", ünd 😀' }],
});

/** The requests about messages that a cloud got. A check of a credential may arrive at any time. */
function sentTo({ journal }: UpstreamSimulator) {
  return journal.requests().flatMap(({ path, headers, body }) => {
    const json = JSON.parse((body?.length ?? 0) === 0 ? 'null' : String(body)) as {
      messages?: unknown[];
    } | null;
    if (json?.messages === undefined || JSON.stringify(json.messages).includes('Hello')) return [];
    return [{ path: path.replace('?beta=true', ''), betas: headers['anthropic-beta'], json }];
  });
}

/** Sends a request, and reads the answer to its end. */
async function send(
  sdk: MessagesSdk,
  model: string,
  { stream, ...options }: Sending & { readonly stream: boolean },
): Promise<void> {
  if (!stream) {
    await sdk.messages.create({ ...params(model), stream }, options);
    return;
  }
  const events = await sdk.messages.create({ ...params(model), stream }, options);
  for await (const event of events) expect(event).toHaveProperty('type');
}

/** What an application gets. The simulators number their messages and calls. */
async function answersOf(sdk: MessagesSdk, model: string, { simulator }: Cloud) {
  simulator.reset();
  const message = await sdk.messages.create(params(model));
  simulator.reset();
  const events: unknown[] = [];
  const stream = await sdk.messages.create({ ...params(model), stream: true });
  for await (const event of stream) events.push(event);
  const text = JSON.stringify({ message, events })
    .replace(/,"amazon-bedrock-invocationMetrics":\{[^}]*\}/g, '')
    .replace(/"(msg|toolu)_\w+"/g, '"$1"')
    .replace(/"model":"[^"]*"/g, '"model":"…"');
  return JSON.parse(text) as { events: unknown[]; message: { usage: Record<string, number> } };
}

async function refusalOf(body: Readonly<Record<string, unknown>>) {
  const answer = await POSTS.messages(gateway, apiKey, userMessage('x', body));
  const text = await answer.text();
  expect(text).not.toMatch(IDENTITIES);
  return { status: answer.status, text };
}

describe.each(NAMES)('%s', (name) => {
  let cloud: Cloud;
  beforeAll(async () => {
    cloud = await CLOUDS[name](folder);
  });
  afterAll(() => cloud.simulator.close());
  beforeEach(async () => {
    cloud.clock.skewMs = 0;
    // A changed entry: no limit or credential of an earlier test is remembered.
    await use(cloud);
  });

  it.each([OPUS, HAIKU])('gets the request of its own SDK for %s', async (model) => {
    const sdkModel = cloud.named(model);
    const ofSdk: unknown[] = [];
    const ofGateway: unknown[] = [];
    // A model with a version in its id takes only Bedrock's own version, which the gateway sends
    // for the first version of the API.
    const versioned = sdkModel.includes('-v1:0');
    const options = versioned ? { headers: { 'anthropic-version': '2023-06-01' } } : {};
    const native = versioned ? { headers: { 'anthropic-version': 'bedrock-2023-05-31' } } : {};
    for (const stream of [false, true]) {
      cloud.simulator.reset();
      await send(cloud.sdk, sdkModel, { stream, ...native });
      ofSdk.push(...sentTo(cloud.simulator));
      cloud.simulator.reset();
      await send(client(), model, { stream, ...options });
      ofGateway.push(...sentTo(cloud.simulator));
    }
    expect(ofSdk).toHaveLength(2);
    expect(ofGateway).toEqual(ofSdk);
  });

  it('gives a client of Anthropic’s API what its own SDK gets, and is charged exactly', async () => {
    const direct = await answersOf(cloud.sdk, cloud.named(OPUS), cloud);
    const through = await answersOf(client(), OPUS, cloud);
    expect(through).toEqual(direct);
    expect(direct.events.length).toBeGreaterThan(5);
    const { data } = await gateway.call('listLedger', { kind: 'charge', limit: 2 });
    const { input_tokens: input, output_tokens: output } = direct.message.usage;
    for (const entry of data) {
      expect(entry).toMatchObject({
        model: OPUS,
        upstream_account: 'home',
        usage: { input_tokens: input, output_tokens: output },
      });
    }
    expect(data).toHaveLength(2);
  });

  it('answers translated formats, as a message and as a stream', async () => {
    for (const dialect of ['chat.completions', 'responses'] as const) {
      const answer = await POSTS[dialect](gateway, apiKey, userMessage('x', { model: OPUS }));
      expect([answer.status, await answer.json()]).toMatchObject([200, { model: OPUS }]);
      const streamed = await POSTS[dialect](
        gateway,
        apiKey,
        userMessage('x', { model: OPUS, stream: true }),
      );
      expect([streamed.status, await streamed.text()]).toEqual([
        200,
        expect.stringMatching(/\[DONE\]|response\.completed/),
      ]);
    }
  });

  it('is checked and listed with its credential', async () => {
    const target = readUpstreams(file);
    const [check] = await checkCredentials(target, {});
    expect(check).toMatchObject({ outcome: 'accepted' });
    expect(await listUpstreamModels(target, {})).toMatchObject({ outcome: 'listed' });
  });

  it('limits: the client gets a 429 in our words', async () => {
    cloud.simulator.script({ error: { type: 'rate_limit_error' } });
    const { status, text } = await refusalOf({ model: OPUS });
    expect([status, JSON.parse(text)]).toMatchObject([
      429,
      { error: { type: 'rate_limit_error' } },
    ]);
    expect(text).not.toMatch(/quota|bedrock|aiplatform|tokens/i);
  });

  it('a prompt that is too long is refused in the words that clients act on', async () => {
    const long = { model: HAIKU, messages: [{ role: 'user', content: TOO_LONG }] };
    const { status, text } = await refusalOf(long);
    expect([status, text]).toEqual([400, expect.stringContaining('prompt is too long')]);
  });

  it('a model without access is the operator’s fault, which the client learns in our words', async () => {
    const { status, text } = await refusalOf({ model: DENIED });
    if (name === 'Claude Platform on AWS') expect(status).toBe(404);
    else expect([status, text]).toEqual([403, expect.stringContaining('has not granted')]);
  });

  it('an overload and a failure of the cloud keep their kinds', async () => {
    for (const type of ['overloaded_error', 'api_error'] as const) {
      cloud.simulator.script({ error: { type } });
      const { status, text } = await refusalOf({ model: OPUS });
      expect(status).toBeGreaterThanOrEqual(500);
      expect(JSON.parse(text)).toMatchObject({ type: 'error', error: { type } });
    }
  });

  it('a stream that is cut off, or ends with an error, is no message', async () => {
    cloud.simulator.script({ cut: { afterEvents: 3 } });
    const cut = client().messages.stream(params(OPUS)).finalMessage();
    await expect(cut).rejects.toThrow();
    cloud.simulator.script({ streamError: { type: 'overloaded_error', afterEvents: 3 } });
    const failed = client().messages.stream(params(OPUS)).finalMessage();
    await expect(failed).rejects.toThrow(/overload/i);
  });
});

describe('a stream in binary frames', () => {
  let invoke: Cloud;
  let platform: Cloud;
  beforeAll(async () => {
    invoke = await CLOUDS['Bedrock, InvokeModel']();
    platform = await CLOUDS['Claude Platform on AWS']();
  });
  afterAll(() => Promise.all([invoke.simulator.close(), platform.simulator.close()]));

  async function useBoth(): Promise<void> {
    const accounts = [
      { name: 'invoke', ...invoke.entry, requests_per_minute: (rate += 1) },
      { name: 'platform', ...platform.entry },
    ];
    writeFileSync(file, JSON.stringify({ accounts }));
    invoke.simulator.reset();
    platform.simulator.reset();
    await gateway.running.reload();
    await until(() => invoke.simulator.journal.requests().length > 0);
    await until(() => platform.simulator.journal.requests().length > 0);
  }

  it('that begins with an error moves to another home, and is charged once', async () => {
    await useBoth();
    platform.simulator.reset();
    let met = 0;
    // A key prefers one of the homes, by its id.
    while (met < 2) {
      invoke.simulator.reset();
      invoke.simulator.script({ streamError: { afterEvents: 0, type: 'overloaded_error' } });
      const { id, apiKey } = await gateway.createKey();
      const sdk = new Anthropic({ baseURL: gateway.url, apiKey, maxRetries: 0 });
      const message = await sdk.messages.stream(params(OPUS)).finalMessage();
      expect(message.stop_reason).toBe('tool_use');
      const { data } = await gateway.call('listLedger', { key_id: id, kind: 'charge' });
      expect(data).toMatchObject([{ upstream_account: 'platform' }]);
      met += sentTo(invoke.simulator).length;
      // The error counts for the account. A reload forgets it.
      await useBoth();
    }
  });

  it.each([3, 5])(
    'that breaks after %i events fails as one that is cut off',
    async (afterEvents) => {
      await use(invoke);
      invoke.simulator.script({
        garbage: { afterEvents, bytes: 'no frame at all, but long enough' },
      });
      const { id, apiKey } = await gateway.createKey();
      const sdk = new Anthropic({ baseURL: gateway.url, apiKey, maxRetries: 0 });
      await expect(sdk.messages.stream(params(OPUS)).finalMessage()).rejects.toThrow();
      await until(async () => {
        const { data } = await gateway.call('listRequests', { key_id: id });
        return data.some(({ fault }) => fault?.includes('frame of the upstream') === true);
      });
      const { data } = await gateway.call('listLedger', { key_id: id, kind: 'charge' });
      expect(data).toEqual([]);
    },
  );
});
