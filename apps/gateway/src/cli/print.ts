/** Results for people. Scripts use `--json`. */

import Table from 'cli-table3';
import type { LedgerMoveReport } from '@gateway/balance-store/embedded';
import { formatUsd } from '@gateway/billing';
import { accountCells, accountLines } from '../endpoints/schemas/accounts.js';
import { eventCells, holdCells } from '../endpoints/schemas/ledger.js';
import { keyCells, keyLines } from '../endpoints/schemas/keys.js';
import { originText } from '../endpoints/schemas/basics.js';
import type { OperationOutput } from '../operator/operations/operations.js';
import { NO_CHARGE } from '../operator/operations/witness.js';
import type { WitnessDifference } from '../operator/operations/witness.js';
import type { Recharged } from './witness-commands.js';

export function printCreatedKey(key: OperationOutput<'createKey'>): string {
  const credential =
    key.api_key === null
      ? 'Created before: nothing changed. For a new credential: keys rotate.'
      : `API key (shown this once): ${key.api_key}`;
  return `${printKey(key)}${firstCreditLine(key)}\n\n${credential}`;
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

export function printRotatedKey(key: OperationOutput<'rotateKey'>): string {
  if (key.api_key === null) return `${printKey(key)}\n\nRotated before: nothing changed.`;
  const until = key.previous_credential_until;
  const old = until === null ? 'no longer works' : `works until ${until}`;
  return `${printKey(key)}\n\nThe old credential ${old}.\nAPI key (shown this once): ${key.api_key}`;
}

export function printKey(key: OperationOutput<'showKey'>): string {
  return pairs(keyLines(key));
}

export function printKeys(keys: OperationOutput<'listKeys'>): string {
  return page(keys, 'No keys found. Create one with: keys create --name <name> --balance 5', {
    // Both in one column, because a line with both would be too long for a terminal.
    'id, account': ({ id, account_id }) => `${id}\n${account_id}`,
    ...keyCells,
  });
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

export function printAccounts(accounts: OperationOutput<'listAccounts'>): string {
  return page(accounts, 'No accounts.', accountCells);
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

export function printStatement(statement: OperationOutput<'showStatement'>): string {
  const lines = table(statement.lines, {
    date: 'date',
    what: 'text',
    '>tokens': 'tokens',
    '>rate (USD/M)': 'rate_usd_per_million',
    '>amount (USD)': 'amount_usd',
  });
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

export function printUsage({ data, from, until }: OperationOutput<'listUsage'>): string {
  const range = `From ${from} until before ${until}:`;
  if (data.length === 0) return `${range} nothing was charged.`;
  return `${range}\n${table(data, {
    what: ({ day, hour, model, endpoint, upstream_account, ...owner }) =>
      [day, hour, model, ...ownersOf(owner), endpoint, upstream_account]
        .filter((part) => part !== undefined && part !== null)
        .join('  '),
    '>requests': 'requests',
    '>tokens in/out/read/write': tokensOf,
    '>charged (USD)': 'charged_usd',
    ...costColumns(data),
  })}`;
}

/** A name with the id that it belongs to. */
export function namedId(name: string | null | undefined, id: string): string;
export function namedId(name: string | null | undefined, id: string | null): string | undefined;
export function namedId(name: string | null | undefined, id: string | null) {
  if (id === null) return undefined;
  return name == null || name === '' ? id : `${name} (${id})`;
}

interface Owners {
  readonly account_id?: string | null;
  readonly account_name?: string | null;
  readonly key_id?: string | null;
  readonly key_name?: string | null;
}

/** The account and the key of a row, as far as it has them. */
export function ownersOf(row: Owners): readonly (string | undefined)[] {
  return [
    namedId(row.account_name, row.account_id ?? null),
    namedId(row.key_name, row.key_id ?? null),
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

export function printEvents(events: OperationOutput<'listEvents'>): string {
  return page(events, 'No events.', eventCells);
}

export function printTrail(entries: OperationOutput<'listTrail'>): string {
  return page(entries, 'Nothing was changed.', {
    time: 'created_at',
    who: 'actor',
    did: 'action',
    to: (entry) => ownersOf(entry)[entry.key_id === null ? 0 : 1],
    what: ({ details }) => JSON.stringify(details),
  });
}

export function printHolds({ data }: OperationOutput<'listHolds'>): string {
  // The list has no pages.
  return page({ data, next_cursor: null }, 'No holds.', holdCells);
}

export function printRecharge({
  booked,
  charged_usd,
  already_charged,
  refused,
}: Recharged): string {
  const summary = pairs({
    booked: String(booked),
    'charged (USD)': charged_usd,
    'already charged': String(already_charged),
    refused: String(refused.length),
  });
  if (refused.length === 0) return summary;
  const reasons = table(refused, { request: 'request_id', 'why it is not booked': 'reason' });
  return `${summary}\n${reasons}`;
}

export function printAudit(
  audit: OperationOutput<'auditLedger'> & {
    readonly witness: {
      readonly compared: number;
      readonly differences: readonly WitnessDifference[];
    } | null;
  },
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
      : `\n${table(missed, {
          request: 'request_id',
          witnessed: 'expected',
          'in the ledger': 'found',
        })}\nThe ledger does NOT agree with the witness in ${String(missed.length)} usages.${
          missed.some(({ found }) => found === NO_CHARGE)
            ? '\nIs request_id the value of the header x-gateway-request-id? The ids in request-id are those of the provider.'
            : ''
        }`;
  if (audit.is_sound) return `${summary}\nThe ledger is sound.${witness}`;
  const differences = table(audit.differences, {
    check: 'check',
    'key / account': ({ key_id, account_id }) => key_id ?? account_id,
    entry: 'entry_id',
    expected: 'expected',
    found: 'found',
  });
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

export function printModels({ data }: OperationOutput<'listModels'>): string {
  return table(data, {
    model: 'id',
    '>in (USD/M tokens)': 'rate_in',
    '>out (USD/M tokens)': 'rate_out',
    '>max output': 'max_output_tokens',
    '>context': 'context_window',
    retires: ({ retires_at }) => retires_at?.slice(0, 10),
  });
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

type Text = string | number | null | undefined;

/** The members of a row that can be shown as they are. */
type TextIn<Row> = {
  [Name in keyof Row]-?: Row[Name] extends Text ? Name : never;
}[keyof Row];

/**
 * The cells of a table by their headings: members of a row, or what is made from it. A heading that
 * begins with `>` is a column of numbers, aligned at its end.
 */
export type Columns<Row> = Readonly<Record<string, TextIn<Row> | ((row: Row) => Text)>>;

/** @param widths - The widths of columns in which long texts are wrapped, by their headings. */
export function table<Row>(
  rows: readonly Row[],
  columns: Columns<Row>,
  widths: Readonly<Record<string, number>> = {},
): string {
  const headings = Object.keys(columns);
  const cellOf = (row: Row, column: Columns<Row>[string]): Text =>
    typeof column === 'function' ? column(row) : (row[column] as Text);
  const made = new Table({
    colWidths: headings.map((heading) => {
      const width = widths[heading];
      return width === undefined ? null : width + PADDING;
    }),
    wordWrap: true,
    head: headings.map((heading) => heading.replace(/^>/, '')),
    colAligns: headings.map((heading) => (heading.startsWith('>') ? 'right' : 'left')),
    style: { head: [], border: [], compact: true },
  });
  made.push(
    ...rows.map((row) => Object.values(columns).map((column) => String(cellOf(row, column) ?? ''))),
  );
  return made.toString();
}

/** One page of a list, and how to get the next one. */
export function page<Row>(
  list: { readonly data: readonly Row[]; readonly next_cursor: string | null },
  ifEmpty: string,
  columns: Columns<Row>,
): string {
  if (list.data.length === 0) return ifEmpty;
  return table(list.data, columns) + more(list.next_cursor);
}

/** The blanks beside the text of a cell. */
const PADDING = 2;

export function pairs(values: Readonly<Record<string, string>>): string {
  const width = Math.max(...Object.keys(values).map((name) => name.length));
  return Object.entries(values)
    .map(([name, value]) => `${name.padEnd(width)}  ${value}`)
    .join('\n');
}

export function more(cursor: string | null): string {
  return cursor === null ? '' : `\nMore: --after ${cursor}`;
}
