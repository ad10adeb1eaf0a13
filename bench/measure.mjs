/** One measurement: a contestant under one load, with the CPU time of every process involved. */

import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { chargeOf } from '../torture/check.mjs';
import { answerOf } from './answers.mjs';
import { cpuSecondsOf, machineBusySeconds } from './proc.mjs';
import { isChat, untranslated } from './works.mjs';

/**
 * Time to wait after the last response, because work that the contestant does then still belongs to
 * the responses.
 */
const AFTERMATH_MS = 60;

/**
 * Whether a contestant runs a workload. Contestants that do not translate skip chat workloads,
 * except the baselines, which run them in the native format. A slow contestant skips workloads
 * that send more requests a second than it can answer.
 */
export function takesPart(contestant, work) {
  const { name, translates, isBaseline = false, phases, maxPerSecond = Infinity } = contestant;
  if (name === 'direct' && (work.isLong || work.phase === 'busy')) return false;
  if (work.perSecond > maxPerSecond) return false;
  if (phases !== undefined && !phases.includes(work.phase)) return false;
  return translates || isBaseline || !isChat(work);
}

/**
 * @param pace - `full`, or `paced`: the workload's own events per second @param act - starts the
 * load with the given load generator; resolves with what the load measured
 */
export async function measure({ session, contestant, work, pace, act }) {
  const { upstream, load } = session;
  const { requests, eventsPerSecond } = contestant.translates ? work : untranslated(work);
  const { port, headers, fidelity, pathOf = ({ path }) => path } = contestant;
  await upstream.ask('serve', {
    requests,
    fidelity,
    eventsPerSecond: pace === 'paced' ? eventsPerSecond : undefined,
  });
  const sent = requests.map((request) => ({ ...request, path: pathOf(request) }));
  await load.ask('aim', { port, headers, fidelity, requests: sent });
  await upstream.ask('report');
  const settledBefore = await contestant.settlements?.();
  const before = readClocks(session, contestant);
  const result = await act(load);
  await sleep(AFTERMATH_MS);
  const after = readClocks(session, contestant);
  const settledAfter = await contestant.settlements?.();
  const served = await upstream.ask('report');

  const { tally, seconds } = result;
  const answered = tally.answered.reduce((sum, count) => sum + count, 0);
  contestant.expectedCharge += chargeFor(requests, tally.answered);
  return {
    ...result,
    answered,
    perSecond: answered / seconds,
    cpuUs: perAnswer('contestant'),
    serversCpuUs: {
      postgres: perAnswer('postgres'),
      redis: perAnswer('redis'),
    },
    /** Share of one core. Near 1, the upstream or the clients are the bottleneck. */
    upstreamBusy: used('upstream') / used('time'),
    clientsBusy: used('load') / used('time'),
    /** Cores used by processes outside the benchmark. */
    othersBusy: Math.max(0, used('machine') - usedByAll()) / used('time'),
    /** Charges per commit. */
    perBatch: perBatch(settledBefore, settledAfter),
    failures: failuresOf(tally, { answered, served }),
  };

  function usedByAll() {
    const clocks = ['contestant', 'postgres', 'redis', 'upstream', 'load', 'self'];
    return clocks.reduce((sum, clock) => sum + (used(clock) || 0), 0);
  }
  function used(clock) {
    return after[clock] - before[clock];
  }
  function perAnswer(clock) {
    return before[clock] === undefined || answered === 0
      ? undefined
      : (used(clock) / answered) * 1e6;
  }
}

function readClocks({ upstream, load }, { pid, serverPids }) {
  const cpu = (id) => (id === undefined ? undefined : cpuSecondsOf(id));
  return {
    time: performance.now() / 1000,
    contestant: cpu(pid),
    postgres: cpu(serverPids?.postgres),
    redis: cpu(serverPids?.redis),
    upstream: cpu(upstream.pid),
    self: process.cpuUsage().user / 1e6 + process.cpuUsage().system / 1e6,
    machine: machineBusySeconds(),
    load: cpu(load.pid),
  };
}

function chargeFor(requests, counts) {
  return requests.reduce((sum, { answer }, i) => {
    const { usage } = answerOf(answer);
    const charge = chargeOf({
      model: 'claude-sonnet-4-6',
      input: usage.input_tokens,
      output: usage.output_tokens,
      read: usage.cache_read_input_tokens,
      written: usage.cache_creation_input_tokens,
    });
    return sum + charge * BigInt(counts[i]);
  }, 0n);
}

function failuresOf(tally, { answered, served }) {
  const failures = tally.failed === 0 ? [] : [`${tally.failed} wrong answers`, ...tally.failures];
  const asked = answered + tally.failed;
  if (served.requests !== asked)
    failures.push(`the upstream was asked ${served.requests} times for ${asked} requests`);
  return [...failures, ...served.problems];
}

function perBatch(before, after) {
  if (before === undefined || after === undefined) return undefined;
  return (after.settled - before.settled) / (after.batches - before.batches);
}
