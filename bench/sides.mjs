/**
 * Two gateways that are compared in pairs: this checkout's, and another checkout's or one with
 * another setting. Both answer in turn in every round, so that other load on the machine affects
 * them alike, and each figure is the ratio within a round.
 */

import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { ratiosOf } from './figures.mjs';
import { startGateway, startGatewayOnServers } from './gateway.mjs';

/** How each kind of ledger starts a gateway. */
const LEDGERS = {
  embedded: (context) =>
    startGateway({
      ...context,
      env: { DATA_DIR: mkdtempSync(join(context.scratch, 'data-')), ...context.env },
    }),
  async servers(context) {
    // The checkouts may have different tables.
    const { databaseUrl } = context.servers;
    const name = `side_${(databases += 1)}`;
    const client = new pg.Client({ connectionString: databaseUrl });
    await client.connect();
    await client.query(`create database ${name}`);
    await client.end();
    const own = new URL(databaseUrl);
    own.pathname = `/${name}`;
    return startGatewayOnServers({
      ...context,
      servers: { ...context.servers, databaseUrl: own.href },
    });
  },
};
let databases = 0;

export const LEDGER_NAMES = Object.keys(LEDGERS);

/**
 * @param {any} session
 * @param {string} ledger - one of {@link LEDGER_NAMES}
 * @param {{ now: object, before: object }} sides - `main`, `env` and `nodeFlags` of each
 * @returns the running contestants `now` and `before`
 */
export async function startSides(session, ledger, sides) {
  const contestants = [];
  for (const [side, given] of Object.entries(sides)) {
    const adapter = {
      name: side,
      isOurs: true,
      translates: true,
      fidelity: 'bytes',
      needsServers: ledger !== 'embedded',
      start: (context) => LEDGERS[ledger]({ ...context, name: `${ledger}-${side}`, ...given }),
    };
    contestants.push(await session.start(adapter));
  }
  return contestants;
}

/**
 * @param {any} result - of `runRounds` with the sides
 * @returns the ratios now / before of the rounds, and the reasons why they count for nothing
 */
export function ratiosOfSides({ samples, leftOut }) {
  const [{ now = [], before = [] }] = Object.values(samples);
  return {
    wrong: [
      ...leftOut.map(({ contestant, reason }) => `${contestant}: ${reason}`),
      ...[...now, ...before].flatMap(({ failures }) => failures),
    ],
    ratios: ratiosOf(before, now),
  };
}
