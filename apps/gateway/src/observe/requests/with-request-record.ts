/** Turns finished requests into records: what is kept of each, and nothing else. */

import type { RequestRecord, RequestTokens } from '@gateway/balance-store';
import type { Charge } from '../../ledger/fold-outcomes.js';
import { EXCHANGES } from '../finished-request.js';
import type { FinishedRequest } from '../finished-request.js';
import type { Telemetry } from '../telemetry.js';
import { readClientHeaders } from './client-headers.js';
import { errorWords } from './error-words.js';
import type { RequestRecorder } from './request-recorder.js';

const RECORDED: ReadonlySet<string> = new Set(EXCHANGES);

/** Also records the requests that call the upstream. */
export function withRequestRecord(
  telemetry: Telemetry,
  recorder: Pick<RequestRecorder, 'record'>,
  now: () => number,
): Telemetry {
  return {
    requestFinished(request) {
      telemetry.requestFinished(request);
      if (!RECORDED.has(request.endpoint)) return;
      recorder.record(recordOf(request, now()), request.report === undefined);
    },
  };
}

/** Why a response was not charged, in the words of the record. */
const LOSSES = {
  error_event: 'the upstream ended the stream with an error',
  truncated: 'the response broke off before its end',
  malformed: 'the response of the upstream cannot be read',
  too_large: 'the response was too large to pass on',
  invalid_usage: 'the response has no usage that can be charged',
  ledger_unavailable: 'the charge could not be confirmed',
  ledger_refused: 'the ledger refused the charge',
} as const;

function recordOf(request: FinishedRequest, endedAt: number): RequestRecord {
  const { report, status, trace, spender } = request;
  const charged = report?.charged;
  const { client, sessionId, tag, traceId } = readClientHeaders(request.headers ?? {});
  return {
    id: request.requestId,
    accountId: request.accountId,
    keyId: request.keyId,
    model: request.model,
    endpoint: request.endpoint,
    status,
    ...errorOf(request),
    upstreamAccount: request.account,
    endedAt,
    durationMs: Math.max(0, Math.round(request.durationMs)),
    firstByteMs: rounded(report?.upstreamFirstByteMs),
    streamed: report?.streamed === true,
    clientLeft: report?.clientLeft === true || status === 499,
    tokens: charged && tokensOf(charged),
    charge: charged?.charge,
    fault: (request.fault ?? report?.fault)?.slice(0, MAX_FAULT_CHARS),
    upstreamStatus: report?.upstreamStatus,
    upstreamRequestId: report?.upstreamRequestId,
    traceId: trace?.traceId ?? traceId,
    client,
    sessionId,
    tag: spender?.tag ?? tag,
    memberId: spender?.memberId,
    count: 1,
    since: undefined,
  };
}

const MAX_FAULT_CHARS = 200;

function errorOf({
  error,
  report,
  status,
}: FinishedRequest): Pick<RequestRecord, 'errorType' | 'errorMessage'> {
  const given = error ?? report?.error;
  if (report?.loss !== undefined) {
    return { errorType: report.loss, errorMessage: LOSSES[report.loss] };
  }
  if (given !== undefined) {
    return {
      errorType: /^[a-z0-9_]{1,60}$/.test(given.type) ? given.type : 'unknown',
      errorMessage: errorWords(given),
    };
  }
  if (status === 499) {
    return { errorType: 'client_left', errorMessage: 'the client left before it was answered' };
  }
  if (status < 400) return { errorType: undefined, errorMessage: undefined };
  return { errorType: 'api_error', errorMessage: undefined };
}

function tokensOf({ usage, parts }: Charge): RequestTokens {
  const sum = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
  for (const each of [usage, ...parts.map((part) => part.usage)]) {
    sum.input += each.inputTokens;
    sum.output += each.outputTokens;
    sum.cacheRead += each.cacheReadInputTokens;
    sum.cacheWrite += each.cacheCreationInputTokens;
  }
  return sum;
}

function rounded(ms: number | undefined): number | undefined {
  return ms === undefined ? undefined : Math.max(0, Math.round(ms));
}
