/** Streams whose upstream is silent, or sends only what the client's format does not have. */

import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { createUpstreamClient } from '../src/upstream/client.js';
import { anthropicUpstream } from '../src/upstream/anthropic.js';
import {
  UPSTREAM_KEY,
  postChat,
  postResponses,
  startTestGateway,
  userMessage,
} from './support/gateway.js';
import type { TestGateway } from './support/gateway.js';

/**
 * When the upstream client gives up a silent stream. The relay looks every 10 s whether the stream
 * had output, and sends a comment at the second look without any, so this is longer.
 */
const SILENCE_MS = 25_000;

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway();
  const { services } = gateway.running;
  await services.upstream.close();
  const upstream = anthropicUpstream({ url: gateway.simulator.url, apiKey: UPSTREAM_KEY });
  Object.assign(services, { upstream: createUpstreamClient(upstream, { silenceMs: SILENCE_MS }) });
});
afterAll(async () => {
  await gateway.stop();
  await gateway.running.services.upstream.close();
});

it.each([
  ['chat', postChat],
  ['Responses', postResponses],
])(
  'a translated stream without output gets comments, so that nothing cuts it off: %s',
  async (_format, post) => {
    const { apiKey } = await gateway.createKey();
    gateway.simulator.script({ stallAfterEvents: 2 });
    const response = await post(gateway, apiKey, userMessage('Hello', { stream: true }));
    const text = await response.text();
    expect(text).toMatch(/^: \S.*\n\n(?:event: error\n)?data: \{/m);
  },
);
