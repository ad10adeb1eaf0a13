// Generates the tables and the Prisma client without a network. Before it generates, Prisma
// downloads its schema engine, a binary for migrations, if that is missing. Generating does not run
// this binary.
// `PRISMA_SCHEMA_ENGINE_BINARY` with the path of any existing file prevents the download. Prisma
// also notes its first use, by default in the user's home.

import { execFileSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { generateTables } from './generate-tables.mjs';

const packageDir = dirname(import.meta.dirname);
const prisma = createRequire(import.meta.url).resolve('prisma/package.json');
execFileSync(
  process.execPath,
  [join(dirname(prisma), 'build', 'index.js'), 'generate', '--no-hints'],
  {
    cwd: packageDir,
    env: {
      ...process.env,
      PRISMA_SCHEMA_ENGINE_BINARY: process.execPath,
      PRISMA_HIDE_UPDATE_MESSAGE: '1',
      CHECKPOINT_DISABLE: '1',
      XDG_CONFIG_HOME: join(packageDir, 'node_modules/.cache'),
    },
    stdio: ['ignore', 'ignore', 'inherit'],
  },
);
// After Prisma, which empties the folder.
generateTables(packageDir);
