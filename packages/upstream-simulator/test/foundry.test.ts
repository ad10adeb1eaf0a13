import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import AnthropicFoundry from '@anthropic-ai/foundry-sdk';
import { startFoundrySimulator } from '../src/clouds/index.js';
import type { FoundrySimulator } from '../src/clouds/index.js';
import {
  TOO_LONG,
  ask,
  expectNativeAnswers,
  keyPair,
  refusalOf,
  signedToken,
} from './cloud-requests.js';

const DEPLOYMENT = 'our-opus';
const SCOPE = 'https://cognitiveservices.azure.com/.default';
const ISSUER = 'https://cluster.example.org';
const cluster = keyPair();

let simulator: FoundrySimulator;
beforeAll(async () => {
  simulator = await startFoundrySimulator({
    keys: [{ key: 'foundry-key' }],
    deployments: { [DEPLOYMENT]: 'claude-opus-4-7', 'our-haiku': 'claude-haiku-4-5' },
    applications: [
      {
        clientId: 'app',
        secret: 'secret',
        federated: { issuer: ISSUER, subject: 'pod', publicKey: cluster.publicKey },
      },
      { clientId: 'without-role', secret: 'secret' },
    ],
    withoutRole: ['without-role'],
  });
});
afterAll(() => simulator.close());
beforeEach(() => {
  simulator.reset();
});

const client = (options: object = { apiKey: 'foundry-key' }) =>
  new AnthropicFoundry({ baseURL: simulator.baseUrl, maxRetries: 0, ...options });

/** Asks for a token as Microsoft's libraries do. */
async function tokenFor(
  form: Record<string, string>,
  tenant = 'simulated-tenant',
): Promise<string> {
  const response = await fetch(`${simulator.authorityUrl}/${tenant}/oauth2/v2.0/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: 'app',
      scope: SCOPE,
      ...form,
    }),
  });
  const body = (await response.json()) as Record<string, string>;
  if (response.ok) return body['access_token']!;
  throw new Error(`${String(response.status)} ${body['error']!}: ${body['error_description']!}`);
}

const asserted = (claims: object, key = cluster.privateKey) => ({
  client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
  client_assertion: signedToken(
    { iss: ISSUER, sub: 'pod', aud: 'api://AzureADTokenExchange', ...claims },
    key,
  ),
});

describe('@anthropic-ai/foundry-sdk', () => {
  it('gets what Anthropic’s own API answers, by key', async () => {
    const ids = { model: 'claude-opus-4-7', id: /^msg_01\w{22}$/ };
    await expectNativeAnswers(client(), DEPLOYMENT, ids);
  });

  it.each([
    ['a secret', () => ({ client_secret: 'secret' })],
    ['the token of a workload', () => asserted({})],
  ])('gets a token with %s', async (_name, form: () => Record<string, string>) => {
    const entra = client({ azureADTokenProvider: () => tokenFor(form()) });
    const message = await entra.messages.create(ask(DEPLOYMENT, 'Hello'));
    expect(message.model).toBe('claude-opus-4-7');
  });

  it.each([
    ['a wrong secret', { client_secret: 'wrong' }, '401 invalid_client: AADSTS7000215'],
    [
      'another application',
      { client_id: 'x', client_secret: 'secret' },
      '400 unauthorized_client: AADSTS700016',
    ],
    [
      'another scope',
      { client_secret: 'secret', scope: 'x' },
      '400 invalid_resource: AADSTS500011',
    ],
    ['an expired workload token', asserted({ exp: 1 }), '401 invalid_client: AADSTS700024'],
    ['another workload', asserted({ sub: 'x' }), '401 invalid_client: AADSTS700213'],
    [
      'a workload token of another key',
      asserted({}, keyPair().privateKey),
      '401 invalid_client: AADSTS700027',
    ],
  ])('gets no token with %s', async (_name, form, message) => {
    const entra = client({ azureADTokenProvider: () => tokenFor(form) });
    await expect(entra.messages.create(ask(DEPLOYMENT, 'Hello'))).rejects.toThrow(message);
  });

  it('gets no token from another tenant', async () => {
    await expect(tokenFor({ client_secret: 'secret' }, 'other')).rejects.toThrow('AADSTS90002');
  });

  it.each([
    ['an expired token', () => Promise.resolve(simulator.issueToken(1)), { statusCode: 401 }],
    ['an unknown token', () => Promise.resolve('eyJ0eXAi.x'), { statusCode: 401 }],
    [
      'an application without the role',
      () => tokenFor({ client_id: 'without-role', client_secret: 'secret' }),
      { error: { code: 'PermissionDenied' } },
    ],
  ])('is refused with %s', async (_name, azureADTokenProvider, body) => {
    const entra = client({ azureADTokenProvider });
    const refusal = await refusalOf(entra.messages.create(ask(DEPLOYMENT, 'Hello')));
    expect(refusal).toMatchObject({ status: 401, body });
  });

  it('is refused with a wrong key, and a model that is not deployed', async () => {
    const wrong = await refusalOf(
      client({ apiKey: 'wrong' }).messages.create(ask(DEPLOYMENT, 'Hi')),
    );
    expect(wrong).toMatchObject({
      status: 401,
      body: { error: { code: '401', message: expect.stringMatching(/^Access denied due to/) } },
    });
    const missing = await refusalOf(client().messages.create(ask('claude-opus-4-7', 'Hello')));
    expect(missing).toMatchObject({ status: 404, body: { error: { code: 'DeploymentNotFound' } } });
  });

  it('is told of the limit of the resource, and how long to wait', async () => {
    simulator.script({ error: { type: 'rate_limit_error' } });
    const refusal = await refusalOf(client().messages.create(ask(DEPLOYMENT, 'Hello')));
    expect(refusal).toMatchObject({ status: 429, body: { error: { code: 'RateLimitReached' } } });
    expect(refusal.header('retry-after')).toBe('60');
  });

  it('gets the API’s own refusals, and counts tokens', async () => {
    expect(await refusalOf(client().messages.create(ask('our-haiku', TOO_LONG)))).toMatchObject({
      status: 400,
      body: { error: { message: expect.stringMatching(/^prompt is too long/) } },
    });
    const { messages } = ask(DEPLOYMENT, 'Hello');
    const counted = await client().messages.countTokens({ model: DEPLOYMENT, messages });
    expect(counted.input_tokens).toBeGreaterThan(0);
  });

  it('has no other part of the API', async () => {
    const response = await fetch(`${simulator.baseUrl}/v1/models`, {
      headers: { 'api-key': 'foundry-key' },
    });
    expect(response.status).toBe(404);
    expect(await response.json()).toMatchObject({ error: { code: 'api_not_supported' } });
  });
});
