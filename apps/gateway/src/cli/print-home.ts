/** What an operator asks first, as text; on a terminal also as a picture of the last days. */

import { parseUsd } from '@gateway/billing';
import { DAY_MS } from '../base/times.js';
import type { CallOperation, OperationOutput } from '../operator/operations/operations.js';
import { BARS, barColumn, costColumns, named } from './print.js';
import { painted } from './screen.js';
import type { Screen } from './screen.js';
import { shortTime, shortUsd, sparkline } from './short-texts.js';
import { table } from './table.js';
import type { Columns } from './table.js';

type Home = OperationOutput<'showHome'>;
type Usage = OperationOutput<'listUsage'>;

/** @param days - Sums by day; absent: no picture of them. */
export function printHome(home: Home, screen: Screen, days?: Usage): string {
  const { spend, last_hour, running_out, unusual, losing, new_accounts } = home;
  const sums = Object.entries(spend).map(([range, sum]) => ({
    range: range.replaceAll('_', ' '),
    ...sum,
  }));
  const nameOf = ({ name, account_id }: { readonly name: string; readonly account_id: string }) =>
    named(name, account_id);
  const section = sectionsOn(screen);
  const gap = screen.width === undefined ? '' : '\n';
  return [
    ...(days === undefined ? [] : [pictureOf(days, screen)]),
    table(
      sums,
      {
        'days and months in UTC': 'range',
        '>requests': 'requests',
        '>charged (USD)': 'charged_usd',
        ...costColumns(sums),
        ...barsOf(sums, screen),
      },
      { screen, leave: ['cost (USD)', 'requests', BARS, 'margin (USD)'] },
    ),
    `${gap}Since ${screen.width === undefined ? last_hour.from : shortTime(last_hour.from)}: ${countOf(last_hour, screen)}.`,
    ...last_hour.upstreams.map(({ upstream_account: name, mean_first_byte_ms: ms, ...sum }) => {
      const upstream = ['upstream', ...(name === null ? [] : [name])].join(' ');
      const after = ms === null ? '' : `, first byte after ${String(ms)} ms`;
      return `  ${upstream}: ${countOf(sum, screen)}${after}`;
    }),
    ...section('Run out within three days', running_out, {
      account: nameOf,
      '>balance (USD)': 'balance_usd',
      until: 'lasts_until',
    }),
    ...section('Unusual', unusual, {
      account: nameOf,
      '>last day (USD)': 'charged_usd',
      '>usual (USD)': 'usual_usd',
      '>failed in the hour': ({ failed, requests }) => `${String(failed)} of ${String(requests)}`,
    }),
    ...section('Sold below cost this month, by account', losing.accounts, {
      account: nameOf,
      '>margin (USD)': 'margin_usd',
    }),
    ...section('Sold below cost this month, by model', losing.models, {
      model: 'model',
      '>margin (USD)': 'margin_usd',
    }),
    ...section('New accounts', new_accounts, {
      account: nameOf,
      created: 'created_at',
      '>balance (USD)': 'balance_usd',
    }),
    `${gap}Version ${home.version}`,
  ].join('\n');
}

function countOf(
  { requests, failed }: { readonly requests: number; readonly failed: number },
  screen: Screen,
): string {
  const failures = `${String(failed)} failed`;
  return `${String(requests)} ${requests === 1 ? 'request' : 'requests'}, ${
    failed > 0 ? painted('red', failures, screen) : failures
  }`;
}

/** A table with its heading; nothing without rows. */
function sectionsOn(screen: Screen) {
  return <Row>(heading: string, rows: readonly Row[], columns: Columns<Row>): readonly string[] => {
    if (rows.length === 0) return [];
    const leave = ['created', 'usual (USD)', 'until', 'failed in the hour'];
    const gap = screen.width === undefined ? '' : '\n';
    return [gap + painted('bold', `${heading}:`, screen), table(rows, columns, { screen, leave })];
  };
}

type Sum = Home['spend']['today'] & { readonly range: string };

/** Days are compared with days, and months with months. */
function barsOf(sums: readonly Sum[], screen: Screen): Columns<Sum> {
  const isMonth = ({ range }: Sum) => range.includes('month');
  const usdOf = ({ charged_usd }: Sum) => charged_usd;
  const months = barColumn(sums.filter(isMonth), usdOf, screen);
  const days = barColumn(
    sums.filter((sum) => !isMonth(sum)),
    usdOf,
    screen,
  );
  const barOf = (sum: Sum, of: Columns<Sum>) => {
    const column = of[BARS];
    return typeof column === 'function' ? column(sum) : undefined;
  };
  return screen.width === undefined
    ? {}
    : { [BARS]: (sum) => barOf(sum, isMonth(sum) ? months : days) };
}

const PICTURED_DAYS = 30;

export function readPicturedDays(call: CallOperation): Promise<Usage> {
  const today = Math.floor(Date.now() / DAY_MS) * DAY_MS;
  const from = new Date(today - (PICTURED_DAYS - 1) * DAY_MS).toISOString();
  return call('listUsage', { by: 'day', from });
}

/** One line for the last days, and the most of a day. */
function pictureOf({ data, from }: Usage, screen: Screen): string {
  const days = Array.from({ length: PICTURED_DAYS }, (_, index) =>
    new Date(Date.parse(from) + index * DAY_MS).toISOString().slice(0, 10),
  );
  const usdOf = new Map(data.map(({ day = '', charged_usd }) => [day.slice(0, 10), charged_usd]));
  const amounts = days.map((day) => usdOf.get(day) ?? '0');
  const values = amounts.map(parseUsd);
  const most = values.reduce((best, value, at) => (value > (values[best] ?? 0n) ? at : best), 0);
  const legend = `${days[0] ?? ''} to ${days.at(-1) ?? ''}, at most ${shortUsd(amounts[most] ?? '0')} USD on ${days[most] ?? ''}`;
  return [
    painted('bold', 'Charged each day', screen),
    painted('cyan', sparkline(values), screen),
    painted('dim', legend, screen),
    '',
  ].join('\n');
}
