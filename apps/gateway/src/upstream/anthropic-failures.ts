/**
 * Decides which error a client gets for an error of Anthropic's API. Most errors are passed on
 * unchanged. Errors about the operator's own account (its credential, quota or bill) would mislead
 * a client or reveal the operator's data, so they are replaced. A 413 and a response that is not a
 * readable error are replaced as well.
 */

import type { IncomingHttpHeaders } from 'node:http';
import { codeOfError } from '@gateway/translator';
import { z } from 'zod';
import { newRefusal, relayed } from '../base/errors/refusal.js';
import type { Refusal } from '../base/errors/refusal.js';
import { parseJson } from '../base/parse-json.js';
import type { AnthropicTarget } from '../config/upstream-target.js';
import { upstreamLimit } from './upstream-limit.js';
import type { FailureMeaning, RefusalCause, UpstreamAnswers, UpstreamFailure } from './upstream.js';

/** Of errors that are passed on. The wait of a 429 is passed on as it is. */
const MAX_RETRY_AFTER_SECONDS = 60;
/** A 429 that names no time: how long its client should wait. */
const DEFAULT_LIMIT_SECONDS = 5;
/** A longer wait is an error of the upstream: its longest limits last a month. */
const MAX_LIMIT_SECONDS = 31 * 86_400;

const upstreamErrorBody = z.object({
  type: z.unknown().optional(),
  error: z.object({
    type: z.string(),
    message: z.string(),
    details: z.object({ error_code: z.string() }).partial().nullish(),
  }),
});

type ReadFailure = UpstreamAnswers['readFailure'];

/** By the header that carries the credential. */
export function anthropicFailures({
  auth,
  credential,
}: Pick<AnthropicTarget, 'auth' | 'credential'>): ReadFailure {
  const isBearer = auth === 'bearer' || credential !== undefined;
  return isBearer ? readBearerFailure : readAnthropicFailure;
}

export function readAnthropicFailure(...response: Parameters<ReadFailure>): UpstreamFailure {
  return read(...response, OTHER_CREDENTIALS);
}

function readBearerFailure(...response: Parameters<ReadFailure>): UpstreamFailure {
  return read(...response, OTHER_THAN_BEARER);
}

function read(
  status: number,
  headers: IncomingHttpHeaders,
  body: Uint8Array,
  otherCredentials: RegExp,
): UpstreamFailure {
  const parsed = upstreamErrorBody.safeParse(parseJson(textOf(body)));
  const error = parsed.success ? parsed.data.error : undefined;
  return {
    ...judge(status === 200 ? statusOf(error) : status, headers, error, otherCredentials),
    isApiError: parsed.success && parsed.data.type === 'error',
    fault: `upstream ${String(status)}: ${kindOf(error)}`,
  };
}

type UpstreamError = z.infer<typeof upstreamErrorBody>['error'];

/** The status that the error of a stream would have had before the stream began. */
function statusOf(error: UpstreamError | undefined): number {
  return STATUSES.get(error?.type ?? '') ?? 500;
}

/** Only of errors that {@link judge} may replace. All others count as failures of the upstream. */
const STATUSES: ReadonlyMap<string, number> = new Map([
  ['invalid_request_error', 400],
  ['authentication_error', 401],
  ['billing_error', 402],
  ['permission_error', 403],
  ['rate_limit_error', 429],
]);

/** The error's type and code, each only if it has the form of the provider's names. */
function kindOf(error: UpstreamError | undefined): string {
  if (error === undefined) return 'not an error body';
  const words = [error.type, error.details?.error_code].filter((word) => word !== undefined);
  return words.filter((word) => /^[a-z0-9_]{1,60}$/.test(word)).join(' ') || 'unknown type';
}

