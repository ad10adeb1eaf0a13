/**
 * Journals in the columns of DATEV (EXTF, Buchungsstapel, format version 13), of Xero (manual
 * journals) and of QuickBooks Online (journal entries). A file is one text, so it is whole.
 */

import { newRefusal } from '../../base/errors/refusal.js';
import { csvOf } from '../../endpoints/csv.js';
import { OperationError } from '../../endpoints/operation-error.js';
import type { TextFormat } from '../../endpoints/text-format.js';

/** As the operation sends it. */
export interface Journal {
  readonly month: string;
  /** With account numbers instead of sides. */
  readonly lines: readonly {
    readonly date: string;
    readonly document: string;
    readonly text: string;
    readonly debit: string;
    readonly credit: string;
    readonly tax_key: string | null;
    readonly amount_usd: string;
  }[];
  readonly created_at: string;
  readonly datev: {
    readonly consultant: number;
    readonly client: number;
    readonly account_length: number;
    readonly year_starts: string;
  } | null;
}

export const JOURNAL_FORMATS = {
  datev: { mediaType: 'text/csv', write: datevJournal },
  xero: { mediaType: 'text/csv', write: xeroJournal },
  quickbooks: { mediaType: 'text/csv', write: quickBooksJournal },
} as const satisfies Readonly<Record<string, TextFormat<Journal>>>;

const numbered = (count: number, ...names: readonly string[]) =>
  Array.from({ length: count }, (_, at) => names.map((name) => `${name} ${String(at + 1)}`)).flat();

const FIRST =
  'Umsatz (ohne Soll/Haben-Kz);Soll/Haben-Kennzeichen;WKZ Umsatz;Kurs;Basis-Umsatz;' +
  'WKZ Basis-Umsatz;Konto;Gegenkonto (ohne BU-Schlüssel);BU-Schlüssel;Belegdatum;' +
  'Belegfeld 1;Belegfeld 2;Skonto;Buchungstext;Postensperre;Diverse Adressnummer;' +
  'Geschäftspartnerbank;Sachverhalt;Zinssperre;Beleglink';
const COSTS =
  'KOST1 - Kostenstelle;KOST2 - Kostenstelle;Kost-Menge;EU-Land u. UStID (Bestimmung);' +
  'EU-Steuersatz (Bestimmung);Abw. Versteuerungsart;Sachverhalt L+L;' +
  'Funktionsergänzung L+L;BU 49 Hauptfunktionstyp;BU 49 Hauptfunktionsnummer;' +
  'BU 49 Funktionsergänzung';
const LAST =
  'Stück;Gewicht;Zahlweise;Forderungsart;Veranlagungsjahr;Zugeordnete Fälligkeit;' +
  'Skontotyp;Auftragsnummer;Buchungstyp;USt-Schlüssel (Anzahlungen);' +
  'EU-Land (Anzahlungen);Sachverhalt L+L (Anzahlungen);EU-Steuersatz (Anzahlungen);' +
  'Erlöskonto (Anzahlungen);Herkunft-Kz;Buchungs GUID;KOST-Datum;SEPA-Mandatsreferenz;' +
  'Skontosperre;Gesellschaftername;Beteiligtennummer;Identifikationsnummer;' +
  'Zeichnernummer;Postensperre bis;Bezeichnung SoBil-Sachverhalt;' +
  'Kennzeichen SoBil-Buchung;Festschreibung;Leistungsdatum;Datum Zuord. Steuerperiode;' +
  'Fälligkeit;Generalumkehr (GU);Steuersatz;Land;Abrechnungsreferenz;BVV-Position;' +
  'EU-Land u. UStID (Ursprung);EU-Steuersatz (Ursprung);Abw. Skontokonto';

/** The importer goes by their places. */
const DATEV_COLUMNS: readonly string[] = [
  FIRST.split(';'),
  numbered(8, 'Beleginfo - Art', 'Beleginfo - Inhalt'),
  COSTS.split(';'),
  numbered(20, 'Zusatzinformation - Art', 'Zusatzinformation- Inhalt'),
  LAST.split(';'),
].flat();

/** DATEV reads UTF-8 only with this at its start. */
const BYTE_ORDER_MARK = '\ufeff';
const DATEV_TEXT_LENGTH = 60;

