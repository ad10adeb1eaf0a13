// Generates the tables and the Prisma client without a network. Before it generates, Prisma
// downloads its schema engine, a binary for migrations, if that is missing. Generating does not run
// this binary.
// `PRISMA_SCHEMA_ENGINE_BINARY` with the path of any existing file prevents the download.

import { execFileSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { generateTables } from './generate-tables.mjs';

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
// After Prisma, which empties the folder.
generateTables(dirname(import.meta.dirname));
