/**
 * `npm run torture`: breaks the system on purpose and checks that no money was lost, doubled or made up.
 *
 *   npm run torture                     a short run of everything
 *   npm run torture -- --gate           the figures of a release: 50,000 requests, 100 kills
 *   npm run torture -- --seed 7         the same choices again
 */

import { parseArgs } from 'node:util';
import { step } from '../scripts/setup.mjs';
import { tortureHttp } from './http.mjs';
import { createRandom } from './random.mjs';

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    gate: { type: 'boolean', default: false },
    requests: { type: 'string' },
    kills: { type: 'string' },
  },
});
const seed = Number(values.seed ?? Date.now() % 1_000_000_000);
const size = values.gate
  ? { requests: 50_000, kills: 100, databaseCrashes: 6, redisFaults: 10 }
  : { requests: 1_000, kills: 5, databaseCrashes: 1, redisFaults: 2 };
const options = {
  ...size,
  ...(values.requests === undefined ? {} : { requests: Number(values.requests) }),
  ...(values.kills === undefined ? {} : { kills: Number(values.kills) }),
  replicaCount: 4,
  parallel: 64,
};

step(`Torture, seed ${seed}: ${JSON.stringify(options)}`);
const startedAt = Date.now();
const say = (text) => {
  process.stdout.write(
    `  ${((Date.now() - startedAt) / 1000).toFixed(0).padStart(4)} s  ${text}\n`,
  );
};
const { lines, tally, done } = await tortureHttp(options, createRandom(seed), say);
say(`clients: ${JSON.stringify(tally)}`);
say(`faults:  ${JSON.stringify(done)}`);

process.stdout.write('\n');
for (const { name, what, violations, examples } of lines) {
  process.stdout.write(`${violations === 0 ? 'ok  ' : 'FAIL'}  ${name.padEnd(6)} ${what}`);
  process.stdout.write(violations === 0 ? '\n' : `: ${violations} violations\n`);
  for (const example of examples) process.stdout.write(`        ${JSON.stringify(example)}\n`);
}
const failed = lines.filter((line) => line.violations > 0).length;
process.stdout.write(`\nseed ${seed}: ${lines.length - failed} passed, ${failed} failed\n`);
process.exit(failed === 0 ? 0 : 1);
