/**
 * Writes the event `upstream.refused` when the upstream refuses requests because of the operator's
 * credential, billing or spend limit: at most one an hour from each process, however many requests
 * it refuses.
 */

import type { Logger } from 'pino';
import type { BalanceStore } from '@gateway/balance-store';
import { reasonOf } from '../../base/error-code.js';
import { MINUTE_MS } from '../../base/times.js';
import type { Telemetry } from '../telemetry.js';

const PERIOD_MS = 60 * MINUTE_MS;

/** @param now - In milliseconds, from any origin. */
export function withRefusalEvents(
  telemetry: Telemetry,
  store: Pick<BalanceStore, 'recordEvent'>,
  log: Logger,
  now = () => performance.now(),
): Telemetry {
  let last = -Infinity;

  async function record(fault: string | undefined): Promise<void> {
    const before = last;
    last = now();
    try {
      await store.recordEvent({
        type: 'upstream.refused',
        accountId: '',
        keyId: undefined,
        data: { fault: fault ?? null },
      });
    } catch (error) {
      // The next refusal tries again.
      last = before;
      const reason = reasonOf(error);
      log.warn({ reason }, 'the event upstream.refused cannot be written');
    }
  }

  return {
    requestFinished(request) {
      telemetry.requestFinished(request);
      const { report } = request;
      if (report?.operatorMustAct === true && now() - last >= PERIOD_MS) void record(report.fault);
    },
  };
}
