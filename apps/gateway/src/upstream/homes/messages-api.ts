/** Anthropic's own Messages API, with the headers and the version as a home wants them. */

import { headersOf } from './home-headers.js';
import type { HomeApi } from './home-api.js';

const PATHS = { messages: '/v1/messages', count_tokens: '/v1/messages/count_tokens' } as const;

export const MESSAGES_API: HomeApi = {
  lacks: [],
  path: ({ operation, query }) => PATHS[operation] + query,
  bodyForm({ headers }, { models, version, versionIn }) {
    if (versionIn !== 'body') {
      if (models === undefined) return undefined;
      return { models, version: undefined, betas: false, removed: [] };
    }
    const inBody = version ?? headers['anthropic-version'] ?? '';
    return { models, version: inBody, betas: true, removed: [] };
  },
  headers: ({ headers }, target) => headersOf(target, headers),
};
