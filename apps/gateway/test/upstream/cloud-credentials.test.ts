/** Credentials that clouds refuse or do not give, and those that are renewed. */

import { X509Certificate, verify } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { IncomingMessage, Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { fetch } from 'undici';
import { startFoundrySimulator, startVertexSimulator } from '@gateway/upstream-simulator/clouds';
import {
  keyPair,
  signedToken,
} from '../../../../packages/upstream-simulator/test/cloud-requests.js';
import { readUpstreams } from '../../src/config/upstreams-file.js';
import { loadAwsIdentity } from '../../src/upstream/homes/credentials/aws-identity.js';
import { loadEntraToken } from '../../src/upstream/homes/credentials/entra-token.js';
import { loadGoogleToken } from '../../src/upstream/homes/credentials/google-token.js';
import { checkCredentials, listUpstreamModels } from '../../src/upstream/list-models.js';
import {
  DENIED,
  OPUS,
  REGION,
  startAwsPlatform,
  startFoundry,
  startInvoke,
  startVertex,
  writeAwsFiles,
} from '../support/clouds.js';
import { makeCertificate } from '../support/certificate.js';
import type { Cloud } from '../support/clouds.js';
import { POSTS, startTestGateway, userMessage } from '../support/gateway.js';
import type { TestGateway } from '../support/gateway.js';
import { until } from '../support/until.js';

/** What names accounts, tenants and credentials in these tests. */
const SECRETS = /AKIA|simulated-tenant|the-secret|gserviceaccount|simulated-project|arn:|\bapp\b/;

let folder: string;
let file: string;
let gateway: TestGateway;
let apiKey: string;
let before: NodeJS.ProcessEnv;
let rate = 1_000_000;

beforeAll(async () => {
  before = { ...process.env };
  folder = mkdtempSync(join(tmpdir(), 'gateway-credentials-'));
  file = join(folder, 'upstreams.json');
  Object.assign(process.env, writeAwsFiles(folder), { UPSTREAMS: file });
  writeEntries({ url: 'http://127.0.0.1:1', api_key: 'none' });
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

function writeEntries(...entries: readonly object[]): void {
  const accounts = entries.map((entry, at) => ({
    name: `home-${String(at)}`,
    requests_per_minute: (rate += 1),
    ...entry,
  }));
  writeFileSync(file, JSON.stringify({ accounts }));
}

async function use(...entries: readonly object[]): Promise<void> {
  writeEntries(...entries);
  await gateway.running.reload();
}

async function post(body: object = {}) {
  const answer = await POSTS.messages(gateway, apiKey, userMessage('x', { model: OPUS, ...body }));
  return { status: answer.status, text: await answer.text() };
}

const REFUSED = "the upstream refused the gateway's own credential; your key is fine";

/** The client's error, and what `check-config` says, neither with a name of the operator's. */
async function problemsOf(entry: object) {
  await use(entry);
  const refused = await post();
  const [check] = await checkCredentials(readUpstreams(file), {});
  expect(JSON.stringify([refused, check])).not.toMatch(SECRETS);
  expect([refused.status, refused.text]).toEqual([502, expect.stringContaining(REFUSED)]);
  return check;
}

describe('AWS', () => {
  let invoke: Cloud;
  let platform: Cloud;
  beforeAll(async () => {
    [invoke, platform] = await Promise.all([startInvoke(), startAwsPlatform()]);
  });
  afterAll(() => Promise.all([invoke.simulator.close(), platform.simulator.close()]));
  beforeEach(() => {
    invoke.clock.skewMs = 0;
  });
  const withCredential = (entry: Cloud['entry'], change: object) => ({
    ...entry,
    credential: { ...(entry['credential'] as object), ...change },
  });

  it.each([
    ['a wrong region', { region: 'us-east-1' }],
    ['a wrong service', { service: 'bedrock-mantle' }],
  ])('%s is a refused credential', async (_what, change) => {
    expect(await problemsOf(withCredential(invoke.entry, change))).toMatchObject({
      outcome: 'refused',
      reason: 'it answered with status 403',
    });
  });

  it.each([600_000, -600_000])('a clock that is off by %i ms is one too', async (skewMs) => {
    invoke.clock.skewMs = skewMs;
    expect(await problemsOf(invoke.entry)).toMatchObject({ outcome: 'refused' });
  });

  it('an identity that is not found is named to the operator', async () => {
    const check = await problemsOf(withCredential(platform.entry, { profile: 'absent' }));
    expect(check).toMatchObject({
      outcome: 'refused',
      reason: expect.stringMatching(/^there is no credential: AWS: Could not load credentials/),
    });
  });

  it('an identity comes from the environment, and from the web identity of a workload', async () => {
    const kept = { ...process.env };
    const sts = await startServer((form) => {
      expect(Object.fromEntries(form)).toMatchObject({
        Action: 'AssumeRoleWithWebIdentity',
        RoleArn: 'arn:aws:iam::123456789012:role/gateway',
        WebIdentityToken: 'workload-token',
      });
      return [
        200,
        '<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult><Credentials>' +
          '<AccessKeyId>ASIAWEB</AccessKeyId><SecretAccessKey>s</SecretAccessKey>' +
          '<SessionToken>t</SessionToken><Expiration>2100-01-01T00:00:00Z</Expiration>' +
          '</Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>',
      ];
    });
    try {
      Object.assign(process.env, { AWS_ACCESS_KEY_ID: 'AKIAENV', AWS_SECRET_ACCESS_KEY: 'e' });
      expect(await loadAwsIdentity({ region: REGION }, {})).toEqual({
        token: { accessKeyId: 'AKIAENV', secretAccessKey: 'e' },
        expiresAtMs: undefined,
      });
      delete process.env['AWS_ACCESS_KEY_ID'];
      const tokenFile = join(folder, 'web-identity');
      writeFileSync(tokenFile, 'workload-token');
      Object.assign(process.env, {
        AWS_WEB_IDENTITY_TOKEN_FILE: tokenFile,
        AWS_ROLE_ARN: 'arn:aws:iam::123456789012:role/gateway',
        AWS_ENDPOINT_URL_STS: sts.url,
      });
      expect(await loadAwsIdentity({ region: REGION }, {})).toEqual({
        token: { accessKeyId: 'ASIAWEB', secretAccessKey: 's', sessionToken: 't' },
        expiresAtMs: Date.parse('2100-01-01'),
      });
    } finally {
      sts.server.close();
      process.env = kept;
    }
  });
});

async function startServer(
  answer: (form: URLSearchParams, req: IncomingMessage) => readonly [number, string],
): Promise<{ readonly server: Server; readonly url: string }> {
  const server = createServer((req, res) => {
    void text(req).then((body) => {
      const [status, written] = answer(new URLSearchParams(body), req);
      res.writeHead(status).end(written);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { server, url: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}` };
}

describe.each([
  ['Vertex AI', startVertex],
  ['Foundry', startFoundry],
] as const)('the token of %s', (_name, start) => {
  let cloud: Cloud;
  beforeAll(async () => {
    cloud = await start(folder);
  });
  afterAll(() => cloud.simulator.close());
  beforeEach(() => {
    cloud.clock.skewMs = 0;
  });

  it('that the cloud refuses is renewed once, and the request sent once more', async () => {
    await use(cloud.entry);
    expect((await post()).status).toBe(200);
    const real = Date.now;
    try {
      // A minute later a token is no longer new, so its age may be why it is refused.
      Date.now = () => real() + 60_000;
      // By the cloud's clock, the tokens that it has issued so far have expired.
      cloud.clock.skewMs = 3_600_000;
      cloud.simulator.reset();
      const { status } = await post();
      const sent = cloud.simulator.journal.requests().length;
      expect([status, sent]).toEqual([200, 2]);
    } finally {
      Date.now = real;
    }
  });

  it('that cannot be had moves the request to another home, before anything is sent', async () => {
    const broken = { ...cloud.entry, credential: { kind: 'google', file: join(folder, 'absent') } };
    const other = await startAwsPlatform();
    await use({ ...broken, api: undefined, lacks: ['models'] }, other.entry);
    expect((await post()).status).toBe(200);
    expect((await post()).status).toBe(200);
    await other.simulator.close();
  });
});

describe('Google', () => {
  const account = keyPair();
  const EMAIL = 'gateway@simulated-project.iam.gserviceaccount.com';

  it('gives a token to a service account', async () => {
    const simulator = await startVertexSimulator({
      serviceAccounts: [{ email: EMAIL, publicKey: account.publicKey }],
    });
    const source = join(folder, 'service-account.json');
    writeFileSync(
      source,
      JSON.stringify({
        type: 'service_account',
        client_email: EMAIL,
        private_key: account.privateKey,
        project_id: 'simulated-project',
      }),
    );
    // The library has the address for service accounts built in.
    const send = ((url: string, init: RequestInit) =>
      fetch(
        url === 'https://oauth2.googleapis.com/token' ? simulator.tokenUrl : url,
        init as never,
      )) as unknown as typeof fetch;
    const { token, expiresAtMs } = await loadGoogleToken({ file: source }, {}, send);
    expect(token).toMatch(/^ya29\./);
    expect(expiresAtMs! - Date.now()).toBeGreaterThan(3_500_000);
    writeFileSync(
      source,
      JSON.stringify({
        type: 'service_account',
        client_email: 'stranger@x.iam.gserviceaccount.com',
        private_key: account.privateKey,
      }),
    );
    await expect(loadGoogleToken({ file: source }, {}, send)).rejects.toThrow(
      /^there is no credential: Google: (?!.*gserviceaccount).*invalid_grant/,
    );
    await simulator.close();
  });
});

describe('Entra', () => {
  const workload = keyPair();
  let simulator: Awaited<ReturnType<typeof startFoundrySimulator>>;
  const source = (more: object) => ({
    kind: 'entra' as const,
    tenant: 'simulated-tenant',
    client_id: 'app',
    authority: `${simulator.authorityUrl}/`,
    scope: 'https://ai.azure.com/.default',
    ...more,
  });
  beforeAll(async () => {
    simulator = await startFoundrySimulator({
      applications: [
        {
          clientId: 'app',
          secret: 'the-secret',
          federated: { issuer: 'cluster', subject: 'pod', publicKey: workload.publicKey },
        },
      ],
    });
  });
  afterAll(() => simulator.close());

  it('gives a token for the token of a workload, whose file is read each time', async () => {
    const tokenFile = join(folder, 'federated');
    const claims = { iss: 'cluster', sub: 'pod', aud: 'api://AzureADTokenExchange' };
    writeFileSync(tokenFile, signedToken({ ...claims, exp: 1 }, workload.privateKey));
    const load = () => loadEntraToken(source({ token_file: tokenFile }), {});
    await expect(load()).rejects.toThrow(
      'there is no credential: Entra: invalid_client AADSTS700024',
    );
    writeFileSync(tokenFile, signedToken(claims, workload.privateKey));
    const { token, expiresAtMs } = await load();
    expect(token).toMatch(/^eyJ0eXAi\./);
    expect(expiresAtMs! - Date.now()).toBeGreaterThan(3_500_000);
  });

  it('asks with an assertion that the key of the certificate signed', async () => {
    const pem = join(folder, 'certificate.pem');
    const { key, cert } = makeCertificate('rsa');
    writeFileSync(pem, key + cert);
    let assertion = '';
    const { server, url } = await startServer((form) => {
      assertion = String(form.get('client_assertion'));
      return [200, '{"access_token":"t","expires_in":"3599"}'];
    });
    const load = loadEntraToken(source({ certificate_file: pem, authority: url }), {});
    expect((await load).token).toBe('t');
    const [header, claims] = assertion
      .split('.', 2)
      .map((part) => JSON.parse(Buffer.from(part, 'base64url').toString()) as object);
    expect([header, claims]).toMatchObject([
      { alg: 'RS256', 'x5t#S256': expect.stringMatching(/^[\w-]{43}$/) },
      { iss: 'app', sub: 'app', aud: `${url}/simulated-tenant/oauth2/v2.0/token` },
    ]);
    const [signed, signature] = assertion.split(/\.(?=[^.]*$)/);
    const { publicKey } = new X509Certificate(cert);
    const bytes = Buffer.from(signature ?? '', 'base64url');
    expect(verify('RSA-SHA256', Buffer.from(signed ?? ''), publicKey, bytes)).toBe(true);
    server.close();
  });

  it('is asked through the machine if no application is named', async () => {
    let asked = '';
    const { server, url } = await startServer((_form, req) => {
      asked = `${String(req.url)} ${String(req.headers['x-identity-header'])}`;
      return [200, '{"access_token":"machine","expires_in":"86400"}'];
    });
    const env = { IDENTITY_ENDPOINT: `${url}/msi`, IDENTITY_HEADER: 'header' };
    const { token } = await loadEntraToken(
      source({ tenant: undefined, client_id: undefined }),
      {},
      env,
    );
    expect([token, asked]).toEqual([
      'machine',
      '/msi?api-version=2019-08-01&resource=https%3A%2F%2Fai.azure.com header',
    ]);
    server.close();
  });

  it('a wrong secret is named to the operator by its code, and to nobody else', async () => {
    const foundry = await startFoundry(folder);
    const wrong = join(folder, 'wrong');
    writeFileSync(wrong, 'wrong');
    const entry = foundry.entry as { credential: object };
    const check = await problemsOf({
      ...entry,
      credential: { ...entry.credential, client_secret_file: wrong },
    });
    expect(check).toMatchObject({
      outcome: 'refused',
      reason: 'there is no credential: Entra: invalid_client AADSTS7000215',
    });
    const listed = await listUpstreamModels(readUpstreams(file), {});
    // Its list is configured, so it needs no credential.
    expect(listed).toMatchObject({ outcome: 'listed' });
    await foundry.simulator.close();
  });
});

it('only models that a home serves are listed to customers', async () => {
  const cloud = await startInvoke();
  await use(cloud.entry);
  await until(() => cloud.simulator.journal.requests().length > 0);
  const headers = { 'x-api-key': apiKey };
  const list = (await (await fetch(`${gateway.url}/v1/models`, { headers })).json()) as {
    data: readonly { id: string }[];
  };
  expect(list.data.map(({ id }) => id).sort()).toEqual(
    Object.keys(cloud.entry['models'] as object).sort(),
  );
  const one = (id: string) => fetch(`${gateway.url}/v1/models/${id}`, { headers });
  expect((await one(DENIED)).status).toBe(200);
  expect((await one('claude-opus-5')).status).toBe(404);
  await cloud.simulator.close();
});