function judge(
  status: number,
  headers: IncomingHttpHeaders,
  error: UpstreamError | undefined,
  otherCredentials: RegExp,
): FailureMeaning {
  if (status === 402 || (error !== undefined && isAboutAccount(status, error))) {
    // The causes of a 503 pass. All others stay until the operator acts.
    return replace(status === 503 ? OUT_OF_SERVICE : OUT_OF_SERVICE_FOR_LONG, 'account');
  }
  // Without an error object it is not the API's answer. A firewall that objects to the content of
  // one request answers 403 as well.
  if (status === 403 && error !== undefined && ACCESS_GRANT.test(error.message)) {
    return replace(MODEL_NOT_GRANTED, 'unknown');
  }
  if (error !== undefined && (status === 401 || status === 403)) {
    const isAccount = isAboutCredential(status, error, otherCredentials);
    return replace(CREDENTIAL_REFUSED, isAccount ? 'account' : 'permission');
  }
  if (status === 429) {
    const limitSeconds = retryAfter(headers, MAX_LIMIT_SECONDS);
    const refusal = upstreamLimit(limitSeconds ?? DEFAULT_LIMIT_SECONDS);
    return { outcome: 'replace', refusal, cause: 'limit', limitSeconds };
  }
  if (status === 413) return replace(TOO_LARGE, 'unknown');
  if (status < 400 || error === undefined) return replace(UNREADABLE, 'unknown');
  const wait = retryAfter(headers, MAX_RETRY_AFTER_SECONDS);
  return {
    outcome: 'relay',
    cause: status >= 500 ? 'overload' : 'request',
    refusal: relayed({
      status,
      type: error.type,
      message: error.message,
      code: codeOfError(error),
      ...(wait === undefined ? {} : { retryAfterSeconds: wait }),
      ...shouldRetry(headers),
    }),
  };
}

const CREDENTIAL_REFUSED = newRefusal('upstream_refused_credential');
/** The organization may not use the model that the request names. The credential is fine. */
const MODEL_NOT_GRANTED = newRefusal('upstream_model_not_granted');
const OUT_OF_SERVICE = newRefusal('upstream_out_of_service');
const OUT_OF_SERVICE_FOR_LONG = newRefusal('upstream_out_of_service_for_long');
const TOO_LARGE = newRefusal('upstream_body_too_large');
const UNREADABLE = newRefusal('upstream_unreadable');

function replace(refusal: Refusal, cause: RefusalCause): FailureMeaning {
  return { outcome: 'replace', refusal, cause };
}

const ACCESS_GRANT = /\baccess (?:grant|to the model)\b/i;

/**
 * A client determines the body, the query, and the headers `anthropic-version` and
 * `anthropic-beta`. The credential is in one header only, which the gateway writes, so no client
 * causes the error about it. A beta may ask for another credential, and a 403 may be about a model
 * or a beta that the organization may not use; a client causes both.
 */
function isAboutCredential(
  status: number,
  { type, message }: UpstreamError,
  otherCredentials: RegExp,
): boolean {
  return status === 401 && type === 'authentication_error' && !otherCredentials.test(message);
}

/** Words about a credential that the gateway does not send, if it sends an `x-api-key`. */
const OTHER_CREDENTIALS = /oauth|beta|bearer|authorization/i;
const OTHER_THAN_BEARER = /oauth|beta/i;

/** Whether it is about the operator's key, workspace or organization, and not about the request. */
function isAboutAccount(status: number, { type, message, details }: UpstreamError): boolean {
  const code = details?.error_code ?? '';
  return (
    type === 'billing_error' ||
    code.endsWith('_spend_limit_reached') ||
    ACCOUNT_CODES.has(code) ||
    (status === 400 && ACCOUNT_SENTENCES.test(message))
  );
}

/** No client causes these. `scripts/unserved-names.json` lists the other codes of the SDK. */
const ACCOUNT_CODES: ReadonlySet<string> = new Set([
  'claude_code_key_creator_not_member',
  'cmek_context_unavailable',
  'cmek_key_disabled',
  'cmek_key_network_blocked',
  'cmek_key_unreachable',
  'organization_on_hold',
]);

/**
 * In a 400 about a limit or a balance that is used up, or about an organization that is disabled
 * for its bills, the upstream sends no code, only these sentences. Its error about a member of the
 * request begins with the member's name and a colon. A client may name a member like one of these
 * sentences, so a sentence with a later colon does not match.
 */
const ACCOUNT_SENTENCES =
  /^(?:You have reached your specified (?:\w+ )?API usage limits|Your credit balance is too low|This organization has been disabled)(?![^]*: )/i;

function shouldRetry(headers: IncomingHttpHeaders): Pick<Refusal, 'shouldRetry'> {
  const value = headers['x-should-retry'];
  return value === 'true' || value === 'false' ? { shouldRetry: value === 'true' } : {};
}

/**
 * Seconds from `retry-after`, at least 1 and at most `most`; `undefined` when there is none that
 * can be read. SDKs also take `retry-after-ms`.
 */
function retryAfter(headers: IncomingHttpHeaders, most: number): number | undefined {
  const { 'retry-after': value, 'retry-after-ms': ms } = headers;
  const seconds = value === undefined ? Number(ms) / 1000 : Number(value);
  if (!Number.isFinite(seconds)) return undefined;
  return Math.min(most, Math.max(1, Math.ceil(seconds)));
}

function textOf({ buffer, byteOffset, byteLength }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, byteLength).toString();
}
