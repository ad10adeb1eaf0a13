/** The simulated clouds, the official SDK of each, and the entry of `UPSTREAMS` for it. */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import AnthropicAws from '@anthropic-ai/aws-sdk';
import AnthropicBedrock, { AnthropicBedrockMantle } from '@anthropic-ai/bedrock-sdk';
import AnthropicFoundry from '@anthropic-ai/foundry-sdk';
import type {
  Message,
  MessageCreateParamsNonStreaming,
  RawMessageStreamEvent,
} from '@anthropic-ai/sdk/resources/messages';
import { AnthropicVertex } from '@anthropic-ai/vertex-sdk';
import { OAuth2Client } from 'google-auth-library';
import {
  startAwsPlatformSimulator,
  startBedrockSimulator,
  startFoundrySimulator,
  startVertexSimulator,
} from '@gateway/upstream-simulator/clouds';
import type { UpstreamSimulator } from '@gateway/upstream-simulator';
import {
  keyPair,
  signedToken,
} from '../../../../packages/upstream-simulator/test/cloud-requests.js';

export const OPUS = 'claude-opus-4-7';
export const HAIKU = 'claude-haiku-4-5';
/** The customer of the cloud has no access to it. */
export const DENIED = 'claude-sonnet-4-6';
export const REGION = 'eu-central-1';

/** The part of the SDKs that these tests use. */
export interface MessagesSdk {
  readonly messages: {
    create(params: MessageCreateParamsNonStreaming, options?: Sending): PromiseLike<Message>;
    create(
      params: Omit<MessageCreateParamsNonStreaming, 'stream'> & { readonly stream: true },
      options?: Sending,
    ): PromiseLike<AsyncIterable<RawMessageStreamEvent>>;
  };
}

export interface Sending {
  readonly headers?: Record<string, string>;
}

export interface Cloud {
  readonly simulator: UpstreamSimulator;
  /** An entry of `UPSTREAMS`, without its name. */
  readonly entry: Readonly<Record<string, unknown>>;
  /** The cloud's name of the model, as its own clients write it. */
  readonly named: (model: string) => string;
  readonly sdk: MessagesSdk;
  readonly provider: string;
  /** With how many requests a gateway asks whether its credential is accepted. */
  readonly checks: number;
  /** By which the simulator finds out whether a credential has expired. */
  readonly clock: { skewMs: number };
}

const PERMANENT = { accessKeyId: 'AKIAPERMANENT', secretAccessKey: 'secret' };
const PROFILE = 'gateway';
const EMAIL = 'gateway@simulated-project.iam.gserviceaccount.com';
const POOL =
  '//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/pool/providers/cluster';
const ISSUER = 'https://cluster.example.org';
const cluster = keyPair();

const options = () => {
  const clock = { skewMs: 0 };
  return { clock, common: { now: () => Date.now() + clock.skewMs, deniedModels: [DENIED] } };
};

/** Writes AWS's shared files, which the environment of this process must name. */
export function writeAwsFiles(folder: string): Readonly<Record<string, string>> {
  const file = join(folder, 'aws-credentials');
  const { accessKeyId, secretAccessKey } = PERMANENT;
  writeFileSync(
    file,
    `[${PROFILE}]\naws_access_key_id = ${accessKeyId}\naws_secret_access_key = ${secretAccessKey}\n`,
  );
  return { AWS_SHARED_CREDENTIALS_FILE: file, AWS_CONFIG_FILE: file };
}

const AWS_KEYS = {
  awsRegion: REGION,
  awsAccessKey: PERMANENT.accessKeyId,
  awsSecretKey: PERMANENT.secretAccessKey,
  apiKey: null,
  maxRetries: 0,
};
const awsCredential = (service: string) => ({
  kind: 'aws',
  region: REGION,
  service,
  profile: PROFILE,
});
const INVOKED: Readonly<Record<string, string>> = {
  [OPUS]: `eu.anthropic.${OPUS}`,
  [HAIKU]: 'eu.anthropic.claude-haiku-4-5-20251001-v1:0',
  [DENIED]: `eu.anthropic.${DENIED}`,
};
const MESSAGES_NAMES: Readonly<Record<string, string>> = Object.fromEntries(
  [OPUS, HAIKU, DENIED].map((id) => [id, `eu.anthropic.${id}`]),
);

export async function startInvoke(): Promise<Cloud> {
  const { clock, common } = options();
  const simulator = await startBedrockSimulator({ ...common, credentials: [PERMANENT] });
  return {
    simulator,
    clock,
    provider: 'aws.bedrock',
    checks: 1,
    named: (model) => INVOKED[model] ?? model,
    sdk: new AnthropicBedrock({ ...AWS_KEYS, baseURL: simulator.url }),
    entry: {
      api: 'invoke',
      url: simulator.url,
      credential: awsCredential('bedrock'),
      models: INVOKED,
    },
  };
}

