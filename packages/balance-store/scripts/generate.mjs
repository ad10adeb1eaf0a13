// Generates the Prisma client without a network. Prisma demands an engine for schema files,
// although generating does not run it. The path of any existing file in its place avoids the
// download.

import { execFileSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

const prisma = createRequire(import.meta.url).resolve('prisma/package.json');
execFileSync(
  process.execPath,
  [join(dirname(prisma), 'build', 'index.js'), 'generate', '--no-hints'],
  {
    cwd: dirname(import.meta.dirname),
    env: {
      ...process.env,
      PRISMA_SCHEMA_ENGINE_BINARY: process.execPath,
      PRISMA_HIDE_UPDATE_MESSAGE: '1',
      CHECKPOINT_DISABLE: '1',
    },
    stdio: ['ignore', 'ignore', 'inherit'],
  },
);
