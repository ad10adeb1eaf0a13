/**
 * Prometheus metrics of the requests of one process. Labels come from closed sets: endpoints,
 * statuses, reasons, models of the price table. Each combination of a counter's labels that is
 * known in advance starts at 0, so that the first occurrence already shows as an increase.
 */

import { Counter, Histogram } from 'prom-client';
import type { Registry } from 'prom-client';
import type { TraceIds } from '../base/trace-ids.js';
import type { Charge } from '../ledger/fold-outcomes.js';
import { LOSS_REASONS } from './exchange-report.js';
import type { ExchangeReport } from './exchange-report.js';
import { ENDPOINTS, LIMIT_NAMES } from './finished-request.js';
import type { FinishedRequest } from './finished-request.js';
import { Counts } from './counts.js';
import { addGauge, approximateUsd } from './registry.js';

export interface Metrics {
  observe(request: FinishedRequest): void;
  /** Lets the counters of these models start at 0, if they have not started. */
  offer(models: readonly string[]): void;
  /** Call it when the limits stop using Redis, and when they use it again. */
  limitsDecidedBy(decider: 'redis' | 'local'): void;
}

export interface RequestFigures {
  /** Ids of the models that are offered. */
  readonly models: readonly string[];
  readonly running: () => number;
  readonly pendingSettlements: () => number;
  /** Bytes of request bodies and unread responses. */
  readonly reservedBytes: () => number;
  /** Whether each bucket of a duration names the trace of one of its requests. */
  readonly exemplars: Exemplars;
}

type Exemplars = 'none' | 'traces';

const STATUSES = [200, 400, 401, 402, 403, 404, 409, 413, 415, 429, 499, 500, 502, 503, 504, 529];
export const UPSTREAM_STATUSES = [
  '200',
  '400',
  '401',
  '403',
  '404',
  '413',
  '429',
  '500',
  '502',
  '503',
  '504',
  '529',
  'none',
];
const REMARKS = [
  'cache_creation',
  'thinking_tokens',
  'iterations',
  'falling_counts',
  'inference_geo',
  'speed',
  'service_tier',
  'server_tool_use',
  'unknown_members',
];
export const TOKEN_CLASSES = ['input', 'output', 'cache_read', 'cache_creation'];
const DURATION_BUCKETS = [0.005, 0.025, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];

export function createMetrics(registry: Registry, figures: RequestFigures): Metrics {
  const observeRequest = countRequests(registry, figures.exemplars);
  const observeUpstream = countUpstream(registry, figures.exemplars);
  const charges = countCharges(registry, figures.models);
  const losses = counter(registry, {
    name: 'gateway_unbilled_total',
    help: 'Responses that may have cost the operator and have no confirmed charge',
    labels: { reason: LOSS_REASONS },
  });
  const redisLosses = counter(registry, {
    name: 'gateway_limits_redis_lost_total',
    help: 'How often Redis could not be reached, so that this replica began to decide limits alone',
    labels: {},
  });
  let isLocal = false;
  const gauge = (name: string, help: string, read: () => number): void => {
    addGauge(registry, name, help, read);
  };
  gauge(
    'gateway_limits_local',
    'Whether this replica decides limits alone because Redis cannot be reached',
    () => Number(isLocal),
  );
  gauge('gateway_requests_running', 'Exchanges under way', figures.running);
  gauge('gateway_settlements_pending', 'Charges not yet durable', figures.pendingSettlements);
  gauge(
    'gateway_memory_reserved_bytes',
    'Memory reserved for request bodies and unread responses (BODY_MEMORY_BYTES)',
    figures.reservedBytes,
  );

  return {
    offer: charges.offer,
    limitsDecidedBy(decider) {
      isLocal = decider === 'local';
      if (isLocal) redisLosses(1);
    },
    observe(request) {
      observeRequest(request);
      const { report, model, endpoint } = request;
      if (report === undefined) return;
      observeUpstream(endpoint, report, request.trace);
      if (report.loss !== undefined) losses(1, report.loss);
      if (report.charged !== undefined && model !== undefined)
        charges.observe(model, report.charged);
    },
  };
}

function countRequests(
  registry: Registry,
  exemplars: Exemplars,
): (request: FinishedRequest) => void {
  const requests = counter(registry, {
    name: 'gateway_requests_total',
    help: 'Requests answered, by endpoint and status',
    labels: { endpoint: ENDPOINTS, status: STATUSES.map(String) },
  });
  const observeDuration = histogram(registry, {
    name: 'gateway_request_duration_seconds',
    help: 'Time from the request head to the last byte handed to the socket',
    exemplars,
  });
  const limited = counter(registry, {
    name: 'gateway_rate_limited_total',
    help: 'Requests refused by a limit of their key, or because its balance is too low (OVERDRAFT=none)',
    labels: { limit: LIMIT_NAMES },
  });
  return ({ endpoint, status, durationMs, limited: limit, trace }) => {
    requests(1, endpoint, String(status));
    observeDuration(endpoint, durationMs / 1000, trace);
    if (limit !== undefined) limited(1, limit);
  };
}

