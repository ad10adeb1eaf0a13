/** Anthropic's Messages API as the upstream. */

import { readAnthropicFailure } from './anthropic-failures.js';
import type { Upstream } from './upstream.js';

export interface AnthropicTarget {
  readonly url: string;
  readonly apiKey: string;
}

const PATHS = { messages: '/v1/messages', count_tokens: '/v1/messages/count_tokens' } as const;

/** @param target.url - Base address, with or without `/v1`. */
export function anthropicUpstream({ url, apiKey }: AnthropicTarget): Upstream {
  const { origin, pathname } = new URL(url);
  const prefix = pathname.replace(/\/+$/, '').replace(/\/v1$/, '');
  return {
    origin,
    request: ({ operation, query, headers, body }) => ({
      path: prefix + PATHS[operation] + query,
      headers: { ...headers, 'x-api-key': apiKey },
      body,
    }),
    openStream: (headers) =>
      headers['content-type']?.startsWith('text/event-stream') === true ? unframed : undefined,
    readFailure: readAnthropicFailure,
  };
}

/** Its chunks are bytes of the event stream itself. */
function unframed(chunk: Uint8Array): Uint8Array {
  return chunk;
}
