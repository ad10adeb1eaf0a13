/**
 * The ids of entries that are not charges. Each begins with the prefix of its kind. A charge's id
 * is its request id, which must not begin with one of them. Otherwise the charge would take the id
 * of an entry that is booked later, and that booking would be a conflict.
 */

const PREFIX = {
  topUp: 'topup:',
  adjustment: 'adjustment:',
  transfer: 'transfer:',
  expiry: 'expiry:',
  allowance: 'allowance:',
  fee: 'fee:',
  opening: 'opening:',
} as const;

const PREFIXES = Object.values(PREFIX);

export const entryId = {
  topUp: (id: string) => `${PREFIX.topUp}${id}`,
  /** Of the credit that is given when an account or a key is created. */
  firstCredit: (accountId: string, seq: bigint) =>
    `${PREFIX.topUp}initial:${accountId}:${seq.toString()}`,
  adjustment: (id: string) => `${PREFIX.adjustment}${id}`,
  transferOut: (id: string) => `${PREFIX.transfer}${id}:out`,
  transferIn: (id: string) => `${PREFIX.transfer}${id}:in`,
  expiry: (lotId: string, seq: bigint) => `${PREFIX.expiry}${lotId}:${seq.toString()}`,
  fee: (id: string) => `${PREFIX.fee}${id}`,
  /** What a closing books. Ids that callers choose have no slash. */
  closing: (id: string, part: 'given' | 'rest' | 'debt') =>
    `${PREFIX.adjustment}${closingId(id)}/${part}`,
  opening: (accountId: string) => `${PREFIX.opening}${accountId}`,
  /** @param month - As people write it: `2026-12`. */
  allowance: (accountId: string, month: string) => `${PREFIX.allowance}${accountId}:${month}`,
};

/** The id of a closing among those of creations and transfers. */
export function closingId(id: string): string {
  return `close/${id}`;
}

/** Whether a credit is an allowance. */
export function isAllowance(id: string): boolean {
  return id.startsWith(PREFIX.allowance);
}

/** The prefix of an id that no charge may have; `undefined` for other ids. */
export function reservedPrefixOf(id: string): string | undefined {
  return PREFIXES.find((prefix) => id.startsWith(prefix));
}
