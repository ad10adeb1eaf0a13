/** The response to a request for a path that this gateway does not serve. */

import { newRefusal } from '../base/errors/refusal.js';
import type { Refusal } from '../base/errors/refusal.js';

/**
 * Endpoints of either API that clients request although they are not offered, and the alternative,
 * if there is one.
 */
const NOT_OFFERED: readonly (readonly [path: RegExp, instead?: string])[] = [
  [
    /^\/v1\/(responses\/.|conversations)/,
    'POST /v1/responses with the whole conversation as input',
  ],
  [/^\/v1\/complet(e|ions)$/, 'POST /v1/chat/completions or POST /v1/messages'],
  [/^\/v1\/messages\/batches(\/|$)/, 'POST /v1/messages'],
  [pathsBelow('agents', 'assistants', 'audio', 'batches', 'chatkit', 'compliance', 'containers')],
  [pathsBelow('content_provenance_checks', 'decisions', 'deployment_runs', 'deployments')],
  [pathsBelow('dreams', 'embeddings', 'environments', 'evals', 'files', 'fine_tuning', 'images')],
  [pathsBelow('live', 'memory_stores', 'moderations', 'organization', 'organizations')],
  [pathsBelow('realtime', 'sessions', 'skills', 'threads', 'tunnels', 'uploads', 'user_profiles')],
  [pathsBelow('vaults', 'vector_stores', 'videos', 'webhook_endpoints', 'webhook_event_types')],
];

function pathsBelow(...names: readonly string[]): RegExp {
  return new RegExp(`^/v1/(${names.join('|')})(/|$)`);
}

/** The endpoint that was probably meant, by the end of the path. The first match counts. */
const MEANT: readonly (readonly [end: RegExp, endpoint: string])[] = [
  [/\/messages\/count_tokens$/, 'POST /v1/messages/count_tokens'],
  [/\/responses\/input_tokens$/, 'POST /v1/responses/input_tokens'],
  [/\/chat\/completions$/, 'POST /v1/chat/completions'],
  [/\/responses$/, 'POST /v1/responses'],
  [/\/messages$/, 'POST /v1/messages'],
  [/\/models(\/[^/]+)?$/, 'GET /v1/models'],
  [/\/balance$/, 'GET /v1/dashboard/balance'],
  [/\/usage$/, 'GET /v1/dashboard/usage'],
];
const EVERYTHING =
  'the main endpoints are POST /v1/messages, POST /v1/chat/completions, POST /v1/responses, ' +
  'GET /v1/models and GET /v1/dashboard/balance';

/** The method and the path of a request. */
export interface Asked {
  readonly method: string;
  /** Path and query, as the client wrote them. */
  readonly url: string;
  /** The path that the gateway understood (see `canonical-path.ts`). */
  readonly path: string;
}

export function noEndpoint(asked: Asked): Refusal {
  const explanation = explanationOf(asked.path);
  return newRefusal('unknown_url', { request: nameOf(asked), explanation });
}

/** @param allowed - Such as `GET` or `GET and POST`. */
export function methodNotAllowed(asked: Asked, allowed: string): Refusal {
  return newRefusal('method_not_allowed', { request: nameOf(asked), allowed });
}

/**
 * The answer to the handshake of a WebSocket. Codex takes the status 426 for "use HTTP", and does
 * so without an error; after any other status it tries again first, and warns its user.
 *
 * @param allowed - As in {@link methodNotAllowed}.
 */
export function noWebSocket(asked: Asked, allowed: string): Refusal {
  return newRefusal('websocket_not_supported', { request: nameOf(asked), allowed });
}

/** Where GET is allowed, HEAD is allowed as well. */
export function allowHeader(methods: readonly string[]): string {
  return methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])).join(', ');
}

function explanationOf(path: string): string {
  const known = NOT_OFFERED.find(([pattern]) => pattern.test(path));
  if (known !== undefined) {
    const [, instead] = known;
    return `this endpoint is not offered here${instead === undefined ? '' : `; use ${instead}`}`;
  }
  const meant = MEANT.find(([end]) => end.test(path))?.[1];
  if (meant === undefined) return `there is no such endpoint; ${EVERYTHING}`;
  return (
    `there is no such endpoint; ${meant} was probably meant: the base address of OpenAI-style SDKs ends ` +
    'with /v1, that of the Anthropic SDK does not'
  );
}

/** The name of a request without its query, which may contain a secret. */
function nameOf({ method, url }: Asked): string {
  const path = url.split('?', 1)[0] ?? '';
  return `${method} ${path.slice(0, 100).replace(/[^\x20-\x7e]/g, '?')}`;
}
