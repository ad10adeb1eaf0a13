import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { AnthropicVertex } from '@anthropic-ai/vertex-sdk';
import { IdentityPoolClient, JWT, OAuth2Client } from 'google-auth-library';
import type { AuthClient } from 'google-auth-library';
import { startVertexSimulator } from '../src/clouds/index.js';
import type { VertexSimulator } from '../src/clouds/index.js';
import {
  TOO_LONG,
  ask,
  expectNativeAnswers,
  keyPair,
  refusalOf,
  signedToken,
} from './cloud-requests.js';

const MODEL = 'claude-opus-4-7';
const DATED = 'claude-haiku-4-5@20251001';
const PROJECT = 'simulated-project';
const EMAIL = 'gateway@simulated-project.iam.gserviceaccount.com';
const POOL =
  '//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/pool/providers/cluster';
const ISSUER = 'https://cluster.example.org';
const SCOPES = ['https://www.googleapis.com/auth/cloud-platform'];
const account = keyPair();
const cluster = keyPair();
const stranger = keyPair();

let simulator: VertexSimulator;
beforeAll(async () => {
  simulator = await startVertexSimulator({
    deniedModels: ['claude-mythos-5'],
    serviceAccounts: [{ email: EMAIL, publicKey: account.publicKey }],
    workloadProviders: [{ audience: POOL, issuer: ISSUER, publicKey: cluster.publicKey }],
  });
});
afterAll(() => simulator.close());
beforeEach(() => {
  simulator.reset();
});

function holderOf(token: string): OAuth2Client {
  const client = new OAuth2Client();
  client.setCredentials({ access_token: token });
  return client;
}

const client = (options: object = {}) =>
  new AnthropicVertex({
    baseURL: simulator.baseUrl,
    projectId: PROJECT,
    region: 'europe-west1',
    authClient: holderOf(simulator.issueToken()),
    maxRetries: 0,
    ...options,
  });

/** The library has the address for service accounts built in, and Jest cannot load its `fetch`. */
const transporterOptions = {
  fetchImplementation: (url: string | URL | Request, init?: RequestInit) =>
    (url instanceof Request ? url.url : String(url)) === 'https://oauth2.googleapis.com/token'
      ? fetch(simulator.tokenUrl, init)
      : fetch(url, init),
  retry: false,
};

function serviceAccount(options: { readonly email?: string; readonly key?: string } = {}): JWT {
  const identity = { email: EMAIL, key: account.privateKey, scopes: SCOPES, ...options };
  return new JWT({ ...identity, transporterOptions });
}

function workload(claims: object, key = cluster.privateKey): IdentityPoolClient {
  const token = signedToken({ iss: ISSUER, aud: `https:${POOL}`, sub: 'pod', ...claims }, key);
  const identity = new IdentityPoolClient({
    type: 'external_account',
    audience: POOL,
    subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
    token_url: simulator.exchangeUrl,
    service_account_impersonation_url: simulator.impersonationUrl(EMAIL),
    subject_token_supplier: { getSubjectToken: () => Promise.resolve(token) },
    scopes: SCOPES,
    transporterOptions,
  });
  // It makes a transporter of its own for the exchange.
  Object.assign(Reflect.get(identity, 'stsCredential') as object, {
    transporter: identity.transporter,
  });
  return identity;
}

