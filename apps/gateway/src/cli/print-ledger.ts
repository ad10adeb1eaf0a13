/** Ledger entries as text for a terminal: a list, and everything about one entry. */

import { bookingLines, chargeLines } from '../endpoints/schemas/entries.js';
import type { OperationOutput } from '../operator/operations/operations.js';
import { costColumns, tokensOf } from './print.js';
import type { Screen } from './screen.js';
import { more, pairs, table } from './table.js';

type Entry = OperationOutput<'showEntry'>;

/** The longest id of a charge, top-up or adjustment, unless somebody chose a longer one. */
const ID_WIDTH = 49;

/**
 * Each entry takes several lines, because one line with its id would be too long for a terminal.
 * Notes are wrapped; ids never are.
 */
export function printLedger(
  { data, next_cursor, archived_until }: OperationOutput<'listLedger'>,
  screen: Screen,
): string {
  const archived =
    archived_until === null ? '' : `\nCharges before ${archived_until} are archived.`;
  if (data.length === 0) return `No entries.${archived}`;
  const width = Math.max(ID_WIDTH, ...data.map(({ id }) => id.length));
  const entries = table<Entry>(
    data,
    {
      'time, key or account': (entry) =>
        `${entry.created_at}\n${entry.kind === 'charge' ? entry.key_id : entry.account_id}`,
      entry: (entry) => entryLines(entry).join('\n'),
      '>amount (USD)': 'amount_usd',
      '>balance (USD)': 'balance_after_usd',
      ...costColumns(data),
    },
    {
      screen,
      widths: { entry: width },
      leave: ['balance (USD)', 'cost (USD)', 'margin (USD)', 'time, key or account'],
    },
  );
  return entries + more(next_cursor) + archived;
}

function entryLines(entry: Entry): readonly string[] {
  if (entry.kind === 'charge') {
    return [`charge, ${entry.model}, ${tokensOf(entry.usage)}`, entry.id];
  }
  const why = entry.reason ?? entry.source;
  return [
    [entry.kind, ...(why === null ? [] : [why]), `by ${entry.actor}`].join(', '),
    entry.id,
    ...(entry.reference === null ? [] : [`reference: ${entry.reference}`]),
    ...(entry.note === null ? [] : [`note: ${entry.note}`]),
  ];
}

export function printEntry(entry: Entry): string {
  return pairs(entry.kind === 'charge' ? chargeLines(entry) : bookingLines(entry));
}
