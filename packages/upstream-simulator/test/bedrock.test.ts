import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import AnthropicBedrock, { AnthropicBedrockMantle } from '@anthropic-ai/bedrock-sdk';
import {
  BedrockRuntimeClient,
  InvokeModelCommand,
  InvokeModelWithResponseStreamCommand,
} from '@aws-sdk/client-bedrock-runtime';
import { NodeHttpHandler } from '@smithy/node-http-handler';
import { startBedrockSimulator } from '../src/clouds/index.js';
import type { UpstreamSimulator } from '../src/index.js';
import { TOO_LONG, ask, expectNativeAnswers, refusalOf } from './cloud-requests.js';

const REGION = 'eu-central-1';
/** Of a model that takes the API's own version, which the SDK sends. */
const MODEL = 'eu.anthropic.claude-opus-4-7';
/** Of a model that takes Bedrock's version alone. */
const VERSIONED = 'eu.anthropic.claude-haiku-4-5-20251001-v1:0';
const BEDROCK_VERSION = { 'anthropic-version': 'bedrock-2023-05-31' };
const PERMANENT = { accessKeyId: 'AKIAPERMANENT', secretAccessKey: 'secret' };
const TEMPORARY = {
  accessKeyId: 'ASIATEMPORARY',
  secretAccessKey: 'other',
  sessionToken: 'session',
};
const PROFILE = 'arn:aws:bedrock:eu-central-1:123456789012:application-inference-profile/abc';
const VALIDATION = 'ValidationException:http://internal.amazon.com/coral/com.amazon.bedrock/';

let simulator: UpstreamSimulator;
let now: () => number;
beforeAll(async () => {
  simulator = await startBedrockSimulator({
    credentials: [
      PERMANENT,
      TEMPORARY,
      { accessKeyId: 'ASIAEXPIRED', secretAccessKey: 's', sessionToken: 't', expiresAtMs: 1 },
    ],
    keys: [{ key: 'bedrock-key' }, { key: 'old-key', expiresAtMs: 1 }],
    deniedModels: ['claude-mythos-5'],
    applicationProfiles: { [PROFILE]: VERSIONED },
    now: () => now(),
  });
});
afterAll(() => simulator.close());
beforeEach(() => {
  simulator.reset();
  now = Date.now;
});

const headersOf = ({ headers }: RequestInit): [string, string][] => [...new Headers(headers)];

const client = (options: object = {}) =>
  new AnthropicBedrock({
    baseURL: simulator.url,
    awsRegion: REGION,
    awsAccessKey: PERMANENT.accessKeyId,
    awsSecretKey: PERMANENT.secretAccessKey,
    apiKey: null,
    maxRetries: 0,
    ...options,
  });

