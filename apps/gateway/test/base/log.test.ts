/** The log's file: one that cannot be written, and one that is closed. */

import { openLogs } from '../support/open-logs.js';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, it } from '@jest/globals';
import { startTestGateway } from '../support/gateway.js';

/** Node runs it as it is, because it imports no other TypeScript. */
const LOG = pathToFileURL(join(__dirname, '../../src/base/log.ts')).href;

// `/dev/full` refuses every write, as a full disk does.
it('a process whose log is on a full disk says so once, goes on, and ends when it is done', async () => {
  const full = openSync('/dev/full', 'w');
  const script = `
    import { openLog } from '${LOG}';
    const { log } = openLog('info', { isShared: false });
    for (let round = 0; round < 3; round += 1) {
      for (let line = 0; line < 200; line += 1) log.info({ round, pad: 'x'.repeat(200) }, 'line');
      await new Promise((resolve) => log.flush(resolve));
    }
    process.stderr.write('still running\\n');`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script], {
    stdio: ['ignore', full, 'pipe'],
  });
  let errors = '';
  child.stderr!.on('data', (bytes: Buffer) => (errors += bytes.toString()));
  const [code] = (await once(child, 'close')) as [number | null];
  closeSync(full);
  expect(errors.match(/^farthing: the log cannot be written: ENOSPC/gm)).toHaveLength(1);
  expect(errors).toContain('still running');
  expect(code).toBe(0);
});

// F307: a gateway stops, or cannot start, in a process that goes on: the lines of its log are
// written, also those after its end, and no timer is left that writes every half second.
it('a log that is closed has written its lines, writes later ones at once, and leaves no timer', async () => {
  const script = `
    const timers = new Set();
    let begun = 0;
    const { setInterval: begin, clearInterval: end } = globalThis;
    globalThis.setInterval = (...args) => {
      const timer = begin(...args);
      timers.add(timer);
      begun += 1;
      return timer;
    };
    globalThis.clearInterval = (timer) => {
      timers.delete(timer);
      end(timer);
    };
    const { openLog } = await import('${LOG}');
    for (const level of ['silent', 'info']) {
      const { log, close } = openLog(level, { isShared: false });
      for (let line = 0; line < 1000; line += 1) log.info({ line, pad: 'x'.repeat(200) });
      await close();
      await close();
      log.info({ line: 1000 }, 'late');
    }
    process.stderr.write(JSON.stringify({ begun, left: timers.size }));
    process.exit(0);`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script]);
  let [lines, timers] = ['', ''];
  child.stdout.on('data', (bytes: Buffer) => (lines += bytes.toString()));
  child.stderr.on('data', (bytes: Buffer) => (timers += bytes.toString()));
  await once(child, 'close');
  // The silent log has opened no file.
  expect(timers).toBe('{"begun":1,"left":0}');
  const numbers = lines
    .trim()
    .split('\n')
    .map((line) => Number(JSON.parse(line).line));
  expect(numbers).toEqual(Array.from({ length: 1001 }, (_, line) => line));
});

// F307
it('a gateway that stops or cannot start closes its log', async () => {
  const gateway = await startTestGateway();
  expect(openLogs.size).toBe(1);
  const taken = { PORT: new URL(gateway.url).port };
  await expect(startTestGateway({ env: taken })).rejects.toThrow('cannot listen');
  await expect(startTestGateway({ env: { PRICES: '/nowhere/prices.json' } })).rejects.toThrow();
  expect(openLogs.size).toBe(1);
  await gateway.stop();
  expect(openLogs.size).toBe(0);
});
