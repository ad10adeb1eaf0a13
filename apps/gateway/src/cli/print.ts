/** Results for people. Scripts use `--json`. */

import type { LedgerMoveReport } from '@gateway/balance-store/embedded';
import { formatUsd, parseUsd } from '@gateway/billing';
import { accountCells, accountLines } from '../endpoints/schemas/accounts.js';
import { eventCells, holdCells } from '../endpoints/schemas/ledger.js';
import { keyCells, keyLines } from '../endpoints/schemas/keys.js';
import { originText } from '../endpoints/schemas/basics.js';
import type { OperationOutput } from '../operator/operations/operations.js';
import { NO_CHARGE } from '../operator/operations/witness.js';
import type { WitnessDifference } from '../operator/operations/witness.js';
import { handOver } from './hand-over.js';
import { painted } from './screen.js';
import type { Screen } from './screen.js';
import { bar, shortRange } from './short-texts.js';
import { page, pairs, table } from './table.js';
import type { Columns, RichText } from './table.js';
import type { Recharged } from './witness-commands.js';

/** @param forPerson - On a terminal: the address that clients use, if it is known. */
export function printCreatedKey(
  key: OperationOutput<'createKey'>,
  screen: Screen,
  forPerson?: { readonly address: string | undefined },
): string {
  const { id, api_key } = key;
  const facts = `${printKey(key)}${firstCreditLine(key)}`;
  if (api_key === null) {
    return `${facts}\n\nCreated before: nothing changed. For a new credential: keys rotate.`;
  }
  const next =
    forPerson === undefined ? '' : `\n\n${handOver({ id, api_key }, forPerson.address, screen)}`;
  return `${facts}\n\nAPI key (shown this once): ${api_key}${next}`;
}

export function printCreatedAccount(account: OperationOutput<'createAccount'>): string {
  return printAccount(account) + firstCreditLine(account);
}

function firstCreditLine({
  first_credit,
}: Pick<OperationOutput<'createAccount'>, 'first_credit'>): string {
  if (first_credit === null) return '';
  return `\nfirst credit: ${first_credit.amount_usd} USD, ${originText(first_credit)}`;
}

export function printLink({ path, expires_at }: OperationOutput<'createLink'>): string {
  return [
    'Put this after the address that clients use:',
    `  ${path}`,
    `It is valid until ${expires_at}, or until the key is rotated or revoked.`,
  ].join('\n\n');
}

export function printKeyLink(link: OperationOutput<'createKeyLink'>): string {
  const { url, path, expires_at, mailed_to, mail_problem } = link;
  return [
    url ?? `Put this after the address that clients use:\n\n  ${path}`,
    `It shows the key once, until ${expires_at}: whoever opens it first has a new credential, and the former one ends.`,
    ...(mailed_to === null ? [] : [`Sent to ${mailed_to}.`]),
    ...(mail_problem === null ? [] : [`Not sent by mail: ${mail_problem}.`]),
  ].join('\n\n');
}

export function printRotatedKey(key: OperationOutput<'rotateKey'>): string {
  if (key.api_key === null) return `${printKey(key)}\n\nRotated before: nothing changed.`;
  const until = key.previous_credential_until;
  const old = until === null ? 'no longer works' : `works until ${until}`;
  return `${printKey(key)}\n\nThe old credential ${old}.\nAPI key (shown this once): ${key.api_key}`;
}

export function printKey(key: OperationOutput<'showKey'>): string {
  return pairs(keyLines(key));
}

export function printKeys(keys: OperationOutput<'listKeys'>, screen: Screen): string {
  const ifEmpty = 'No keys found. Create one with: keys create --name <name> --balance 5';
  const columns = {
    // Both in one column, because a line with both would be too long for a terminal.
    'id, account': ({ id, account_id }: (typeof keys.data)[number]) => ({
      text: `${id}\n${account_id}`,
      short: id,
    }),
    ...keyCells.columns,
  };
  return page(keys, ifEmpty, { columns, leave: keyCells.leave }, screen);
}

