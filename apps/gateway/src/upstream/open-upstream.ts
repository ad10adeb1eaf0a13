/** Chooses the kind of upstream that the configuration names. There is one so far. */

import { anthropicUpstream } from './anthropic.js';
import type { AnthropicTarget } from './anthropic.js';
import type { Upstream } from './upstream.js';

/** Plain data, because the primary sends it to its workers. */
export type UpstreamTarget = AnthropicTarget;

export function openUpstream(target: UpstreamTarget): Upstream {
  return anthropicUpstream(target);
}
