/**
 * `npm test`: installs and builds if needed, starts real servers, runs every test.
 * Arguments go to jest, such as `npm test -- packages/billing`. With `--long`, as in `npm run
 * test:long`, it runs the long forms of the tests in `runs.cjs`.
 */

import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { longFiles } from './runs.cjs';
import { neededServers } from './needed-servers.mjs';
import { startServers } from './servers.mjs';
import { JEST, ensureBuilt, ensureInstalled, node, root, step } from './setup.mjs';

ensureInstalled();
ensureBuilt();
const [first, ...others] = process.argv.slice(2);
const isLong = first === '--long';
const args = isLong ? [...longFiles, ...others] : process.argv.slice(2);
const servers = await startServers(args.length === 0 ? undefined : neededServers(testFiles()));
const scratch = mkdtempSync(join(tmpdir(), 'gateway-tests-'));
const report = join(scratch, 'report.json');
step('Testing');
const jest = spawnSync(node, [...JEST, '--json', `--outputFile=${report}`, ...args], {
  cwd: root,
  stdio: ['ignore', 'ignore', 'inherit'],
  env: {
    ...process.env,
    ...servers.env,
    NODE_COMPILE_CACHE: join(root, 'node_modules/.cache/compiled'),
    ...(isLong && { TEST_RUNS: 'long' }),
  },
});
servers.stop();
const results = JSON.parse(readFileSync(report, 'utf8'));
process.stdout.write(`\n${slowest(results)}\n\n${summary(results)}\n`);
rmSync(scratch, { recursive: true, force: true });
process.exitCode = jest.status ?? 1;

/** The files that Jest will run. */
function testFiles() {
  const { stdout } = spawnSync(node, [...JEST, '--listTests', '--json', ...args], {
    cwd: root,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  return JSON.parse(stdout);
}

/** So that the suite does not grow slow unnoticed. */
function slowest({ testResults }) {
  const lines = testResults
    .map(({ name, startTime, endTime }) => ({
      file: relative(root, name),
      seconds: (endTime - startTime) / 1_000,
    }))
    .sort((a, b) => b.seconds - a.seconds)
    .slice(0, 10)
    .map(({ file, seconds }) => `${seconds.toFixed(1).padStart(7)} s  ${file}`);
  return ['The slowest files:', ...lines].join('\n');
}

function summary({ numPassedTests, numFailedTests, numRuntimeErrorTestSuites }) {
  // A suite that cannot be loaded runs no tests, which must not count as a pass.
  return `${numPassedTests} passed, ${numFailedTests + numRuntimeErrorTestSuites} failed`;
}
