/**
 * Amazon Bedrock: InvokeModel with and without a stream, and the Messages endpoint.
 *
 * https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-anthropic-claude-messages.html
 * https://docs.aws.amazon.com/bedrock/latest/userguide/inference-messages-api.html
 */

import { apiVersionOf, parseRequest } from '../../client-request.js';
import type { JsonObject } from '../../message/message.js';
import { sendError } from '../../message/responses.js';
import { serveCount, serveMessage } from '../../serve-message.js';
import type { Asked } from '../../serve-message.js';
import { startSimulation } from '../../simulation.js';
import type { Incoming, Place, Simulation, UpstreamSimulator } from '../../simulation.js';
import { promptTooLong, sendRefusal, uuidOf } from '../shared/cloud-answers.js';
import type { CloudOptions } from '../shared/cloud-options.js';
import { DEFAULT_REGION, isAdmitted } from './access.js';
import type { AwsAccess } from './access.js';
import { BEDROCK_ERRORS, bedrockError, doorError } from './aws-error.js';
import type { AwsError } from './aws-error.js';
import { bedrockModel, messagesModel } from './bedrock-models.js';
import { INVOKE_WIRE, MESSAGES_WIRE } from './bedrock-wire.js';
import { invokedRequest } from './invoked-request.js';

export interface BedrockOptions extends CloudOptions, AwsAccess {
  /**
   * `runtime`, the default, is `bedrock-runtime`, with InvokeModel and the Messages endpoint.
   * `mantle` is `bedrock-mantle`, with the Messages endpoint alone.
   */
  readonly endpoint?: 'runtime' | 'mantle';
  /** The customer's own profiles: the ARN of each, and the id of the profile that it copies. */
  readonly applicationProfiles?: Readonly<Record<string, string>>;
}

const INVOKE = /^\/model\/([^/]+)\/invoke(-with-response-stream)?$/;
const MESSAGES = '/anthropic/v1/messages';

export function startBedrockSimulator(options: BedrockOptions = {}): Promise<UpstreamSimulator> {
  const place: Place = {
    wire: INVOKE_WIRE,
    requestIdHeader: 'x-amzn-requestid',
    requestId: (count, url) => uuidOf('bedrock', String(count), url),
    refuseLarge(to) {
      sendRefusal(to, bedrockError(BEDROCK_ERRORS.request_too_large));
    },
    serve: (simulation, incoming) => serve(simulation, incoming, options),
  };
  return startSimulation(place, options);
}

async function serve(
  simulation: Simulation,
  incoming: Incoming,
  options: BedrockOptions,
): Promise<void> {
  const { req, pathname } = incoming;
  const isMantle = options.endpoint === 'mantle';
  const isMessages = pathname === MESSAGES || pathname === `${MESSAGES}/count_tokens`;
  const invoked = isMantle ? null : INVOKE.exec(pathname);
  if (req.method !== 'POST' || (!isMessages && invoked === null)) {
    const unknown = {
      name: 'UnknownOperationException',
      status: 404,
      message: 'Unknown operation',
    };
    sendRefusal(incoming, doorError(unknown));
    return;
  }
  const isAccepted = await isAdmitted(incoming, options, {
    service: isMantle ? 'bedrock-mantle' : 'bedrock',
    takesApiKeyHeader: isMessages,
    nowMs: (options.now ?? Date.now)(),
  });
  if (!isAccepted) return;
  if (invoked === null) {
    await serveMessagesEndpoint(simulation, { ...incoming, wire: MESSAGES_WIRE }, options);
    return;
  }
  const [, id = '', stream] = invoked;
  const invocation = { id: decoded(id), isStream: stream !== undefined };
  await serveInvocation(simulation, incoming, { ...invocation, options });
}

/** @returns an empty text if it is malformed, which no model has as its id */
function decoded(id: string): string {
  try {
    return decodeURIComponent(id);
  } catch {
    return '';
  }
}

interface Invocation {
  readonly id: string;
  readonly isStream: boolean;
  readonly options: BedrockOptions;
}

async function serveInvocation(
  simulation: Simulation,
  incoming: Incoming,
  { id, isStream, options }: Invocation,
): Promise<void> {
  const { region = DEFAULT_REGION, deniedModels = [], applicationProfiles = {} } = options;
  const model = bedrockModel(applicationProfiles[id] ?? id, region);
  const refuse = (error: AwsError): void => {
    sendRefusal(incoming, bedrockError(error));
  };
  if (model === undefined) {
    refuse(invalid('The provided model identifier is invalid.'));
    return;
  }
  if (!model.isProfile) {
    refuse(
      invalid(
        `Invocation of model ID ${id} with on-demand throughput isn’t supported. Retry your request with the ID or ARN of an inference profile that contains this model.`,
      ),
    );
    return;
  }
  if (deniedModels.includes(model.id)) {
    const message = "You don't have access to the model with the specified model ID.";
    refuse({ name: 'AccessDeniedException', status: 403, message });
    return;
  }
  const { request, api, problem } = invokedRequest(incoming.body, model, isStream);
  const tooLong = promptTooLong(request, incoming.body.length);
  if (problem !== undefined || tooLong !== undefined) {
    refuse(invalid(problem ?? 'Input is too long for requested model.'));
    return;
  }
  await serveMessage(simulation, { ...incoming, request, api });
}

function invalid(message: string): AwsError {
  return { name: 'ValidationException', status: 400, message };
}

async function serveMessagesEndpoint(
  simulation: Simulation,
  incoming: Incoming,
  { region = DEFAULT_REGION, deniedModels = [] }: BedrockOptions,
): Promise<void> {
  const { req, body, pathname } = incoming;
  const given = parseRequest(body);
  const request = given === undefined ? undefined : withModel(given, region);
  if (deniedModels.includes(String(request?.['model']))) {
    const message = "You don't have access to the model with the specified model ID.";
    sendError(incoming, { type: 'permission_error', message });
    return;
  }
  const asked: Asked = { ...incoming, request, api: apiVersionOf(req) };
  const tooLong = promptTooLong(request, body.length);
  if (pathname !== MESSAGES) serveCount(simulation, asked);
  else if (tooLong === undefined) await serveMessage(simulation, asked);
  else sendError(incoming, { type: 'invalid_request_error', message: tooLong });
}

/** The request with the API's id of its model, if the region has it. */
function withModel(request: JsonObject, region: string): JsonObject {
  const { model } = request;
  if (typeof model !== 'string') return request;
  const known = messagesModel(model, region) ?? bedrockModel(model, region)?.id;
  // The API's own ids are not Bedrock's.
  return { ...request, model: known ?? `bedrock:${model}` };
}