export function printTopUp(topUp: OperationOutput<'topUp'>): string {
  const done = topUp.replayed ? 'Already credited before: nothing changed.' : 'Credited.';
  return `${done}\n${pairs({
    'top-up': topUp.top_up_id,
    account: topUp.account_id,
    'amount (USD)': topUp.amount_usd,
    'balance (USD)': topUp.balance_usd,
    'active keys': String(topUp.active_keys),
  })}${whyNoKeyIsActive(topUp)}`;
}

/** A line that says why no key of the account can make requests. Empty if one can. */
function whyNoKeyIsActive(account: {
  readonly balance_usd: string;
  readonly active_keys: number;
}): string {
  if (account.active_keys > 0) return '';
  const [, missing] = /^-(.+)$/.exec(account.balance_usd) ?? [];
  if (missing !== undefined) {
    return `\nThe balance is below zero: more than ${missing} USD must be credited before its keys can be used again.`;
  }
  return `\n${NOBODY}`;
}

const NOBODY =
  'No key of this account can make requests now: it has no key, its balance is used up, it is ' +
  'suspended, or its keys are suspended, revoked or expired.';

export function printAccount(
  account: OperationOutput<'updateAccount'> & Partial<OperationOutput<'showAccount'>>,
): string {
  return pairs(accountLines(account));
}

export function printErasure(account: OperationOutput<'eraseAccount'>): string {
  return `Erased.\n${printAccount(account)}`;
}

export function printClosing(closing: OperationOutput<'closeAccount'>): string {
  const { account, rest } = closing;
  return `${closing.replayed ? 'Closed before: nothing changed.' : 'Closed.'}\n${pairs({
    closing: closing.closing_id,
    account: `${account.id}, ${account.state}, balance ${account.balance_usd} USD`,
    'rest (USD)': rest === null ? closing.rest_usd : `${closing.rest_usd}, ${rest}`,
    'given back (USD)': closing.given_back_usd,
    'debt written off (USD)': closing.debt_written_off_usd,
  })}`;
}

export function printReversal(reversal: OperationOutput<'reverseEntry'>): string {
  return `${reversal.replayed ? 'Reversed before: nothing changed.' : 'Reversed.'}\n${pairs({
    reversal: reversal.reversal_id,
    account: reversal.account_id,
    reverses: reversal.reverses,
    'balance (USD)': reversal.balance_usd,
    'active keys': String(reversal.active_keys),
  })}${whyNoKeyIsActive(reversal)}`;
}

export function printAccounts(accounts: OperationOutput<'listAccounts'>, screen: Screen): string {
  return page(accounts, 'No accounts.', accountCells, screen);
}

export function printAdjustment(adjustment: OperationOutput<'adjustBalance'>): string {
  return `${adjustment.replayed ? 'Adjusted before: nothing changed.' : 'Adjusted.'}\n${pairs({
    adjustment: adjustment.adjustment_id,
    account: adjustment.account_id,
    'amount (USD)': adjustment.amount_usd,
    reason: adjustment.reason,
    'balance (USD)': adjustment.balance_usd,
    'active keys': String(adjustment.active_keys),
  })}${whyNoKeyIsActive(adjustment)}`;
}

export function printTransfer(transfer: OperationOutput<'transfer'>): string {
  return `${transfer.replayed ? 'Transferred before: nothing changed.' : 'Transferred.'}\n${pairs({
    transfer: transfer.transfer_id,
    'amount (USD)': transfer.amount_usd,
    from: `${transfer.account_id}, balance ${transfer.balance_usd} USD`,
    to: `${transfer.to_account_id}, balance ${transfer.to_balance_usd} USD`,
  })}`;
}

