/** The registry of one process's metrics. */

import { Gauge, Registry, collectDefaultMetrics } from 'prom-client';
import type { MetricObjectWithValues, MetricValue } from 'prom-client';
import manifest from '../../package.json' with { type: 'json' };

/** @param worker - Label of all metrics of this process, if there are several processes. */
export function createRegistry(worker?: string): Registry {
  const registry = new Registry();
  if (worker !== undefined) registry.setDefaultLabels({ worker });
  collectDefaultMetrics({ register: registry });
  new Gauge({
    name: 'gateway_build_info',
    help: 'Always 1; the labels are the versions of Farthing and of Node',
    labelNames: ['version', 'node'],
    registers: [registry],
  }).set({ version: manifest.version, node: process.version }, 1);
  return registry;
}

/** The value of a metric for an amount in units of 10^-14 USD. Only the ledger is exact. */
export function approximateUsd(amount: bigint): number {
  return Number(amount) / 1e14;
}

/**
 * @param read - Called at each scrape. If it returns `undefined`, the scrape has no sample of this
 * gauge. After a 0, the first figure would look like an increase, and fire alerts.
 */
export function addGauge(
  registry: Registry,
  name: string,
  help: string,
  read: () => number | undefined | Promise<number>,
): void {
  new Gauge({
    name,
    help,
    registers: [registry],
    async collect() {
      const value = await read();
      if (value === undefined) this.remove();
      else this.set(value);
    },
  });
}

export type WorkerMetrics = readonly MetricObjectWithValues<MetricValue<string>>[];
