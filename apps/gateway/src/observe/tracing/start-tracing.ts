/**
 * Traces by OpenTelemetry. Nothing is registered globally, and no active span is kept across
 * asynchronous calls: each request has its own {@link RequestTrace}.
 */

import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  defaultTextMapGetter,
  defaultTextMapSetter,
  trace,
} from '@opentelemetry/api';
import type { Context, HrTime, Span, Tracer } from '@opentelemetry/api';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { TracerProvider } from '@opentelemetry/sdk-trace';
import manifest from '../../../package.json' with { type: 'json' };
import type { TraceIds } from '../../base/trace-ids.js';
import type { TracingConfig } from '../../config/tracing-config.js';
import { observed } from './response-facts.js';
import type { ResponseFacts } from './response-facts.js';
import { createSampler } from './sampler.js';
import {
  ROUTES,
  callAttributes,
  callErrorOf,
  requestAttributes,
  requestErrorOf,
  responseAttributes,
  resultAttributes,
} from './span-attributes.js';
import { createSpanQueue } from './span-queue.js';
import type {
  AdmittedRequest,
  RequestResult,
  RequestTrace,
  Sent,
  Tracing,
  TracingParts,
} from './tracing.js';

/** The timeout for the export of one batch, retries included. */
const EXPORT_TIMEOUT_MS = 10_000;
/** The most batches in flight at once. */
const EXPORTS_AT_ONCE = 20;
/** The longest that a collector can delay the end of a process. */
const FLUSH_MS = 5_000;
const MAX_VALUE_CHARS = 256;

export function startTracing(config: TracingConfig, { registry, log, now }: TracingParts): Tracing {
  const exporter = new OTLPTraceExporter({
    url: config.url,
    headers: { ...config.headers },
    timeoutMillis: EXPORT_TIMEOUT_MS,
    concurrencyLimit: EXPORTS_AT_ONCE,
  });
  const provider = new TracerProvider({
    sampler: createSampler(config.sampling, Math.random),
    spanLimits: { attributeValueLengthLimit: MAX_VALUE_CHARS },
    spanProcessors: [createSpanQueue(exporter, { registry, log })],
    resource: resourceFromAttributes({
      'service.version': manifest.version,
      'service.instance.id': randomUUID(),
      'process.pid': process.pid,
      ...config.resourceAttributes,
      'service.name': config.serviceName,
    }),
  });
  const tracer = provider.getTracer(manifest.name, manifest.version);
  return {
    begin: (request) => new RecordedTrace(tracer, request, now),
    async close() {
      const flushed = provider.shutdown().then(
        () => true,
        () => false,
      );
      const isFlushed = await Promise.race([flushed, sleep(FLUSH_MS, false, { ref: false })]);
      if (!isFlushed) log.warn('the last traces were not exported');
    },
  };
}

const propagator = new W3CTraceContextPropagator();

class RecordedTrace implements RequestTrace {
  readonly ids: TraceIds | undefined;
  readonly #tracer: Tracer;
  readonly #now: () => number;
  readonly #context: Context;
  readonly #span: Span;
  #call: { readonly span: Span; readonly facts: ResponseFacts } | undefined;

  constructor(tracer: Tracer, request: AdmittedRequest, now: () => number) {
    const parent = propagator.extract(ROOT_CONTEXT, request.headers, defaultTextMapGetter);
    this.#tracer = tracer;
    this.#now = now;
    this.#span = tracer.startSpan(
      `POST ${ROUTES[request.endpoint]}`,
      {
        kind: SpanKind.SERVER,
        startTime: timeOf(request.startedAt),
        attributes: requestAttributes(request),
      },
      parent,
    );
    this.#context = trace.setSpan(parent, this.#span);
    const { traceId, spanId, traceFlags } = this.#span.spanContext();
    this.ids = (traceFlags & TraceFlags.SAMPLED) === 0 ? undefined : { traceId, spanId };
  }

  toUpstream({ call, format }: Sent): Sent {
    if (this.ids === undefined) return { call: withTraceHeaders(call, this.#context), format };
    const operation = call.operation === 'messages' ? 'chat' : call.operation;
    const path = call.operation === 'messages' ? ROUTES.messages : ROUTES.count_tokens;
    const span = this.#tracer.startSpan(
      `${operation} ${call.model}`,
      {
        kind: SpanKind.CLIENT,
        startTime: timeOf(this.#now()),
        attributes: callAttributes(operation, call.model, path),
      },
      this.#context,
    );
    const facts: ResponseFacts = {};
    this.#call = { span, facts };
    return {
      call: withTraceHeaders(call, trace.setSpan(this.#context, span)),
      format: observed(format, facts, this.#now),
    };
  }

  end(result: RequestResult): void {
    if (this.ids === undefined) return;
    this.#endCall(result);
    this.#span.setAttributes(resultAttributes(result));
    if (requestErrorOf(result) !== undefined) this.#span.setStatus(FAILED);
    this.#span.end(timeOf(this.#now()));
  }

  fail(): void {
    this.#call?.span.setStatus(FAILED).end(timeOf(this.#now()));
    this.#span.setAttributes({ 'http.response.status_code': 500, 'error.type': '500' });
    this.#span.setStatus(FAILED).end(timeOf(this.#now()));
  }

  #endCall({ report, account }: RequestResult): void {
    if (this.#call === undefined || report === undefined) return;
    const { span, facts } = this.#call;
    span.setAttributes(responseAttributes(report, facts, account));
    if (callErrorOf(report) !== undefined) span.setStatus(FAILED);
    span.end(timeOf(facts.endedAt ?? this.#now()));
  }
}

const FAILED = { code: SpanStatusCode.ERROR };

/** The call, with the headers that name its trace and span to the upstream. */
function withTraceHeaders(call: Sent['call'], context: Context): Sent['call'] {
  const headers = { ...call.headers };
  propagator.inject(context, headers, defaultTextMapSetter);
  return { ...call, headers };
}

/**
 * Converts milliseconds since the epoch. OpenTelemetry would take a small number, as from the clock
 * of a test, for the time since the process started.
 */
function timeOf(ms: number): HrTime {
  return [Math.floor(ms / 1_000), (ms % 1_000) * 1_000_000];
}
