/**
 * `npm run newest-sdks`: compares the names in the newest published SDKs with what the project
 * serves (`sdk-names.mjs`). Prints what is new; the exit code is then 1.
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ensureInstalled, node, output, root, step } from './setup.mjs';

ensureInstalled();
const folder = mkdtempSync(join(tmpdir(), 'newest-sdks-'));
try {
  const sdks = ['@anthropic-ai/sdk@latest', 'openai@latest'];
  step(`Comparing with ${sdks.join(' and ')}`);
  output('npm', ['install', '--no-save', '--ignore-scripts', '--prefix', folder, ...sdks]);
  output(node, [join(root, 'scripts/sdk-names.mjs'), '--from', folder]);
} catch (error) {
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true });
}
