/**
 * The body of InvokeModel as a request to the API: the model and whether to stream are in the
 * address, the version and the betas in the body.
 */

import { parseRequest } from '../../client-request.js';
import type { ApiVersion } from '../../client-request.js';
import { asArray } from '../../message/message.js';
import type { JsonObject } from '../../message/message.js';
import { knownBetas } from '../../rules/beta-rules.js';
import type { BedrockModel } from './bedrock-models.js';

const BEDROCK_VERSION = 'bedrock-2023-05-31';
/** The only version of the API that is written as it is, and only for models without a version. */
const API_VERSION = '2026-10-21';

export interface InvokedRequest {
  readonly request: JsonObject | undefined;
  readonly api: ApiVersion;
  /** Why Bedrock refuses it. */
  readonly problem: string | undefined;
}

export function invokedRequest(
  body: Buffer,
  model: BedrockModel,
  isStream: boolean,
): InvokedRequest {
  const given = parseRequest(body);
  const { anthropic_version: version, anthropic_beta: betas, ...rest } = given ?? {};
  const api = {
    version: version === BEDROCK_VERSION ? '2023-06-01' : API_VERSION,
    betas: asArray(betas).map(String),
  };
  const problem =
    given === undefined
      ? 'Malformed input request: the body is not a JSON object, please reformat your input and try again.'
      : (versionProblem(version, model) ?? memberProblem(given) ?? betaProblem(betas, api));
  const request =
    problem === undefined
      ? { ...rest, model: model.id, ...(isStream ? { stream: true } : {}) }
      : undefined;
  return { request, api, problem };
}

function versionProblem(version: unknown, { isVersioned }: BedrockModel): string | undefined {
  if (version === undefined) return 'anthropic_version: Field required';
  if (version === BEDROCK_VERSION) return undefined;
  return version === API_VERSION && !isVersioned
    ? undefined
    : `anthropic_version: Input should be '${BEDROCK_VERSION}'`;
}

function memberProblem(request: JsonObject): string | undefined {
  const extra = ['model', 'stream'].find((name) => name in request);
  return extra === undefined ? undefined : `${extra}: Extra inputs are not permitted`;
}

function betaProblem(betas: unknown, api: ApiVersion): string | undefined {
  if (betas !== undefined && !Array.isArray(betas)) {
    return 'anthropic_beta: Input should be a valid list';
  }
  const context = { ...api, model: '', traits: undefined, models: new Set<string>() };
  const problem = knownBetas({}, { ...context, endpoint: 'messages' });
  return problem === undefined ? undefined : 'invalid beta flag';
}
