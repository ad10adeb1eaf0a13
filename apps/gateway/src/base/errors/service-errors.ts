/** Errors of the gateway itself, of its ledger, of the upstream and of the payment provider. */

import type { ErrorEntry } from './entry.js';

const UNAVAILABLE = { status: 503, type: 'api_error' } as const;
const FAILED = { status: 500, type: 'api_error', retry: 'yes' } as const;
const BAD_GATEWAY = { status: 502, type: 'api_error' } as const;
const OUT_OF_SERVICE = {
  ...UNAVAILABLE,
  sentence: 'the upstream is out of service for this gateway at the moment',
  cure: 'operators: look at the credit, the limits of spending and the standing of the account',
} as const;

export const SERVICE_ERRORS = {
  gateway_failed: {
    ...FAILED,
    sentence: 'the gateway failed; nothing was charged',
    cause: 'a bug: `request crashed` in the log has the stack trace',
    cure: 'report it',
  },
  ledger_unavailable: {
    ...UNAVAILABLE,
    sentence: 'the ledger does not answer the gateway at the moment; nothing was charged',
    cause:
      'the database is down, read-only or full, or a report reads more than it can in the time; ' +
      '`fault` in the log says which',
    cure: 'operators: repair it, and the gateway goes on by itself; of a report, read a shorter range',
    retry: 5,
  },
  charge_unconfirmed: {
    ...UNAVAILABLE,
    sentence: 'the charge of this response could not be confirmed; it may have been charged',
    cause: 'the ledger became unavailable while the response was served',
    cure: 'look for the request among the charges before you repeat it',
    retry: 'no',
  },
  prices_unavailable: {
    ...UNAVAILABLE,
    sentence:
      'the prices of this account cannot be found at the moment; the operator has to add them',
    cause: "the account's `prices` name a table that is not loaded; `fault` in the log says which",
    cure: 'operators: add it and reload, or change the account',
    retry: 60,
  },
  kept_responses_unavailable: {
    ...UNAVAILABLE,
    sentence: 'kept responses cannot be read at the moment; nothing was charged',
    cause: 'Redis cannot be reached; `fault` in the log says why',
    cure: 'repair it; meanwhile send whole conversations',
    retry: 1,
  },
  memory_full: {
    status: 529,
    type: 'overloaded_error',
    sentence: 'the gateway has too many bytes of requests in flight; wait before trying again',
    cause: '`BODY_MEMORY_BYTES`',
    cure: 'operators: raise it, or add a replica',
    retry: 1,
  },
  client_left: {
    status: 499,
    type: 'invalid_request_error',
    sentence: 'the client left before an upstream account accepted its request',
    cause: 'the client closed the connection; nobody gets this answer, the log has it',
    cure: "look at the client's timeout",
    retry: 'no',
  },
  upstream_refused_credential: {
    ...BAD_GATEWAY,
    sentence: "the upstream refused the gateway's own credential; your key is fine",
    cause: '`UPSTREAM_API_KEY` was revoked, or lacks a permission',
    cure: 'operators: replace it; `fault` in the log has the error',
    retry: 'no',
  },
  upstream_model_not_granted: {
    status: 403,
    type: 'permission_error',
    code: 'model_not_found',
    param: 'model',
    sentence: 'model: the provider has not granted this gateway access to it; your key is fine',
    cause: "the provider's organization may not use the model",
    cure: 'name another model; operators: ask the provider',
    retry: 'no',
  },
  upstream_lacks_model: {
    status: 404,
    type: 'not_found_error',
    code: 'model_not_found',
    sentence: '{param}: no upstream of this gateway serves {model} to your account',
    cause: 'the `models` of every entry of `UPSTREAMS` that serves the account lack it',
    cure: 'name another model; operators: add it to the `models` of an entry',
    retry: 'no',
  },
  upstream_lacks_token_counting: {
    status: 404,
    type: 'not_found_error',
    sentence: 'count_tokens: no upstream of this gateway counts the tokens of {model}',
    cause: 'every entry of `UPSTREAMS` that could count them has `count_tokens` in its `lacks`',
    cure: 'send the request without counting first; operators: add an entry that counts',
    retry: 'no',
  },
  upstream_lacks_feature: {
    status: 400,
    type: 'invalid_request_error',
    code: 'unsupported_parameter',
    sentence: '{param}: no upstream of this gateway offers {feature} to your account',
    cause: 'every entry of `UPSTREAMS` that may serve the request has it in its `lacks`',
    cure: 'leave it out; operators: add an entry that has it',
    retry: 'no',
  },
  upstream_out_of_service: {
    ...OUT_OF_SERVICE,
    cause: "the provider says that it cannot serve the operator's account just now",
    retry: 'yes',
  },
  upstream_out_of_service_for_long: {
    ...OUT_OF_SERVICE,
    cause: "the operator's account is out of credit, at its limit of spending, or on hold",
    retry: 'no',
  },
  upstream_overloaded: {
    status: 529,
    type: 'overloaded_error',
    sentence: 'the upstream is overloaded; wait before trying again',
    cause: 'no account of `UPSTREAMS` has room below its ceilings, or can be reached',
    cure: 'send less; operators: raise the ceilings, or add an account',
    retry: 'wait',
  },
  upstream_rate_limited: {
    status: 429,
    type: 'rate_limit_error',
    code: 'rate_limit_exceeded',
    sentence: "the upstream's rate limit is exceeded; try again in {wait}",
    cause: "the provider's limits for the operator's accounts",
    cure: 'send less; operators: raise the limits, or add an account (`UPSTREAMS`)',
    retry: 'wait',
  },
  upstream_body_too_large: {
    status: 413,
    type: 'request_too_large',
    sentence: 'request body: exceeds the maximum that the upstream accepts',
    cause: "the provider's limit is lower than `MAX_BODY_BYTES`",
    cure: 'send less; name files by URL',
    retry: 'no',
  },
  upstream_unreadable: {
    ...BAD_GATEWAY,
    sentence: 'the upstream answered with something that is not a response',
    cause: 'most often a proxy or a firewall before the provider',
    cure: 'operators: check `UPSTREAM_URL`',
    retry: 'yes',
  },
  upstream_not_chargeable: {
    ...BAD_GATEWAY,
    sentence: 'the upstream answered with something that cannot be charged; nothing was charged',
    cause: 'the response has no usage, or a model without a price',
    cure: 'operators: `loss` in the log says which',
    retry: 'no',
  },
  upstream_response_too_large: {
    ...BAD_GATEWAY,
    sentence: "the upstream's response was too large to pass on; it was charged",
    cause: "a response, or one event of a stream, beyond the gateway's limits",
    cure: 'ask for less, or in the native format',
    retry: 'no',
  },
  upstream_unreachable: {
    ...BAD_GATEWAY,
    sentence: 'the upstream cannot be reached',
    cause: 'no connection, or one that broke before the response',
    cure: "operators: see `fault` in the log, and the provider's status page",
    retry: 'yes',
  },
  upstream_timeout: {
    status: 504,
    type: 'timeout_error',
    sentence: 'the upstream did not answer in time',
    cause: 'no response for ten minutes, or silence within one for two',
    cure: 'stream long answers',
    retry: 'yes',
  },
  payment_provider_unavailable: {
    ...UNAVAILABLE,
    sentence: 'the payment provider cannot be reached at the moment; this request charged nothing',
    cause: 'Stripe is down, or the way to it',
    cure: 'see `fault` in the log',
    retry: 5,
  },
  payment_provider_refused: {
    ...UNAVAILABLE,
    sentence: 'the payment provider did not accept the request; this request charged nothing',
    cause: 'Stripe refused it, such as for a revoked `STRIPE_SECRET_KEY`',
    cure: 'operators: see `fault` in the log',
    retry: 5,
  },
} as const satisfies Record<string, ErrorEntry>;
