/** Rules for the `anthropic-beta` header. */

import { KNOWN_BETAS } from '../models/known-names.js';
import type { Rule } from './rule.js';

/**
 * Values that the types of the provider's SDK do not list, although the API takes them: Claude Code
 * 2.1.332 and `@ai-sdk/anthropic` 4.0.105 send them.
 */
const UNDOCUMENTED = [
  'advanced-tool-use-2025-11-20',
  'afk-mode-2026-01-31',
  'auto-mode-classifier-2026-07-16',
  'cache-keepalive-2026-09-03',
  'claude-code-20250219',
  'claude-code-side-query-2026-09-29',
  'code-execution-2025-08-25',
  'code-execution-web-tools-2026-02-09',
  'context-hint-2026-04-09',
  'dangerous-tool-use-2026-09-03',
  'effort-2025-11-24',
  'fine-grained-tool-streaming-2025-05-14',
  'mcp-servers-2025-12-04',
  'mid-conversation-system-2026-04-07',
  'oauth-2025-04-20',
  'per-turn-control-2026-07-01',
  'program-use-case-ids-2026-09-17',
  'prompt-caching-evict-2026-05-12',
  'prompt-caching-scope-2026-01-05',
  'redact-thinking-2026-02-12',
  'request-tags-2026-08-21',
  'resumption-2026-10-08',
  'structured-outputs-2025-12-15',
  'subagent-review-2026-11-17',
  'thinking-resumption-2026-07-17',
  'timing-2026-09-09',
  'tool-provenance-2026-10-26',
  'tool-search-tool-2025-10-19',
  'web-fetch-2025-09-10',
  'web-search-2025-03-05',
  'web-search-results-only-2026-11-15',
];
const BETAS = new Set([...KNOWN_BETAS, ...UNDOCUMENTED]);

export const knownBetas: Rule = (_request, { betas }) => {
  const unknown = betas.filter((beta) => !BETAS.has(beta)).map((beta) => `\`${beta}\``);
  return unknown.length === 0
    ? undefined
    : `Unexpected value(s) ${unknown.join(', ')} for the \`anthropic-beta\` header. Please consult our documentation at docs.claude.com or try again without the header.`;
};
