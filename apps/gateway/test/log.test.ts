/** A log whose file cannot be written. `/dev/full` refuses every write, as a full disk does. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, it } from '@jest/globals';

/** Node runs it as it is, because it imports no other TypeScript. */
const LOG = pathToFileURL(join(__dirname, '../src/base/log.ts')).href;
it('a process whose log is on a full disk says so once, goes on, and ends when it is done', async () => {
  const full = openSync('/dev/full', 'w');
  const script = `
    import { openLog } from '${LOG}';
    const log = openLog('info', { isShared: false });
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
  expect(errors.match(/^gateway: the log cannot be written: ENOSPC/gm)).toHaveLength(1);
  expect(errors).toContain('still running');
  expect(code).toBe(0);
});
