/**
 * Google's `rawPredict` and `streamRawPredict`: the model is in the URL, the version in the body.
 *
 * https://platform.claude.com/docs/en/build-with-claude/claude-on-vertex-ai
 */

import { nameAt, pathPart, versionInBody } from './home-api.js';
import type { HomeApi } from './home-api.js';
import { wantsStream } from './home-body.js';

const VERSION = 'vertex-2023-10-16';
const MODELS = '/publishers/anthropic/models/';

export const VERTEX_API: HomeApi = {
  providerName: 'gcp.vertex_ai',
  lacks: ['models'],
  path(call, target) {
    // The model whose tokens are counted stays in the body.
    if (call.operation === 'count_tokens') return `${MODELS}count-tokens:rawPredict`;
    const name = pathPart(nameAt(target, call));
    return `${MODELS}${name}:${wantsStream(call) ? 'streamRawPredict' : 'rawPredict'}`;
  },
  bodyForm: (call, target) => ({
    models: target.models,
    version: versionInBody(target, call, VERSION),
    betas: false,
    removed: call.operation === 'count_tokens' ? [] : ['model'],
  }),
  headers({ headers: { 'anthropic-version': _version, ...others } }, { headers }) {
    return { ...others, ...headers };
  },
};
