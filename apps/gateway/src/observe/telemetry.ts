/**
 * One log line and a few counters per request. They never contain a credential, a prompt, a
 * completion or a header, except the tag and the run that a charge is attributed to: every field is
 * listed here.
 */

import type { Logger } from 'pino';
import { formatUsd } from '@gateway/billing';
import { pricingView } from '../base/pricing.js';
import type { Charge, ChargedPart } from '../ledger/fold-outcomes.js';
import type { ExchangeReport } from './exchange-report.js';
import type { FinishedRequest } from './finished-request.js';
import type { Metrics } from './metrics.js';

export interface Telemetry {
  requestFinished(request: FinishedRequest): void;
}

/** @param log - Its level decides which lines are written. */
export function createTelemetry(
  log: Pick<Logger, Level>,
  metrics: Pick<Metrics, 'observe'>,
): Telemetry {
  function write(level: Level, msg: string, request: FinishedRequest): void {
    log[level](fieldsOf(request), msg);
  }
  return {
    requestFinished(request) {
      metrics.observe(request);
      const { report } = request;
      if (report?.loss !== undefined) write('error', 'response not charged', request);
      else if (isPartlyLost(report)) write('error', 'response charged in part', request);
      else if (report?.operatorMustAct === true)
        write('error', 'upstream refuses this account', request);
      else if (request.status >= 500) write('warn', 'request failed', request);
      else write('info', 'request', request);
    },
  };
}

function isPartlyLost(report: ExchangeReport | undefined): boolean {
  const charged = report?.charged;
  return charged !== undefined && (charged.writtenOff > 0n || charged.setAside > 0);
}

type Level = 'error' | 'warn' | 'info';

function fieldsOf({
  requestId,
  endpoint,
  status,
  durationMs,
  keyId,
  model,
  spender,
  limited,
  fault,
  report,
  account,
  trace,
}: FinishedRequest) {
  return {
    request_id: requestId,
    trace_id: trace?.traceId,
    endpoint,
    status,
    duration_ms: durationMs,
    key_id: keyId,
    model,
    // A lost charge is booked again for the same spender.
    member_id: spender?.memberId,
    groups: spender?.groups,
    tag: spender?.tag,
    run: spender?.run,
    limited,
    fault: fault ?? report?.fault,
    ...(report === undefined
      ? undefined
      : {
          streamed: report.streamed,
          client_left: report.clientLeft || undefined,
          upstream_account: account,
          upstream_status: report.upstreamStatus,
          upstream_request_id: report.upstreamRequestId,
          upstream_first_byte_ms: report.upstreamFirstByteMs,
          loss: report.loss,
          ...(report.charged === undefined ? undefined : chargeFieldsOf(report.charged)),
        }),
  };
}

function chargeFieldsOf({ usage, pricing, charge, writtenOff, cost, parts, ...more }: Charge) {
  const { setAside, remarks } = more;
  return {
    ...amountFieldsOf({ charge, writtenOff, cost }),
    parts: parts.length === 0 ? undefined : parts.map(partFieldsOf),
    parts_set_aside: setAside === 0 ? undefined : setAside,
    usage_remarks: remarks.length === 0 ? undefined : remarks.map(({ detail }) => detail),
    ...countFieldsOf(usage),
    pricing: pricing && pricingView(pricing),
  };
}

/**
 * The part's own amounts and counts. The line's amounts include those of the part; its counts do
 * not.
 */
function partFieldsOf({ requestId, model, usage, pricing, ...amounts }: ChargedPart) {
  return {
    request_id: requestId,
    model,
    ...amountFieldsOf(amounts),
    ...countFieldsOf(usage),
    pricing: pricing && pricingView(pricing),
  };
}

function amountFieldsOf({
  charge,
  writtenOff,
  cost,
}: Pick<ChargedPart, 'charge' | 'writtenOff' | 'cost'>) {
  return {
    charge_usd: formatUsd(charge),
    written_off_usd: writtenOff === 0n ? undefined : formatUsd(writtenOff),
    cost_usd: cost === undefined ? undefined : formatUsd(cost),
  };
}

function countFieldsOf(usage: ChargedPart['usage']) {
  return {
    input_tokens: usage.inputTokens,
    output_tokens: usage.outputTokens,
    cache_read_input_tokens: usage.cacheReadInputTokens,
    cache_creation_input_tokens: usage.cacheCreationInputTokens,
    cache_creation_1h_input_tokens:
      usage.cacheCreation1hInputTokens === 0 ? undefined : usage.cacheCreation1hInputTokens,
  };
}
