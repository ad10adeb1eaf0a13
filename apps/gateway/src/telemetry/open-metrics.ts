/**
 * The OpenMetrics form of `/metrics`, the only one with exemplars.
 *
 * It is written from a copy of the metrics: prom-client's own writer renames the live counters, so
 * that the classic form would change, and its aggregation of several processes drops exemplars.
 */

import type { Request } from 'express';
import { Registry } from 'prom-client';
import type {
  Metric,
  MetricObjectWithValues,
  MetricValue,
  OpenMetricsContentType,
} from 'prom-client';
import type { WorkerMetrics } from '../workers/rpc-interfaces.js';

export const OPEN_METRICS_TYPE = Registry.OPENMETRICS_CONTENT_TYPE;

const OPEN = 'application/openmetrics-text';
/** As Prometheus names them. The classic form first: it is the default. */
const FORMS = [
  ...['text/plain;version=0.0.4', 'text/plain;version=1.0.0;escaping=allow-utf-8', 'text/plain'],
  ...[`${OPEN};version=1.0.0;escaping=allow-utf-8`, `${OPEN};version=1.0.0`, OPEN],
];

/** Whether a scraper prefers the OpenMetrics form, by its `Accept` header. */
export function wantsOpenMetrics(req: Request): boolean {
  const form = req.accepts(FORMS);
  return form !== false && form.startsWith(OPEN);
}

type MetricCopy = MetricObjectWithValues<MetricValue<string>>;

/** @param processes - Each with a label of its own, if there are several. */
export function openMetricsOf(processes: readonly WorkerMetrics[]): Promise<string> {
  const merged = new Map<string, MetricCopy>();
  for (const metric of processes.flat()) {
    // As in the classic form of several processes.
    if (processes.length > 1 && String(metric.aggregator) === 'omit') continue;
    const name =
      String(metric.type) === 'counter' ? metric.name.replace(/_total$/, '') : metric.name;
    const values = [...(merged.get(name)?.values ?? []), ...metric.values];
    merged.set(name, { ...metric, name, values });
  }
  const registry = new Registry<OpenMetricsContentType>();
  registry.setContentType(OPEN_METRICS_TYPE);
  for (const metric of merged.values()) registry.registerMetric(metricOf(metric));
  return registry.metrics();
}

/** What prom-client reads of a metric, which its types state too narrowly. */
function metricOf(copy: MetricCopy): Metric {
  return { ...copy, get: () => Promise.resolve(copy) } as unknown as Metric;
}
