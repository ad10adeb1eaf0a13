/** The kind of upstream that a target names. So far there is one, for homes of every form. */

import type { AnthropicTarget } from '../config/upstream-target.js';
import { anthropicUpstream } from './anthropic.js';
import type { CredentialOptions } from './homes/file-credential.js';
import type { Upstream } from './upstream.js';

export function upstreamOf(target: AnthropicTarget, options?: CredentialOptions): Upstream {
  return anthropicUpstream(target, options);
}
