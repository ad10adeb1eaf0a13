/**
 * The rounds of one work: every contestant once per round, in turn, so that other load on the
 * machine affects all of them alike. Each round begins with another contestant.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { measure, takesPart } from './measure.mjs';
import { memoryBytesOf } from './proc.mjs';
import { median } from './statistics.mjs';

/** Warm-up of a running process before each work, so that its code is compiled for this work. */
const WARM_UP_MS = 1_500;
/** Warm-up of a new process, and before works that wait more than they compute. */
const SHORT_WARM_UP_MS = 300;
const REST_MS = 200;
/** Streams of paced works start within this time. */
const PACED_OPENING_MS = 500;

/**
 * @param {any} run - `contestants` are running, but `open` works start new processes; `durationMs`
 * is the duration of one busy measurement
 * @returns `samples` by phase, then by contestant: `{ busy: { bare: [...], ... }, steady: ... }`,
 * and `leftOut`, the contestants that cannot do this work, with the reason
 */
export async function runRounds(run) {
  const { session, work } = run;
  const contestants = [];
  const leftOut = [];
  for (const contestant of run.contestants) {
    if (!takesPart(contestant, work)) continue;
    const warmUpMs = work.phase === 'busy' ? WARM_UP_MS : SHORT_WARM_UP_MS;
    const { failures } = await warmUp(session, contestant, work, warmUpMs);
    if (failures.length === 0) contestants.push(contestant);
    else leftOut.push({ contestant: contestant.name, reason: failures.join('; ') });
  }
  const here = { ...run, contestants };
  switch (work.phase) {
    case 'busy':
      return { leftOut, samples: await busyRounds(here) };
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

export function warmUp(session, contestant, work, durationMs) {
  return measure({ session, contestant, work, pace: 'full', act: busyLoad(work, durationMs) });
}

async function busyRounds(run) {
  const { session, work, durationMs } = run;
  const contestants = run.contestants.filter(({ name }) => work.latency || name !== 'direct');
  const busy = await inTurn({ ...run, contestants }, (contestant) =>
    measure({ session, contestant, work, pace: 'full', act: busyLoad(work, durationMs) }),
  );
  if (!work.latency) return { busy };
  // Direct requests could be sent at a far higher rate. They are sent at the bare proxy's rate.
  const reached = (name) => median((busy[name] ?? []).map(({ perSecond }) => perSecond));
  const steady = await inTurn(run, (contestant, round) => {
    const { name } = contestant;
    const from = name === 'direct' && busy.bare !== undefined ? 'bare' : name;
    const perSecond = (reached(from) ?? NaN) / 2;
    const act = (load) => load.ask('steady', { perSecond, durationMs, seed: round });
    return measure({ session, contestant, work, pace: 'full', act });
  });
  return { busy, steady };
}

function busyLoad({ connections = 32 }, durationMs) {
  return (load) => load.ask('busy', { connections, durationMs });
}

/** Few requests come in a second, so a round takes longer than a busy one. */
const STEADY_DURATIONS = 4;

function steadySample({ session, work, durationMs }) {
  const { perSecond } = work;
  return (contestant, round) =>
    measure({
      session,
      contestant,
      work,
      pace: 'full',
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

/** A process keeps memory that it once had, so each sample comes from a new process. */
function openSample({ session, work }) {
  return async (contestant) => {
    const fresh = await session.start(contestant.adapter);
    await warmUp(session, fresh, work, SHORT_WARM_UP_MS);
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
