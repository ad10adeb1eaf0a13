/** Errors about a key: its credential, its rights, its limits and its money. */

import type { ErrorEntry } from './entry.js';

const UNAUTHORIZED = { status: 401, type: 'authentication_error', retry: 'no' } as const;
const FORBIDDEN = { status: 403, type: 'permission_error', retry: 'no' } as const;
const LIMITED = {
  status: 429,
  type: 'rate_limit_error',
  code: 'rate_limit_exceeded',
  retry: 'wait',
} as const;
const UNPAID = { status: 402, type: 'billing_error', code: 'insufficient_quota' } as const;
/** How soon a request may fit that only the holds of other requests keep out. */
const HOLDS_END_SECONDS = 2;

export const KEY_ERRORS = {
  unknown_key: {
    ...UNAUTHORIZED,
    code: 'invalid_api_key',
    sentence: 'invalid API key: send "Authorization: Bearer <API_KEY>" with a key of this gateway',
    cause: 'the key is missing, malformed, unknown or revoked; which one is not said to strangers',
    cure: 'check the variable with the key; operators: `farthing keys find`',
  },
  bearer_only: {
    ...UNAUTHORIZED,
    code: 'invalid_api_key',
    sentence:
      'this endpoint takes the key as "Authorization: Bearer <API_KEY>" only, not in the API key header',
    cause: 'the dashboard takes one header',
    cure: 'send the key there',
  },
  link_only_reads: {
    ...UNAUTHORIZED,
    code: 'invalid_api_key',
    sentence:
      'a link only reads the dashboard; to do more, send "Authorization: Bearer <API_KEY>" with a key of this gateway',
    cause: 'a read-only link was used as a key',
    cure: 'use a key',
  },
  link_ended: {
    ...UNAUTHORIZED,
    code: 'link_ended',
    sentence: 'this link is no longer valid: ask the person who sent it for a new one',
    cause: 'it expired, or its key was rotated or revoked',
    cure: 'make another with `farthing keys link`',
  },
  session_ended: {
    ...UNAUTHORIZED,
    code: 'session_ended',
    sentence: 'session: has ended, or its key was rotated or revoked; sign in again',
    cause: 'as the sentence says',
    cure: 'sign in on the page',
  },
  other_session: {
    ...UNAUTHORIZED,
    code: 'session_ended',
    sentence: 'x-gateway-session: this browser is signed in with another key now',
    cause: 'another tab of the browser signed in',
    cure: 'reload the page',
  },
  session_needs_key: {
    ...UNAUTHORIZED,
    code: 'invalid_api_key',
    sentence: 'authorization: a session begins with a key or a read-only link',
    cause: 'a session cannot begin another',
    cure: 'send the credential itself',
  },
  balance_exhausted: {
    ...UNAUTHORIZED,
    code: 'insufficient_quota',
    sentence: '{reason} ({balance} USD): add credit to go on',
    cause: "the balance is at or below zero, which disables the account's keys",
    cure: 'top up; operators: `farthing keys top-up`',
  },
  balance_uncovered: {
    ...UNAUTHORIZED,
    code: 'insufficient_quota',
    sentence:
      "this key's balance is used up: it is {balance} USD, and responses cost {uncovered} USD more than it could cover; add credit to go on",
    cause: 'with `OVERDRAFT=none`, responses cost more than was set aside for them',
    cure: 'top up by more than that',
  },
  key_suspended: {
    ...UNAUTHORIZED,
    code: 'key_suspended',
    sentence: 'this API key or its account is suspended',
    cause: 'an operator, or a holder with the scope `manage`, suspended it',
    cure: 'ask them; operators: `farthing keys resume`',
  },
  key_expired: {
    ...UNAUTHORIZED,
    code: 'key_expired',
    sentence: 'this API key expired{when}',
    cause: 'its `expires_at` has passed',
    cure: 'use another key, or have the time changed',
  },
  replaced_credential: {
    ...FORBIDDEN,
    code: 'replaced_credential',
    sentence:
      'this credential was replaced by a rotation: until its grace period ends it can make requests to models and read, but change nothing; use the current credential of the key',
    cause: 'the key was rotated',
    cure: 'if you did not rotate it, ask your operator who did',
  },
  needs_manage: {
    ...FORBIDDEN,
    code: 'needs_manage',
    sentence: '{param}: needs a key with the scope "manage", which your operator can give',
    cause: 'the request reads or changes other keys of the account, or its orders',
    cure: 'use a key with that scope',
  },
  key_stopped: {
    ...FORBIDDEN,
    code: 'needs_manage',
    sentence: '{param}: this key is {standing}',
    cause: 'a suspended or expired key changes nothing of its account',
    cure: 'use another key',
  },
  exceeds_own_rights: {
    ...FORBIDDEN,
    param: 'key_id',
    sentence: 'key_id: that key has more rights ({field}) than yours, which may not rotate it',
    cause: 'its new credential would give its holder those rights',
    cure: 'rotate it with a key of the same rights, or ask your operator',
  },
  suspended_by_operator: {
    ...FORBIDDEN,
    code: 'set_by_operator',
    param: 'key_id',
    sentence: 'key_id: your operator suspended this key, and only your operator can resume it',
    cause: 'a holder cannot undo what the operator decided',
    cure: 'ask your operator',
  },
  set_by_operator: {
    ...FORBIDDEN,
    code: 'set_by_operator',
    sentence:
      '{param}: your operator set this for the key; you may make it stricter, but not looser',
    cause: 'a holder cannot undo what the operator decided',
    cure: 'choose a stricter value, or ask your operator',
  },
  own_key: {
    status: 400,
    type: 'invalid_request_error',
    param: 'key_id',
    sentence: 'key_id: a key cannot change itself: use another one',
    cause: 'a key that stops itself could not undo it',
    cure: 'name another key, or use another one',
    retry: 'no',
  },
  other_origin: {
    ...FORBIDDEN,
    sentence: 'origin: only pages of this gateway may use its session',
    cause: 'a page of another site sent the request',
    cure: 'use a key; behind a proxy, check that it passes `Host` and the protocol on',
  },
  session_header_missing: {
    ...FORBIDDEN,
    sentence:
      'x-gateway-session: a request with a session needs this header: the id of its key, or any',
    cause: 'a cookie alone could be sent by pages of other sites',
    cure: 'send the header, or a key',
  },
  model_not_allowed: {
    status: 404,
    type: 'not_found_error',
    code: 'model_not_allowed',
    sentence: '{param}: this key may not use {model}, only {models}',
    cause: "the key's list of models",
    cure: 'name one of those; operators: `farthing keys update key_… --models claude-haiku-4-5`',
    retry: 'no',
  },
  concurrency_limit: {
    ...LIMITED,
    sentence:
      '{who} already has {limit} requests in flight, its limit{explanation}; wait {wait} before trying again',
    cause: 'the concurrency of the key, or of its account (`ACCOUNT_CONCURRENCY`)',
    cure: 'send fewer at once; operators: `farthing keys update key_… --concurrency 20`',
  },
  rate_limit: {
    ...LIMITED,
    sentence:
      '{who} exceeds its limit of {burst} requests at once and {per_minute} per minute{explanation}; wait {wait} before trying again',
    cause: 'the burst and the rate of the key, or of its account',
    cure: 'send them more slowly; operators: `farthing keys update key_… --requests-per-minute 600`',
  },
  endpoint_limit: {
    ...LIMITED,
    sentence:
      'this endpoint takes {limit} requests per minute from one {whose}; wait {wait} before trying again',
    cause: "the dashboard's endpoints have limits per address, key and account",
    cure: 'ask less often',
  },
  export_runs: {
    ...LIMITED,
    sentence:
      'a whole list is being sent to this key or token already; wait {wait}, or ask for a page with limit',
    cause: 'a CSV without `limit` is the whole list; a key or token can have one at a time',
    cure: 'wait until it has arrived, or end it',
  },
  unknown_key_limit: {
    ...LIMITED,
    sentence: 'too many requests with unknown API keys; wait {wait} before trying again',
    cause: 'somebody at this address guesses keys, or uses a revoked one',
    cure: 'find the program; right keys of the address still work',
  },
  account_bytes_limit: {
    ...LIMITED,
    sentence:
      'this account has too many bytes of requests and responses in flight; wait {wait} before trying again',
    cause: 'an account may use a part of the memory for bodies (`BODY_MEMORY_BYTES`)',
    cure: 'send fewer large requests at once',
  },
  cap_used_up: {
    ...UNPAID,
    sentence: '{cap} is used up{renewal}',
    cause: 'a cap of the key',
    cure: 'wait for its renewal, or have it raised',
    retry: 'no',
  },
  over_cap: {
    ...UNPAID,
    sentence:
      'this request may cost up to {amount} USD, more than {cap} leaves{held}: {advice} or shorten the prompt{renewal}',
    cause: '`OVERDRAFT=none`, and a request that may cost more than a cap of the key leaves',
    cure: 'as the sentence says',
    retry: 'no',
  },
  over_cap_with_holds: {
    ...UNPAID,
    sentence:
      'this request may cost up to {amount} USD, more than {cap} leaves{held}: wait for them to end, {advice} or shorten the prompt{renewal}',
    cause: 'as `over_cap`, but it fits once other requests have ended',
    cure: 'send fewer at once',
    retry: HOLDS_END_SECONDS,
  },
  over_balance: {
    ...UNPAID,
    sentence:
      'this request may cost up to {amount} USD, and the balance is {balance}{held}: {shortfall} USD short; {advice}, shorten the prompt or add credit',
    cause: '`OVERDRAFT=none`, and a request that may cost more than the balance',
    cure: 'as the sentence says',
    retry: 'no',
  },
  over_balance_with_holds: {
    ...UNPAID,
    sentence:
      'this request may cost up to {amount} USD, and the balance is {balance}{held}: {shortfall} USD short; wait for them to end, {advice}, shorten the prompt or add credit',
    cause: 'as `over_balance`, but it fits once other requests have ended',
    cure: 'send fewer at once',
    retry: HOLDS_END_SECONDS,
  },
} as const satisfies Record<string, ErrorEntry>;
