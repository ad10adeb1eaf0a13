/**
 * The statement of a month, as a table that can be printed and as CSV, for the customer's page and
 * the console.
 */

import { useState } from 'preact/hooks';
import type { Sent } from './gateway-types.js';
import {
  Choice,
  Count,
  ExactMoney,
  Facts,
  FailureNote,
  Loaded,
  TableFrame,
  download,
} from './parts.js';
import { Figure } from './figures.js';
import type { Answer, Failure } from './api.js';
import { negated } from './charge.js';
import { useResource } from './resource.js';
import { lastMonths, monthText } from './times.js';

type StatementOfMonth = Sent<'statement'>;

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
        {(value) => <StatementPaper statement={value} />}
      </Loaded>
    </>
  );
}

/** A short summary first, for the first page on paper; then every line. */
function StatementPaper({ statement }: { readonly statement: StatementOfMonth }) {
  const { issuer, account_name: name, account_id: id, number } = statement;
  const by = issuer === null ? null : [issuer.name, issuer.contact].filter(Boolean).join(', ');
  return (
    <div class="stack">
      <Facts
        facts={[
          ['Number', number],
          ['Customer', `${name} (${id})`],
          ['Issued by', by],
        ]}
      />
      <dl class="grid">
        <Total name="Opening balance" usd={statement.opening_balance_usd} />
        <Total name="Credits and corrections" usd={statement.booked_usd} />
        <Total name="Charges" usd={negated(statement.charged_usd)} />
        <Total name="Closing balance" usd={statement.closing_balance_usd} />
      </dl>
      {statement.by_model.length > 0 && (
        <div class="halves">
          <Totals
            what="Model"
            rows={statement.by_model.map(({ model, ...total }) => ({ name: model, ...total }))}
          />
          <Totals what="Key" rows={statement.by_key} />
        </div>
      )}
      <Lines lines={statement.lines} />
    </div>
  );
}

function Total({ name, usd }: { readonly name: string; readonly usd: string }) {
  return (
    <Figure name={name}>
      <ExactMoney usd={usd} />
    </Figure>
  );
}

function Totals(props: {
  readonly what: 'Model' | 'Key';
  readonly rows: readonly {
    readonly name: string;
    readonly requests: number;
    readonly amount_usd: string;
  }[];
}) {
  const { what, rows } = props;
  return (
    <TableFrame label={`Charges by ${what.toLowerCase()}`}>
      <table>
        <caption>Charges by {what.toLowerCase()}</caption>
        <thead>
          <tr>
            <th scope="col">{what}</th>
            <th scope="col" class="n">
              Requests
            </th>
            <th scope="col" class="n">
              Amount
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map(({ name, requests, amount_usd: usd }, index) => (
            <tr key={index}>
              <th scope="row">{name}</th>
              <td class="n">
                <Count of={requests} />
              </td>
              <td class="n">
                <ExactMoney usd={usd} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </TableFrame>
  );
}

type Line = StatementOfMonth['lines'][number];

function Lines({ lines }: { readonly lines: readonly Line[] }) {
  return (
    <TableFrame label="Lines of the statement">
      <table class="statement">
        <caption>
          Every line, in USD with every digit: the opening balance and the lines below it add up
          exactly to the closing balance. Days are in UTC.
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
          {lines.map((line, index) => (
            <LineRow key={index} line={line} isBalance={line.line.endsWith('balance')} />
          ))}
        </tbody>
      </table>
    </TableFrame>
  );
}

function LineRow({ line, isBalance }: { readonly line: Line; readonly isBalance: boolean }) {
  const { date, text, tokens, rate_usd_per_million: rate, amount_usd: usd } = line;
  return (
    <tr class={isBalance ? 'sum' : undefined}>
      {isBalance ? (
        <th scope="row" colSpan={2}>
          {text}
        </th>
      ) : (
        <>
          <td>{date.slice(0, 10)}</td>
          <td>
            {text}
            {tokens !== undefined && (
              <span class="quiet narrow-only">
                <Count of={tokens} /> × {rate} USD per million
              </span>
            )}
          </td>
        </>
      )}
      <td class="n wide-only">{tokens !== undefined && <Count of={tokens} />}</td>
      <td class="n wide-only">{rate}</td>
      <td class="n">
        <ExactMoney usd={usd} />
      </td>
    </tr>
  );
}
