/**
 * Rules of API version 2026-10-21, for what earlier versions accepted. The wording of the second
 * rule is not published, so that of other errors is used.
 */

import { messagesOf } from './message-rules.js';
import type { Rule } from './rule.js';

const VERSION = '2026-10-21';

/** This version has no members for sampling. */
export const samplingMembers: Rule = (request, { version }) => {
  const given = ['temperature', 'top_p', 'top_k'].find((name) => request[name] !== undefined);
  return version === VERSION && given !== undefined
    ? `${given}: Extra inputs are not permitted`
    : undefined;
};

/** Documents are for users, citations for assistants. */
export const blockPlaces: Rule = (request, { version }) => {
  if (version !== VERSION) return undefined;
  for (const { role, path, blocks } of messagesOf(request)) {
    for (const [at, { type, citations }] of blocks.entries()) {
      const place = `${path}.content.${String(at)}`;
      if (role === 'assistant' && type === 'document') {
        return `${place}: Input tag 'document' found using 'type' is not permitted in messages of role 'assistant'`;
      }
      if (role === 'user' && type === 'text' && citations !== undefined && citations !== null) {
        return `${place}.text.citations: Extra inputs are not permitted`;
      }
    }
  }
  return undefined;
};
