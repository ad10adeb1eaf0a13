/**
 * Claude in Microsoft Foundry: the API below `/anthropic` of a resource, with the names of
 * deployments as models, by key or by a token of Microsoft Entra.
 *
 * https://platform.claude.com/docs/en/build-with-claude/claude-in-microsoft-foundry
 */

import { apiVersionOf, parseRequest } from '../../client-request.js';
import type { JsonObject } from '../../message/message.js';
import { sendError } from '../../message/responses.js';
import type { Wire, WrittenError } from '../../message/wire.js';
import { NATIVE_WIRE } from '../../message/wire.js';
import { KNOWN_MODELS } from '../../models/known-models.js';
import { idOf } from '../../reply.js';
import { serveCount, serveMessage } from '../../serve-message.js';
import { startSimulation } from '../../simulation.js';
import type { Incoming, Place, Simulation, UpstreamSimulator } from '../../simulation.js';
import { bearerOf, promptTooLong, sendRefusal, uuidOf } from '../shared/cloud-answers.js';
import type { CloudKey, CloudOptions } from '../shared/cloud-options.js';
import { createTokens } from '../shared/token-endpoint.js';
import type { Tokens } from '../shared/token-endpoint.js';
import { startEntraTokens } from './entra-tokens.js';
import type { EntraIdentities } from './entra-tokens.js';

export interface FoundryOptions
  extends Omit<CloudOptions, 'deniedModels'>, Omit<EntraIdentities, 'now'> {
  readonly keys?: readonly CloudKey[];
  /** The API's model of each deployment. Default: one of each model, with its id as its name. */
  readonly deployments?: Readonly<Record<string, string>>;
  /** Applications that may get tokens, but have no role that may call models. */
  readonly withoutRole?: readonly string[];
}

export interface FoundrySimulator extends UpstreamSimulator {
  /** With the path: what SDKs take as their base URL. */
  readonly baseUrl: string;
  /** In place of `https://login.microsoftonline.com`. */
  readonly authorityUrl: string;
  /** An access token that no client had to ask for. */
  issueToken(expiresAtMs?: number): string;
}

const MESSAGES = '/anthropic/v1/messages';
const DEPLOYMENTS = Object.fromEntries(KNOWN_MODELS.map(({ id }) => [id, id]));

const FOUNDRY_WIRE: Wire = {
  ...NATIVE_WIRE,
  headers: {},
  error(error, requestId, status) {
    const written = NATIVE_WIRE.error(error, requestId, status);
    return error.type === 'rate_limit_error' ? rateLimited(error.message, written) : written;
  },
};

export async function startFoundrySimulator(
  options: FoundryOptions = {},
): Promise<FoundrySimulator> {
  const tokens = createTokens('eyJ0eXAi.');
  const endpoint = await startEntraTokens(tokens, options);
  const place: Place = {
    wire: FOUNDRY_WIRE,
    requestIdHeader: 'request-id',
    requestId: (count, url) => idOf('req', 'foundry', String(count), url),
    refuseLarge(to) {
      sendError(to, { type: 'request_too_large', message: 'Request exceeds the maximum size' });
    },
    serve: (simulation, incoming) => serve(simulation, incoming, { tokens, options }),
  };
  const simulator = await startSimulation(place, options);
  return {
    ...simulator,
    baseUrl: `${simulator.url}/anthropic`,
    authorityUrl: endpoint.url,
    issueToken: (expiresAtMs = Infinity) => tokens.issue({ subject: 'issued', expiresAtMs }),
    async close() {
      await Promise.all([simulator.close(), endpoint.close()]);
    },
  };
}

interface Foundry {
  readonly tokens: Tokens;
  readonly options: FoundryOptions;
}

async function serve(simulation: Simulation, incoming: Incoming, foundry: Foundry): Promise<void> {
  const { req, res, requestId, body, pathname } = incoming;
  res.setHeader('apim-request-id', uuidOf(requestId));
  const problem = credentialProblem(incoming, foundry);
  if (problem !== undefined) {
    sendRefusal(incoming, problem);
    return;
  }
  const isMessage = pathname === MESSAGES;
  if (req.method !== 'POST' || (!isMessage && pathname !== `${MESSAGES}/count_tokens`)) {
    const message = 'Requested API is currently not supported';
    sendRefusal(incoming, azureError(404, 'api_not_supported', message));
    return;
  }
  const given = parseRequest(body);
  const { deployments = DEPLOYMENTS } = foundry.options;
  const request = given === undefined ? undefined : deployed(given, deployments);
  if (request === null) {
    sendRefusal(incoming, NOT_DEPLOYED);
    return;
  }
  const asked = { ...incoming, request, api: apiVersionOf(req) };
  const tooLong = promptTooLong(request, body.length);
  if (!isMessage) serveCount(simulation, asked);
  else if (tooLong === undefined) await serveMessage(simulation, asked);
  else sendError(incoming, { type: 'invalid_request_error', message: tooLong });
}

/** @returns `null` if there is no such deployment */
function deployed(
  request: JsonObject,
  deployments: Readonly<Record<string, string>>,
): JsonObject | null {
  const { model } = request;
  if (typeof model !== 'string') return request;
  return Object.hasOwn(deployments, model) ? { ...request, model: deployments[model] } : null;
}

function credentialProblem(
  { req }: Incoming,
  { tokens, options: { keys = [], withoutRole = [], now = Date.now } }: Foundry,
): WrittenError | undefined {
  const key = req.headers['x-api-key'] ?? req.headers['api-key'];
  if (key !== undefined) {
    const found = keys.find((each) => each.key === key);
    return found !== undefined && (found.expiresAtMs ?? Infinity) > now() ? undefined : WRONG_KEY;
  }
  const token = tokens.find(bearerOf(req));
  if (token === undefined || token.expiresAtMs <= now()) return WRONG_TOKEN;
  return withoutRole.includes(token.subject) ? WITHOUT_ROLE : undefined;
}

function azureError(status: number, code: string, message: string): WrittenError {
  return { status, headers: {}, body: { error: { code, message } } };
}

const WRONG_KEY = azureError(
  401,
  '401',
  'Access denied due to invalid subscription key or wrong API endpoint. Make sure to provide a valid key for an active subscription and use a correct regional API endpoint for your resource.',
);
/** In a shape of its own. */
const WRONG_TOKEN: WrittenError = {
  status: 401,
  headers: {},
  body: {
    statusCode: 401,
    message:
      'Unauthorized. Access token is missing, invalid, audience is incorrect (https://cognitiveservices.azure.com), or have expired.',
  },
};
const WITHOUT_ROLE = azureError(
  401,
  'PermissionDenied',
  'Principal does not have access to API/Operation.',
);
const NOT_DEPLOYED = azureError(
  404,
  'DeploymentNotFound',
  'The API deployment for this resource does not exist. If you created the deployment within the last 5 minutes, please wait a moment and try again.',
);

const RETRY_AFTER_SECONDS = 60;

/** The resource's own limit, which is not the API's. */
function rateLimited(
  message = `Rate limit of 40000 per 60s exceeded for UserByModelByMinuteTokens. Please wait ${String(RETRY_AFTER_SECONDS)} seconds before retrying.`,
  { status }: WrittenError,
): WrittenError {
  const { body } = azureError(status, 'RateLimitReached', message);
  const seconds = String(RETRY_AFTER_SECONDS);
  return {
    status,
    headers: {
      'content-type': 'application/json',
      'retry-after': seconds,
      'x-ratelimit-reset-tokens': seconds,
    },
    body,
  };
}
