/** Prometheus metrics. Labels come from closed sets (endpoints, statuses, models of the price table). */

import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from 'prom-client';
import type { FinishedRequest } from './telemetry.js';

export interface Metrics {
  observe(request: FinishedRequest): void;
  /** To be told whenever Redis is given up or taken up again. */
  limitsDecidedBy(decider: 'redis' | 'local'): void;
}

const DURATION_BUCKETS = [0.005, 0.025, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];
const USD_UNITS = 1e14;

/** @param worker - Which of several processes this is; a label of all its metrics. */
export function createRegistry(worker?: string): Registry {
  const registry = new Registry();
  if (worker !== undefined) registry.setDefaultLabels({ worker });
  collectDefaultMetrics({ register: registry });
  return registry;
}

/** What is known of the ledger as a whole. */
export function addLedgerMetrics(
  registry: Registry,
  gauges: { readonly orphanedHolds: () => number },
): void {
  addGauge(
    registry,
    'gateway_holds_orphaned',
    'Holds of requests that were neither charged nor given up, in the whole ledger',
    gauges.orphanedHolds,
  );
}

/** What a process knows of its requests. */
export function createMetrics(
  registry: Registry,
  gauges: { readonly running: () => number; readonly pendingSettlements: () => number },
): Metrics {
  const registers = [registry];
  const requests = new Counter({
    name: 'gateway_requests_total',
    help: 'Requests answered, by endpoint and status',
    labelNames: ['endpoint', 'status'],
    registers,
  });
  const durations = new Histogram({
    name: 'gateway_request_duration_seconds',
    help: 'From the request head to the last byte handed to the socket',
    labelNames: ['endpoint'],
    buckets: DURATION_BUCKETS,
    registers,
  });
  const firstBytes = new Histogram({
    name: 'gateway_upstream_first_byte_seconds',
    help: 'From sending a request upstream to the first byte of its response body',
    labelNames: ['endpoint'],
    buckets: DURATION_BUCKETS,
    registers,
  });
  const tokens = new Counter({
    name: 'gateway_tokens_total',
    help: 'Tokens charged, by model and token class',
    labelNames: ['model', 'class'],
    registers,
  });
  const charged = new Counter({
    name: 'gateway_charged_usd_total',
    help: 'USD charged, by model; approximate, the ledger is exact',
    labelNames: ['model'],
    registers,
  });
  const limited = new Counter({
    name: 'gateway_rate_limited_total',
    help: 'Requests refused by a limit of their key, or by a balance too low for them (OVERDRAFT=none)',
    labelNames: ['limit'],
    registers,
  });
  const lost = new Counter({
    name: 'gateway_unbilled_total',
    help: 'Responses that may have cost the operator and were charged to nobody',
    labelNames: ['reason'],
    registers,
  });
  const written = new Counter({
    name: 'gateway_written_off_usd_total',
    help: 'USD that responses cost beyond what balances could cover (OVERDRAFT=none); approximate',
    registers,
  });
  const parts = new Counter({
    name: 'gateway_usage_parts_set_aside_total',
    help: 'Parts of a usage object that have no known price: not charged, kept in the quarantine',
    registers,
  });
  const remarked = new Counter({
    name: 'gateway_usage_remarks_total',
    help: 'Details of usage objects that contradict the four counts or are unknown',
    labelNames: ['detail'],
    registers,
  });
  const refused = new Counter({
    name: 'gateway_upstream_account_refused_total',
    help: "Responses in which the upstream refused the operator's own credential or account",
    registers,
  });
  const redisLosses = new Counter({
    name: 'gateway_limits_redis_lost_total',
    help: 'How often Redis was given up, and limits were decided by this replica alone',
    registers,
  });
  let isLocal = false;
  addGauge(
    registry,
    'gateway_limits_local',
    'Whether this replica decides limits alone because Redis is away',
    () => Number(isLocal),
  );
  addGauge(registry, 'gateway_requests_running', 'Exchanges under way', gauges.running);
  addGauge(
    registry,
    'gateway_settlements_pending',
    'Charges not yet durable',
    gauges.pendingSettlements,
  );

  return {
    limitsDecidedBy(decider) {
      isLocal = decider === 'local';
      if (isLocal) redisLosses.inc();
    },
    observe({ endpoint, status, durationMs, model, limited: limit, report }) {
      requests.inc({ endpoint, status });
      durations.observe({ endpoint }, durationMs / 1000);
      if (limit !== undefined) limited.inc({ limit });
      if (report === undefined) return;
      if (report.upstreamFirstByteMs !== undefined) {
        firstBytes.observe({ endpoint }, report.upstreamFirstByteMs / 1000);
      }
      if (report.loss !== undefined) lost.inc({ reason: report.loss });
      if (report.operatorMustAct) refused.inc();
      if (report.charged === undefined || model === undefined) return;
      const { usage, charge, writtenOff, setAside, remarks } = report.charged;
      tokens.inc({ model, class: 'input' }, usage.inputTokens);
      tokens.inc({ model, class: 'output' }, usage.outputTokens);
      tokens.inc({ model, class: 'cache_read' }, usage.cacheReadInputTokens);
      tokens.inc({ model, class: 'cache_creation' }, usage.cacheCreationInputTokens);
      charged.inc({ model }, Number(charge) / USD_UNITS);
      written.inc(Number(writtenOff) / USD_UNITS);
      parts.inc(setAside);
      for (const { detail } of remarks) remarked.inc({ detail });
    },
  };
}

function addGauge(registry: Registry, name: string, help: string, read: () => number): void {
  new Gauge({
    name,
    help,
    registers: [registry],
    collect() {
      this.set(read());
    },
  });
}
