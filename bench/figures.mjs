/** Turns the samples of all rounds into the reported figures. */

import { median, quantile, summary } from './statistics.mjs';

const PERCENTILES = { p50: 0.5, p90: 0.9, p99: 0.99, p999: 0.999 };

/**
 * @param samples - by phase, then by contestant, as `runRounds` returns them
 * @returns one row per contestant: CPU time per response, the ratio of its CPU time (including
 * PostgreSQL and Redis) to the bare proxy's in the same round, responses per second, latencies,
 * memory, and failures
 */
export function figuresOf(work, samples) {
  const phases = Object.values(samples);
  const [first] = phases;
  const names = Object.keys(first).filter((name) => first[name].length > 0);
  return names.map((name) => {
    const main = first[name];
    const timed = samples.steady ?? samples.paced;
    return {
      contestant: name,
      rounds: main.length,
      answers: main.reduce((sum, { answered }) => sum + answered, 0),
      cpuUs: summaryOf(main, 'cpuUs'),
      wholeCpuUs: summary(main.map(wholeCpuUs)),
      ratio: first.bare && summary(ratiosOf(first.bare, main)),
      serversCpuUs: {
        postgres: summary(main.map(({ serversCpuUs }) => serversCpuUs.postgres)),
        redis: summary(main.map(({ serversCpuUs }) => serversCpuUs.redis)),
      },
      perSecond: work.phase === 'busy' ? summaryOf(main, 'perSecond') : undefined,
      bytesPerStream: summaryOf(main, 'bytesPerStream'),
      latency: timed?.[name] && latencyOf(timed[name], timed.direct),
      upstreamBusy: median(main.map(({ upstreamBusy }) => upstreamBusy)),
      clientsBusy: median(main.map(({ clientsBusy }) => clientsBusy)),
      othersBusy: median(main.map(({ othersBusy }) => othersBusy)),
      perBatch: summaryOf(main, 'perBatch'),
      failures: phases.flatMap((phase) => phase[name].flatMap(({ failures }) => failures)),
    };
  });
}

function summaryOf(samples, name) {
  return summary(samples.map((sample) => sample[name]));
}

/** CPU time of everything that the contestant needs: its own process, PostgreSQL and Redis. */
function wholeCpuUs({ cpuUs, serversCpuUs: { postgres = 0, redis = 0 } }) {
  return cpuUs + postgres + redis;
}

/** Ratios within a round, because the machine may be slower in the next round. */
export function ratiosOf(bare, samples) {
  return samples.map((sample, round) => wholeCpuUs(sample) / wholeCpuUs(bare[round] ?? sample));
}

/**
 * Percentiles of all rounds together. `addedP50` is the median minus the median of direct requests.
 * A difference of two percentiles is not a percentile of the added time, so it is reported only for
 * the median, as an estimate.
 */
function latencyOf(samples, direct) {
  const of = (member) => {
    const all = percentilesOf(samples, member);
    const without = direct && percentilesOf(direct, member);
    return all && { ...all, addedP50: without && all.p50 - without.p50 };
  };
  return {
    samples: samples.reduce((sum, { firstByteMs }) => sum + firstByteMs.length, 0),
    perSecond: median(samples.map(({ perSecond }) => perSecond)),
    firstByteMs: of('firstByteMs'),
    lastByteMs: of('lastByteMs'),
  };
}

function percentilesOf(samples, member) {
  const all = samples.flatMap((sample) => [...(sample[member] ?? [])]);
  if (all.length === 0) return undefined;
  return mapValues(PERCENTILES, (q) => quantile(all, q));
}

function mapValues(object, make) {
  return Object.fromEntries(
    Object.entries(object).map(([name, value]) => [name, make(value, name)]),
  );
}
