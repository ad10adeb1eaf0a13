/** The names that members of inputs have as options of the command line. */

/** Members whose options have other names than {@link optionNameOf} makes. */
const OTHER_NAMES: Readonly<Record<string, string>> = {
  account_id: 'account',
  key_id: 'key',
  member_id: 'member',
  group_id: 'group',
  parent_id: 'parent',
  cursor: 'after',
  source: 'promotional',
  credit_source: 'promotional',
  grace_seconds: 'grace',
  max_redemptions: 'times',
  idempotency_key: 'id',
  top_up_id: 'id',
  adjustment_id: 'id',
  transfer_id: 'id',
  closing_id: 'id',
  reversal_id: 'id',
  to_account_id: 'to',
  request_id: 'id',
  refund_id: 'id',
};

/** `low_balance_usd` is `low-balance`. */
export function optionNameOf(member: string): string {
  return OTHER_NAMES[member] ?? member.replace(/_usd$/, '').replaceAll('_', '-');
}
