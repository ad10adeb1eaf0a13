/**
 * The queue of ended spans that are sent to the collector. OpenTelemetry's batch processor sends
 * them. This file wraps it, to bound the number of waiting spans and to count the outcome of each
 * span.
 */

import { ExportResultCode } from '@opentelemetry/core';
import type { ExportResult } from '@opentelemetry/core';
import { BatchSpanProcessor } from '@opentelemetry/sdk-trace';
import type { SpanExporter, SpanProcessor } from '@opentelemetry/sdk-trace';
import { Counter } from 'prom-client';
import type { Registry } from 'prom-client';
import type { Logger } from 'pino';
import { errorCode } from '../../base/error-code.js';

/** Spans that wait for a batch. */
export const MAX_WAITING_SPANS = 2_048;
/** Small, because a batch is serialized in one event-loop tick. */
const BATCH_SPANS = 128;
const BATCH_DELAY_MS = 1_000;

const OUTCOMES = ['exported', 'failed', 'dropped'] as const;
type Outcome = (typeof OUTCOMES)[number];

export function createSpanQueue(
  exporter: SpanExporter,
  { registry, log }: { readonly registry: Registry; readonly log: Logger },
): SpanProcessor {
  let waiting = 0;
  const count = countOutcomes(registry, log);
  const batches = new BatchSpanProcessor({
    exporter: {
      export(spans, done) {
        waiting -= spans.length;
        exporter.export(spans, (result) => {
          const isExported = result.code === ExportResultCode.SUCCESS;
          count(isExported ? 'exported' : 'failed', spans.length, result);
          done(result);
        });
      },
      shutdown: () => exporter.shutdown(),
    },
    maxQueueSize: MAX_WAITING_SPANS,
    maxExportBatchSize: BATCH_SPANS,
    scheduledDelayMillis: BATCH_DELAY_MS,
  });
  return {
    onStart: () => undefined,
    onEnd(span) {
      if (waiting >= MAX_WAITING_SPANS) {
        count('dropped', 1);
        return;
      }
      waiting += 1;
      batches.onEnd(span);
    },
    forceFlush: () => batches.forceFlush(),
    shutdown: () => batches.shutdown(),
  };
}

/**
 * Counts each span. Logs when the collector stops accepting spans, and when it accepts them again.
 */
function countOutcomes(
  registry: Registry,
  log: Logger,
): (outcome: Outcome, spans: number, result?: ExportResult) => void {
  const counter = new Counter({
    name: 'gateway_trace_spans_total',
    help: 'Spans sent to the collector; failed: it did not take them; dropped: too many waited',
    labelNames: ['outcome'],
    registers: [registry],
  });
  for (const outcome of OUTCOMES) counter.inc({ outcome }, 0);
  let isTaken = true;
  return (outcome, spans, result) => {
    counter.inc({ outcome }, spans);
    if ((outcome === 'exported') === isTaken) return;
    isTaken = !isTaken;
    if (isTaken) log.info('traces are exported again');
    else log.warn({ reason: reasonOf(outcome, result?.error) }, 'traces cannot be exported');
  };
}

/** Never contains the collector's text, which may repeat parts of the spans. */
function reasonOf(outcome: Outcome, error: Error | undefined): string {
  if (outcome === 'dropped') return 'too many spans wait';
  const status = error !== undefined && 'code' in error ? error.code : undefined;
  if (typeof status === 'number') return `status ${String(status)}`;
  return errorCode(error) ?? 'no answer in time, or the collector is overloaded';
}
