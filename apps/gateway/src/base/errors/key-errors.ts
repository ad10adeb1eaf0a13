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
/** The member that a request names cannot spend. */
const UNNAMED = { status: 400, type: 'invalid_request_error', retry: 'no' } as const;
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
  key_link_ended: {
    ...UNAUTHORIZED,
    code: 'link_ended',
    sentence: 'this link shows no key any more: ask the person who sent it for a new one',
    cause: 'it expired, or its key was revoked',
    cure: 'make another with `farthing keys key-link`',
  },
  key_link_opened: {
    ...UNAUTHORIZED,
    code: 'link_opened',
    sentence:
      'this link was opened before, or its key got a new credential since: if that was not you, say so to the person who sent it',
    cause: 'a link shows a key once',
    cure: 'make another with `farthing keys key-link`: opening it ends the credential that the first one showed',
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
  budget_of_operator: {
    ...FORBIDDEN,
    code: 'set_by_operator',
    sentence: '{param}: your operator set this budget, and only your operator can use or change it',
    cause: 'a holder changes, and names as reserves, only budgets that a holder created',
    cure: 'create a stricter budget beside it, or ask your operator',
  },
  leaves_budget: {
    ...FORBIDDEN,
    code: 'set_by_operator',
    sentence: '{param}: a budget that your operator set would no longer count what is spent here',
    cause: 'a holder cannot move spending out of a budget of the operator',
    cure: 'choose a group or a member that the budget counts, too, or ask your operator',
  },
  own_member: {
    status: 400,
    type: 'invalid_request_error',
    param: 'member_id',
    sentence: 'member_id: this key belongs to the member, and would end itself: use another one',
    cause: 'ending a member revokes its keys',
    cure: 'use a key of another member, or ask your operator',
    retry: 'no',
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
  network_not_allowed: {
    ...FORBIDDEN,
    code: 'network_not_allowed',
    sentence: 'this API key may not be used from {address}',
    cause: "the key's `allowed_networks` do not have that address",
    cure: 'use it from one of its networks; operators: `farthing keys update key_… --allowed-networks all`, and behind a proxy `TRUST_PROXY`',
  },
  unknown_member: {
    ...UNNAMED,
    sentence: '{param}: the account has no member {member}',
    cause: 'the request names who spends, and the key makes no members of unknown names',
    cure: 'name a member by its id, external id or mail address, or create it first',
  },
  ambiguous_member: {
    ...UNNAMED,
    sentence: '{param}: several members have the address {member}; name one by its id',
    cause: 'a mail address need not be that of one member only',
    cure: 'as the sentence says',
  },
  member_ended: {
    ...UNNAMED,
    sentence: '{param}: the member {member} has ended',
    cause: 'an ended member spends nothing any more',
    cure: 'name another member',
  },
  too_many_members: {
    ...UNNAMED,
    sentence:
      '{param}: the account already has {most} members, as many as it may have, so {member} was not made one',
    cause: 'the key makes members of unknown names, and there were too many',
    cure: 'name members that exist; look for a client that names a new one each time',
  },
  too_many_run_budgets: {
    ...LIMITED,
    code: 'too_many_run_budgets',
    sentence:
      'x-gateway-run-budget: this key or member has {most} runs with budgets, or the account {of_account}; each of them ends after some days',
    cause: 'the header `x-gateway-run-budget` gives each run a budget',
    cure: 'send it only for runs that need one; look for a client that names a new run each time',
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
    cause:
      'as `over_cap`, but it fits once other requests have ended, for which it waited some seconds',
    cure: 'send fewer at once',
    retry: HOLDS_END_SECONDS,
  },
  budget_used_up: {
    ...UNPAID,
    sentence: '{budget} is used up{renewal}{contact}',
    cause: 'a budget of the account, or of a group, member, key, tag or run of it',
    cure: 'wait for its renewal, or have it raised',
    retry: 'no',
  },
  over_budget: {
    ...UNPAID,
    sentence:
      'this request may cost up to {amount} USD, more than {budget} leaves{held}: {advice} or shorten the prompt{renewal}{contact}',
    cause: '`OVERDRAFT=none`, and a request that may cost more than a budget leaves',
    cure: 'as the sentence says',
    retry: 'no',
  },
  over_budget_with_holds: {
    ...UNPAID,
    sentence:
      'this request may cost up to {amount} USD, more than {budget} leaves{held}: wait for them to end, {advice} or shorten the prompt{renewal}{contact}',
    cause:
      'as `over_budget`, but it fits once other requests have ended, for which it waited some seconds',
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
    cause:
      'as `over_balance`, but it fits once other requests have ended, for which it waited some seconds',
    cure: 'send fewer at once',
    retry: HOLDS_END_SECONDS,
  },
} as const satisfies Record<string, ErrorEntry>;