export function printStatement(
  statement: OperationOutput<'showStatement'>,
  screen: Screen,
): string {
  const lines = table(
    statement.lines,
    {
      date: 'date',
      what: 'text',
      '>tokens': 'tokens',
      '>rate (USD/M)': 'rate_usd_per_million',
      '>amount (USD)': 'amount_usd',
    },
    { screen, leave: ['rate (USD/M)', 'tokens'] },
  );
  return `${pairs({
    statement: statement.number ?? (statement.state === 'draft' ? 'draft' : 'not issued'),
    'credit note': statement.credit_note?.number ?? '',
    account: `${statement.account_name} (${statement.account_id})`,
    issuer: statement.issuer?.name ?? '',
    month: statement.month,
  })}\n${lines}\n${pairs({
    'charged (USD)': statement.charged_usd,
  })}`;
}

export function printUsage(
  { data, from, until }: OperationOutput<'listUsage'>,
  screen: Screen,
): string {
  const range =
    screen.width === undefined
      ? `From ${from} until before ${until}:`
      : `${shortRange(from, until)}:`;
  if (data.length === 0) return `${range} nothing was charged.`;
  return `${range}\n${table(
    data,
    {
      what: ({ day, hour, model, endpoint, upstream_account, ...owner }) =>
        richLine([
          day,
          hour,
          model,
          ...ownersOf(owner),
          ...spendersOf(owner),
          endpoint,
          upstream_account,
        ]),
      '>requests': 'requests',
      '>tokens in/out/read/write': tokensOf,
      '>charged (USD)': 'charged_usd',
      ...barColumn(data, ({ charged_usd }) => charged_usd, screen),
      ...costColumns(data),
    },
    {
      screen,
      leave: ['tokens in/out/read/write', 'cost (USD)', 'requests', BARS, 'margin (USD)'],
    },
  )}`;
}

/** The heading of a column of bars. */
export const BARS = '';
const BAR_WIDTH = 12;

/** A bar for each row, for the eye: a terminal only. */
export function barColumn<Row>(
  rows: readonly Row[],
  usdOf: (row: Row) => string,
  screen: Screen,
): Columns<Row> {
  if (screen.width === undefined) return {};
  const most = rows.map((row) => parseUsd(usdOf(row))).reduce((a, b) => (a > b ? a : b), 0n);
  return {
    [BARS]: (row) => painted('cyan', bar(parseUsd(usdOf(row)), most, BAR_WIDTH), screen),
  };
}

type Spenders = Pick<
  OperationOutput<'listUsage'>['data'][number],
  'member_id' | 'member_name' | 'group_id' | 'group_name' | 'tag' | 'run' | 'metadata' | 'others'
>;

/** Who spent, as far as the sum is of somebody. */
function spendersOf({ others = 0, ...of }: Spenders): readonly (string | RichText)[] {
  if (others > 0) return [`${String(others)} others`];
  const partOf = (what: string, id: string | null | undefined, name?: string | null) =>
    id === undefined ? [] : [id === null ? `no ${what}` : named(name, id)];
  return [
    ...partOf('member', of.member_id, of.member_name),
    ...partOf('group', of.group_id, of.group_name),
    ...partOf('tag', of.tag),
    ...partOf('run', of.run),
    ...partOf('value', of.metadata),
  ];
}

/** A name with the id that it belongs to. */
export function namedId(name: string | null | undefined, id: string): string;
export function namedId(name: string | null | undefined, id: string | null): string | undefined;
export function namedId(name: string | null | undefined, id: string | null) {
  if (id === null) return undefined;
  return name == null || name === '' ? id : `${name} (${id})`;
}

/** A name with its id, and without it where there is no room. */
export function named(name: string | null | undefined, id: string): RichText {
  return { text: namedId(name, id), short: name == null || name === '' ? id : name };
}

/** Parts of one cell. */
export function richLine(
  parts: readonly (string | RichText | null | undefined)[],
): Required<Pick<RichText, 'text' | 'short'>> {
  const known = parts.filter((part) => part !== undefined && part !== null);
  const textOf = (part: string | RichText) => (typeof part === 'string' ? part : part.text);
  return {
    text: known.map(textOf).join('  '),
    short: known
      .map((part) => (typeof part === 'string' ? part : (part.short ?? part.text)))
      .join('  '),
  };
}

