/**
 * Two gateways that are compared: this checkout's, and another checkout's or one with another
 * setting. Both answer at the same time, each its own clients and each with its own servers, so
 * that whatever else happens on the machine affects both alike. The figure is the ratio of what a
 * request cost each of them in the same seconds.
 *
 * In turn, two processes with the same code differed by 10 to 15 % in pairs of 0.4 seconds, and at
 * the same time by 5 to 8 % in one second (decision 0100).
 */

import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { startGateway, startGatewayOnServers } from './gateway.mjs';
import { cpuSecondsOf, machineBusySeconds } from './proc.mjs';

/** How each kind of ledger starts a gateway. */
const LEDGERS = {
  embedded: (context) =>
    startGateway({
      ...context,
      env: { DATA_DIR: mkdtempSync(join(context.scratch, 'data-')), ...context.env },
    }),
  servers: startGatewayOnServers,
};

export const LEDGER_NAMES = Object.keys(LEDGERS);

const AFTERMATH_MS = 60;

/**
 * @param {any} session
 * @param {string} ledger - one of {@link LEDGER_NAMES}
 * @param {{ now: object, before: object }} sides - `main`, `env` and `nodeFlags` of each
 */
export async function openSides(session, ledger, sides) {
  const contestants = [];
  for (const [side, given] of Object.entries(sides)) {
    const servers = ledger === 'embedded' ? undefined : await session.startOwnServers();
    const adapter = {
      name: side,
      start: (context) =>
        LEDGERS[ledger]({ ...context, ...given, servers, name: `${ledger}-${side}` }),
    };
    const load = await session.startLoad();
    contestants.push({ ...(await session.start(adapter)), side, load, servers });
  }
  return {
    /** @returns the ratio of the costs now / before, and what was wrong */
    measure: (work, durationMs) => measure(session, contestants, work, durationMs),
    async stop() {
      for (const { stop, load, servers } of contestants) {
        load.stop();
        await stop();
        servers?.stop();
      }
    },
  };
}

async function measure({ upstream }, contestants, work, durationMs) {
  const { requests, eventsPerSecond } = work;
  await upstream.ask('serve', { requests, fidelity: 'bytes', eventsPerSecond });
  for (const { load, port, headers } of contestants) {
    await load.ask('aim', { port, headers, fidelity: 'bytes', requests });
  }
  await upstream.ask('report');
  const before = clocksOf(upstream, contestants);
  const results = await Promise.all(
    contestants.map(({ load }) =>
      work.phase === 'steady'
        ? load.ask('steady', { perSecond: work.perSecond, durationMs, seed: 1 })
        : load.ask('busy', { connections: work.connections ?? 128, durationMs }),
    ),
  );
  await sleep(AFTERMATH_MS);
  const after = clocksOf(upstream, contestants);
  const { problems } = await upstream.ask('report');
  const costs = contestants.map(({ side }, index) => {
    const answered = results[index].tally.answered.reduce((sum, count) => sum + count, 0);
    return [side, (after.sides[index] - before.sides[index]) / answered];
  });
  const { now, before: pinned } = Object.fromEntries(costs);
  const others = after.machine - before.machine - (after.own - before.own);
  return {
    ratio: now / pinned,
    /** Cores used by processes outside the benchmark. */
    othersBusy: Math.max(0, others) / (after.time - before.time),
    wrong: [
      ...results.flatMap(({ tally }) =>
        tally.failed === 0 ? [] : [`${tally.failed} wrong answers`, ...tally.failures],
      ),
      ...problems,
    ],
  };
}

/** CPU seconds. */
function clocksOf(upstream, contestants) {
  const sides = contestants.map(({ pid, serverPids = {} }) =>
    [pid, ...Object.values(serverPids)].reduce((sum, id) => sum + cpuSecondsOf(id), 0),
  );
  const { user, system } = process.cpuUsage();
  const helpers = [upstream, ...contestants.map(({ load }) => load)];
  return {
    time: performance.now() / 1000,
    machine: machineBusySeconds(),
    sides,
    own: [...sides, ...helpers.map(({ pid }) => cpuSecondsOf(pid)), (user + system) / 1e6].reduce(
      (sum, seconds) => sum + seconds,
    ),
  };
}
