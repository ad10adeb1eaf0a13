/**
 * `npm test`: installs and builds if needed, starts real servers, runs every test.
 * Arguments go to jest, such as `npm test -- packages/billing`.
 */

import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { startServers } from './servers.mjs';
import { ensureBuilt, ensureInstalled, node, root, step } from './setup.mjs';

ensureInstalled();
ensureBuilt();
const servers = await startServers();
const scratch = mkdtempSync(join(tmpdir(), 'gateway-tests-'));
const report = join(scratch, 'report.json');
step('Testing');
const jest = spawnSync(
  node,
  [
    join(root, 'node_modules/jest/bin/jest.js'),
    '--ci',
    '--json',
    `--outputFile=${report}`,
    ...process.argv.slice(2),
  ],
  { cwd: root, stdio: ['ignore', 'ignore', 'inherit'], env: { ...process.env, ...servers.env } },
);
servers.stop();
const results = JSON.parse(readFileSync(report, 'utf8'));
process.stdout.write(`\n${slowest(results)}\n\n${summary(results)}\n`);
rmSync(scratch, { recursive: true, force: true });
process.exitCode = jest.status ?? 1;

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