interface Owners {
  readonly account_id?: string | null;
  readonly account_name?: string | null;
  readonly key_id?: string | null;
  readonly key_name?: string | null;
}

/** The account and the key of a row, as far as it has them. */
export function ownersOf(row: Owners): readonly (RichText | undefined)[] {
  const { account_id: account = null, key_id: key = null } = row;
  return [
    account === null ? undefined : named(row.account_name, account),
    key === null ? undefined : named(row.key_name, key),
  ];
}

interface Costed {
  readonly cost_usd?: string;
  readonly margin_usd?: string;
  readonly requests_without_cost?: number;
}

/** Columns of cost and margin, if the cost of a row is known. */
export function costColumns(rows: readonly object[]): Columns<object> {
  const of = (row: object): Costed => row;
  if (rows.every((row) => of(row).cost_usd === undefined)) return {};
  return {
    '>cost (USD)': (row) => of(row).cost_usd,
    '>margin (USD)'(row) {
      const { cost_usd, margin_usd, requests_without_cost: others = 0 } = of(row);
      if (margin_usd !== undefined) return margin_usd;
      return cost_usd === undefined ? 'unknown' : `unknown: ${String(others)} have no cost`;
    },
  };
}

export function printEvents(events: OperationOutput<'listEvents'>, screen: Screen): string {
  return page(events, 'No events.', eventCells, screen);
}

/** What was changed may be long: a terminal gets its beginning. */
const MOST_DETAILS = 40;

export function printTrail(entries: OperationOutput<'listTrail'>, screen: Screen): string {
  const columns: Columns<(typeof entries.data)[number]> = {
    time: 'created_at',
    who: 'actor',
    did: 'action',
    to: (entry) => ownersOf(entry)[entry.key_id === null ? 0 : 1],
    what({ details }) {
      const text = JSON.stringify(details);
      const short = text.length > MOST_DETAILS ? `${text.slice(0, MOST_DETAILS - 1)}…` : text;
      return { text, short };
    },
  };
  return page(entries, 'Nothing was changed.', { columns, leave: ['what', 'who', 'to'] }, screen);
}

export function printHolds({ data }: OperationOutput<'listHolds'>, screen: Screen): string {
  // The list has no pages.
  return page({ data, next_cursor: null }, 'No holds.', holdCells, screen);
}

export function printRecharge(
  { booked, charged_usd, already_charged, refused }: Recharged,
  screen: Screen,
): string {
  const summary = pairs({
    booked: String(booked),
    'charged (USD)': charged_usd,
    'already charged': String(already_charged),
    refused: String(refused.length),
  });
  if (refused.length === 0) return summary;
  const columns = { request: 'request_id', 'why it is not booked': 'reason' } as const;
  const reasons = table(refused, columns, { screen });
  return `${summary}\n${reasons}`;
}

