/**
 * Claude models on Vertex AI, managed by Google: rawPredict and streamRawPredict, with the model in
 * the address and the version in the body, and the count of tokens.
 *
 * https://platform.claude.com/docs/en/build-with-claude/claude-models-on-google-cloud/google-managed
 */

import { parseRequest } from '../../client-request.js';
import type { JsonObject } from '../../message/message.js';
import { sendError } from '../../message/responses.js';
import type { WrittenError } from '../../message/wire.js';
import { KNOWN_MODELS } from '../../models/known-models.js';
import { idOf } from '../../reply.js';
import { serveCount, serveMessage } from '../../serve-message.js';
import { startSimulation } from '../../simulation.js';
import type { Incoming, Place, Simulation, UpstreamSimulator } from '../../simulation.js';
import { bearerOf, idWith, promptTooLong, sendRefusal } from '../shared/cloud-answers.js';
import type { CloudOptions } from '../shared/cloud-options.js';
import { createTokens } from '../shared/token-endpoint.js';
import type { Tokens } from '../shared/token-endpoint.js';
import { MISSING_CREDENTIAL, errorInfo, googleError } from './google-error.js';
import { startGoogleTokens } from './google-tokens.js';
import type { GoogleIdentities } from './google-tokens.js';
import { VERTEX_STREAM_WIRE, VERTEX_WIRE, listed } from './vertex-wire.js';

export interface VertexOptions extends CloudOptions, Omit<GoogleIdentities, 'now'> {
  /** Default: `simulated-project`. */
  readonly projectId?: string;
  /** Where the project has models. Default: `europe-west1` and `global`. */
  readonly locations?: readonly string[];
}

export interface VertexSimulator extends UpstreamSimulator {
  /** The base of the addresses, with the version: what SDKs take as their base URL. */
  readonly baseUrl: string;
  /** In place of `https://oauth2.googleapis.com/token`. */
  readonly tokenUrl: string;
  /** In place of `https://sts.googleapis.com/v1/token`. */
  readonly exchangeUrl: string;
  /** In place of `https://iamcredentials.googleapis.com/…:generateAccessToken`. */
  impersonationUrl(email: string): string;
  /** An access token that no client had to ask for. */
  issueToken(expiresAtMs?: number): string;
}

const PREDICT =
  /^\/v1\/projects\/([^/]+)\/locations\/([^/]+)\/publishers\/anthropic\/models\/([^/:]+):(rawPredict|streamRawPredict)$/;
const VERTEX_VERSION = 'vertex-2023-10-16';
const API_VERSION = '2026-10-21';
const COUNT = 'count-tokens';

export async function startVertexSimulator(options: VertexOptions = {}): Promise<VertexSimulator> {
  const tokens = createTokens('ya29.');
  const endpoint = await startGoogleTokens(tokens, options);
  const place: Place = {
    wire: VERTEX_WIRE,
    requestIdHeader: 'request-id',
    requestId: (count, url) => idWith('vrtx', idOf('req', String(count), url)),
    refuseLarge({ res }) {
      res.writeHead(413, { 'content-type': 'text/html; charset=UTF-8' });
      res.end('<!DOCTYPE html><title>Error 413 (Request Entity Too Large)!!1</title>');
    },
    serve: (simulation, incoming) => serve(simulation, incoming, { tokens, options }),
  };
  const simulator = await startSimulation(place, options);
  return {
    ...simulator,
    baseUrl: `${simulator.url}/v1`,
    tokenUrl: `${endpoint.url}/token`,
    exchangeUrl: `${endpoint.url}/v1/token`,
    impersonationUrl: (email) =>
      `${endpoint.url}/v1/projects/-/serviceAccounts/${email}:generateAccessToken`,
    issueToken: (expiresAtMs = Infinity) => tokens.issue({ subject: 'issued', expiresAtMs }),
    async close() {
      await Promise.all([simulator.close(), endpoint.close()]);
    },
  };
}

interface Vertex {
  readonly tokens: Tokens;
  readonly options: VertexOptions;
}

/** What the address of a request says. */
interface Address {
  readonly project: string;
  readonly location: string;
  readonly model: string;
  readonly isStream: boolean;
}

async function serve(simulation: Simulation, incoming: Incoming, vertex: Vertex): Promise<void> {
  const [, project = '', location = '', model = '', method] =
    PREDICT.exec(decoded(incoming.pathname)) ?? [];
  const isStream = method === 'streamRawPredict';
  const refuse = (error: WrittenError): void => {
    sendRefusal(incoming, isStream ? listed(error) : error);
  };
  if (incoming.req.method !== 'POST' || method === undefined) {
    refuse(googleError('NOT_FOUND', 'The requested URL was not found on this server.'));
    return;
  }
  const address = { project, location, model, isStream };
  const problem = credentialProblem(incoming, vertex) ?? addressProblem(address, vertex.options);
  if (problem !== undefined) {
    refuse(problem);
    return;
  }
  const wire = isStream ? VERTEX_STREAM_WIRE : VERTEX_WIRE;
  await predict(simulation, { ...incoming, wire }, address);
}

