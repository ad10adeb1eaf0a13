/** The statement of a month, as a table that can be printed and as CSV. */

import { useState } from 'preact/hooks';
import {
  Choice,
  Count,
  Empty,
  FailureNote,
  Loaded,
  Money,
  TableFrame,
  download,
} from '../shared/parts.js';
import type { Failure } from '../shared/api.js';
import { useResource } from '../shared/resource.js';
import { lastMonths, monthText } from '../shared/times.js';
import { CreditText, negated } from './ledger.js';
import { call } from './session.js';
import type { Sent } from './session.js';

const MONTHS = 13;

export function Statement() {
  const months = lastMonths(MONTHS, Date.now());
  const [month, setMonth] = useState(months[0] ?? '');
  const [failure, setFailure] = useState<Failure>();
  const statement = useResource(`statement ${month}`, (signal) =>
    call('GET', '/v1/dashboard/statement', { query: { month }, signal }),
  );

  async function saveCsv() {
    const answer = await call('GET', '/v1/dashboard/statement', {
      query: { month, format: 'csv' },
    });
    setFailure(answer.ok ? undefined : answer.failure);
    if (answer.ok) download(`statement-${month}.csv`, answer.text, 'text/csv');
  }

  return (
    <section class="card" aria-label="Statement">
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
            print();
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
    </section>
  );
}

const CLASSES: Readonly<Record<string, string>> = {
  input: 'input',
  output: 'output',
  cache_read: 'cache read',
  cache_write_5m: 'cache write, 5 minutes',
  cache_write_1h: 'cache write, 1 hour',
};

function StatementTable({ statement }: { readonly statement: Sent<'Statement'> }) {
  const { bookings, charges } = statement;
  return (
    <TableFrame label="Lines of the statement">
      <table class="statement">
        <caption>The lines between the balances add up to the last digit. Days are in UTC.</caption>
        <thead>
          <tr>
            <th scope="col">Day</th>
            <th scope="col">Description</th>
            <th scope="col" class="n">
              Tokens
            </th>
            <th scope="col" class="n">
              USD per million
            </th>
            <th scope="col" class="n">
              Amount
            </th>
          </tr>
        </thead>
        <tbody>
          <BalanceRow label="Opening balance" usd={statement.opening_balance_usd} />
          {bookings.map(
            (entry) =>
              entry.object === 'credit' && (
                <tr key={entry.id}>
                  <td>{entry.created_at.slice(0, 10)}</td>
                  <td colSpan={3}>
                    <CreditText credit={entry} />
                  </td>
                  <td class="n">
                    <Money usd={entry.amount_usd} />
                  </td>
                </tr>
              ),
          )}
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
      <th scope="row" colSpan={4}>
        {label}
      </th>
      <td class="n">
        <Money usd={usd} />
      </td>
    </tr>
  );
}

function ChargeRows({ charge }: { readonly charge: Sent<'Statement'>['charges'][number] }) {
  return (
    <>
      {charge.lines.map((line) => (
        <tr key={line.class}>
          <td>{charge.day}</td>
          <td>
            {charge.model}: {CLASSES[line.class] ?? line.class}
          </td>
          <td class="n">
            <Count of={line.tokens} />
          </td>
          <td class="n">{line.rate_usd_per_million}</td>
          <td class="n">
            <Money usd={negated(line.amount_usd)} />
          </td>
        </tr>
      ))}
      {charge.written_off_usd !== '0' && (
        <tr>
          <td>{charge.day}</td>
          <td colSpan={3}>{charge.model}: not charged, beyond the balance or a cap</td>
          <td class="n">
            <Money usd={charge.written_off_usd} />
          </td>
        </tr>
      )}
    </>
  );
}
