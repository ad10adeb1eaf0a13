/**
 * The traffic since 00:00 UTC, or since the start of the gateway if that was later, from the
 * counters of the metrics. The console shows it.
 */

import { DAY_MS } from '../base/times.js';
import { EXCHANGES } from './finished-request.js';
import type { WorkerMetrics } from './registry.js';

export interface TrafficReader {
  read(): Promise<TrafficToday>;
  stop(): void;
}

/** Sums over all processes, by one label. */
interface Counts {
  readonly requests: Sums;
  readonly unbilled: Sums;
  readonly upstreamResponses: Sums;
  readonly upstreamRefusals: Sums;
  /** By the upper bound of the bucket. Each bucket includes all smaller ones. */
  readonly firstByteBuckets: Sums;
}
type Sums = ReadonlyMap<string, number>;

/**
 * @param readMetrics - The metrics of each process. Counters begin at 0 with their process, so what
 * a worker counted is lost when it ends unexpectedly.
 */
export function createTrafficReader(
  readMetrics: () => Promise<readonly WorkerMetrics[]>,
  now: () => number,
): TrafficReader {
  let since = now();
  let baseline: Counts | undefined;
  let timer = atMidnight();

  function atMidnight(): NodeJS.Timeout {
    return setTimeout(
      () => {
        timer = atMidnight();
        void startDay();
      },
      DAY_MS - (now() % DAY_MS),
    ).unref();
  }

  async function startDay(): Promise<void> {
    const counts = countsOf(await readMetrics());
    baseline = counts;
    since = Math.floor(now() / DAY_MS) * DAY_MS;
  }

  return {
    async read() {
      const counts = countsOf(await readMetrics());
      const difference = (name: keyof Counts): Sums => less(counts[name], baseline?.[name]);
      const of = (name: keyof Counts): Sums => notZero(difference(name));
      // A bucket without values is the lower bound of the next one.
      const buckets = difference('firstByteBuckets');
      return {
        since: new Date(since),
        requests: of('requests'),
        unbilled: of('unbilled'),
        upstreamResponses: of('upstreamResponses'),
        upstreamRefusals: of('upstreamRefusals').get('') ?? 0,
        firstByteMs: { p50: quantileMs(buckets, 0.5), p95: quantileMs(buckets, 0.95) },
      };
    },
    stop() {
      clearTimeout(timer);
    },
  };
}

function countsOf(processes: readonly WorkerMetrics[]): Counts {
  const sums = (
    name: string,
    label: string,
    { part = name, endpoints }: { part?: string; endpoints?: readonly string[] } = {},
  ): Sums => {
    const found = new Map<string, number>();
    for (const metric of processes.flat()) {
      if (metric.name !== name) continue;
      for (const value of metric.values) {
        if ('metricName' in value && value.metricName !== part) continue;
        if (endpoints?.includes(String(value.labels['endpoint'])) === false) continue;
        const key = String(value.labels[label] ?? '');
        found.set(key, (found.get(key) ?? 0) + value.value);
      }
    }
    return found;
  };
  const firstByte = 'gateway_upstream_first_byte_seconds';
  return {
    requests: sums('gateway_requests_total', 'status', { endpoints: EXCHANGES }),
    unbilled: sums('gateway_unbilled_total', 'reason'),
    upstreamResponses: sums('gateway_upstream_responses_total', 'status'),
    upstreamRefusals: sums('gateway_upstream_account_refused_total', ''),
    firstByteBuckets: sums(firstByte, 'le', { part: `${firstByte}_bucket` }),
  };
}

/**
 * The counts since `before`. When a worker ends, its counters are no longer in the sum, which can
 * then be smaller than `before`. Such a difference is taken as 0.
 */
function less(counts: Sums, before: Sums | undefined): Sums {
  return new Map(
    [...counts].map(([key, count]) => [key, Math.max(0, count - (before?.get(key) ?? 0))]),
  );
}

function notZero(counts: Sums): Sums {
  return new Map([...counts].filter(([, count]) => count > 0));
}

/** Interpolates within the bucket. @returns `null` if there are no values */
export function quantileMs(buckets: Sums, quantile: number): number | null {
  const bounds = [...buckets]
    .map(([bound, count]) => [bound === '+Inf' ? Infinity : Number(bound), count] as const)
    .sort(([left], [right]) => left - right);
  const total = bounds.at(-1)?.[1] ?? 0;
  if (total === 0) return null;
  const rank = quantile * total;
  let [lower, below] = [0, 0];
  for (const [bound, count] of bounds) {
    if (count >= rank) {
      // Nothing is known beyond the largest bound.
      if (bound === Infinity) break;
      const share = count === below ? 1 : (rank - below) / (count - below);
      return Math.round((lower + (bound - lower) * share) * 1000);
    }
    [lower, below] = [bound, count];
  }
  return Math.round(lower * 1000);
}

/** The traffic of this replica since `since`, in all of its processes together. */
export interface TrafficToday {
  /** 00:00 UTC, or the start of the gateway if that was later. */
  readonly since: Date;
  /** Requests for models by the status that clients got. Reads of the pages are not counted. */
  readonly requests: ReadonlyMap<string, number>;
  /** Responses that may have cost the operator and have no confirmed charge, by reason. */
  readonly unbilled: ReadonlyMap<string, number>;
  /** Responses of the upstream by status; `none`: no response came, or the request was not sent. */
  readonly upstreamResponses: ReadonlyMap<string, number>;
  /** How often the upstream refused the operator's own credential or account. */
  readonly upstreamRefusals: number;
  /**
   * Estimated times until the first byte of the body of the upstream's response; `null` if there
   * was none.
   */
  readonly firstByteMs: { readonly p50: number | null; readonly p95: number | null };
}
