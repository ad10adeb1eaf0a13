/**
 * The attributes of spans, each listed here: no content, no credential, no header. The names are
 * those of OpenTelemetry's semantic conventions for HTTP and for generative AI
 * (https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-spans/); `gateway.…` are our own.
 */

import type { Attributes } from '@opentelemetry/api';
import { formatUsd } from '@gateway/billing';
import type { Charge } from '../../ledger/fold-outcomes.js';
import type { ExchangeReport } from '../exchange-report.js';
import type { ResponseFacts } from './response-facts.js';
import type { AdmittedRequest, RequestResult } from './tracing.js';

export const ROUTES: Readonly<Record<AdmittedRequest['endpoint'], string>> = {
  messages: '/v1/messages',
  count_tokens: '/v1/messages/count_tokens',
  'chat.completions': '/v1/chat/completions',
  responses: '/v1/responses',
  input_tokens: '/v1/responses/input_tokens',
};

/** Attributes that are known when a request begins. */
export function requestAttributes({ requestId, endpoint, key }: AdmittedRequest): Attributes {
  return {
    'http.request.method': 'POST',
    'http.route': ROUTES[endpoint],
    'url.path': ROUTES[endpoint],
    'url.scheme': 'http',
    'gateway.request.id': requestId,
    'gateway.key.id': key.id,
    'gateway.account.id': key.accountId,
  };
}

/** Attributes that are known when a request has ended. */
export function resultAttributes({ status, model, report }: RequestResult): Attributes {
  const charged = report?.charged;
  return {
    'http.response.status_code': status,
    'error.type': requestErrorOf({ status, report }),
    'gen_ai.request.model': model,
    'gateway.streamed': report?.streamed,
    'gateway.client_left': status === 499 || report?.clientLeft === true ? true : undefined,
    'gateway.loss': report?.loss,
    ...(charged === undefined
      ? undefined
      : {
          'gateway.charge_usd': formatUsd(charged.charge),
          'gateway.written_off_usd':
            charged.writtenOff === 0n ? undefined : formatUsd(charged.writtenOff),
          'gateway.parts_set_aside': charged.setAside === 0 ? undefined : charged.setAside,
        }),
  };
}

/** Attributes that are known when a call is sent to the upstream. */
export function callAttributes(operation: string, model: string, path: string): Attributes {
  return {
    'gen_ai.operation.name': operation,
    'gen_ai.request.model': model,
    'http.request.method': 'POST',
    'url.template': path,
  };
}

/** Attributes that are known when the upstream's response has ended. */
export function responseAttributes(
  report: ExchangeReport,
  facts: ResponseFacts,
  account: string | undefined,
): Attributes {
  return {
    'http.response.status_code': report.upstreamStatus,
    'error.type': callErrorOf(report),
    'gen_ai.provider.name': report.upstreamProvider,
    'gen_ai.response.model': facts.model,
    'gen_ai.response.id': facts.messageId,
    'gen_ai.response.finish_reasons':
      facts.stopReason === undefined ? undefined : [facts.stopReason],
    ...(report.charged === undefined ? undefined : usageAttributes(report.charged)),
    'gateway.upstream.account': account,
    'gateway.upstream.request_id': report.upstreamRequestId,
    'gateway.upstream.first_byte_ms': report.upstreamFirstByteMs,
  };
}

/** The conventions count cached tokens as input tokens too; Anthropic's own counts do not. */
function usageAttributes({ usage }: Charge): Attributes {
  const { inputTokens, cacheReadInputTokens, cacheCreationInputTokens, outputTokens } = usage;
  return {
    'gen_ai.usage.input_tokens': inputTokens + cacheReadInputTokens + cacheCreationInputTokens,
    'gen_ai.usage.output_tokens': outputTokens,
    'gen_ai.usage.cache_read.input_tokens': cacheReadInputTokens,
    'gen_ai.usage.cache_creation.input_tokens': cacheCreationInputTokens,
  };
}

/** Why a request failed through no fault of its client; `undefined` if it did not. */
export function requestErrorOf({
  status,
  report,
}: {
  readonly status: number;
  readonly report?: ExchangeReport | undefined;
}): string | undefined {
  if (report?.loss !== undefined) return report.loss;
  return status >= 500 ? String(status) : undefined;
}

/** Why the call to the upstream failed; `undefined` if it did not. */
export function callErrorOf({
  upstreamStatus,
  loss,
  fault,
}: Pick<ExchangeReport, 'upstreamStatus' | 'loss' | 'fault'>): string | undefined {
  if (upstreamStatus === undefined)
    return /^[A-Z][A-Z0-9_]+(?=:)/.exec(fault ?? '')?.[0] ?? '_OTHER';
  if (upstreamStatus >= 400) return String(upstreamStatus);
  return loss;
}
