/**
 * `farthing reconcile`: compares the ledger with the provider's reports, and searches a log for
 * requests that explain the differences.
 */

import type { Command } from 'commander';
import { EXIT } from '../base/errors/failures.js';
import { DAY_MS } from '../base/times.js';
import { toleranceUsd } from '../endpoints/fields.js';
import { OperationError, WrongUsageError } from '../endpoints/operation-error.js';
import type { CallOperation, OperationOutput } from '../operator/operations/operations.js';
import { IN_FLIGHT_MS } from '../upstream/reconciliation/explain-difference.js';
import { checkedBy, run, withJson, withWide } from './output.js';
import type { OutputOptions } from './output.js';
import { printProviderReconciliation } from './print-reconciliation.js';
import { reportFailure } from './report-failure.js';
import { rangeOptions, readRange } from './ranges.js';
import { findUncharged } from './uncharged-log.js';
import type { LoggedRequest } from './uncharged-log.js';

interface ReconcileOptions extends OutputOptions {
  readonly from?: string;
  readonly until?: string;
  readonly month?: string;
  readonly tolerance: string;
  readonly upstream?: string;
  readonly log?: string;
}

type Reconciliation = OperationOutput<'reconcileProvider'>;
type Difference = Reconciliation['differences'][number];

export function addReconcile(command: Command): void {
  const says = {
    from: 'from this UTC day on, as the reports have them',
    until: 'before this UTC day',
  };
  for (const option of rangeOptions(NEEDED, says)) command.addOption(option);
  withWide(withJson(command))
    .description(
      "compare the ledger with the provider's usage and cost reports; exits with 1 beyond the tolerance",
    )
    .option(
      '--tolerance <usd>',
      'the most that all differences together may be worth',
      checkedBy(toleranceUsd),
      '0',
    )
    .option('--upstream <name>', 'only the charges and the bill of this upstream account')
    .option('--log <file>', "the gateway's log, to name requests that were not charged")
    .action(async (options: ReconcileOptions) => {
      try {
        await run(options, (call) => reconcile(options, call), printProviderReconciliation);
      } catch (error) {
        if (!isBadInput(error)) throw error;
        reportFailure(error, command);
        process.exitCode = EXIT.usage;
      }
    });
}

const NEEDED = { from: true, until: true };

async function reconcile(
  { tolerance, upstream, log, ...typed }: ReconcileOptions,
  call: CallOperation,
): Promise<Reconciliation> {
  // Without an end, today is not compared: its reports are not complete.
  const until = typed.month === undefined ? (typed.until ?? '0d') : undefined;
  const ends = readRange({ ...typed, until }, NEEDED, { zone: 'UTC', now: Date.now() });
  const range = { from: dayOf('from', ends), until: dayOf('until', ends) };
  const report = await call('reconcileProvider', {
    ...range,
    upstream,
    tolerance_usd: tolerance,
  });
  if (!report.is_within_tolerance) process.exitCode = EXIT.refused;
  if (log === undefined) return report;
  const searched = {
    from: new Date(range.from),
    until: new Date(new Date(range.until).getTime() + IN_FLIGHT_MS),
  };
  const logged = await findUncharged(log, searched, call);
  return {
    ...report,
    differences: report.differences.map((difference) => withLogged(difference, logged)),
  };
}

function dayOf(end: 'from' | 'until', { [end]: time = '' }: ReturnType<typeof readRange>): string {
  const [day = '', rest] = time.split('T');
  if (rest === '00:00:00.000Z') return day;
  throw new WrongUsageError(`${end}: must be a day, because the reports are of days of UTC`);
}

/** Adds the requests of the log that the provider may have counted on this day. */
function withLogged(difference: Difference, logged: readonly LoggedRequest[]): Difference {
  const start = new Date(difference.day).getTime();
  const known = new Set(difference.requests.map(({ request_id }) => request_id));
  const added = logged
    .filter(({ request_id, model, at }) => {
      const time = Date.parse(at);
      const isOfDay = time >= start && time < start + DAY_MS + IN_FLIGHT_MS;
      return isOfDay && model === difference.model && !known.has(request_id);
    })
    .map(({ model: _model, ...request }) => request);
  return { ...difference, requests: [...difference.requests, ...added] };
}

/**
 * Whether a wrong argument or a wrong configuration caused the error. The exit code is then 2,
 * because 1 means that the comparison found a difference.
 */
function isBadInput(error: unknown): boolean {
  return error instanceof OperationError && BAD_INPUT.includes(error.status);
}

/** A token that is wrong or may not read the ledger is a part of the configuration. */
const BAD_INPUT = [400, 401, 403, 404];
