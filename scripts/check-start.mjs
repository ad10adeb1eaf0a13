/**
 * `npm run check:start`: `npm start` as it is typed, with the Node that runs this, until it serves;
 * a request; and its end by SIGTERM. Leaves the data directory of the repository alone.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SERVES, ask } from './ask.mjs';
import { freePort } from './free-port.cjs';
import { root } from './setup.mjs';

const scratch = mkdtempSync(join(tmpdir(), 'gateway-start-'));
const port = await freePort();
const env = {
  ...process.env,
  DATA_DIR: join(scratch, 'data'),
  PORT: String(port),
  ADMIN_PORT: String(await freePort()),
};
const npm = spawn('npm', ['start'], { cwd: root, env, stdio: ['ignore', 'pipe', 'inherit'] });
process.once('exit', () => npm.kill('SIGKILL'));
try {
  let printed = '';
  const serves = new Promise((resolve) => {
    npm.stdout.on('data', (chunk) => {
      printed += chunk;
      if (SERVES.test(printed)) resolve(undefined);
    });
  });
  const ended = once(npm, 'exit').then(([code]) => {
    throw new Error(`npm start ended with ${code}\n${printed}`);
  });
  await Promise.race([serves, ended]);
  await ask(port, printed);
  ended.catch(() => undefined);
  npm.kill('SIGTERM');
  await once(npm, 'exit');
  process.stdout.write(`npm start serves with Node ${process.version}, and ends on SIGTERM\n`);
} finally {
  rmSync(scratch, { recursive: true, force: true });
}
