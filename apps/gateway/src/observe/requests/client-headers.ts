/**
 * What the record of requests takes from the headers of a client. Each value must have the form of
 * its kind; any other is left out, because a client may write anything into a header.
 */

import type { IncomingHttpHeaders } from 'node:http';
import { TAG } from '../../base/tag.js';
import { headerText } from '../../http/header-text.js';

export interface ClientHeaders {
  /** Name and version of the program, such as `claude-cli/2.1.0`. */
  readonly client: string | undefined;
  readonly sessionId: string | undefined;
  readonly tag: string | undefined;
  readonly traceId: string | undefined;
}

/** Our own, those of Claude Code, Codex (both forms), opencode, and others. The first counts. */
const SESSION_HEADERS = [
  'x-gateway-run',
  'x-claude-code-session-id',
  'session_id',
  'session-id',
  'x-opencode-session',
  'x-session-id',
] as const;

const TAG_HEADER = 'x-gateway-tag';
const PRODUCT = /^[A-Za-z][\w.+-]{0,39}(?:\/[\w.+-]{1,24})?(?= |$)/;
const ID = /^[\w.:-]{4,64}$/;
const TRACE_PARENT = /^[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-/;

export function readClientHeaders(headers: IncomingHttpHeaders): ClientHeaders {
  const [client] = PRODUCT.exec(headers['user-agent'] ?? '') ?? [];
  return {
    client,
    sessionId: sessionOf(headers),
    tag: tagIn(headers),
    traceId: traceOf(headers),
  };
}

export function tagIn(headers: IncomingHttpHeaders): string | undefined {
  const value = headers[TAG_HEADER];
  return typeof value === 'string' ? tagOf(headerText(value)) : undefined;
}

/** What a client names to sum by, in a header or in `metadata`. Another form is left out. */
export function tagOf(given: unknown): string | undefined {
  return typeof given === 'string' && TAG.test(given) ? given : undefined;
}

export function sessionOf(headers: IncomingHttpHeaders): string | undefined {
  for (const name of SESSION_HEADERS) {
    const value = headers[name];
    if (typeof value === 'string' && ID.test(value)) return value;
  }
  return undefined;
}

function traceOf({ traceparent }: IncomingHttpHeaders): string | undefined {
  return typeof traceparent === 'string' ? TRACE_PARENT.exec(traceparent)?.[1] : undefined;
}