export function printAudit(
  audit: OperationOutput<'auditLedger'> & {
    readonly witness: {
      readonly compared: number;
      readonly differences: readonly WitnessDifference[];
    } | null;
  },
  screen: Screen,
): string {
  const summary = pairs({
    accounts: String(audit.accounts),
    keys: String(audit.keys),
    entries: String(audit.entries),
    ...(audit.archived === 0 ? {} : { archived: `${String(audit.archived)} charges` }),
    'credited (USD)': audit.credited_usd,
    'adjusted (USD)': audit.adjusted_usd,
    'expired (USD)': audit.expired_usd,
    'charged (USD)': audit.charged_usd,
    'written off (USD)': audit.written_off_usd,
    'balances (USD)': audit.balances_usd,
    'gap (USD)': audit.gap_usd,
    sealed: String(audit.sealed),
    'end of chain': audit.head ?? 'none yet',
    'set aside': String(audit.quarantined),
    'orphaned holds': String(audit.orphaned_holds),
    conflicts: String(audit.conflicts),
    differences: String(audit.differences.length),
    ...(audit.witness === null
      ? {}
      : { 'witnessed usages': `${String(audit.witness.compared)} compared` }),
  });
  const missed = audit.witness?.differences ?? [];
  const witness =
    missed.length === 0
      ? ''
      : `\n${table(
          missed,
          { request: 'request_id', witnessed: 'expected', 'in the ledger': 'found' },
          { screen },
        )}\nThe ledger does NOT agree with the witness in ${String(missed.length)} usages.${
          missed.some(({ found }) => found === NO_CHARGE)
            ? '\nIs request_id the value of the header x-gateway-request-id? The ids in request-id are those of the provider.'
            : ''
        }`;
  if (audit.is_sound) return `${summary}\nThe ledger is sound.${witness}`;
  const differences = table(
    audit.differences,
    {
      check: 'check',
      'key / account': ({ key_id, account_id }) => key_id ?? account_id,
      entry: 'entry_id',
      expected: 'expected',
      found: 'found',
    },
    { screen },
  );
  return `${summary}\n${differences}\nThe ledger is NOT sound.${witness}`;
}

export function printExport({ rows, audit }: LedgerMoveReport, dataDir: string): string {
  const moved = [...rows].map(([name, count]) => ({ name, count }));
  return `${table(moved, { table: 'name', '>rows moved': 'count' })}
${pairs({
  'credited (USD)': formatUsd(audit.credited),
  'charged (USD)': formatUsd(audit.charged),
  'balances (USD)': formatUsd(audit.balances),
  'gap (USD)': formatUsd(audit.gap),
})}
All amounts are the same as before, and the audit found no difference. The embedded ledger can no longer be opened.

Continue with PostgreSQL:  DATABASE_URL=<that database>  KEY_PEPPER="$(cat ${dataDir}/key-pepper)" \\
                           ADMIN_TOKEN="$(cat ${dataDir}/admin-token)"
Without ADMIN_TOKEN, the admin API and the metrics are not served.`;
}

export function printBackup(to: string, dataDir: string): string {
  return `${to} has the whole ledger, as of the start of this command.

To restore it, stop the gateway and run:  rm -f ${dataDir}/ledger.db-wal ${dataDir}/ledger.db-shm
                                          install -m 600 -o "$(stat -c %U ${dataDir})" ${to} ${dataDir}/ledger.db
Then audit it with the last anchor from the log. The audit shows whether the restore lost charges:
                                          farthing ledger audit --anchor <block:hash>`;
}

export function printModels({ data }: OperationOutput<'listModels'>, screen: Screen): string {
  return table(
    data,
    {
      model: 'id',
      '>in (USD/M tokens)': 'rate_in',
      '>out (USD/M tokens)': 'rate_out',
      '>max output': 'max_output_tokens',
      '>context': 'context_window',
      retires: ({ retires_at }) => retires_at?.slice(0, 10),
    },
    { screen, leave: ['max output', 'context', 'retires'] },
  );
}

/** The entries as JSON, ready to paste into the price table. */
export function printModelsDiff({ missing, gone }: OperationOutput<'compareModels'>): string {
  const lines = [
    missing.length === 0
      ? 'The table has every model that the upstream offers.'
      : `${String(missing.length)} models of the upstream are not in the table. Paste those that you want to offer, and replace each null:`,
    ...missing.map((entry) => `${JSON.stringify(entry, null, 2)},`),
  ];
  if (gone.length > 0) lines.push(`Not offered by the upstream (any more): ${gone.join(', ')}`);
  return lines.join('\n');
}

/** Input, output, cache reads and cache writes. */
export function tokensOf(usage: {
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cache_read_input_tokens: number;
  readonly cache_creation_input_tokens: number;
}): string {
  return [
    usage.input_tokens,
    usage.output_tokens,
    usage.cache_read_input_tokens,
    usage.cache_creation_input_tokens,
  ].join('/');
}
