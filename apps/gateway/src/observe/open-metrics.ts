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
import type { WorkerMetrics } from './registry.js';

export const OPEN_METRICS_TYPE = Registry.OPENMETRICS_CONTENT_TYPE;

const OPEN = 'application/openmetrics-text';
/** Media types as Prometheus writes them. The classic form is first, because it is the default. */
const FORMS = [
  'text/plain;version=0.0.4',
  'text/plain;version=1.0.0;escaping=allow-utf-8',
  'text/plain',
  `${OPEN};version=1.0.0;escaping=allow-utf-8`,
  `${OPEN};version=1.0.0`,
  OPEN,
];

/** Whether a scraper prefers the OpenMetrics form, by its `Accept` header. */
export function wantsOpenMetrics(req: Request): boolean {
  const form = req.accepts(FORMS);
  return form !== false && form.startsWith(OPEN);
}

type MetricCopy = MetricObjectWithValues<MetricValue<string>>;

/** @param processes - The metrics of each process. If there are several, each has its own label. */
export function openMetricsOf(processes: readonly WorkerMetrics[]): Promise<string> {
  const merged = new Map<string, MetricCopy>();
  for (const metric of processes.flat()) {
    // The classic form leaves these out, too, if there are several processes.
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

/** A metric with only the members that prom-client reads here. Its types demand more. */
function metricOf(copy: MetricCopy): Metric {
  return { ...copy, get: () => Promise.resolve(copy) } as unknown as Metric;
}
