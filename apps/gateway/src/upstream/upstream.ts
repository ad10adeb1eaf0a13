/**
 * An upstream is an API that serves models. The gateway calls it in Anthropic's terms. Each kind of
 * upstream decides how a call becomes an HTTP request, how a stream is framed and which error a
 * client gets for a failure. `anthropic.ts` is the first kind. See docs/decisions/0020.
 */

import type { IncomingHttpHeaders } from 'node:http';
import type { Spender } from '@gateway/balance-store';
import type { JsonSpan, SkimmedMessage } from '@gateway/translator/native';
import type { Refusal } from '../base/errors/refusal.js';
import type { Asking, UpstreamCheck } from './asking.js';
import type { RequestBody, SendableBody } from './request-body.js';
import type { UpstreamModelsReading } from './upstream-models.js';

/** A model that the body of a request names. */
export interface NamedSpan {
  /** Where the request names it: `model`, or for instance `fallbacks.0.model`. */
  readonly path: string;
  /** Its id in the price table; `undefined` if the request leaves the choice to the provider. */
  readonly model: string | undefined;
  /** Of its name in the body that goes upstream; `undefined` in a translation. */
  readonly span?: JsonSpan | undefined;
}

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
  /** Every model that the body names. `undefined`: only {@link model}, as its first member. */
  readonly models?: readonly NamedSpan[] | undefined;
  /** The members of a native body that goes upstream; `undefined` of a translation. */
  readonly members?: ReadonlyMap<string, JsonSpan> | undefined;
  /** The key that made the request. With several accounts, it determines the account. */
  readonly keyId: string;
  /**
   * The account of the ledger that the key belongs to: the customer. Customers take turns where an
   * upstream account has a ceiling.
   */
  readonly accountId: string;
  /** Who spends. With routes, its groups and its tag decide about the account. */
  readonly spender?: Spender | undefined;
  /** Whether the client has left. Read before sending, if there are several accounts. */
  readonly client: { readonly destroyed: boolean };
  /**
   * The account that answered, or that got the call last. Set when it is sent, if there are several
   * accounts.
   */
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
  readonly body: SendableBody;
  /**
   * Called for an error. Absent if the credential does not expire.
   *
   * @returns whether an old credential is the reason, so that the call can be sent once more
   */
  readonly isStale?: (status: number, headers: IncomingHttpHeaders) => boolean;
}

/** An error as Anthropic's API would write it. */
export interface WrittenError {
  readonly status: number;
  readonly body: Buffer;
}

/** Turns answers that are not written as Anthropic's API writes them into such ones. */
export interface AnswerForm {
  /**
   * @returns for a response in another framing, what takes the events out of it; its `push` throws
   * if the bytes are broken
   */
  openFrames(headers: IncomingHttpHeaders): StreamFraming | undefined;
  /** @returns `undefined` if the error stays as it is */
  readError(status: number, headers: IncomingHttpHeaders, body: Buffer): WrittenError | undefined;
}

/** What decides whether an upstream can serve a call. */
export type AskedOf = Pick<UpstreamCall, 'operation' | 'model' | 'models' | 'accountId'> &
  Partial<Pick<UpstreamCall, 'spender' | 'body' | 'headers'>>;

/** Takes the bytes of one stream out of the upstream's framing. */
export interface StreamFraming {
  /** @returns bytes of Anthropic's event stream */
  push(chunk: Uint8Array): Uint8Array;
  /** Called once, after the last chunk. Absent if nothing is kept back. */
  end?(): Uint8Array;
}

/**
 * Why a request failed, if the request itself is not the cause. `account`: the operator's
 * credential or bill, which no client influences; `permission`: the upstream refuses the
 * credential, perhaps because of a model or a beta that the client asked for; `limit`: a 429;
 * `overload`: the API reports that it is overloaded or failed; `unknown`: the answer cannot be
 * read.
 */
export type RefusalCause = 'account' | 'permission' | 'limit' | 'overload' | 'unknown';

/** What a client gets for an error response of the upstream, or for an error event. */
export type FailureMeaning =
  /** The upstream's own error may be shown; on the native endpoint byte for byte. */
  | {
      readonly outcome: 'relay';
      readonly refusal: Refusal;
      readonly cause: 'request' | 'overload';
    }
  /** The client gets this refusal instead, as for errors about the operator's account. */
  | {
      readonly outcome: 'replace';
      readonly refusal: Refusal;
      readonly cause: RefusalCause;
      /** Of a 429, the time for which it lasts; `undefined` if it names none. */
      readonly limitSeconds?: number | undefined;
    };

export type UpstreamFailure = FailureMeaning & {
  /**
   * Whether the API itself wrote it, as an error object. Then nothing of the request is billed.
   * Something in between, such as a proxy, may write any other answer, even if the API accepted the
   * request.
   */
  readonly isApiError: boolean;
  /**
   * For the log: status and kind of the error, never its text, which may name the operator's
   * account.
   */
  readonly fault: string;
};

/** How the answers of an upstream are read. */
export interface UpstreamAnswers {
  /** As OpenTelemetry names those who serve models. */
  readonly providerName: string;
  /**
   * @returns for a successful response that is a stream, its framing; `undefined` for any other
   * response
   */
  openStream(headers: IncomingHttpHeaders): StreamFraming | undefined;
  /**
   * Turns the whole body of any other response into that of Anthropic's API. Absent if it is that
   * already.
   */
  readBody?(body: Buffer): Buffer;
  /** The same for a body of which only the usage was kept. */
  readSkimmed?(message: SkimmedMessage): SkimmedMessage;
  /**
   * @param status - 200 if the error came as an event of a stream, whose data is the `body`.
   * @param body - As {@link readBody} returns it.
   */
  readFailure(status: number, headers: IncomingHttpHeaders, body: Uint8Array): UpstreamFailure;
  /** The id that the upstream gave the request. It is not checked. */
  readonly requestIdOf: (headers: IncomingHttpHeaders) => unknown;
}

export interface Upstream extends UpstreamAnswers {
  /** Scheme, host and port. */
  readonly origin: string;
  /**
   * @returns what the upstream lacks for a call, as a refusal that names it; `undefined` if it can
   * serve the call. Absent if it lacks nothing.
   */
  readonly refusalFor?: (asked: AskedOf) => Refusal | undefined;
  /** Absent if every answer is written as Anthropic's API writes it. */
  readonly answerForm?: AnswerForm | undefined;
  /** A promise only if something has to be waited for, such as a token. */
  request(call: UpstreamCall): UpstreamRequest | Promise<UpstreamRequest>;
  /** Whether it takes the credential, and serves the models that are configured for it. */
  check(asking: Asking): Promise<UpstreamCheck>;
  /** The models that it serves, by our ids. */
  listModels(asking: Asking): Promise<UpstreamModelsReading>;
}
