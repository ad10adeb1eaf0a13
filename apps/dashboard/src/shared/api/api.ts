/** Requests to the gateway. Each way in which a request can fail is a value. */

export type Failure =
  /** There is no answer: the network or the gateway is down, or the call was aborted. */
  | { readonly kind: 'offline' }
  /** The credential is unknown, or is no longer valid. */
  | { readonly kind: 'unauthorized'; readonly message: string }
  | { readonly kind: 'limited'; readonly message: string; readonly retryAfterSeconds: number }
  /** The gateway answers but cannot do its work at the moment. */
  | { readonly kind: 'unavailable'; readonly message: string; readonly retryAfterSeconds: number }
  | { readonly kind: 'refused'; readonly message: string; readonly status: number };

export interface Success<Value> {
  readonly ok: true;
  readonly value: Value;
  /** The body as it was sent, for numbers that would lose digits as floats. */
  readonly text: string;
  /** A file lacks charges before this time, which are archived. */
  readonly archivedUntil?: string | undefined;
}
export type Answer<Value> = Success<Value> | { readonly ok: false; readonly failure: Failure };

export type QueryValue = string | number | undefined;

export interface Call {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Members that are undefined or empty are left out. */
  readonly query?: Readonly<Record<string, QueryValue>> | undefined;
  readonly body?: Readonly<Record<string, unknown>> | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly signal?: AbortSignal | undefined;
}

const DEFAULT_WAIT_SECONDS = 10;

/** Asks again after each refusal of too many requests, when the gateway allows it. */
export async function patiently<Value>(ask: () => Promise<Answer<Value>>): Promise<Answer<Value>> {
  for (;;) {
    const answer = await ask();
    if (answer.ok || answer.failure.kind !== 'limited') return answer;
    const waitMs = answer.failure.retryAfterSeconds * 1_000;
    await new Promise((resolve) => {
      setTimeout(resolve, waitMs);
    });
  }
}

/** Sends one request to the origin of this page. Never throws, and never follows a redirect. */
export async function send(path: string, call: Call): Promise<Answer<unknown>> {
  let response: Response;
  let text: string;
  try {
    response = await fetch(withQuery(path, call.query), {
      method: call.method ?? 'GET',
      headers: {
        ...(call.body === undefined ? {} : { 'content-type': 'application/json' }),
        ...call.headers,
      },
      ...(call.body === undefined ? {} : { body: JSON.stringify(call.body) }),
      ...(call.signal === undefined ? {} : { signal: call.signal }),
      cache: 'no-store',
      redirect: 'error',
    });
    text = await response.text();
  } catch {
    return { ok: false, failure: { kind: 'offline' } };
  }
  const value = parsed(text);
  if (response.ok) {
    const archivedUntil = response.headers.get('x-gateway-archived-until') ?? undefined;
    return { ok: true, value, text, archivedUntil };
  }
  return { ok: false, failure: failureOf(response, value) };
}

export function withQuery(path: string, query: Call['query'] = {}): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== '');
  const search = new URLSearchParams(given.map(([name, value]) => [name, String(value)]));
  return given.length === 0 ? path : `${path}?${search.toString()}`;
}

/** Returns a body that is not JSON, such as CSV, as text. */
function parsed(text: string): unknown {
  try {
    return text === '' ? undefined : JSON.parse(text);
  } catch {
    return text;
  }
}

function failureOf(response: Response, body: unknown): Failure {
  const { status } = response;
  const message = messageOf(body) ?? `the gateway answered with status ${String(status)}`;
  const wait = Number(response.headers.get('retry-after'));
  const retryAfterSeconds = wait > 0 ? wait : DEFAULT_WAIT_SECONDS;
  if (status === 401) return { kind: 'unauthorized', message };
  if (status === 429) return { kind: 'limited', message, retryAfterSeconds };
  if (status >= 500) return { kind: 'unavailable', message, retryAfterSeconds };
  return { kind: 'refused', message, status };
}

function messageOf(body: unknown): string | undefined {
  if (typeof body !== 'object' || body === null || !('error' in body)) return undefined;
  const { error } = body;
  if (typeof error !== 'object' || error === null || !('message' in error)) return undefined;
  return typeof error.message === 'string' ? error.message : undefined;
}

/**
 * Whether an endpoint is missing because the gateway is not configured for it, for example for
 * payments. Only for endpoints without an id in the path: for others, status 404 can also mean an
 * unknown id.
 */
export function isNotConfigured(failure: Failure | undefined): boolean {
  return failure?.kind === 'refused' && failure.status === 404;
}

export interface Page<Item> {
  readonly data: readonly Item[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
  /** Only in lists of ledger entries. */
  readonly archived_until?: string | null;
}

/**
 * Returns a new id for an action. Sending the action again with the same id changes nothing. Also
 * works on plain http, where browsers have no `crypto.randomUUID`.
 */
export function newActionId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return `page-${Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}