describe('@anthropic-ai/vertex-sdk', () => {
  it('gets the messages, streams and calls of Anthropic’s own API', async () => {
    await expectNativeAnswers(client(), MODEL, { model: MODEL, id: /^msg_vrtx_01\w{22}$/ });
  });

  it('has the model in the address, and the version in the body', async () => {
    const old = client({ defaultHeaders: { 'anthropic-version': 'vertex-2023-10-16' } });
    const message = await old.messages.create(ask(DATED, 'Hello'));
    expect(message.model).toBe('claude-haiku-4-5-20251001');
    const [request] = simulator.journal.requests();
    expect(request!.path).toBe(
      `/v1/projects/${PROJECT}/locations/europe-west1/publishers/anthropic/models/${DATED}:rawPredict`,
    );
    expect(JSON.parse(String(request!.body))).toEqual({
      max_tokens: 200,
      messages: [{ role: 'user', content: 'Hello' }],
      anthropic_version: 'vertex-2023-10-16',
    });
    expect(request!.headers['authorization']).toBeUndefined();
  });

  it('counts tokens', async () => {
    const { model, messages } = ask(DATED, 'Hello');
    const counted = await client().messages.countTokens({ model, messages });
    expect(counted).toEqual({ input_tokens: expect.any(Number) });
  });

  it.each([
    ['the key of a service account', () => serviceAccount()],
    ['the token of a workload', () => workload({})],
  ])('gets a token with %s', async (_name, authClient: () => AuthClient) => {
    const message = await client({ authClient: authClient() }).messages.create(ask(MODEL, 'Hi'));
    expect(message.stop_reason).toBe('end_turn');
  });

  it.each([
    [
      'another key',
      () => serviceAccount({ key: stranger.privateKey }),
      'invalid_grant: Invalid JWT Signature.',
    ],
    [
      'another account',
      () => serviceAccount({ email: 'other@x.iam.gserviceaccount.com' }),
      'invalid_grant: Invalid grant: account not found',
    ],
    [
      'a workload’s token of another key',
      () => workload({}, stranger.privateKey),
      'Error code invalid_grant: Invalid signature for the given credential.',
    ],
    [
      'a workload’s expired token',
      () => workload({ exp: 1 }),
      'Error code invalid_grant: ID Token is stale to sign-in.',
    ],
    [
      'a workload’s token for something else',
      () => workload({ aud: 'x' }),
      'Error code invalid_grant: The audience in ID Token does not match the expected audience.',
    ],
    [
      'a workload’s token of another issuer',
      () => workload({ iss: 'x' }),
      'Error code invalid_grant: The issuer in ID Token does not match the expected ones.',
    ],
  ])('gets no token with %s', async (_name, authClient: () => AuthClient, message) => {
    const request = client({ authClient: authClient() }).messages.create(ask(MODEL, 'Hello'));
    await expect(request).rejects.toMatchObject({
      message: 'Failed to acquire Google OAuth credentials.',
      cause: expect.objectContaining({ message }),
    });
  });

  it.each([
    ['an expired token', () => simulator.issueToken(1), 'ACCESS_TOKEN_EXPIRED'],
    ['an unknown token', () => 'ya29.unknown', 'ACCESS_TOKEN_TYPE_UNSUPPORTED'],
  ])('is refused with %s', async (_name, token, reason) => {
    const holder = client({ authClient: holderOf(token()) });
    expect(await refusalOf(holder.messages.create(ask(MODEL, 'Hello')))).toMatchObject({
      status: 401,
      body: { error: { code: 401, status: 'UNAUTHENTICATED', details: [{ reason }] } },
    });
  });

  it.each([
    [
      'another project',
      { projectId: 'other' },
      MODEL,
      403,
      'PERMISSION_DENIED',
      /^Permission 'aiplatform\.endpoints\.predict' denied on resource '\/\/aiplatform\.googleapis\.com\/projects\/other\//,
    ],
    [
      'another region',
      { region: 'us-east5' },
      MODEL,
      404,
      'NOT_FOUND',
      /^Publisher Model `projects\/simulated-project\/locations\/us-east5\//,
    ],
    [
      'an unknown model',
      {},
      'claude-haiku-4-5',
      404,
      'NOT_FOUND',
      /was not found or your project does not have access to it/,
    ],
    [
      'a model without access',
      {},
      'claude-mythos-5',
      400,
      'FAILED_PRECONDITION',
      /^Project `simulated-project` is not allowed to use Publisher Model/,
    ],
  ])('is refused for %s', async (_name, options, model, code, status, message) => {
    const refused = { code, status, message: expect.stringMatching(message) };
    const plain = await refusalOf(client(options).messages.create(ask(model, 'Hello')));
    expect(plain).toMatchObject({ status: code, body: { error: refused } });
    const streamed = client(options).messages.create({ ...ask(model, 'Hello'), stream: true });
    expect(await refusalOf(streamed)).toMatchObject({ status: code, body: [{ error: refused }] });
  });

  it('is told of the quota in Google’s shape, without a time to wait', async () => {
    simulator.script({ error: { type: 'rate_limit_error' } });
    const refusal = await refusalOf(client().messages.create(ask(MODEL, 'Hello')));
    expect(refusal).toMatchObject({
      status: 429,
      body: { error: { code: 429, status: 'RESOURCE_EXHAUSTED' } },
    });
    expect(refusal.header('retry-after')).toBeNull();
  });

  it('gets the API’s own refusals: of a prompt that is too long, of an overload', async () => {
    const old = client({ defaultHeaders: { 'anthropic-version': 'vertex-2023-10-16' } });
    expect(await refusalOf(old.messages.create(ask(DATED, TOO_LONG)))).toMatchObject({
      status: 400,
      body: {
        error: {
          type: 'invalid_request_error',
          message: expect.stringMatching(/^prompt is too long/),
        },
        request_id: expect.stringMatching(/^req_vrtx_01/),
      },
    });
    simulator.script({ error: { type: 'overloaded_error' } });
    expect(await refusalOf(client().messages.create(ask(MODEL, 'Hello')))).toMatchObject({
      status: 529,
      body: { error: { type: 'overloaded_error' } },
    });
    simulator.script({ streamError: { afterEvents: 2, type: 'overloaded_error' } });
    const broken = await refusalOf(client().messages.stream(ask(MODEL, 'Hello')).finalMessage());
    expect(broken.body).toMatchObject({ error: { type: 'overloaded_error' } });
  });
});

describe('a request to Vertex AI', () => {
  const send = (method: string, body: object) =>
    fetch(
      `${simulator.baseUrl}/projects/${PROJECT}/locations/global/publishers/anthropic/models/${MODEL}:${method}`,
      {
        method: 'POST',
        headers: { authorization: `Bearer ${simulator.issueToken()}` },
        body: JSON.stringify({
          anthropic_version: 'vertex-2023-10-16',
          max_tokens: 10,
          messages: [{ role: 'user', content: 'Hello' }],
          ...body,
        }),
      },
    );

  it.each([
    ['rawPredict', {}, 200, ''],
    ['rawPredict', { model: MODEL }, 400, 'model: Extra inputs are not permitted'],
    ['rawPredict', { stream: true }, 400, 'stream: Input should be false for this method'],
    ['streamRawPredict', {}, 400, 'stream: Input should be true for this method'],
    ['rawPredict', { anthropic_version: undefined }, 400, 'anthropic_version: Field required'],
    [
      'rawPredict',
      { anthropic_version: '2023-06-01' },
      400,
      "anthropic_version: Input should be 'vertex-2023-10-16'",
    ],
  ])('by %s with %j gets a %d', async (method, body, status, message) => {
    const response = await send(method, body);
    expect(response.status).toBe(status);
    expect(await response.text()).toContain(message);
  });

  it('needs a credential', async () => {
    const path = `/projects/${PROJECT}/locations/global/publishers/anthropic/models/${MODEL}:rawPredict`;
    const response = await fetch(`${simulator.baseUrl}${path}`, { method: 'POST', body: '{}' });
    expect(response.status).toBe(401);
    expect(await response.json()).toMatchObject({
      error: { details: [{ reason: 'CREDENTIALS_MISSING' }] },
    });
  });
});
