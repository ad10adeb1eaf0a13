/**
 * The rounds of one workload. In each round every contestant is measured once, in turn, so that
 * other load on the machine affects all of them alike. Each round begins with another contestant.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { measure, takesPart } from './measure.mjs';
import { memoryBytesOf } from './proc.mjs';
import { warmUp } from './warm-up.mjs';

/**
 * Warm-up of a running process before each busy workload, so that the code that the workload uses
 * is compiled. V8 compiles by the number of calls, so a slow contestant needs longer than a fast
 * one.
 */
const WARM_UP = { durationMs: 4_000, maxRequests: 10_000 };
/** Warm-up of a new process, and before workloads that wait more than they compute. */
const SHORT_WARM_UP = { durationMs: 300 };
const REST_MS = 200;
/** The streams of a paced workload start within this time. */
const PACED_OPENING_MS = 500;

/**
 * @param {any} run - `contestants` are running, but `open` workloads start new processes;
 * `durationMs` is the duration of one busy measurement; `warmUp`, if the contestants are warm
 * already, limits the warm-up before a busy workload
 * @returns `samples` by contestant under the phase of the workload, such as `{ busy: { bare: [...],
 * ... } }`, and `leftOut`, the contestants that failed in the warm-up, with the reason
 */
export async function runRounds(run) {
  const { session, work } = run;
  const contestants = [];
  const leftOut = [];
  for (const contestant of run.contestants) {
    if (!takesPart(contestant, work)) continue;
    const limits = work.phase === 'busy' ? (run.warmUp ?? WARM_UP) : SHORT_WARM_UP;
    const { failures } = await warmUp(session, contestant, work, limits);
    if (failures.length === 0) contestants.push(contestant);
    else leftOut.push({ contestant: contestant.name, reason: failures.join('; ') });
  }
  const here = { ...run, contestants };
  switch (work.phase) {
    case 'busy':
      return { leftOut, samples: { busy: await inTurn(here, busySample(here)) } };
    case 'steady':
      return { leftOut, samples: { steady: await inTurn(here, steadySample(here)) } };
    case 'paced':
      return { leftOut, samples: { paced: await inTurn(here, pacedSample(here)) } };
    case 'open':
      return { leftOut, samples: { open: await inTurn(here, openSample(here)) } };
    default:
      throw new Error(`unknown phase ${work.phase}`);
  }
}

function busySample({ session, work, durationMs }) {
  const { connections } = work;
  const options = { connections, durationMs: work.durationMs ?? durationMs };
  const act = (load) => load.ask('busy', options);
  return (contestant) => measure({ session, contestant, work, pace: 'full', act });
}

/**
 * A steady measurement lasts this many times as long as a busy one, because it sends few requests a
 * second.
 */
const STEADY_DURATIONS = 4;

function steadySample({ session, work, durationMs }) {
  const { perSecond, eventsPerSecond } = work;
  return (contestant, round) =>
    measure({
      session,
      contestant,
      work,
      pace: eventsPerSecond === undefined ? 'full' : 'paced',
      act: (load) =>
        load.ask('steady', { perSecond, durationMs: STEADY_DURATIONS * durationMs, seed: round }),
    });
}

function pacedSample({ session, work }) {
  return (contestant) =>
    measure({
      session,
      contestant,
      work,
      pace: 'paced',
      async act(load) {
        await load.ask('openStreams', { streams: work.streams, openingMs: PACED_OPENING_MS });
        return load.ask('streamsDone');
      },
    });
}

/** A process keeps memory that it has once allocated, so each sample comes from a new process. */
function openSample({ session, work }) {
  return async (contestant) => {
    const fresh = await session.start(contestant.adapter);
    await warmUp(session, fresh, work, SHORT_WARM_UP);
    await sleep(REST_MS);
    const idleBytes = memoryBytesOf(fresh.pid);
    let openBytes = NaN;
    let open;
    const figures = await measure({
      session,
      contestant: fresh,
      work,
      pace: 'paced',
      async act(load) {
        const openingMs = work.openingSeconds * 1000;
        open = await load.ask('openStreams', { streams: work.streams, openingMs });
        await sleep(REST_MS);
        openBytes = memoryBytesOf(fresh.pid);
        return load.ask('streamsDone');
      },
    });
    await fresh.stop();
    if (open === work.streams) {
      return { ...figures, bytesPerStream: (openBytes - idleBytes) / work.streams };
    }
    const failure = `only ${open} of ${work.streams} streams were open at once`;
    return { ...figures, failures: [...figures.failures, failure] };
  };
}

async function inTurn({ contestants, rounds, say }, sample) {
  const samples = Object.fromEntries(contestants.map(({ name }) => [name, []]));
  for (let round = 0; round < rounds; round += 1) {
    for (let i = 0; i < contestants.length; i += 1) {
      const contestant = contestants[(round + i) % contestants.length];
      const figures = await sample(contestant, round);
      samples[contestant.name].push(figures);
      if (figures.failures.length > 0) say(`${contestant.name}: ${figures.failures.join('; ')}`);
    }
  }
  return samples;
}
