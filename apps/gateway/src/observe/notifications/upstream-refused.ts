/**
 * Writes events when the upstream refuses requests because of the operator's account:
 * `upstream.refused` for its credential, billing or spend limit, `upstream.limited` when requests
 * are refused because all upstream accounts are at their limits. Each process writes at most one of
 * each type an hour, however many requests are refused.
 */

import type { Logger } from 'pino';
import type { BalanceStore, NewEvent } from '@gateway/balance-store';
import { reasonOf } from '../../base/error-code.js';
import { MINUTE_MS } from '../../base/times.js';
import type { ExchangeReport } from '../exchange-report.js';
import type { Telemetry } from '../telemetry.js';

const PERIOD_MS = 60 * MINUTE_MS;

/** @param now - In milliseconds, from any origin. */
export function withRefusalEvents(
  telemetry: Telemetry,
  store: Pick<BalanceStore, 'recordEvent'>,
  log: Logger,
  now = () => performance.now(),
): Telemetry {
  const lastOf = new Map<NewEvent['type'], number>();

  async function record({ type, data }: Pick<NewEvent, 'type' | 'data'>): Promise<void> {
    const before = lastOf.get(type) ?? -Infinity;
    if (now() - before < PERIOD_MS) return;
    lastOf.set(type, now());
    try {
      await store.recordEvent({ type, accountId: '', keyId: undefined, data });
    } catch (error) {
      // The next refusal tries again.
      lastOf.set(type, before);
      const reason = reasonOf(error);
      log.warn({ reason }, `the event ${type} cannot be written`);
    }
  }

  return {
    requestFinished(request) {
      telemetry.requestFinished(request);
      const event = request.report && eventOf(request.report);
      if (event !== undefined) void record(event);
    },
  };
}

function eventOf(report: ExchangeReport): Pick<NewEvent, 'type' | 'data'> | undefined {
  const { operatorMustAct, limitedForSeconds } = report;
  const fault = report.fault ?? null;
  if (operatorMustAct) return { type: 'upstream.refused', data: { fault } };
  if (limitedForSeconds === undefined) return undefined;
  const data = { fault, retry_after_seconds: String(limitedForSeconds) };
  return { type: 'upstream.limited', data };
}
