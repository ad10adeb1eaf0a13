/**
 * The statement of a month, as a table that can be printed and as CSV, for the customer's page and
 * the console.
 */

import { useState } from 'preact/hooks';
import type { Sent } from '../api/gateway-types.js';
import {
  Choice,
  Count,
  Decimal,
  ExactMoney,
  Facts,
  FailureNote,
  Loaded,
  TableFrame,
  download,
} from '../controls/parts.js';
import { Figure } from '../controls/figures.js';
import type { Answer, Failure } from '../api/api.js';
import { negated } from './charge.js';
import { useResource } from '../api/resource.js';
import { lastMonths, monthText } from '../text/times.js';
import { sumUsd } from '../text/usd.js';

type StatementOfMonth = Sent<'statement'>;

const MONTHS = 13;

/**
 * @param props.fileName - Of the CSV, without the month.
 * @param props.read - Asks for the statement of a month.
 */
export function Statement(props: {
  readonly fileName: string;
  readonly read: (
    query: { readonly month: string; readonly format: 'json' | 'csv' },
    signal?: AbortSignal,
  ) => Promise<Answer<StatementOfMonth>>;
}) {
  const { fileName, read } = props;
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
      <div class="row no-print">
        <Choice
          label="Month (UTC)"
          value={month}
          options={months.map((each) => [each, monthText(each)] as const)}
          onValue={setMonth}
        />
        <button
          type="button"
          disabled={statement.value === undefined}
          onClick={() => {
            print();
          }}
        >
          Print or save as PDF
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

/** On paper, the first page is the summary, and every line begins on the second. */
function StatementPaper({ statement }: { readonly statement: StatementOfMonth }) {
  const { issuer, account_name: name, account_id: id, number, state, month } = statement;
  return (
    <div class="stack paper">
      <div class="row spread letterhead">
        <div>
          <h2>Statement of {monthText(month)}</h2>
          <Facts
            facts={[
              ['Number', number ?? (state === 'draft' ? 'draft' : 'none')],
              ['Customer', `${name} (${id})`],
              ['Period', statement.period],
            ]}
          />
        </div>
        {issuer !== null && (
          <address>
            <strong>{issuer.name}</strong>
            {[...issuer.address, issuer.contact].map(
              (line) => line !== null && <div key={line}>{line}</div>,
            )}
          </address>
        )}
      </div>
      <dl class="grid">
        <Total name="Opening balance" usd={statement.opening_balance_usd} />
        <Total name="Credits and corrections" usd={statement.booked_usd} />
        <Total name="Charges" usd={negated(statement.charged_usd)} />
        <Total name="Closing balance" usd={statement.closing_balance_usd} />
      </dl>
      {statement.by_model.length > 0 && (
        <>
          <Totals
            what="Model"
            rows={statement.by_model.map(({ model, ...total }) => ({ name: model, ...total }))}
          />
          <Totals what="Key" rows={statement.by_key} />
        </>
      )}
      {issuer !== null && issuer.note !== null && <p class="statement-note">{issuer.note}</p>}
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

interface TotalRow {
  readonly name: string;
  readonly requests: number;
  readonly amount_usd: string;
}

/** More rows than these would not fit on the first page, so their sum stands for them. */
const MOST_TOTALS = 10;

function summed(rows: readonly TotalRow[]): readonly TotalRow[] {
  if (rows.length <= MOST_TOTALS) return rows;
  const rest = rows.slice(MOST_TOTALS - 1);
  return [
    ...rows.slice(0, MOST_TOTALS - 1),
    {
      name: `${String(rest.length)} more`,
      requests: rest.reduce((sum, { requests }) => sum + requests, 0),
      amount_usd: sumUsd(rest.map((row) => row.amount_usd)),
    },
  ];
}

function Totals(props: { readonly what: 'Model' | 'Key'; readonly rows: readonly TotalRow[] }) {
  const { what } = props;
  const rows = summed(props.rows);
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
                <Count of={tokens} /> × <Decimal of={rate ?? '0'} /> USD per million
              </span>
            )}
          </td>
        </>
      )}
      <td class="n wide-only">{tokens !== undefined && <Count of={tokens} />}</td>
      <td class="n wide-only">{rate !== undefined && <Decimal of={rate} />}</td>
      <td class="n">
        <ExactMoney usd={usd} />
      </td>
    </tr>
  );
}
