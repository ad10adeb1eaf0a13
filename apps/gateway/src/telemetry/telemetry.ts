/**
 * What an operator sees: one log line and a few counters per request. Neither ever holds a
 * credential, a prompt, a completion or a header: the fields are listed here, one by one.
 */

import type { Logger } from 'pino';
import { formatUsd } from '@gateway/billing';
import type { LimitName } from '../admission.js';
import type { ExchangeReport } from '../relay/relay.js';
import type { Metrics } from './metrics.js';

export interface FinishedRequest {
  readonly requestId: string;
  readonly endpoint: string;
  readonly status: number;
  readonly durationMs: number;
  readonly keyId?: string;
  readonly model?: string;
  readonly limited?: LimitName | undefined;
  /** Why the gateway itself could not serve it. */
  readonly fault?: string | undefined;
  readonly report?: ExchangeReport;
}

export interface Telemetry {
  requestFinished(request: FinishedRequest): void;
}

export function createTelemetry(log: Logger, metrics: Metrics): Telemetry {
  return {
    requestFinished(request) {
      metrics.observe(request);
      const { report } = request;
      const line = logLine(request);
      if (report?.loss !== undefined) log.error(line, 'response not charged');
      else if (report?.operatorMustAct === true) log.error(line, 'upstream refuses this account');
      else if (request.status >= 500) log.warn(line, 'request failed');
      else log.info(line, 'request');
    },
  };
}

function logLine({
  requestId,
  endpoint,
  status,
  durationMs,
  keyId,
  model,
  limited,
  fault,
  report,
}: FinishedRequest) {
  return {
    request_id: requestId,
    endpoint,
    status,
    duration_ms: durationMs,
    key_id: keyId,
    model,
    limited,
    fault,
    ...(report === undefined
      ? undefined
      : {
          streamed: report.streamed,
          client_left: report.clientLeft || undefined,
          upstream_status: report.upstreamStatus,
          upstream_request_id: report.upstreamRequestId,
          upstream_first_byte_ms: report.upstreamFirstByteMs,
          loss: report.loss,
          charge_usd: report.charge === undefined ? undefined : formatUsd(report.charge),
          ...(report.usage === undefined
            ? undefined
            : {
                input_tokens: report.usage.inputTokens,
                output_tokens: report.usage.outputTokens,
                cache_read_input_tokens: report.usage.cacheReadInputTokens,
                cache_creation_input_tokens: report.usage.cacheCreationInputTokens,
              }),
        }),
  };
}
