/**
 * `--against FOLDER`: the CPU time of a request, compared with another checkout of this repository
 * that was built; `--against NAME=VALUE`: with another setting. Both answer in turn in every round,
 * so that other load on the machine affects them alike, and each figure is the ratio within a
 * round.
 */

import { mkdtempSync } from 'node:fs';
import { join, resolve } from 'node:path';
import pg from 'pg';
import { ratioTo } from './figures.mjs';
import { MAIN, startGatewayOnServers, startGateway } from './gateway.mjs';
import { runRounds } from './rounds.mjs';
import { warmUpAll } from './warm-up.mjs';
import { works } from './works.mjs';

const COMPARED = [
  'native-json-1k',
  'native-json-1m',
  'native-stream-300',
  'chat-json-1k',
  'chat-json-100k',
  'chat-stream-300',
];
const WARM_UP_MS = 15_000;
const DURATION_MS = 750;

/** @returns the exit code: 1 if an answer was wrong */
export async function compareWith(session, { folder, rounds }, chosen = works) {
  const [, name, value] = /^([A-Z_]+)=(.*)$/.exec(folder) ?? [];
  const other =
    name === undefined ? { main: join(resolve(folder), 'apps/gateway/dist/main.js') } : {};
  const sides = {
    now: { main: MAIN },
    before: { main: MAIN, env: name === undefined ? {} : { [name]: value }, ...other },
  };
  let exitCode = 0;
  for (const [ledger, start] of Object.entries(LEDGERS)) {
    const contestants = [];
    for (const [side, given] of Object.entries(sides)) {
      const adapter = {
        name: side,
        isOurs: true,
        translates: true,
        fidelity: 'bytes',
        needsServers: ledger !== 'embedded',
        start: (context) => start({ ...context, name: `${ledger}-${side}`, ...given }, side),
      };
      contestants.push(await session.start(adapter));
    }
    await warmUpAll(session, contestants, WARM_UP_MS);
    for (const work of chosen.filter((each) => COMPARED.includes(each.name))) {
      const { samples, leftOut } = await runRounds({
        session,
        contestants,
        work,
        rounds,
        durationMs: DURATION_MS,
        say,
      });
      if (leftOut.length > 0) exitCode = 1;
      say(`${ledger}, ${work.title}: ${ratioText(samples.busy)}`);
    }
    await Promise.all(contestants.map((contestant) => contestant.stop()));
  }
  return exitCode;
}

const LEDGERS = {
  embedded: (context) =>
    startGateway({
      ...context,
      env: { DATA_DIR: mkdtempSync(join(context.scratch, 'data-')), ...context.env },
    }),
  async servers(context, side) {
    // The checkouts may have different tables.
    const { databaseUrl } = context.servers;
    const client = new pg.Client({ connectionString: databaseUrl });
    await client.connect();
    await client.query(`create database ${side}`);
    await client.end();
    const own = new URL(databaseUrl);
    own.pathname = `/${side}`;
    return startGatewayOnServers({
      ...context,
      servers: { ...context.servers, databaseUrl: own.href },
    });
  },
};

/** @param {any} samples - by side, one for each round */
function ratioText({ now, before }) {
  const wrong = [...now, ...before].flatMap(({ failures }) => failures);
  if (wrong.length > 0) return `wrong answers: ${wrong.join('; ')}`;
  const { median = NaN, min = NaN, max = NaN } = ratioTo(before, now) ?? {};
  const figures = `${median.toFixed(3)} (${min.toFixed(3)} to ${max.toFixed(3)})`;
  return `now / before ${figures}, ${now.length} rounds`;
}

function say(text) {
  process.stdout.write(`${text}\n`);
}