/** @throws {OperationError} without the members of the header */
export function datevJournal({ month, lines, created_at, datev }: Journal): string {
  if (datev === null) throw notConfigured('datev: is needed, with consultant and client');
  const [year = 0, number = 0] = month.split('-').map(Number);
  const first = `${month.replace('-', '')}01`;
  const last = new Date(Date.UTC(year, number, 0)).toISOString().slice(0, 10).replaceAll('-', '');
  const yearDay = datev.year_starts.replace('-', '');
  const startsIn = first.slice(4) < yearDay ? year - 1 : year;
  const { consultant, client, account_length: length } = datev;
  const made = created_at.replace(/\D/g, '');
  const named = quoted(`Farthing ${month}`);
  // Without the initials of a user, a name, and what only other programs of DATEV fill.
  const header =
    `"EXTF";700;21;"Buchungsstapel";13;${made};;"";"";"";${String(consultant)};${String(client)};` +
    `${String(startsIn)}${yearDay};${String(length)};${first};${last};${named};"";1;0;0;"USD";` +
    ';"";;;"";;;"";""';
  const rows = lines.map((line) => {
    const cells: Readonly<Record<string, string>> = {
      'Umsatz (ohne Soll/Haben-Kz)': line.amount_usd.replace('.', ','),
      'Soll/Haben-Kennzeichen': quoted('S'),
      'WKZ Umsatz': quoted('USD'),
      Konto: line.debit,
      'Gegenkonto (ohne BU-Schlüssel)': line.credit,
      ...(line.tax_key === null ? {} : { 'BU-Schlüssel': quoted(line.tax_key) }),
      Belegdatum: `${line.date.slice(8, 10)}${line.date.slice(5, 7)}`,
      'Belegfeld 1': quoted(line.document.replace(/[^\w$&%*+\-/]/g, '-').slice(-36)),
      Buchungstext: quoted(line.text.slice(0, DATEV_TEXT_LENGTH)),
    };
    return DATEV_COLUMNS.map((column) => cells[column] ?? '');
  });
  const all = [header, ...[DATEV_COLUMNS, ...rows].map((cells) => cells.join(';'))];
  return BYTE_ORDER_MARK + all.map((line) => `${line}\r\n`).join('');
}

/** Without characters that end a line, which DATEV does not admit. */
function quoted(text: string): string {
  // eslint-disable-next-line no-control-regex -- these are what it replaces
  return `"${text.replace(/[\u0000-\u001f]/g, ' ').replaceAll('"', '""')}"`;
}

const XERO_COLUMNS = ['Narration', 'Date', 'Description', 'AccountCode', 'TaxRate', 'Amount'];

/** One journal for each line, of which the debit is above zero and the credit below. */
export function xeroJournal({ lines }: Journal): string {
  return csvOf(
    XERO_COLUMNS,
    lines.flatMap(({ date, document, text, debit, credit, tax_key: key, amount_usd: amount }) => {
      const [year, month, day] = date.split('-');
      const both = {
        Narration: `${document} ${text}`,
        Date: `${String(day)}/${String(month)}/${String(year)}`,
        Description: text,
        TaxRate: key ?? 'Tax Exempt',
      };
      return [
        { ...both, AccountCode: debit, Amount: amount },
        { ...both, AccountCode: credit, Amount: `-${amount}` },
      ];
    }),
  );
}

const QUICKBOOKS_COLUMNS = 'Journal No,Journal Date,Account Name,Description,Debits,Credits'.split(
  ',',
);

export function quickBooksJournal({ month, lines }: Journal): string {
  return csvOf(
    QUICKBOOKS_COLUMNS,
    lines.flatMap(({ date, text, debit, credit, amount_usd: amount }, at) => {
      const [year, number, day] = date.split('-');
      const both = {
        'Journal No': `${month}-${String(at + 1)}`,
        'Journal Date': `${String(number)}/${String(day)}/${String(year)}`,
        Description: text,
      };
      return [
        { ...both, 'Account Name': debit, Debits: amount },
        { ...both, 'Account Name': credit, Credits: amount },
      ];
    }),
  );
}

export function notConfigured(problem: string): OperationError {
  return new OperationError(newRefusal('bookkeeping_not_configured', { problem }));
}
