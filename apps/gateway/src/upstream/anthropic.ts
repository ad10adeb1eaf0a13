/** Anthropic's Messages API as the upstream. */

import type { AnthropicTarget } from '../config/upstream-target.js';
import { readAnthropicFailure } from './anthropic-failures.js';
import type { Upstream } from './upstream.js';

const PATHS = { messages: '/v1/messages', count_tokens: '/v1/messages/count_tokens' } as const;

/** @param target.url - Base address, with or without `/v1`. */
export function anthropicUpstream({ url, apiKey }: AnthropicTarget): Upstream {
  const { origin, prefix } = addressOf(url);
  return {
    origin,
    request: ({ operation, query, headers, body }) => ({
      path: prefix + PATHS[operation] + query,
      headers: { ...headers, 'x-api-key': apiKey },
      body,
    }),
    // undici gives an array for a header that came twice, although its type does not say so.
    openStream: (headers) =>
      /^text\/event-stream/i.test(String(headers['content-type'])) ? unframed : undefined,
    readFailure: readAnthropicFailure,
  };
}

/** @param url - Base address, with or without `/v1`. The returned prefix has no `/v1`. */
export function addressOf(url: string): { readonly origin: string; readonly prefix: string } {
  const { origin, pathname } = new URL(url);
  return { origin, prefix: pathname.replace(/\/+$/, '').replace(/\/v1$/, '') };
}

/** The upstream's chunks are the bytes of the event stream itself, so nothing is removed. */
function unframed(chunk: Uint8Array): Uint8Array {
  return chunk;
}
