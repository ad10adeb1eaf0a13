/**
 * `npm run mutants`: makes the code wrong in many places, one at a time, and runs the tests that
 * have to notice. A mutant that survives is listed; each needs a test, or a reason in
 * `mutants/survivors.json`. Names of areas as arguments run only these; `--count 5` limits each.
 * `--only TEXT` runs those whose names contain the text, such as survivors that a new test kills.
 *
 * The places are chosen by a hash of their lines, so a run can be compared with the one before.
 */

import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { clearTimeout, setTimeout } from 'node:timers';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import jestConfig from '../jest.config.mjs';
import { AREAS } from './mutants/areas.mjs';
import { findMutants, nameOf, sampleOf } from './mutants/find.mjs';
import { JEST, ensureBuilt, ensureInstalled, files, node, root, step } from './setup.mjs';

const { values, positionals } = parseArgs({
  options: { count: { type: 'string' }, only: { type: 'string', multiple: true } },
  allowPositionals: true,
});
const unknown = positionals.find((name) => AREAS[name] === undefined);
if (unknown !== undefined) throw new Error(`There is no area "${unknown}".`);

ensureInstalled();
ensureBuilt();

const RUNNERS = 2;
/** A mutant that loops for ever is killed after this multiple of the time without a mutant. */
const FACTOR_OF_TIMEOUT = 10;
const LEAST_TIMEOUT_MS = 60_000;

const scratch = mkdtempSync(join(tmpdir(), 'gateway-mutants-'));
const threads = pathToFileURL(join(root, 'scripts/mutants/thread-sources.mjs')).href;
const config = join(scratch, 'jest.config.json');
writeFileSync(config, JSON.stringify(configForMutants()));
const reasons = JSON.parse(readFileSync(join(root, 'scripts/mutants/survivors.json'), 'utf8'));

let unexplained = 0;
try {
  for (const [name, area] of Object.entries(AREAS)) {
    if (positionals.length === 0 || positionals.includes(name)) await mutateArea(name, area);
  }
} finally {
  rmSync(scratch, { recursive: true, force: true });
}
process.exitCode = unexplained === 0 ? 0 : 1;

function configForMutants() {
  const { transform, ...config } = jestConfig;
  const [[pattern, [, options]], ...others] = Object.entries(transform);
  return {
    ...config,
    rootDir: root,
    transform: {
      [pattern]: [join(root, 'scripts/mutants/transform.cjs'), options],
      ...Object.fromEntries(others),
    },
    reporters: [],
  };
}

async function mutateArea(name, { sources, except, stages, count }) {
  step(`Mutants of ${name}`);
  const paths = sources.flatMap(filesOf).filter((path) => except?.test(path) !== true);
  const found = paths.flatMap(findMutants);
  const chosen =
    values.only === undefined
      ? sampleOf(found, Number(values.count ?? count))
      : found.filter((mutant) => values.only?.some((text) => nameOf(mutant).includes(text)));
  if (chosen.length === 0) return;
  const timeouts = [];
  for (const stage of stages) timeouts.push(await measure(stage));
  const survivors = [];
  const waiting = [...chosen];
  const runner = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const killed = await isKilled(next, stages, timeouts);
      process.stderr.write(killed ? '.' : `\n${next.path}:${String(next.line)} ${nameOf(next)}\n`);
      if (!killed) survivors.push(next);
    }
  };
  await Promise.all(Array.from({ length: RUNNERS }, runner));
  process.stderr.write('\n');
  report(name, chosen.length, survivors);
}

function report(name, total, survivors) {
  process.stdout.write(`${name}: ${String(total - survivors.length)} of ${String(total)} killed\n`);
  for (const mutant of survivors) {
    const reason = reasons[nameOf(mutant)];
    if (reason === undefined) unexplained += 1;
    process.stdout.write(
      `  ${mutant.path}:${String(mutant.line)} ${nameOf(mutant)}\n    ${reason ?? 'NO REASON'}\n`,
    );
  }
}

function filesOf(path) {
  const full = join(root, path);
  if (!statSync(full).isDirectory()) return [path];
  return files(full)
    .filter((file) => file.endsWith('.ts'))
    .map((file) => relative(root, file));
}

/** Runs a stage without a mutant. @returns how long it may take with one */
async function measure(stage) {
  const start = Date.now();
  const passed = await passes(stage, undefined, 3_600_000);
  if (!passed) throw new Error(`The tests fail without a mutant: ${stage.join(' ')}`);
  return Math.max(LEAST_TIMEOUT_MS, (Date.now() - start) * FACTOR_OF_TIMEOUT);
}

async function isKilled(mutant, stages, timeouts) {
  for (const [index, stage] of stages.entries()) {
    if (!(await passes(stage, mutant, timeouts[index]))) return true;
  }
  return false;
}

/** Whether all tests of a stage pass in time. */
function passes(stage, mutant, timeoutMs) {
  const MUTANT =
    mutant === undefined ? '{}' : JSON.stringify({ ...mutant, file: join(root, mutant.path) });
  const args = [...JEST, '-i', '--bail', '--forceExit', '-c', config, ...stage];
  return new Promise((resolve, reject) => {
    const child = spawn(node, args, {
      cwd: root,
      stdio: 'ignore',
      env: { ...process.env, MUTANT, NODE_OPTIONS: `--import=${threads}` },
      detached: true,
    });
    // With its gateways, browsers and other children.
    const timer = setTimeout(() => {
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
    }, timeoutMs);
    child.on('error', reject);
    child.on('exit', (code) => {
      clearTimeout(timer);
      resolve(code === 0);
    });
  });
}
