import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import AnthropicAws from '@anthropic-ai/aws-sdk';
import { startAwsPlatformSimulator } from '../src/clouds/index.js';
import type { UpstreamSimulator } from '../src/index.js';
import { TOO_LONG, ask, expectNativeAnswers, refusalOf } from './cloud-requests.js';

const MODEL = 'claude-sonnet-4-6';

let simulator: UpstreamSimulator;
let now: () => number;
beforeAll(async () => {
  simulator = await startAwsPlatformSimulator({
    region: 'us-west-2',
    credentials: [{ accessKeyId: 'AKIA', secretAccessKey: 'secret' }],
    keys: [{ key: 'workspace-key' }],
    deniedModels: ['claude-mythos-5'],
    now: () => now(),
  });
});
afterAll(() => simulator.close());
beforeEach(() => {
  simulator.reset();
  now = Date.now;
});

const client = (options: object = {}) =>
  new AnthropicAws({
    baseURL: simulator.url,
    awsRegion: 'us-west-2',
    awsAccessKey: 'AKIA',
    awsSecretAccessKey: 'secret',
    workspaceId: 'wrkspc_01simulated',
    maxRetries: 0,
    ...options,
  });
const KEYED = { apiKey: 'workspace-key', awsAccessKey: null, awsSecretAccessKey: null };

describe('@anthropic-ai/aws-sdk', () => {
  it.each([
    ['a signature', {}],
    ['a key', KEYED],
  ])('gets what Anthropic’s own API answers, with %s', async (_name, options) => {
    await expectNativeAnswers(client(options), MODEL, { model: MODEL, id: /^msg_01\w{22}$/ });
  });

  it('counts tokens and lists models', async () => {
    const { model, messages } = ask(MODEL, 'Hello');
    const { input_tokens: tokens } = await client().messages.countTokens({ model, messages });
    expect(tokens).toBeGreaterThan(0);
    expect((await client().models.retrieve(MODEL)).id).toBe(MODEL);
  });

  it.each([
    [
      'another region',
      { awsRegion: 'eu-west-1' },
      { message: 'Credential should be scoped to a valid region.' },
    ],
    [
      'a wrong secret',
      { awsSecretAccessKey: 'wrong' },
      { message: expect.stringMatching(/^The request signature we calculated does not match/) },
    ],
    [
      'a wrong key',
      { ...KEYED, apiKey: 'wrong' },
      { Message: 'Authentication failed: Please make sure your API Key is valid.' },
    ],
  ])('is refused with %s', async (_name, options, body) => {
    const refusal = await refusalOf(client(options).messages.create(ask(MODEL, 'Hello')));
    expect(refusal).toMatchObject({ status: 403, body });
  });

  it('is refused if its clock is behind', async () => {
    now = () => Date.now() + 10 * 60_000;
    const refusal = await refusalOf(client().messages.create(ask(MODEL, 'Hello')));
    expect(refusal).toMatchObject({
      status: 403,
      body: { message: expect.stringMatching(/^Signature expired/) },
    });
  });

  it.each([['another workspace', { workspaceId: 'wrkspc_01other' }, 404, 'not_found_error']])(
    'is refused for %s',
    async (_name, options, status, type) => {
      const refusal = await refusalOf(client(options).messages.create(ask(MODEL, 'Hello')));
      expect(refusal).toMatchObject({ status, body: { error: { type } } });
    },
  );

  it('must name a workspace', async () => {
    const response = await fetch(`${simulator.url}/v1/messages`, {
      method: 'POST',
      headers: { authorization: 'Bearer workspace-key', 'anthropic-version': '2023-06-01' },
      body: JSON.stringify(ask(MODEL, 'Hello')),
    });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({
      error: { message: 'anthropic-workspace-id: header is required' },
    });
  });

  it('gets the API’s own errors: quota, access, and a prompt that is too long', async () => {
    simulator.script({ error: { type: 'rate_limit_error' } });
    const limited = await refusalOf(client().messages.create(ask(MODEL, 'Hello')));
    expect(limited).toMatchObject({ status: 429, body: { error: { type: 'rate_limit_error' } } });
    expect(limited.header('retry-after')).toBe('30');
    const denied = await refusalOf(client().messages.create(ask('claude-mythos-5', 'Hello')));
    expect(denied).toMatchObject({
      status: 404,
      body: { error: { message: 'model: claude-mythos-5' } },
    });
    const long = await refusalOf(client().messages.create(ask('claude-haiku-4-5', TOO_LONG)));
    expect(long).toMatchObject({
      status: 400,
      body: { error: { message: expect.stringMatching(/^prompt is too long/) } },
    });
  });
});
