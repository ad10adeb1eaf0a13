/** What the command line chooses: works, contestants, rounds. */

import { parseArgs } from 'node:util';
import { works } from './works.mjs';

const FULL = { rounds: 5, openRounds: 3, durationMs: 1_000 };
const QUICK = { rounds: 2, openRounds: 1, durationMs: 400 };

export function readOptions(contestants) {
  const { values } = parseArgs({
    options: {
      only: { type: 'string' },
      contestants: { type: 'string' },
      rounds: { type: 'string' },
      quick: { type: 'boolean', default: false },
      profile: { type: 'string' },
      work: { type: 'string' },
    },
  });
  const size = values.quick ? QUICK : FULL;
  const rounds = values.rounds === undefined ? {} : { rounds: positive(values.rounds) };
  return {
    ...size,
    ...rounds,
    isQuick: values.quick,
    isPartial: values.only !== undefined || values.contestants !== undefined,
    works: chosen(values.only, works, 'work'),
    contestants: chosen(values.contestants, [...contestants.values()], 'contestant'),
    profile:
      values.profile === undefined
        ? undefined
        : {
            contestant: one(values.profile, [...contestants.values()], 'contestant'),
            work: one(values.work ?? 'native-json-1k', works, 'work'),
          },
  };
}

function chosen(list, all, kind) {
  return list === undefined ? all : list.split(',').map((name) => one(name, all, kind));
}

function one(name, all, kind) {
  const found = all.find((entry) => entry.name === name);
  if (found !== undefined) return found;
  fail(`no ${kind} is called ${name}; there are: ${all.map((entry) => entry.name).join(', ')}`);
}

function positive(text) {
  const number = Number(text);
  if (!Number.isInteger(number) || number < 1) fail('--rounds: must be a whole number from 1 on');
  return number;
}

function fail(message) {
  process.stderr.write(`${message}\n`);
  process.exit(2);
}
