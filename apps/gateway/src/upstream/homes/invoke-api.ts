/**
 * Bedrock's InvokeModel: the model and whether to stream are in the URL, the version and the betas
 * in the body, and streams are in AWS's binary framing.
 *
 * https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-anthropic-claude-messages.html
 */

import { openEventStream } from './aws-event-stream.js';
import { nameAt, pathPart, versionInBody } from './home-api.js';
import type { HomeApi } from './home-api.js';
import { wantsStream } from './home-body.js';

const VERSION = 'bedrock-2023-05-31';

export const INVOKE_API: HomeApi = {
  providerName: 'aws.bedrock',
  lacks: ['models', 'count_tokens'],
  path(call, target) {
    const method = wantsStream(call) ? 'invoke-with-response-stream' : 'invoke';
    return `/model/${pathPart(nameAt(target, call))}/${method}`;
  },
  bodyForm: (call, target) => ({
    models: target.models,
    version: versionInBody(target, call, VERSION),
    betas: true,
    removed: ['model', 'stream'],
  }),
  headers(
    { headers: { 'anthropic-version': _version, 'anthropic-beta': _betas, ...others } },
    { headers },
  ) {
    return { ...others, ...headers };
  },
  openFrames: ({ 'content-type': type }) =>
    /^application\/vnd\.amazon\.eventstream/i.test(String(type)) ? openEventStream() : undefined,
};