function decoded(pathname: string): string {
  try {
    return decodeURIComponent(pathname);
  } catch {
    return '';
  }
}

function credentialProblem(
  { req }: Incoming,
  { tokens, options: { now = Date.now } }: Vertex,
): WrittenError | undefined {
  const bearer = bearerOf(req);
  const token = tokens.find(bearer);
  const refused = (reason: string, message?: string): WrittenError =>
    googleError('UNAUTHENTICATED', message, [
      errorInfo(reason, { service: 'aiplatform.googleapis.com' }),
    ]);
  if (bearer === undefined) return refused('CREDENTIALS_MISSING', MISSING_CREDENTIAL);
  if (token === undefined) return refused('ACCESS_TOKEN_TYPE_UNSUPPORTED');
  return token.expiresAtMs > now() ? undefined : refused('ACCESS_TOKEN_EXPIRED');
}

function addressProblem(
  { project, location, model }: Address,
  options: VertexOptions,
): WrittenError | undefined {
  const { projectId = 'simulated-project', deniedModels = [] } = options;
  const { locations = ['europe-west1', 'global'] } = options;
  const name = `projects/${project}/locations/${location}/publishers/anthropic/models/${model}`;
  if (project !== projectId) {
    const permission = 'aiplatform.endpoints.predict';
    const resource = `//aiplatform.googleapis.com/${name}`;
    const message = `Permission '${permission}' denied on resource '${resource}' (or it may not exist).`;
    const info = errorInfo('IAM_PERMISSION_DENIED', { permission, resource });
    return googleError('PERMISSION_DENIED', message, [info]);
  }
  const isHere = locations.includes(location);
  if (model === COUNT && isHere) return undefined;
  const id = apiModel(model);
  if (id === undefined || !isHere) {
    const message = `Publisher Model \`${name}\` was not found or your project does not have access to it. Please ensure you are using a valid model version. For more information, see: https://cloud.google.com/vertex-ai/generative-ai/docs/learn/model-versions`;
    return googleError('NOT_FOUND', message);
  }
  return deniedModels.includes(id)
    ? googleError(
        'FAILED_PRECONDITION',
        `Project \`${project}\` is not allowed to use Publisher Model \`${name}\``,
      )
    : undefined;
}

/** The API's id of a model: Vertex writes `@` before a date. */
function apiModel(model: string): string | undefined {
  const found = KNOWN_MODELS.find(({ id, aliases: [dated] }) =>
    dated === undefined ? model === id : model === dated.replace(/-(\d{8})$/, '@$1'),
  );
  return found?.aliases[0] ?? found?.id;
}

async function predict(
  simulation: Simulation,
  incoming: Incoming,
  { model, isStream }: Address,
): Promise<void> {
  const { req, body } = incoming;
  const given = parseRequest(body);
  const { anthropic_version: version, ...rest } = given ?? {};
  const problem =
    given === undefined
      ? undefined
      : (versionProblem(version) ?? memberProblem(rest, model === COUNT, isStream));
  const id = model === COUNT ? countedModel(rest) : apiModel(model);
  const request = given === undefined ? undefined : { ...rest, model: id };
  const tooLong = model === COUNT ? undefined : promptTooLong(request, body.length);
  const message = problem ?? tooLong;
  const api = {
    version: version === VERTEX_VERSION ? '2023-06-01' : API_VERSION,
    betas: betasOf(req.headers['anthropic-beta']),
  };
  const asked = { ...incoming, request, api };
  if (message !== undefined) sendError(incoming, { type: 'invalid_request_error', message });
  else if (model === COUNT) serveCount(simulation, asked);
  else await serveMessage(simulation, asked);
}

function countedModel({ model }: JsonObject): unknown {
  return typeof model === 'string' ? (apiModel(model) ?? `vertex:${model}`) : model;
}

function versionProblem(version: unknown): string | undefined {
  if (version === undefined) return 'anthropic_version: Field required';
  return version === VERTEX_VERSION || version === API_VERSION
    ? undefined
    : `anthropic_version: Input should be '${VERTEX_VERSION}'`;
}

function memberProblem(
  request: JsonObject,
  isCount: boolean,
  isStream: boolean,
): string | undefined {
  if (!isCount && 'model' in request) return 'model: Extra inputs are not permitted';
  return (request['stream'] === true) === isStream
    ? undefined
    : `stream: Input should be ${String(isStream)} for this method`;
}

function betasOf(header: string | string[] | undefined): readonly string[] {
  return header === undefined ? [] : String(header).split(/\s*,\s*/);
}
