/** The simulator as a command. */

import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';

const CLI = join(__dirname, '../dist/cli.js');

function run(...args: readonly string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [CLI, ...args], {
    encoding: 'utf8',
  });
  return { status, stdout, stderr };
}

it.each(['--help', '-h'])('prints its options on %s', (option) => {
  const { status, stdout, stderr } = run(option);
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  expect(stdout).toMatch(/^Usage: upstream-simulator \[options\]\n/);
});

// F430: a wrong option of `npx upstream-simulator`: a stack trace that names no option.
it.each([
  [['--prot', '8090'], "Unknown option '--prot'"],
  [['serve'], "Unexpected argument 'serve'"],
  [['--port', 'http'], '--port: must be a whole number from 0 to 65535, not "http"'],
  [['--latency-ms', '-1'], '--latency-ms'],
  [['--lenient', 'everything'], 'lenient: no rule is called "everything"'],
  [['--port', '0', '--host', 'no-such-host.invalid'], 'no-such-host.invalid'],
])('refuses %j with the reason, its options and exit code 2', (args, reason) => {
  const { status, stdout, stderr } = run(...args);
  expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
  expect(stderr).toContain(reason);
  expect(stderr).toContain('Usage: upstream-simulator [options]');
  expect(stderr).not.toMatch(/^ +at /m);
});
