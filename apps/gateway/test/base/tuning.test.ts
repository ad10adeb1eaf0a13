/** One setting turns off what reaches into V8 and SQLite. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { commandProcess, spawnGateway } from '../support/gateway-process.js';
import { postMessages, userMessage } from '../support/gateway.js';

/**
 * Reports each flag that is given to V8 at run time, and each index of SQLite that JavaScript
 * opens. SQLite itself opens it in C, which is not reported.
 */
const WATCH = `
import { syncBuiltinESMExports } from 'node:module';
import fs from 'node:fs';
import v8 from 'node:v8';
const { openSync } = fs;
const { setFlagsFromString } = v8;
const report = (text) => fs.writeSync(2, 'LEVER ' + text + '\\n');
fs.openSync = (path, ...rest) => {
  if (String(path).endsWith('-shm')) report('ledger.db-shm');
  return openSync(path, ...rest);
};
v8.setFlagsFromString = (flag) => {
  report(flag);
  setFlagsFromString(flag);
};
syncBuiltinESMExports();
`;

let dir: string;
let options: string;
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'gateway-tuning-'));
  const watch = join(dir, 'watch.mjs');
  writeFileSync(watch, WATCH);
  options = `--import=${watch}`;
});
afterAll(() => {
  rmSync(dir, { recursive: true, force: true });
});

/** Starts a gateway, sends a request, counts the keys by a command, and stops it. */
async function leversWith(tuning: string): Promise<readonly string[]> {
  const env = {
    TUNING: tuning,
    DATA_DIR: join(dir, tuning),
    LOG_LEVEL: 'silent',
    NODE_OPTIONS: options,
  };
  const gateway = await spawnGateway(env);
  const key = /Demo key: {2}(\S+)/.exec(gateway.output())![1]!;
  for (let request = 0; request < 3; request += 1) {
    const response = await postMessages(gateway, key, userMessage('Hello'));
    expect(response.status).toBe(200);
    await response.text();
  }
  const command = await commandProcess(['ledger', 'audit'], env);
  expect(command).toMatchObject({ code: 0 });
  gateway.send('SIGTERM');
  expect(await gateway.exited).toBe(0);
  const text = gateway.errorOutput() + command.err;
  return [...text.matchAll(/LEVER (\S+)/g)].map(([, lever]) => lever!).sort();
}

// F443: a version of Node or SQLite has other insides than those that were tried: the gateway
// serves, charges and is audited without using them.
it('uses nothing of the insides of V8 and SQLite with TUNING=none', async () => {
  expect(await leversWith('none')).toEqual([]);
});

it('uses them by default, and this test sees it', async () => {
  expect(await leversWith('full')).toEqual([
    '--expose-gc',
    '--heap-growing-percent=100',
    '--max-semi-space-size=0',
    '--memory-reducer-gc-count=0',
    '--no-allocation-site-pretenuring',
    'ledger.db-shm',
    'ledger.db-shm',
  ]);
});
