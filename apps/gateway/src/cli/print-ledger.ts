/** Ledger entries as text for a terminal: a list, and everything about one entry. */

import type { OperationOutput } from '../operator/operations/operations.js';
import { costColumns, more, pairs, table, tokensOf } from './print.js';

type Entry = OperationOutput<'showEntry'>;
type Charge = Extract<Entry, { readonly kind: 'charge' }>;
type Booking = Exclude<Entry, Charge>;

/** The longest id of a charge, top-up or adjustment, unless somebody chose a longer one. */
const ID_WIDTH = 49;

/**
 * Each entry takes several lines, because one line with its id would be too long for a terminal.
 * Notes are wrapped; ids never are.
 */
export function printLedger({
  data,
  next_cursor,
  archived_until,
}: OperationOutput<'listLedger'>): string {
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
    { entry: width },
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
  return pairs({
    id: entry.id,
    kind: entry.kind,
    time: entry.created_at,
    account: entry.account_id,
    'number in its account': entry.seq,
    'amount (USD)': entry.amount_usd,
    'balance after it (USD)': entry.balance_after_usd,
    ...(entry.kind === 'charge' ? chargePairs(entry) : bookingPairs(entry)),
  });
}

function chargePairs(charge: Charge): Readonly<Record<string, string>> {
  const { usage, rates } = charge;
  const of1h = usage.cache_creation_1h_input_tokens;
  const at = (tokens: number, rate: string) => `${String(tokens)} at ${rate} USD/M`;
  return {
    key: charge.key_id,
    model: charge.model,
    endpoint: charge.endpoint + (charge.streamed ? ', streamed' : ''),
    'input tokens': at(usage.input_tokens, rates.input),
    'output tokens': at(usage.output_tokens, rates.output),
    'cache read tokens': at(usage.cache_read_input_tokens, rates.cache_read),
    'cache write tokens (5 min)': at(
      usage.cache_creation_input_tokens - of1h,
      rates.cache_write_5m,
    ),
    'cache write tokens (1 h)': at(of1h, rates.cache_write_1h),
    'written off (USD)': charge.written_off_usd,
    ...(charge.cost_usd === undefined ? {} : { 'cost (USD)': charge.cost_usd }),
    ...(charge.margin_usd === undefined ? {} : { 'margin (USD)': charge.margin_usd }),
    'upstream id': charge.upstream_id ?? 'none',
    'upstream account': charge.upstream_account ?? 'none',
    ...(charge.delivered === null
      ? {}
      : {
          'sent before the client left': `${String(charge.delivered.bytes)} of ${String(charge.delivered.of_bytes)} bytes, about ${String(charge.delivered.output_tokens)} output tokens`,
        }),
    remarks: charge.remarks ?? 'none',
  };
}

function bookingPairs(booking: Booking): Readonly<Record<string, string>> {
  return {
    ...(booking.source === null ? {} : { source: booking.source }),
    ...(booking.reason === null ? {} : { reason: booking.reason }),
    ...(booking.kind === 'top_up' ? { expires: booking.expires_at ?? 'never' } : {}),
    by: booking.actor,
    reference: booking.reference ?? 'none',
    note: booking.note ?? 'none',
  };
}