export async function startBedrockMessages(): Promise<Cloud> {
  const { clock, common } = options();
  const simulator = await startBedrockSimulator({
    ...common,
    endpoint: 'mantle',
    credentials: [PERMANENT],
  });
  const { awsSecretKey: awsSecretAccessKey, ...keys } = AWS_KEYS;
  return {
    simulator,
    clock,
    provider: 'aws.bedrock',
    checks: 3,
    named: (model) => MESSAGES_NAMES[model] ?? model,
    sdk: new AnthropicBedrockMantle({
      ...keys,
      awsSecretAccessKey,
      baseURL: `${simulator.url}/anthropic`,
    }),
    entry: {
      url: `${simulator.url}/anthropic`,
      credential: awsCredential('bedrock-mantle'),
      models: MESSAGES_NAMES,
      lacks: ['models'],
    },
  };
}

export async function startAwsPlatform(): Promise<Cloud> {
  const { clock, common } = options();
  const simulator = await startAwsPlatformSimulator({ ...common, credentials: [PERMANENT] });
  const workspaceId = 'wrkspc_01simulated';
  return {
    simulator,
    clock,
    provider: 'anthropic',
    checks: 1,
    named: (model) => model,
    sdk: new AnthropicAws({
      baseURL: simulator.url,
      workspaceId,
      awsRegion: REGION,
      awsAccessKey: PERMANENT.accessKeyId,
      awsSecretAccessKey: PERMANENT.secretAccessKey,
      maxRetries: 0,
    }),
    entry: {
      url: simulator.url,
      credential: awsCredential('aws-external-anthropic'),
      headers: { 'anthropic-workspace-id': workspaceId },
    },
  };
}

const VERTEX_NAMES: Readonly<Record<string, string>> = {
  [OPUS]: OPUS,
  [HAIKU]: 'claude-haiku-4-5@20251001',
  [DENIED]: DENIED,
};

export async function startVertex(folder: string): Promise<Cloud> {
  const { clock, common } = options();
  const simulator = await startVertexSimulator({
    ...common,
    serviceAccounts: [{ email: EMAIL, publicKey: cluster.publicKey }],
    workloadProviders: [{ audience: POOL, issuer: ISSUER, publicKey: cluster.publicKey }],
  });
  const tokenFile = join(folder, 'workload-token');
  const exp = Math.floor(Date.now() / 1000) + 86_400;
  const claims = { iss: ISSUER, aud: `https:${POOL}`, sub: 'pod', exp };
  writeFileSync(tokenFile, signedToken(claims, cluster.privateKey));
  const file = join(folder, 'workload-identity.json');
  writeFileSync(
    file,
    JSON.stringify({
      type: 'external_account',
      audience: POOL,
      subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
      token_url: simulator.exchangeUrl,
      service_account_impersonation_url: simulator.impersonationUrl(EMAIL),
      credential_source: { file: tokenFile },
    }),
  );
  const authClient = new OAuth2Client();
  authClient.setCredentials({ access_token: simulator.issueToken() });
  return {
    simulator,
    clock,
    provider: 'gcp.vertex_ai',
    checks: 3,
    named: (model) => VERTEX_NAMES[model] ?? model,
    sdk: new AnthropicVertex({
      baseURL: simulator.baseUrl,
      projectId: 'simulated-project',
      region: 'europe-west1',
      authClient,
      maxRetries: 0,
    }),
    entry: {
      api: 'vertex',
      url: `${simulator.baseUrl}/projects/simulated-project/locations/europe-west1`,
      credential: { kind: 'google', file },
      models: VERTEX_NAMES,
    },
  };
}

const DEPLOYMENTS: Readonly<Record<string, string>> = { [OPUS]: 'our-opus', [HAIKU]: 'our-haiku' };

export async function startFoundry(folder: string): Promise<Cloud> {
  const { clock, common } = options();
  const simulator = await startFoundrySimulator({
    now: common.now,
    keys: [{ key: 'foundry-key' }],
    deployments: { 'our-opus': OPUS, 'our-haiku': HAIKU },
    applications: [{ clientId: 'app', secret: 'the-secret' }],
  });
  const secretFile = join(folder, 'entra-secret');
  writeFileSync(secretFile, 'the-secret\n');
  return {
    simulator,
    clock,
    provider: 'azure.ai.inference',
    checks: 3,
    named: (model) => DEPLOYMENTS[model] ?? model,
    sdk: new AnthropicFoundry({
      baseURL: simulator.baseUrl,
      apiKey: 'foundry-key',
      maxRetries: 0,
    }),
    entry: {
      url: simulator.baseUrl,
      credential: {
        kind: 'entra',
        tenant: 'simulated-tenant',
        client_id: 'app',
        client_secret_file: secretFile,
        authority: simulator.authorityUrl,
      },
      models: { ...DEPLOYMENTS, [DENIED]: 'not-deployed' },
      lacks: ['models'],
    },
  };
}

export const CLOUDS = {
  'Bedrock, InvokeModel': startInvoke,
  'Bedrock, Messages': startBedrockMessages,
  'Claude Platform on AWS': startAwsPlatform,
  'Vertex AI': startVertex,
  Foundry: startFoundry,
} as const satisfies Record<string, (folder: string) => Promise<Cloud>>;
