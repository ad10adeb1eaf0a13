/** Results for people. Scripts use `--json`. */

import Table from 'cli-table3';
import type { LedgerMoveReport } from '@gateway/balance-store/embedded';
import { formatUsd } from '@gateway/billing';
import type { OperationOutput } from '../operations/operations.js';
import type { WitnessDifference } from '../operations/witness.js';

export function printCreatedKey(key: OperationOutput<'createKey'>): string {
  return `${printKey(key)}\n\nAPI key (shown this once): ${key.api_key}`;
}

export function printKey(key: OperationOutput<'showKey'>): string {
  const { concurrency, burst, requests_per_minute } = key.limits;
  return pairs({
    id: key.id,
    name: key.name,
    key: key.hint,
    state: stateOf(key),
    'balance (USD)': key.balance_usd,
    'spent (USD)': key.spent_usd,
    'written off (USD)': key.written_off_usd,
    'credited (USD)': key.credited_usd,
    limits: `${String(concurrency)} at once, burst ${String(burst)}, ${String(requests_per_minute)} per minute`,
    expires: key.expires_at ?? 'never',
    created: key.created_at,
    'last charged': key.last_charged_at ?? 'never',
  });
}

export function printKeys({ data, next_cursor }: OperationOutput<'listKeys'>): string {
  if (data.length === 0)
    return 'No keys yet. Create one with: keys create --name <name> --balance 5';
  const rows = data.map((key) => [
    key.id,
    key.name,
    key.hint,
    stateOf(key),
    key.balance_usd,
    key.spent_usd,
  ]);
  return (
    table(['id', 'name', 'key', 'state', '>balance (USD)', '>spent (USD)'], rows) +
    more(next_cursor, '--after')
  );
}

export function printTopUp(topUp: OperationOutput<'topUp'>): string {
  const done = topUp.replayed ? 'Already credited before: nothing changed.' : 'Credited.';
  return `${done}\n${pairs({
    'top-up': topUp.top_up_id,
    key: topUp.key_id,
    'amount (USD)': topUp.amount_usd,
    'balance (USD)': topUp.balance_usd,
    active: topUp.is_active ? 'yes' : 'no',
  })}`;
}

export function printLedger({ data, next_cursor }: OperationOutput<'listLedger'>): string {
  if (data.length === 0) return 'No entries.';
  const rows = data.map((entry) => [
    entry.created_at,
    entry.key_id,
    entry.seq,
    entry.kind,
    entry.kind === 'charge' ? entry.model : entry.actor,
    entry.kind === 'charge' ? tokensOf(entry.usage) : '',
    entry.amount_usd,
    entry.balance_after_usd,
  ]);
  return (
    table(
      [
        'time',
        'key',
        '>seq',
        'kind',
        'model / actor',
        '>tokens in/out/read/write',
        '>amount (USD)',
        '>balance (USD)',
      ],
      rows,
    ) + more(next_cursor, '--cursor')
  );
}

export function printHolds({ data }: OperationOutput<'listHolds'>): string {
  if (data.length === 0) return 'No holds.';
  const rows = data.map((hold) => [
    hold.created_at,
    hold.request_id,
    hold.key_id,
    hold.amount_usd,
    hold.orphaned_at ?? '',
  ]);
  return table(['placed', 'request', 'key', '>amount (USD)', 'orphaned'], rows);
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
    keys: String(audit.keys),
    entries: String(audit.entries),
    'credited (USD)': audit.credited_usd,
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
          ['request', 'witnessed', 'in the ledger'],
          missed.map((difference) => [
            difference.request_id,
            difference.expected,
            difference.found,
          ]),
        )}\nThe ledger does NOT agree with the witness in ${String(missed.length)} usages.`;
  if (audit.is_sound) return `${summary}\nThe ledger is sound.${witness}`;
  const rows = audit.differences.map((difference) => [
    difference.check,
    difference.key_id ?? '',
    difference.entry_id ?? '',
    difference.expected,
    difference.found,
  ]);
  return `${summary}\n${table(['check', 'key', 'entry', 'expected', 'found'], rows)}\nThe ledger is NOT sound.${witness}`;
}

export function printExport({ rows, audit }: LedgerMoveReport, dataDir: string): string {
  const counts = [...rows].map(([name, count]) => [name, String(count)]);
  return `${table(['table', '>rows moved'], counts)}
${pairs({
  'credited (USD)': formatUsd(audit.credited),
  'charged (USD)': formatUsd(audit.charged),
  'balances (USD)': formatUsd(audit.balances),
  'gap (USD)': formatUsd(audit.gap),
})}
The same as before, to the last digit, and sound. The embedded ledger will not open any more.

Go on with PostgreSQL:  DATABASE_URL=<that database>  KEY_PEPPER="$(cat ${dataDir}/key-pepper)"`;
}

export function printBackup(to: string, dataDir: string): string {
  return `${to} has the whole ledger, as of the start of this command.

To restore it, stop the gateway and run:  rm -f ${dataDir}/ledger.db-wal ${dataDir}/ledger.db-shm
                                          cp ${to} ${dataDir}/ledger.db
Then audit it with the last anchor from the log, which says what the restore lost:
                                          gateway ledger audit --anchor <block:hash>`;
}

export function printModels({ data }: OperationOutput<'listModels'>): string {
  const rows = data.map((model) => [
    model.id,
    model.rate_in,
    model.rate_out,
    String(model.max_output_tokens),
    String(model.context_window),
  ]);
  return table(
    ['model', '>in (USD/M tokens)', '>out (USD/M tokens)', '>max output', '>context'],
    rows,
  );
}

function stateOf(key: { readonly state: string; readonly is_active: boolean }): string {
  return key.state === 'active' && !key.is_active ? 'inactive (spent or expired)' : key.state;
}

function tokensOf(usage: {
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

/** A heading that begins with `>` is a column of numbers, aligned at its end. */
function table(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const made = new Table({
    head: headings.map((heading) => heading.replace(/^>/, '')),
    colAligns: headings.map((heading) => (heading.startsWith('>') ? 'right' : 'left')),
    style: { head: [], border: [], compact: true },
  });
  made.push(...rows.map((row) => [...row]));
  return made.toString();
}

function pairs(values: Readonly<Record<string, string>>): string {
  const width = Math.max(...Object.keys(values).map((name) => name.length));
  return Object.entries(values)
    .map(([name, value]) => `${name.padEnd(width)}  ${value}`)
    .join('\n');
}

function more(cursor: string | null, option: string): string {
  return cursor === null ? '' : `\nMore: ${option} ${cursor}`;
}
