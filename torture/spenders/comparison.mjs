/**
 * Compares who was charged with whom the clients named, and each budget with the charges that plain
 * SQL sums for it. PostgreSQL's own calendar decides when periods begin.
 */

import { lineOf, toUnits } from '../check.mjs';
import { toUsd } from '../teams/operators.mjs';

/** One request costs less: it has at most 79 tokens of output, and 80 of input. */
const MOST_COST = 2n * 10n ** 11n;
/** How a refusal says whose budget it is. */
const LEVELS = {
  account: / of this account /,
  group: / of the group /,
  member: / of the member /,
  key: / of this key /,
  tag: / of the tag /,
  run: / of this run /,
};

export async function compareSpenders({ seen, accounts, read }) {
  const members = new Map(
    accounts.flatMap((account) => account.members.map((one) => [one.id, one])),
  );
  const rows = await read(
    `select l.id, s.member_id, s.groups, s.tag, s.run from ledger l
      left join spender s on s.id = l.spender_id where l.kind = 'charge'`,
  );
  const charges = new Map(rows.map((row) => [row.id, row]));
  return lineOf(
    'S1',
    `each charge is of the member, group, tag and run that the client named (${seen.length} seen)`,
    seen
      .map(({ requestId, spender }) => ({ requestId, spender, found: charges.get(requestId) }))
      .filter(
        ({ spender, found }) =>
          found === undefined ||
          found.member_id !== spender.memberId ||
          (found.tag ?? undefined) !== spender.tag ||
          (found.run ?? undefined) !== spender.run ||
          !members.get(spender.memberId).paths.has(found.groups ?? ''),
      ),
  );
}

/** What each subject of each budget has used in each period, from charges alone. */
const USES = `
  with charge as (
    select l.account_id, l.key_id, l.created_at, s.member_id, coalesce(s.groups, '') as groups,
      s.tag, s.run, l.written_off - l.delta as used
    from ledger l left join spender s on s.id = l.spender_id where l.kind = 'charge'
  )
  select b.id as budget_id, u.subject,
    case b.period when 'once' then coalesce(b.from_at, 'epoch')
      else date_trunc(b.period, c.created_at at time zone b.zone) at time zone b.zone end as start_at,
    sum(c.used)::text as used
  from budget b
  join charge c on c.account_id = b.account_id
  cross join lateral (
    select case when b.subject is not null then '' else
      case b.scope when 'account' then '' when 'member' then c.member_id when 'key' then c.key_id
        when 'tag' then c.tag when 'run' then c.run end end as subject
  ) u
  where u.subject is not null
    and (b.within_group is null or c.groups like '%/' || b.within_group || '/%')
    and (b.subject is null or case b.scope
      when 'group' then c.groups like '%/' || b.subject || '/%' when 'member' then c.member_id = b.subject
      when 'key' then c.key_id = b.subject when 'tag' then c.tag = b.subject
      when 'run' then c.run = b.subject end)
    and (b.period <> 'once' or c.created_at >= coalesce(b.from_at, 'epoch'))
  group by 1, 2, 3`;

export async function compareBudgets({ overdraft, parallel, budgets, refused, read }) {
  const nameOf = (row) => `${row.budget_id} ${row.subject} ${row.start_at.toISOString()}`;
  const summed = await read(USES);
  const stored = await read(
    `select budget_id, subject, to_timestamp(start_at / 1000.0) as start_at, used::text from budget_use`,
  );
  const expected = new Map(summed.map((row) => [nameOf(row), row.used]));
  const found = new Map(stored.map((row) => [nameOf(row), row.used]));
  const names = [...new Set([...expected.keys(), ...found.keys()])];
  const unitsOf = (text) => toUnits(text ?? '0');
  // Without holds, a budget is passed by what is in flight when it becomes empty.
  const inFlight = overdraft === 'none' ? 0n : BigInt(parallel) * MOST_COST;
  const over = ({ budget_id: id, used }) => toUnits(used) - budgets.get(id).most;
  const most = summed.map(over).reduce((one, other) => (one > other ? one : other), 0n);
  const passed = summed.filter((row) => over(row) > inFlight);
  const byBudget = refused.filter(({ text }) => /\bthe budget\b/.test(text));
  const byLevel = Object.entries(LEVELS).map(([level, pattern]) => ({
    level,
    count: byBudget.filter(({ text }) => pattern.test(text)).length,
  }));
  return [
    lineOf(
      'S2',
      `each budget has used the sum of its charges (${names.length} subjects and periods)`,
      names.filter((name) => unitsOf(expected.get(name)) !== unitsOf(found.get(name))),
    ),
    lineOf(
      'S3',
      overdraft === 'none'
        ? 'no budget was passed'
        : `no budget was passed by more than ${parallel} requests in flight ` +
            `(at most by ${toUsd(most)} of ${toUsd(inFlight)} USD)`,
      passed,
    ),
    // Without refusals, the check before proves nothing.
    lineOf(
      'S4',
      `budgets refused ${byBudget.length} of ${refused.length} refused requests: ` +
        byLevel.map(({ level, count }) => `${level} ${count}`).join(', '),
      ['group', 'member'].filter((of) =>
        byLevel.some(({ level, count }) => level === of && count === 0),
      ),
    ),
  ];
}

export async function compareSums(read) {
  const rows = await read(
    `select coalesce(e.account_id, h.account_id) as account_id, e.spent::text, h.spent::text as summed from
      (select account_id, sum(written_off - delta) as spent from ledger
        where kind = 'charge' and spender_id is not null group by 1) e
      full join (select account_id, sum(charged + written_off) as spent from spender_hour group by 1) h
      using (account_id)`,
  );
  return lineOf(
    'S5',
    `the sums of who spent add up to the charges (${rows.length} accounts)`,
    rows.filter(({ spent, summed }) => toUnits(spent ?? '0') !== toUnits(summed ?? '0')),
  );
}
