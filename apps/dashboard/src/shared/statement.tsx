/**
 * The statement of a month, as a table that can be printed and as CSV, for the customer's page and
 * the console.
 */

import { useState } from 'preact/hooks';
import { Choice, Count, Empty, FailureNote, Loaded, Money, TableFrame, download } from './parts.js';
import type { components } from '../generated/client.js';
import type { Answer, Failure } from './api.js';
import { BookingText, negated } from './charge.js';
import { useResource } from './resource.js';
import { lastMonths, monthText } from './times.js';

type StatementOfMonth = components['schemas']['Statement'];

const MONTHS = 13;

/**
 * @param props.fileName - Of the CSV, without the month.
 * @param props.read - Asks for the statement of a month.
 * @param props.pageOf - The address of a month's statement as a page of its own, which is opened
 * for printing. Without it, this page is printed.
 */
export function Statement(props: {
  readonly fileName: string;
  readonly read: (
    query: { readonly month: string; readonly format: 'json' | 'csv' },
    signal?: AbortSignal,
  ) => Promise<Answer<StatementOfMonth>>;
  readonly pageOf?: (month: string) => string;
}) {
  const { fileName, read, pageOf } = props;
  const months = lastMonths(MONTHS, Date.now());
  const [month, setMonth] = useState(months[0] ?? '');
  const [failure, setFailure] = useState<Failure>();
  const statement = useResource(`statement ${month}`, (signal) =>
    read({ month, format: 'json' }, signal),
  );

  async function saveCsv() {
    const answer = await read({ month, format: 'csv' });
    setFailure(answer.ok ? undefined : answer.failure);
    if (answer.ok) download(`${fileName}-${month}.csv`, answer.text, 'text/csv');
  }

  return (
    <>
      <h2>Statement of {monthText(month)}</h2>
      <div class="row no-print">
        <Choice
          label="Month (UTC)"
          value={month}
          options={months.map((each) => [each, monthText(each)] as const)}
          onValue={setMonth}
        />
        <button
          type="button"
          onClick={() => {
            if (pageOf === undefined) print();
            else open(pageOf(month), '_blank', 'noopener');
          }}
        >
          Print
        </button>
        <button type="button" onClick={() => void saveCsv()}>
          Save as CSV
        </button>
      </div>
      {failure !== undefined && (
        <FailureNote failure={failure} what="the statement" retry={() => void saveCsv()} />
      )}
      <Loaded of={statement} what="the statement">
        {(value) => <StatementTable statement={value} />}
      </Loaded>
    </>
  );
}

const CLASSES: Readonly<Record<string, string>> = {
  input: 'input',
  output: 'output',
  cache_read: 'cache read',
  cache_write_5m: 'cache write, 5 minutes',
  cache_write_1h: 'cache write, 1 hour',
};

function StatementTable({ statement }: { readonly statement: StatementOfMonth }) {
  const { bookings, charges } = statement;
  return (
    <TableFrame label="Lines of the statement">
      <table class="statement">
        <caption>
          The opening balance and all lines add up exactly to the closing balance. Days are in UTC.
        </caption>
        <thead>
          <tr>
            <th scope="col">Day</th>
            <th scope="col">Description</th>
            <th scope="col" class="n wide-only">
              Tokens
            </th>
            <th scope="col" class="n wide-only">
              USD per million
            </th>
            <th scope="col" class="n">
              Amount
            </th>
          </tr>
        </thead>
        <tbody>
          <BalanceRow label="Opening balance" usd={statement.opening_balance_usd} />
          {bookings.map((booking) => (
            <tr key={booking.id}>
              <td>{booking.created_at.slice(0, 10)}</td>
              <td>
                <BookingText booking={booking} />
              </td>
              <NoTokens />
              <td class="n">
                <Money usd={booking.amount_usd} />
              </td>
            </tr>
          ))}
          {charges.map((charge, index) => (
            <ChargeRows key={index} charge={charge} />
          ))}
          {bookings.length + charges.length === 0 && (
            <tr>
              <td colSpan={5}>
                <Empty>Nothing was charged or credited in this month.</Empty>
              </td>
            </tr>
          )}
          <BalanceRow label="Closing balance" usd={statement.closing_balance_usd} />
        </tbody>
      </table>
    </TableFrame>
  );
}

function BalanceRow({ label, usd }: { readonly label: string; readonly usd: string }) {
  return (
    <tr class="sum">
      <th scope="row" colSpan={2}>
        {label}
      </th>
      <NoTokens />
      <td class="n">
        <Money usd={usd} />
      </td>
    </tr>
  );
}

/** The cells for tokens and rate of a line that has neither. */
function NoTokens() {
  return (
    <>
      <td class="wide-only" />
      <td class="wide-only" />
    </>
  );
}

function ChargeRows({ charge }: { readonly charge: StatementOfMonth['charges'][number] }) {
  return (
    <>
      {charge.lines.map((line) => (
        <tr key={line.class}>
          <td>{charge.day}</td>
          <td>
            {charge.model}: {CLASSES[line.class] ?? line.class}
            <span class="quiet narrow-only">
              <Count of={line.tokens} /> × {line.rate_usd_per_million} USD per million
            </span>
          </td>
          <td class="n wide-only">
            <Count of={line.tokens} />
          </td>
          <td class="n wide-only">{line.rate_usd_per_million}</td>
          <td class="n">
            <Money usd={negated(line.amount_usd)} />
          </td>
        </tr>
      ))}
      {charge.written_off_usd !== '0' && (
        <tr>
          <td>{charge.day}</td>
          <td>{charge.model}: not charged, beyond the balance or a cap</td>
          <NoTokens />
          <td class="n">
            <Money usd={charge.written_off_usd} />
          </td>
        </tr>
      )}
    </>
  );
}
