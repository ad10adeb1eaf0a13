/**
 * The ids under which the ledger recognises a repeated request. Operators and holders of keys
 * choose theirs independently, so an id of one must never be read as an id of the other.
 *
 * Each author's ids have a form that the other's cannot have. A given id that looks like one of the
 * other author is stored with `/` before it, which no given id may contain (see `idempotencyId`).
 * All other ids are stored as they were before this rule, so that their repetitions are found.
 */

import type { Actor, KeyRecord } from '@gateway/balance-store';

/** A creation or a rotation that a key requests. Accounts may choose the same id. */
export function holdersId({ accountId }: Pick<KeyRecord, 'accountId'>, given: string): string {
  return `${accountId}:${given}`;
}

const LIKE_HOLDERS = /^acct_[\w-]{1,64}:/;

/** A creation or a rotation that an operator requests. */
export function operatorsId(given: string | undefined): string | undefined {
  return given !== undefined && LIKE_HOLDERS.test(given) ? `/${given}` : given;
}

/** The rotation of a key by the link that shows it. No given id has its form. */
export function keyLinksId(digest: string): string {
  return `/key-link/${digest}`;
}

/** A creation that operators request, and holders of keys for their own account. */
export function creationIdBy(
  { holderOf }: Pick<Actor, 'holderOf'>,
  given: string | undefined,
): string | undefined {
  if (holderOf === undefined || given === undefined) return operatorsId(given);
  return holdersId({ accountId: holderOf }, given);
}

const OF_OPERATOR = 'operator:';

/** A payment that a key starts. The payment's id also includes the account. */
export function holdersPaymentId(given: string): string {
  return given.startsWith(OF_OPERATOR) ? `/${given}` : given;
}

/** A payment that an operator starts. */
export function operatorsPaymentId(given: string): string {
  return `${OF_OPERATOR}${given}`;
}

/**
 * The beginnings of the ids of top-ups that the gateway itself makes: the redemption of a
 * promotional code, and the first credit of an account or a key. Top-ups with the id of a payment,
 * such as `stripe:pi_…`, are not among them: an operator credits an unbooked payment under its id,
 * so that it is not credited again.
 */
const OWN_TOP_UPS = ['promo:', 'initial:'] as const;

/** @returns how the gateway's own ids begin, if the id of an operator's top-up begins like them */
export function ownTopUpPrefix(given: string): string | undefined {
  return OWN_TOP_UPS.find((prefix) => given.startsWith(prefix));
}
