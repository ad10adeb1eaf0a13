/**
 * An upstream is an API that serves models. The gateway calls it in Anthropic's terms. Each kind of
 * upstream decides how a call becomes an HTTP request, how a stream is framed and which error a
 * client gets for a failure. `anthropic.ts` is the first kind. See docs/decisions/0020.
 */

import type { IncomingHttpHeaders } from 'node:http';
import type { Refusal } from '../base/errors/refusal.js';
import type { RequestBody } from './request-body.js';

/** A request in Anthropic's terms. */
export interface UpstreamCall {
  readonly operation: 'messages' | 'count_tokens';
  /** The model that the body names. Some upstreams want it in the path. */
  readonly model: string;
  /** Query string as the client wrote it, with its `?`; empty if there is none. */
  readonly query: string;
  /** `anthropic-version`; if the client sent it, `anthropic-beta`; with tracing, the trace. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: RequestBody;
  readonly bodyBytes: number;
  /** The key that made the request. With several accounts, it determines the account. */
  readonly keyId: string;
  /**
   * The account of the ledger that the key belongs to: the customer. Customers take turns where an
   * upstream account has a ceiling.
   */
  readonly accountId: string;
  /** Whether the client has left. Read before sending, if there are several accounts. */
  readonly client: { readonly destroyed: boolean };
  /** The account to which the call was sent. Set when it is sent, if there are several accounts. */
  account?: string;
}

/**
 * A call as the upstream expects it. `client.ts` adds the type and length of the body, and asks for
 * a response without compression.
 */
export interface UpstreamRequest {
  readonly path: string;
  /** Includes the credential. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: RequestBody;
}

/**
 * Why a request was refused with an error that the client does not see. `account`: the operator's
 * credential or bill, which no client influences; `permission`: the upstream refuses the
 * credential, perhaps because of a model or a beta that the client asked for; `limit`: a 429;
 * `unknown`: the answer cannot be read.
 */
export type RefusalCause = 'account' | 'permission' | 'limit' | 'unknown';

/** What a client gets for an error response of the upstream, or for an error event. */
export type FailureMeaning =
  /** The upstream's own error may be shown; on the native endpoint byte for byte. */
  | { readonly outcome: 'relay'; readonly refusal: Refusal }
  /** The client gets this refusal instead, as for errors about the operator's account. */
  | { readonly outcome: 'replace'; readonly refusal: Refusal; readonly cause: RefusalCause };

export type UpstreamFailure = FailureMeaning & {
  /**
   * For the log: status and kind of the error, never its text, which may name the operator's
   * account.
   */
  readonly fault: string;
};

export interface Upstream {
  /** Scheme, host and port. */
  readonly origin: string;
  request(call: UpstreamCall): UpstreamRequest;
  /**
   * @returns for a successful response that is a stream, a function that takes each chunk out of
   * the upstream's framing and returns bytes of Anthropic's event stream; `undefined` for any other
   * response.
   */
  openStream(headers: IncomingHttpHeaders): ((chunk: Uint8Array) => Uint8Array) | undefined;
  /** @param status - 200 if the error came as an event of a stream, whose data is the `body`. */
  readFailure(status: number, headers: IncomingHttpHeaders, body: Uint8Array): UpstreamFailure;
}
