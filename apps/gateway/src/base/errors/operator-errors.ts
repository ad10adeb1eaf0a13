/** Errors of the admin port, of operators' operations and of the command line. */

import type { ErrorEntry } from './entry.js';

const BAD_REQUEST = { status: 400, type: 'invalid_request_error', retry: 'no' } as const;
const UNAUTHORIZED = { status: 401, type: 'authentication_error', retry: 'no' } as const;
const FORBIDDEN = { status: 403, type: 'permission_error', retry: 'no' } as const;
const NOT_FOUND = { status: 404, type: 'not_found_error', retry: 'no' } as const;
const CONFLICT = { status: 409, type: 'conflict_error', retry: 'changed' } as const;
const UNAVAILABLE = { status: 503, type: 'api_error', retry: 'yes' } as const;
const BAD_GATEWAY = { status: 502, type: 'api_error', retry: 'yes' } as const;
const ADMIN_BODY = 'body: must be a JSON object of at most 256 KB';

export const OPERATOR_ERRORS = {
  wrong_token: {
    ...UNAUTHORIZED,
    sentence: 'authorization: must be "Bearer <{variable}>"',
    cause: 'no token, a wrong one, or one that was replaced',
    cure: 'send one of `ADMIN_TOKEN`, `ADMIN_TOKENS` or `METRICS_TOKEN`, as the sentence says',
  },
  wrong_log_in: {
    ...UNAUTHORIZED,
    sentence: 'token: is not an admin token of this gateway',
    cause: "the console's log-in got another token",
    cure: 'use the token that the start of the gateway names',
  },
  wrong_token_limit: {
    status: 429,
    type: 'rate_limit_error',
    sentence:
      'one address may send {limit} wrong {what}s a minute; wait {wait} before trying again',
    cause: 'somebody at this address guesses, or a program has an old token',
    cure: 'find the program; right tokens still work',
    retry: 'wait',
  },
  console_session_ended: {
    ...UNAUTHORIZED,
    sentence: 'session: has ended, or there is none; log in again',
    cause: 'half an hour without a request passed, or twelve hours, or its token was replaced',
    cure: 'log in',
  },
  console_link_needs_token: {
    ...UNAUTHORIZED,
    sentence: 'authorization: a link is made with an admin token, not a session',
    cause: 'a session could otherwise prolong itself',
    cure: '`farthing console-link`',
  },
  console_link_used: {
    ...UNAUTHORIZED,
    sentence: 'code: this link was used before; if that was not you, replace the admin token',
    cause: 'a link works once',
    cure: '`farthing console-link` makes another',
  },
  console_link_unknown: {
    ...UNAUTHORIZED,
    sentence: 'code: this link has expired, or the gateway was started again after it was made',
    cause: 'a link works for ten minutes',
    cure: '`farthing console-link` makes another',
  },
  console_link_elsewhere: {
    ...BAD_REQUEST,
    sentence:
      'origin: a console link works at a loopback address only, such as http://127.0.0.1:8081',
    cause: 'a link over the network could be read on the way',
    cure: 'open it on that machine, or through `ssh -L`',
  },
  console_needs_https: {
    ...BAD_REQUEST,
    sentence: 'origin: the console needs https, except on the machine of the gateway itself',
    cause: 'the admin port was opened over the network without TLS',
    cure: 'put a proxy with TLS in front, or use `ssh -L`',
  },
  other_page: {
    ...FORBIDDEN,
    sentence: 'origin: only pages of this server may do this',
    cause: 'a page of another site sent the request',
    cure: 'behind a proxy, check that it passes `Host` and the protocol on',
  },
  token_lacks_right: {
    ...FORBIDDEN,
    sentence: 'authorization: the token "{name}" may only {right}',
    cause: 'the right of this token in `ADMIN_TOKENS`',
    cure: 'use another token',
  },
  unknown_admin_url: {
    ...NOT_FOUND,
    sentence: 'path: there is no such endpoint',
    cause: 'a wrong path, or the endpoint of another version',
    cure: 'see `/openapi.json` of the admin port',
  },
  admin_body_unreadable: {
    ...BAD_REQUEST,
    sentence: ADMIN_BODY,
    cause: 'it is not JSON, or its length is wrong',
    cure: 'send an object',
  },
  admin_body_too_large: {
    ...BAD_REQUEST,
    status: 413,
    sentence: ADMIN_BODY,
    cause: 'more than that',
    cure: 'send several requests',
  },
  admin_body_encoded: {
    ...BAD_REQUEST,
    status: 415,
    sentence: ADMIN_BODY,
    cause: 'a charset or a compression that is not supported',
    cure: 'send UTF-8',
  },
  admin_failed: {
    status: 500,
    type: 'api_error',
    sentence: 'the gateway failed',
    cause: 'a bug: `admin request crashed` in the log has the stack trace',
    cure: 'report it',
    retry: 'yes',
  },
  background_work_failed: {
    status: 500,
    type: 'api_error',
    sentence: '{reason}',
    cause: 'long work, such as an audit, needed too much memory or crashed',
    cure: 'give the process more memory, or archive old charges',
    retry: 'yes',
  },
  not_found: {
    ...NOT_FOUND,
    sentence: '{field}: there is no such {what}',
    cause: 'a wrong id',
    cure: 'list what there is, or look in the archives',
  },
  payments_not_configured: {
    ...NOT_FOUND,
    sentence: 'payments: are not configured; set STRIPE_SECRET_KEY and STRIPE_WEBHOOK_SECRET',
    cause: 'this gateway takes no payments',
    cure: 'see payments.md',
  },
  unknown_upstream_account: {
    ...NOT_FOUND,
    sentence: 'upstream: no such account; {known}',
    cause: '`UPSTREAMS` lacks that name',
    cure: 'name one that there is',
  },
  month_not_over: {
    ...CONFLICT,
    sentence: 'month: {month} can be closed from {at} on',
    cause: 'the month is not over, or charges of it may still be on their way to the ledger',
    cure: 'close it then',
  },
  month_not_next: {
    ...CONFLICT,
    sentence: 'month: the next month that can be closed begins at {at}',
    cause: 'months are closed in order, and stay closed; `BOOKS_TIME_ZONE` may have changed',
    cure: 'close the months between first',
  },
  bookkeeping_not_configured: {
    ...NOT_FOUND,
    sentence: 'BOOKS_ACCOUNTS: {problem}',
    cause: 'a journal needs the account numbers of your bookkeeping',
    cure: 'set it, as the sentence says',
  },
  reports_not_configured: {
    ...NOT_FOUND,
    sentence: '{problem}',
    cause: "the provider's reports need a credential of their own",
    cure: 'set `ANTHROPIC_ADMIN_KEY`',
  },
  key_revoked: {
    ...CONFLICT,
    sentence:
      'key_id: this key is revoked, which cannot be undone: create another key for its account',
    cause: 'as the sentence says',
    cure: '`farthing keys create --name bob --account acct_…`',
  },
  too_many_keys: {
    ...BAD_REQUEST,
    sentence: 'keys: this account already has the maximum number of keys',
    cause: 'a holder may have 100 keys that are not revoked, so that limits of keys mean something',
    cure: 'revoke some',
  },
  id_used: {
    ...CONFLICT,
    sentence: '{field}: was used before for something else',
    cause: 'an id stands for one creation, top-up or transfer, and repeats only that',
    cure: 'use another id for something else',
  },
  id_of_recorded_charge: {
    ...CONFLICT,
    sentence: '{field}: a charge was booked from a record under the id {id}: use another id',
    cause: '`farthing ledger recharge` booked a charge with that id',
    cure: 'use another id',
  },
  external_id_taken: {
    ...CONFLICT,
    sentence: '{field}: already belongs to another {owner}',
    cause: 'your own ids are unique',
    cure: 'find the other by it',
  },
  payment_request_used: {
    ...CONFLICT,
    sentence: 'request_id: was used before for another amount or return address',
    cause: 'one id stands for one payment',
    cure: 'use another id',
  },
  payment_not_paid: {
    ...CONFLICT,
    sentence: 'payment_id: is not paid',
    cause: 'there is nothing to refund',
    cure: 'wait for the payment',
  },
  refund_failed: {
    ...CONFLICT,
    sentence: 'refund_id: the refund with this id failed: use another id',
    cause: 'Stripe could not pay it back',
    cure: 'refund by another id, or another way',
  },
  refund_id_used: {
    ...CONFLICT,
    sentence: 'refund_id: was used before for another amount',
    cause: 'one id stands for one refund',
    cure: 'use another id',
  },
  promo_code_exists: {
    ...CONFLICT,
    sentence: 'code: exists already',
    cause: 'a code is created once',
    cure: 'choose another',
  },
  transfer_exceeds_balance: {
    ...CONFLICT,
    sentence: 'amount_usd: only {free} USD are free to be transferred',
    cause: 'the rest is spent, held for requests in flight, or not there',
    cure: 'transfer less',
  },
  account_closed: {
    ...CONFLICT,
    sentence:
      '{field}: this account is closed: it gets no money, keys, members, budgets or allowance',
    cause: '`farthing accounts close`',
    cure: '`farthing accounts reopen`, if it was closed by mistake',
  },
  account_full: {
    ...BAD_REQUEST,
    param: 'account_id',
    sentence: 'account_id: this account has {most} {what}, and can have no more',
    cause: 'members, groups, budgets and raises are bounded per account',
    cure: 'use those that there are; what has ended counts, too',
  },
  owner_ended: {
    ...CONFLICT,
    param: 'member_id',
    sentence: 'member_id: this member has ended, and gets no keys',
    cause: '`farthing members end`, which cannot be undone',
    cure: 'create another member',
  },
  unfit_reserve: {
    ...BAD_REQUEST,
    param: 'then',
    sentence:
      'then: must be a reserve of the same account that has not ended; a chain has at most 4 budgets, none of them twice',
    cause: 'only a budget with the scope reserve pays for others',
    cure: 'create a budget with the scope reserve, and name its id',
  },
  budget_ended: {
    ...CONFLICT,
    param: 'budget_id',
    sentence: 'budget_id: this budget has ended, and cannot be raised',
    cause: '`farthing budgets end`',
    cure: 'create another budget',
  },
  account_not_closed: {
    ...CONFLICT,
    param: 'account_id',
    sentence: 'account_id: only an account that is closed can be erased: close it first',
    cause: 'its keys, its balance and its allowance would go on',
    cure: '`farthing accounts close`',
  },
  account_in_flight: {
    ...CONFLICT,
    param: 'account_id',
    sentence:
      'account_id: {held} USD are held for requests in flight: close the account when they have ended',
    cause: 'what is held may still be charged, so it can be neither paid out nor moved',
    cure: 'suspend the account, and try again in a minute',
    retry: 'yes',
  },
  account_in_debt: {
    ...CONFLICT,
    param: 'write_off_debt',
    sentence: 'write_off_debt: the account owes {owed} USD: collect it first, or set this to true',
    cause: 'closing does not write a debt off unless you say so',
    cure: 'as the sentence says',
  },
  account_rest_undecided: {
    ...BAD_REQUEST,
    param: 'rest',
    sentence: 'rest: {rest} USD of paid money are left: choose refund, transfer or breakage',
    cause: 'the gateway does not decide what becomes of money that a customer paid',
    cure: 'as the sentence says',
  },
  no_usable_key: {
    ...CONFLICT,
    param: 'anyway',
    sentence:
      'anyway: no key of this account can be used, so nobody could spend the credit; to give it all the same, set this to true',
    cause: 'the account has no key, is suspended, or its keys are suspended, revoked or expired',
    cure: 'check the account; or add `--anyway`',
  },
  entry_not_reversible: {
    ...CONFLICT,
    param: 'reverses',
    sentence: 'reverses: {why}',
    cause: 'charges, expiries, fees and transfers are not reversed, and each entry only once',
    cure: 'see the reason; a transfer is moved back by another',
  },
  entry_of_payment: {
    ...CONFLICT,
    param: 'reverses',
    sentence:
      'reverses: the payment provider reported this money; to pay it back, refund the payment ("farthing payments refund"), which books it',
    cause: 'a reversal by hand would move no money at the provider',
    cure: 'as the sentence says',
  },
  other_audit_runs: {
    ...CONFLICT,
    sentence: 'anchor: an audit with another anchor is running; wait until it has ended',
    cause: 'one audit runs at a time',
    cure: 'as the sentence says',
  },
  settings_changed_meanwhile: {
    ...CONFLICT,
    sentence: 'settings: were changed by somebody else at the same time',
    cause: 'two changes at once',
    cure: 'look at them, and change them again',
  },
  reload_refused: {
    ...CONFLICT,
    sentence: 'nothing was changed: {problems}',
    cause: 'a file or a variable cannot be used',
    cure: 'repair it; `farthing check-config` checks it',
  },
  no_console: {
    ...CONFLICT,
    sentence: 'PAGES_DIR: this gateway has no console',
    cause: 'the files of the pages are missing',
    cure: 'build them, or set `PAGES_DIR`',
  },
  upstream_key_needed: {
    ...CONFLICT,
    sentence: 'UPSTREAM_API_KEY: is needed to ask the upstream for its models',
    cause: 'the command runs without it',
    cure: 'set it, or `ADMIN_URL`',
  },
  audit_jobs_need_gateway: {
    ...CONFLICT,
    sentence: 'ADMIN_URL: is needed, because only a running gateway can run audits as jobs',
    cause: 'a command ends before such a job',
    cure: 'set it, or use `farthing ledger audit`',
  },
  reload_needs_gateway: {
    ...CONFLICT,
    sentence: 'ADMIN_URL: only a running gateway reloads',
    cause: 'the command opened the ledger itself',
    cure: 'set it',
  },
  upstream_models_unreadable: {
    ...BAD_GATEWAY,
    sentence: "the upstream's models cannot be read: {reason}",
    cause: "the provider's list of models",
    cure: 'see the reason',
  },
  provider_report_unreadable: {
    ...BAD_GATEWAY,
    sentence: '{reason}',
    cause: "the provider's report of usage or cost cannot be read",
    cure: 'see the reason; check `ANTHROPIC_ADMIN_KEY`',
  },
  payment_provider_failed: {
    ...UNAVAILABLE,
    sentence: 'payments: {reason}',
    cause: 'Stripe cannot be reached, or refused the request',
    cure: 'see the reason',
  },
  admin_port_unreachable: {
    ...UNAVAILABLE,
    sentence: 'ADMIN_URL: {problem}',
    cause: 'the command cannot talk to the gateway that it names',
    cure: 'check the address, and that the gateway runs',
  },
  audit_failed: {
    ...UNAVAILABLE,
    sentence: 'audit: {reason}',
    cause: 'the audit ended before it was done',
    cure: 'see `audit failed` in the log',
  },
  charges_need_confirmation: {
    ...BAD_REQUEST,
    sentence:
      '{files}: has usage objects, which anybody can write, and would charge {keys}: confirm each key that may be charged with --key <key_id>; nothing was booked',
    cause: "`farthing ledger recharge` got usages that are not of the gateway's own log",
    cure: 'check them first',
  },
} as const satisfies Record<string, ErrorEntry>;
