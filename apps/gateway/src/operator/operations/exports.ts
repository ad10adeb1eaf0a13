/** Exports of a month for bookkeeping and controlling. */

import { z } from 'zod';
import { formatUsd } from '@gateway/billing';
import type { Bookkeeping } from '../../config/bookkeeping.js';
import { accountId, day, help, month, monthIn, ofAccount } from '../../endpoints/fields.js';
import * as schema from '../../endpoints/schemas.js';
import { chargebackCsv, readChargeback } from '../exports/chargeback.js';
import { focusCsv, readFocusRows } from '../exports/focus.js';
import { readJournal } from '../exports/journal.js';
import type { JournalLine } from '../exports/journal.js';
import { JOURNAL_FORMATS, notConfigured } from '../exports/journal-formats.js';
import { operation } from './operation.js';
import type { OperationContext } from './operation.js';

export const exportOperations = {
  showJournal: operation({
    method: 'get',
    path: '/admin/journal',
    summary: 'The journal of a month in cents, also in the columns of DATEV, Xero and QuickBooks',
    right: 'read',
    input: z.strictObject({
      month,
      format: z.enum(['json', 'datev', 'xero', 'quickbooks']).optional(),
    }),
    output: schema.journal,
    async run({ month: { month: name } }, context) {
      const { bookkeeping, now } = context;
      if (bookkeeping === undefined) throw notConfigured('is not set');
      const of = await monthOf(name, context);
      const lines = await readJournal(context.store, of);
      return {
        object: 'journal' as const,
        month: name,
        zone: of.zone,
        is_closed: of.isClosed,
        created_at: new Date(now()).toISOString(),
        lines: lines.map((line) => numberedLine(line, bookkeeping)),
        datev: bookkeeping.datev ?? null,
      };
    },
    formats: JOURNAL_FORMATS,
  }),

  showFocus: operation({
    method: 'get',
    path: '/admin/focus',
    summary: 'Usage of a month in the columns of FOCUS, as JSON or CSV',
    right: 'read',
    input: z.strictObject({
      month,
      account_id: accountId.optional(),
      format: z.enum(['json', 'csv']).optional(),
    }),
    output: schema.focus,
    async run({ month: { month: name }, account_id }, context) {
      const of = await monthOf(name, context);
      const provider = context.operator?.name ?? 'Farthing';
      const rows = await readFocusRows(context.store, {
        month: of,
        accountId: account_id,
        provider,
      });
      return { object: 'focus' as const, month: name, zone: of.zone, rows: [...rows] };
    },
    formats: { csv: { mediaType: 'text/csv', write: focusCsv } },
  }),

  showChargeback: operation({
    method: 'get',
    path: '/admin/chargeback',
    summary:
      'What a day cost each member, group and tag, in the columns of FOCUS, as JSON or CSV. The day ' +
      'is final: it ended at least an hour ago',
    right: 'read',
    input: z.strictObject({
      day: day.register(help, { says: 'in UTC, such as 2026-11-29' }),
      account_id: ofAccount,
      format: z.enum(['json', 'csv']).optional(),
    }),
    output: schema.chargeback,
    async run({ day: of, account_id: accountId }, { store, operator, now }) {
      const found = await readChargeback(store, {
        day: of,
        accountId,
        provider: operator?.name ?? 'Farthing',
        now: now(),
      });
      return {
        object: 'chargeback' as const,
        day: of.toISOString().slice(0, 10),
        from: found.from.toISOString(),
        until: found.until.toISOString(),
        charged_usd: formatUsd(found.charged),
        rows: [...found.rows],
      };
    },
    formats: { csv: { mediaType: 'text/csv', write: chargebackCsv } },
  }),
} as const;

async function monthOf(name: string, { store, booksZone }: OperationContext) {
  const closed = (await store.listClosedMonths()).find((known) => known.month === name);
  const zone = closed?.zone ?? booksZone;
  return { ...monthIn(zone, { month: name }), zone, isClosed: closed !== undefined };
}

function numberedLine(line: JournalLine, { accounts }: Bookkeeping) {
  const { date, document, text, cents } = line;
  const numberOf = (side: string) => {
    const account = accounts[side];
    if (account === undefined) throw notConfigured(`accounts.${side}: is missing`);
    return account;
  };
  const [debit, credit] = [numberOf(line.debit), numberOf(line.credit)];
  const digits = String(cents).padStart(3, '0');
  return {
    date,
    document,
    text,
    debit: debit.number,
    credit: credit.number,
    tax_key: credit.tax_key ?? debit.tax_key ?? null,
    amount_usd: `${digits.slice(0, -2)}.${digits.slice(-2)}`,
  };
}
