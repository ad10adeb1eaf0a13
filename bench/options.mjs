/** Reads the command line: workloads, contestants, rounds. */

import { parseArgs } from 'node:util';
import { works } from './works.mjs';

const FULL = { rounds: 5, longRounds: 3, durationMs: 750, warmUpMs: 15_000 };
/** A quick run also leaves out all workloads that take long, except one. */
const QUICK = { rounds: 2, longRounds: 1, durationMs: 400, warmUpMs: 1_000 };
/** Of a comparison with another checkout. */
const AGAINST_ROUNDS = 15;
const QUICK_LONG_WORK = 'open-1000';

export function readOptions(contestants) {
  const { values } = parseArgs({
    options: {
      only: { type: 'string' },
      contestants: { type: 'string' },
      rounds: { type: 'string' },
      streams: { type: 'string' },
      quick: { type: 'boolean', default: false },
      profile: { type: 'string' },
      work: { type: 'string' },
      guard: { type: 'string' },
      plant: { type: 'string' },
      units: { type: 'boolean', default: false },
      replicas: { type: 'boolean', default: false },
      usage: { type: 'boolean', default: false },
      requests: { type: 'string' },
      members: { type: 'string' },
      against: { type: 'string' },
      budgets: { type: 'string' },
      ledger: { type: 'string' },
    },
  });
  const size = values.quick ? QUICK : FULL;
  const rounds = values.rounds && positive('rounds', values.rounds);
  const quickWorks = works.filter(({ name, isLong }) => !isLong || name === QUICK_LONG_WORK);
  return {
    ...size,
    ...(rounds && { rounds, longRounds: rounds }),
    guard:
      values.guard === undefined
        ? undefined
        : {
            folder: values.guard,
            plantedPercent:
              values.plant === undefined ? undefined : positive('plant', values.plant),
          },
    isUnits: values.units,
    isReplicas: values.replicas,
    isUsage: values.usage,
    requests: values.requests && positive('requests', values.requests),
    members: values.members && positive('members', values.members),
    against:
      values.against === undefined && values.budgets === undefined
        ? undefined
        : {
            folder: values.against,
            overdraft: values.budgets,
            rounds: rounds ?? AGAINST_ROUNDS,
            chosen: values.only && chosen(values.only, works, 'workload'),
            ledgers: values.ledger && [values.ledger],
          },
    isQuick: values.quick,
    isPartial: [values.only, values.contestants, values.streams].some(
      (value) => value !== undefined,
    ),
    works: withStreams(
      values.only ? chosen(values.only, works, 'workload') : values.quick ? quickWorks : works,
      values.streams && positive('streams', values.streams),
    ),
    contestants:
      values.contestants === undefined
        ? [...contestants.values()].filter(({ onlyWhenNamed }) => onlyWhenNamed !== true)
        : chosen(values.contestants, [...contestants.values()], 'contestant'),
    profile:
      values.profile === undefined
        ? undefined
        : {
            contestant: one(values.profile, [...contestants.values()], 'contestant'),
            work: one(values.work ?? 'native-json-1k', works, 'workload'),
          },
  };
}

/** Sets the number of simultaneous streams of the paced workloads. */
function withStreams(works, streams) {
  if (!streams) return works;
  return works.map((work) => (work.phase === 'paced' ? { ...work, streams } : work));
}

function chosen(list, all, kind) {
  return list.split(',').map((name) => one(name, all, kind));
}

function one(name, all, kind) {
  const found = all.find((entry) => entry.name === name);
  if (found !== undefined) return found;
  fail(`no ${kind} is called ${name}; there are: ${all.map((entry) => entry.name).join(', ')}`);
}

function positive(option, text) {
  const number = Number(text);
  if (!Number.isInteger(number) || number < 1)
    fail(`--${option} must be a whole number of at least 1`);
  return number;
}

function fail(message) {
  process.stderr.write(`${message}\n`);
  process.exit(2);
}
