/** Packs each published package and checks that its exports and types resolve for every kind of importer. */

import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { packageDirs, pnpm, root, run, step } from './setup.mjs';

const scratch = mkdtempSync(join(tmpdir(), 'gateway-packages-'));
for (const dir of packageDirs()) {
  const manifest = JSON.parse(readFileSync(join(dir, 'package.json'), 'utf8'));
  if (manifest.private === true) continue;
  step(`Checking ${manifest.name}`);
  run(join(root, 'node_modules/.bin/publint'), ['--strict', '--pack', 'npm', dir]);
  pnpm('--dir', dir, 'pack', '--pack-destination', scratch);
  const [tarball] = readdirSync(scratch);
  // Node's oldest resolution knows no subpath exports; packages with subpaths are not for it.
  run(join(root, 'node_modules/.bin/attw'), [join(scratch, tarball), '--profile', 'node16']);
  rmSync(join(scratch, tarball));
}
rmSync(scratch, { recursive: true, force: true });
