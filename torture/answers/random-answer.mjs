/**
 * Random answers of an upstream account: statuses, error objects, bodies that are none, odd usage,
 * large events and connections that are cut.
 *
 * @import { Answer } from '../ordered-upstream.mjs'
 */

const ERROR_TYPES = [
  'invalid_request_error',
  'authentication_error',
  'permission_error',
  'not_found_error',
  'request_too_large',
  'rate_limit_error',
  'api_error',
  'overloaded_error',
  'billing_error',
  'an_error_of_a_later_year',
];
const MESSAGES = [
  'max_tokens: too large',
  'model: your organization may not use this model',
  'This request would exceed your rate limit of tokens per minute',
  'Overloaded',
  '',
  'Your credit balance is too low to access the API',
  'You have reached your specified API usage limits',
  'This organization has been disabled.',
];
const CODES = [
  undefined,
  undefined,
  'organization_on_hold',
  'cmek_key_disabled',
  'workspace_spend_limit_reached',
];
const OFTEN = [400, 401, 402, 403, 404, 408, 413, 429, 429, 500, 502, 503, 504, 529, 529];
const RETRY_AFTER = ['1', '60', '0', '-5', '100000', 'soon', 'Wed, 21 Oct 2099 07:28:00 GMT'];
const ODD_USAGES = [
  { output_tokens: -1 },
  { output_tokens: 1.5 },
  { output_tokens: '12' },
  { output_tokens: null },
  { output_tokens: 1e18 },
  { input_tokens: undefined },
  { input_tokens: [] },
  { cache_read_input_tokens: -7 },
  { cache_creation: { ephemeral_5m_input_tokens: 'many' } },
  { server_tool_use: { web_search_requests: -1 } },
  { output_tokens: 5_000_000 },
];
const UNREADABLE = ['', '<html>Blocked</html>', '{"error":', 'null', '[]', '{"type":"error"}'];

/** @returns {Answer} */
export function randomAnswer(random) {
  const kind = random.below(10);
  if (kind < 2) return {};
  if (kind < 3) return { usage: random.pick(ODD_USAGES) };
  if (kind < 4) return { cut: random.pick(['head', 'middle']) };
  // A size above the largest event that the gateway holds is rare, because it takes long.
  if (kind < 5) return { fillBytes: random.pick([1e5, 1e6, 1e6, random.chance(0.1) ? 35e6 : 1e5]) };
  const status = random.chance(0.85) ? random.pick(OFTEN) : 200 + random.below(400);
  return {
    status,
    headers: {
      ...(random.chance(0.6) && { 'retry-after': random.pick(RETRY_AFTER) }),
      ...(random.chance(0.2) && { 'content-type': random.pick(['text/html', 'x/y']) }),
      ...(random.chance(0.1) && { 'x-should-retry': random.pick(['true', 'false']) }),
    },
    body: random.chance(0.7) ? errorBody(random) : random.pick(UNREADABLE),
    ...(random.chance(0.05) && { fillBytes: 1e6 }),
    ...(random.chance(0.05) && { cut: random.pick(/** @type {const} */ (['head', 'middle'])) }),
  };
}

function errorBody(random) {
  const code = random.pick(CODES);
  return JSON.stringify({
    type: 'error',
    error: {
      type: random.pick(ERROR_TYPES),
      message: random.pick(MESSAGES),
      ...(code !== undefined && { details: { error_code: code } }),
    },
  });
}
