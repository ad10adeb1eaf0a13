/**
 * `npm test`: installs and builds if needed, starts real servers, runs every test.
 * Arguments go to jest, such as `npm test -- packages/billing`. With `--long`, as in `npm run
 * test:long`, it runs the long forms of the tests in `runs.cjs`; with `--quick`, as in `npm run
 * test:quick`, those that need neither servers nor a browser, network or process. With
 * `TEST_NODE=lowest`, Jest runs on the lowest Node that the gateway admits.
 */

import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { longFiles } from './runs.cjs';
import { NONE, neededServers } from './needed-servers.mjs';
import { lowestNode } from './node-programs.cjs';
import { startServers } from './servers.mjs';
import {
  COMPILE_CACHE,
  JEST,
  ensureBuilt,
  ensureBuiltOnce,
  ensureInstalled,
  node,
  root,
  step,
} from './setup.mjs';

const [tier, ...others] = process.argv.slice(2);
ensureInstalled();
if (tier === '--quick') ensureBuiltOnce();
else ensureBuilt();
const { args, needs } = chosenTests();
const servers = await startServers(needs);
const scratch = mkdtempSync(join(tmpdir(), 'gateway-tests-'));
const report = join(scratch, 'report.json');
const program = process.env.TEST_NODE === 'lowest' ? lowestNode : node;
if (program === undefined) throw new Error('no package has the lowest Node for this platform');
step('Testing');
const jest = spawnSync(program, [...JEST, '--json', `--outputFile=${report}`, ...args], {
  cwd: root,
  stdio: ['ignore', 'ignore', 'inherit'],
  env: {
    ...process.env,
    ...servers.env,
    NODE_COMPILE_CACHE: COMPILE_CACHE,
    ...(tier === '--long' && { TEST_RUNS: 'long' }),
  },
});
servers.stop();
const results = JSON.parse(readFileSync(report, 'utf8'));
process.stdout.write(`\n${slowest(results)}\n\n${summary(results)}\n`);
rmSync(scratch, { recursive: true, force: true });
process.exitCode = jest.status ?? 1;

/** The arguments of Jest, and the servers that the tests need. */
function chosenTests() {
  if (tier === '--quick') {
    // These tests compute and never wait, so a third worker on two cores would only cost.
    const args = ['--maxWorkers=100%', `--filter=${join(root, 'scripts/quick-filter.cjs')}`];
    return { args: [...args, ...others], needs: NONE };
  }
  if (tier === undefined) return { args: [], needs: undefined };
  const args = tier === '--long' ? [...longFiles, ...others] : [tier, ...others];
  return { args, needs: neededServers(testFiles(args)) };
}

/** The files that Jest will run with these arguments. */
function testFiles(args) {
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