describe('@anthropic-ai/bedrock-sdk and InvokeModel', () => {
  it('gets the messages, streams and calls of Anthropic’s own API', async () => {
    const ids = { model: 'claude-opus-4-7', id: /^msg_bdrk_01\w{22}$/ };
    await expectNativeAnswers(client(), MODEL, ids);
  });

  it('gets them from a model that takes Bedrock’s version alone', async () => {
    const versioned = client({ defaultHeaders: BEDROCK_VERSION });
    const message = await versioned.messages.create(ask(VERSIONED, 'Hello'));
    expect(message.model).toBe('claude-haiku-4-5-20251001');
    expect(simulator.journal.usages()).toMatchObject([{ messageId: message.id }]);
    const [request] = simulator.journal.requests();
    expect(JSON.parse(String(request!.body))).toEqual({
      max_tokens: 200,
      messages: [{ role: 'user', content: 'Hello' }],
      anthropic_version: 'bedrock-2023-05-31',
    });
    expect(await refusalOf(client().messages.create(ask(VERSIONED, 'Hello')))).toMatchObject({
      status: 400,
      body: { message: "anthropic_version: Input should be 'bedrock-2023-05-31'" },
    });
  });

  it.each([
    [
      'a session token',
      { awsAccessKey: TEMPORARY.accessKeyId, awsSecretKey: 'other', awsSessionToken: 'session' },
    ],
    ['a key', { apiKey: 'bedrock-key', awsAccessKey: null, awsSecretKey: null }],
  ])('is accepted with %s', async (_name, credential) => {
    const message = await client(credential).messages.create(ask(MODEL, 'Hello'));
    expect(message.stop_reason).toBe('end_turn');
  });

  it.each([
    [
      'an unknown access key',
      { awsAccessKey: 'AKIAUNKNOWN' },
      'UnrecognizedClientException',
      'The security token included in the request is invalid.',
    ],
    [
      'a wrong secret',
      { awsSecretKey: 'wrong' },
      'InvalidSignatureException',
      'The request signature we calculated does not match the signature you provided. Check your AWS Secret Access Key and signing method. Consult the service documentation for details.',
    ],
    [
      'another region',
      { awsRegion: 'us-east-1' },
      'InvalidSignatureException',
      'Credential should be scoped to a valid region.',
    ],
    [
      'a session token that is missing',
      { awsAccessKey: TEMPORARY.accessKeyId, awsSecretKey: 'other' },
      'UnrecognizedClientException',
      'The security token included in the request is invalid.',
    ],
    [
      'an expired session token',
      { awsAccessKey: 'ASIAEXPIRED', awsSecretKey: 's', awsSessionToken: 't' },
      'ExpiredTokenException',
      'The security token included in the request is expired',
    ],
  ])('is refused with %s', async (_name, options, name, message) => {
    const refusal = await refusalOf(client(options).messages.create(ask(MODEL, 'Hello')));
    expect(refusal).toMatchObject({ status: 403, body: { message } });
    expect(refusal.header('x-amzn-errortype')).toBe(name);
    expect(refusal.header('x-amzn-requestid')).toMatch(
      /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/,
    );
  });

  it.each([
    [
      'another body',
      (init: RequestInit) => ({ body: (init.body as string).replace('Hello', 'Jello') }),
    ],
    [
      'another hash of its body',
      (init: RequestInit) => ({ headers: [...headersOf(init), ['x-amz-content-sha256', '0']] }),
    ],
    [
      'a header of AWS that is not signed',
      (init: RequestInit) => ({ headers: [...headersOf(init), ['x-amz-other', '0']] }),
    ],
  ])('is refused if it arrives with %s', async (_name, change: (init: RequestInit) => object) => {
    const changed = client({
      fetch: (url: string, init: RequestInit) => fetch(url, { ...init, ...change(init) }),
    });
    expect(await refusalOf(changed.messages.create(ask(MODEL, 'Hello')))).toMatchObject({
      status: 403,
      body: { message: expect.stringMatching(/^The request signature we calculated/) },
    });
  });

  it.each([
    ['behind', 6 * 60_000, /^Signature expired: \w+ is now earlier than \w+ \(\w+ - 5 min\.\)$/],
    [
      'ahead',
      -6 * 60_000,
      /^Signature not yet current: \w+ is still later than \w+ \(\w+ \+ 5 min\.\)$/,
    ],
  ])('is refused if its clock is %s', async (_name, skewMs, message) => {
    now = () => Date.now() + skewMs;
    const refusal = await refusalOf(client().messages.create(ask(MODEL, 'Hello')));
    expect(refusal).toMatchObject({
      status: 403,
      body: { message: expect.stringMatching(message) },
    });
  });

  it.each([
    ['wrong', 'Authentication failed: Please make sure your API Key is valid.'],
    ['old-key', 'Bearer Token has expired'],
  ])('is refused with the key %s', async (apiKey, message) => {
    const keyed = client({ apiKey, awsAccessKey: null, awsSecretKey: null });
    expect(await refusalOf(keyed.messages.create(ask(MODEL, 'Hello')))).toMatchObject({
      status: 403,
      body: { Message: message },
    });
  });

  it.each([
    ['us.anthropic.claude-opus-4-7', 400, 'The provided model identifier is invalid.'],
    ['claude-opus-4-7', 400, 'The provided model identifier is invalid.'],
    [
      'anthropic.claude-opus-4-7',
      400,
      'Invocation of model ID anthropic.claude-opus-4-7 with on-demand throughput isn’t supported. Retry your request with the ID or ARN of an inference profile that contains this model.',
    ],
    [
      'global.anthropic.claude-mythos-5',
      403,
      "You don't have access to the model with the specified model ID.",
    ],
  ])('is refused the model %s', async (model, status, message) => {
    const refusal = await refusalOf(client().messages.create(ask(model, 'Hello')));
    expect(refusal).toMatchObject({ status, body: { message } });
  });

  it('takes the profile of a customer, by its ARN', async () => {
    const versioned = client({ defaultHeaders: BEDROCK_VERSION });
    const message = await versioned.messages.create(ask(PROFILE, 'Hello'));
    expect(message.model).toBe('claude-haiku-4-5-20251001');
  });

  it('is throttled without a time to wait', async () => {
    simulator.script({ error: { type: 'rate_limit_error' } });
    const refusal = await refusalOf(client().messages.create(ask(MODEL, 'Hello')));
    expect(refusal).toMatchObject({
      status: 429,
      body: { message: 'Too many tokens, please wait before trying again.' },
    });
    expect(refusal.header('x-amzn-errortype')).toBe(VALIDATION.replace('Validation', 'Throttling'));
    expect(refusal.header('retry-after')).toBeNull();
  });

  it('is told that a prompt is too long, and of betas that Bedrock does not know', async () => {
    const versioned = client({ defaultHeaders: BEDROCK_VERSION });
    const refusal = await refusalOf(versioned.messages.create(ask(VERSIONED, TOO_LONG)));
    expect(refusal).toMatchObject({
      status: 400,
      body: { message: 'Input is too long for requested model.' },
    });
    expect(refusal.header('x-amzn-errortype')).toBe(VALIDATION);
    const beta = client({ defaultHeaders: { 'anthropic-beta': 'not-a-beta' } });
    expect(await refusalOf(beta.messages.create(ask(MODEL, 'Hello')))).toMatchObject({
      status: 400,
      body: { message: 'invalid beta flag' },
    });
  });

  it.each([
    ['rate_limit_error', 'throttlingException'],
    ['overloaded_error', 'serviceUnavailableException'],
    ['api_error', 'internalServerException'],
    ['billing_error', 'modelStreamErrorException'],
  ] as const)('reads a stream that ends with %s as %s', async (type, name) => {
    simulator.script({ streamError: { afterEvents: 3, type, message: 'Slow down' } });
    const stream = client().messages.stream(ask(MODEL, 'Hello'));
    const refusal = await refusalOf(stream.finalMessage());
    expect(refusal.body).toMatchObject({
      type: 'error',
      error: { type: name, message: 'Slow down' },
    });
  });

  it('reads a stream that arrives byte by byte', async () => {
    simulator.script({ splitBytes: 1 });
    const message = await client().messages.stream(ask(MODEL, 'Hello')).finalMessage();
    expect(message.stop_reason).toBe('end_turn');
  });

  it.each([
    ['is cut within a frame', '\0\0\0\u0030', /^Truncated event message received/],
    ['was changed on its way', `\0\0\0\u0020${'\0'.repeat(28)}`, /^The prelude checksum specified/],
  ])('refuses a stream that %s', async (_name, bytes, message) => {
    simulator.script({ garbage: { afterEvents: 2, bytes }, cut: { afterEvents: 3 } });
    const stream = client().messages.stream(ask(MODEL, 'Hello'));
    await expect(stream.finalMessage()).rejects.toThrow(message);
  });
});

