/** The kind of upstream that a target names. */

import type { AnthropicTarget, HomeApiName } from '../config/upstream-target.js';
import { anthropicUpstream } from './anthropic.js';
import type { CredentialOptions } from './homes/credentials/credential.js';
import type { HomeApi } from './homes/home-api.js';
import { INVOKE_API } from './homes/invoke-api.js';
import { MESSAGES_API } from './homes/messages-api.js';
import { VERTEX_API } from './homes/vertex-api.js';
import type { Upstream } from './upstream.js';

const APIS: Readonly<Record<HomeApiName, HomeApi>> = {
  messages: MESSAGES_API,
  vertex: VERTEX_API,
  invoke: INVOKE_API,
};

export function upstreamOf(
  target: AnthropicTarget,
  options?: Partial<CredentialOptions>,
): Upstream {
  return anthropicUpstream(target, options, APIS[target.api ?? 'messages']);
}