function countUpstream(
  registry: Registry,
  exemplars: Exemplars,
): (endpoint: string, report: ExchangeReport, trace: TraceIds | undefined) => void {
  const responses = counter(registry, {
    name: 'gateway_upstream_responses_total',
    help: 'Responses of the upstream by status; none: no response came, or the request was not sent',
    labels: { status: UPSTREAM_STATUSES },
  });
  const observeFirstByte = histogram(registry, {
    name: 'gateway_upstream_first_byte_seconds',
    help: 'Time from sending a request upstream to the first byte of its response body',
    exemplars,
  });
  const refused = counter(registry, {
    name: 'gateway_upstream_account_refused_total',
    help: "Responses in which the upstream refused the operator's own credential or account",
    labels: {},
  });
  return (endpoint, { upstreamStatus, upstreamFirstByteMs, operatorMustAct }, trace) => {
    responses(1, upstreamStatus === undefined ? 'none' : String(upstreamStatus));
    if (upstreamFirstByteMs !== undefined) {
      observeFirstByte(endpoint, upstreamFirstByteMs / 1000, trace);
    }
    if (operatorMustAct) refused(1);
  };
}

function countCharges(
  registry: Registry,
  models: readonly string[],
): {
  readonly observe: (model: string, charge: Charge) => void;
  readonly offer: (models: readonly string[]) => void;
} {
  const tokens = counter(registry, {
    name: 'gateway_tokens_total',
    help: 'Tokens of charged messages, by model of the request and token class; without parts that have entries of their own',
    labels: { model: models, class: TOKEN_CLASSES },
  });
  const charged = counter(registry, {
    name: 'gateway_charged_usd_total',
    help: 'USD charged, by model of the request, with its parts; approximate, the ledger is exact',
    labels: { model: models },
  });
  const writtenOff = counter(registry, {
    name: 'gateway_written_off_usd_total',
    help: 'USD that responses cost beyond what balances could cover (OVERDRAFT=none); approximate',
    labels: {},
  });
  const partsSetAside = counter(registry, {
    name: 'gateway_usage_parts_set_aside_total',
    help: 'Parts of a usage object that were not charged, but set aside for the operator; most have no known price',
    labels: {},
  });
  const remarks = counter(registry, {
    name: 'gateway_usage_remarks_total',
    help: 'Details of usage objects that contradict the four token counts, are unknown or have no price, and requests with members that this version does not know',
    labels: { detail: REMARKS },
  });
  return {
    observe(model, { usage, charge, writtenOff: lost, setAside, remarks: found }) {
      tokens(usage.inputTokens, model, 'input');
      tokens(usage.outputTokens, model, 'output');
      tokens(usage.cacheReadInputTokens, model, 'cache_read');
      tokens(usage.cacheCreationInputTokens, model, 'cache_creation');
      charged(approximateUsd(charge), model);
      writtenOff(approximateUsd(lost));
      partsSetAside(setAside);
      for (const { detail } of found) remarks(1, detail);
    },
    offer(offered) {
      for (const model of offered) {
        for (const each of TOKEN_CLASSES) tokens(0, model, each);
        charged(0, model);
      }
    },
  };
}

/**
 * A counter whose combinations of labels all start at 0. Requests add to plain numbers, because
 * the registry takes 1 µs for each addition and a request makes ten. It gets them when it is read.
 *
 * @param labels - By name, the values that are known in advance.
 * @returns adds an amount to the counter of these values, in the order of the labels
 */
function counter(
  registry: Registry,
  {
    name,
    help,
    labels,
  }: {
    readonly name: string;
    readonly help: string;
    readonly labels: Readonly<Record<string, readonly string[]>>;
  },
): Add {
  const labelNames = Object.keys(labels);
  const counts = new Counts(labelNames.length);
  new Counter({
    name,
    help,
    labelNames,
    registers: [registry],
    collect() {
      counts.take((values, amount) => {
        this.inc(Object.fromEntries(labelNames.map((label, at) => [label, values[at]])), amount);
      });
    },
  });
  let combinations: readonly (readonly string[])[] = [[]];
  for (const label of labelNames) {
    combinations = combinations.flatMap((rest) => labels[label]!.map((value) => [...rest, value]));
  }
  for (const values of combinations) counts.add(0, values[0], values[1]);
  return (amount, first, second) => {
    counts.add(amount, first, second);
  };
}

type Add = (amount: number, first?: string, second?: string) => void;

type ObserveSeconds = (endpoint: string, seconds: number, trace: TraceIds | undefined) => void;

function histogram(
  registry: Registry,
  { name, help, exemplars }: { readonly name: string; readonly help: string; exemplars: Exemplars },
): ObserveSeconds {
  const enableExemplars = exemplars === 'traces';
  const made = new Histogram<'endpoint' | 'trace_id' | 'span_id'>({
    name,
    help,
    enableExemplars,
    labelNames: ['endpoint'],
    buckets: DURATION_BUCKETS,
    // Registered below, because the constructor refuses exemplars in a registry of the classic
    // form. That form leaves exemplars out when it is written.
    registers: [],
  });
  registry.registerMetric(made);
  if (!enableExemplars) {
    return (endpoint, value) => {
      made.observe({ endpoint }, value);
    };
  }
  return (endpoint, value, trace) => {
    const exemplarLabels =
      trace === undefined ? {} : { trace_id: trace.traceId, span_id: trace.spanId };
    made.observe({ labels: { endpoint }, value, exemplarLabels });
  };
}