describe('@aws-sdk/client-bedrock-runtime', () => {
  const runtime = (): BedrockRuntimeClient =>
    new BedrockRuntimeClient({
      region: REGION,
      endpoint: simulator.url,
      credentials: TEMPORARY,
      maxAttempts: 1,
      requestHandler: new NodeHttpHandler(),
    });
  const body = (extra: object = {}): string =>
    JSON.stringify({
      anthropic_version: 'bedrock-2023-05-31',
      max_tokens: 100,
      messages: [{ role: 'user', content: 'Hello' }],
      ...extra,
    });

  it('signs what the simulator accepts, and reads messages and streams', async () => {
    const plain = await runtime().send(
      new InvokeModelCommand({ modelId: VERSIONED, body: body() }),
    );
    expect(JSON.parse(new TextDecoder().decode(plain.body))).toMatchObject({ type: 'message' });
    const command = new InvokeModelWithResponseStreamCommand({ modelId: VERSIONED, body: body() });
    const { body: stream } = await runtime().send(command);
    const types: unknown[] = [];
    for await (const { chunk } of stream!) {
      types.push(JSON.parse(new TextDecoder().decode(chunk!.bytes)).type);
    }
    expect([types[0], types.at(-1)]).toEqual(['message_start', 'message_stop']);
  });

  it.each([
    [
      'a member that is in the address',
      { model: 'm' },
      'ValidationException',
      'model: Extra inputs are not permitted',
    ],
    [
      'no version',
      { anthropic_version: undefined },
      'ValidationException',
      'anthropic_version: Field required',
    ],
    [
      'betas that are not a list',
      { anthropic_beta: 'x' },
      'ValidationException',
      'anthropic_beta: Input should be a valid list',
    ],
    [
      'what the API refuses',
      { max_tokens: undefined },
      'ValidationException',
      'max_tokens: Field required',
    ],
  ])('throws the exception of AWS for %s', async (_name, extra, name, message) => {
    const command = new InvokeModelCommand({ modelId: VERSIONED, body: body(extra) });
    await expect(runtime().send(command)).rejects.toMatchObject({ name, message });
  });

  it('throws the exceptions of a stream', async () => {
    simulator.script({
      streamError: { afterEvents: 1, type: 'rate_limit_error', message: 'Later' },
    });
    const command = new InvokeModelWithResponseStreamCommand({ modelId: VERSIONED, body: body() });
    const { body: stream } = await runtime().send(command);
    await expect(
      (async () => {
        for await (const _event of stream!);
      })(),
    ).rejects.toMatchObject({ name: 'ThrottlingException', message: 'Later' });
  });
});

