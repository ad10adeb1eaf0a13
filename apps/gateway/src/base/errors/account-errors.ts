/** Errors of the dashboard's endpoints about an account's keys, charges and payments. */

import type { ErrorEntry } from './entry.js';

const NOT_FOUND = { status: 404, type: 'not_found_error', retry: 'no' } as const;
const BAD_REQUEST = { status: 400, type: 'invalid_request_error', retry: 'no' } as const;

export const ACCOUNT_ERRORS = {
  unknown_key_of_account: {
    ...NOT_FOUND,
    param: 'key_id',
    sentence: 'key_id: no key of this account has this id',
    cause: 'a wrong id, or a key of another account',
    cure: 'list the keys',
  },
  unknown_charge_of_holder: {
    ...NOT_FOUND,
    param: 'request_id',
    sentence: 'request_id: no charge of this {of} has this id{archived}',
    cause: "the request was not charged, is another's, or was archived",
    cure: 'check the id; archived charges are with the operator',
  },
  unknown_payment: {
    ...NOT_FOUND,
    param: 'payment_id',
    sentence: 'payment_id: no payment of this account has this id',
    cause: 'a wrong id, or a payment of another account',
    cure: 'list the payments',
  },
  no_receipt: {
    ...NOT_FOUND,
    sentence: 'there is no receipt of this payment',
    cause: 'it is not paid, or Stripe made none',
    cure: 'try again once it is paid',
  },
  promo_code_refused: {
    ...NOT_FOUND,
    param: 'code',
    sentence: 'code: cannot be redeemed, or can no longer be redeemed',
    cause: 'the code is unknown, used up, expired or suspended; which one is not said to strangers',
    cure: 'check it with who gave it; operators: `farthing promo-codes list`',
  },
  idempotency_key_used: {
    status: 409,
    type: 'conflict_error',
    param: 'idempotency-key',
    sentence: 'idempotency-key: was used before for another amount or return address',
    cause: 'one key stands for one top-up',
    cure: 'use another for another top-up',
    retry: 'changed',
  },
  several_charges: {
    status: 409,
    type: 'conflict_error',
    sentence: '{field}: several requests have a message with this id; ask for one of {request_ids}',
    cause: 'an upstream gave the same id to several messages',
    cure: 'ask by the id of the request',
    retry: 'changed',
  },
  notification_unsigned: {
    ...BAD_REQUEST,
    sentence: 'stripe-signature: is missing, too old, or does not match the body',
    cause: "the request is not Stripe's, `STRIPE_WEBHOOK_SECRET` is wrong, or the clock is",
    cure: "compare the secret with Stripe's dashboard",
  },
  notification_of_other_mode: {
    ...BAD_REQUEST,
    sentence: 'livemode: differs from the mode of the secret key',
    cause: 'test notifications with a live key, or the reverse',
    cure: 'use the key and the webhook of one mode',
  },
  notification_unreadable: {
    ...BAD_REQUEST,
    sentence: 'data: lacks members that such an event must have',
    cause: "another version of Stripe's API",
    cure: 'create the webhook with the version of the package `stripe` that the gateway uses',
  },
  notification_too_large: {
    status: 413,
    type: 'request_too_large',
    sentence: 'body: is larger than 256 KiB, or took longer than 10 seconds',
    cause: "the request is not Stripe's, or the network is slow",
    cure: 'Stripe repeats it',
    retry: 'no',
  },
  notification_not_booked: {
    status: 503,
    type: 'api_error',
    sentence: 'the notification cannot be booked at the moment: send it again',
    cause: 'the ledger or Stripe cannot be reached, or too many notifications come at once',
    cure: 'Stripe repeats it for three days',
    retry: 5,
  },
} as const satisfies Record<string, ErrorEntry>;