describe('the Messages endpoint of Bedrock', () => {
  let mantle: UpstreamSimulator;
  beforeAll(async () => {
    mantle = await startBedrockSimulator({
      endpoint: 'mantle',
      credentials: [PERMANENT],
      keys: [{ key: 'bedrock-key' }],
      deniedModels: ['claude-mythos-5'],
    });
  });
  afterAll(() => mantle.close());
  const mantleClient = (options: object = {}) =>
    new AnthropicBedrockMantle({
      baseURL: `${mantle.url}/anthropic`,
      awsRegion: REGION,
      awsAccessKey: PERMANENT.accessKeyId,
      awsSecretAccessKey: PERMANENT.secretAccessKey,
      maxRetries: 0,
      ...options,
    });
  const keyed = { apiKey: 'bedrock-key', awsAccessKey: null, awsSecretAccessKey: null };

  it('answers as Anthropic’s own API, by signature and by key', async () => {
    const ids = { model: 'claude-opus-4-7', id: /^msg_bdrk_01\w{22}$/ };
    await expectNativeAnswers(mantleClient(), 'anthropic.claude-opus-4-7', ids);
    const atRuntime = mantleClient({ ...keyed, baseURL: `${simulator.url}/anthropic` });
    await expectNativeAnswers(atRuntime, MODEL, ids);
  });

  it('counts tokens', async () => {
    const { model, messages } = ask('anthropic.claude-opus-4-7', 'Hello');
    expect(await mantleClient().messages.countTokens({ model, messages })).toEqual({
      input_tokens: expect.any(Number),
    });
  });

  it('has the service of its endpoint, and no InvokeModel at the other', async () => {
    const atRuntime = mantleClient({ baseURL: `${simulator.url}/anthropic` });
    expect(await refusalOf(atRuntime.messages.create(ask(MODEL, 'Hello')))).toMatchObject({
      status: 403,
      body: { message: "Credential should be scoped to correct service: 'bedrock'." },
    });
    const invoking = client({ baseURL: mantle.url });
    expect((await refusalOf(invoking.messages.create(ask(MODEL, 'Hello')))).status).toBe(404);
  });

  it.each([
    ['claude-opus-4-7', 404, 'not_found_error'],
    ['us.anthropic.claude-opus-4-7', 404, 'not_found_error'],
    ['anthropic.claude-mythos-5', 403, 'permission_error'],
  ])('refuses the model %s in the API’s shape', async (model, status, type) => {
    const refusal = await refusalOf(mantleClient().messages.create(ask(model, 'Hello')));
    expect(refusal).toMatchObject({ status, body: { type: 'error', error: { type } } });
  });

  it('keeps the API’s words for a prompt that is too long', async () => {
    const asked = ask('anthropic.claude-haiku-4-5', TOO_LONG);
    expect(await refusalOf(mantleClient(keyed).messages.create(asked))).toMatchObject({
      status: 400,
      body: {
        error: {
          message: expect.stringMatching(/^prompt is too long: \d+ tokens > 200000 maximum$/),
        },
      },
    });
  });
});
