/** The package on a Node that it does not support. */

import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, it } from '@jest/globals';
import { engines } from '../../package.json';

/** Makes this Node lack what Node 20 lacks. */
const WITHOUT =
  "import zlib from 'node:zlib'; import { syncBuiltinESMExports } from 'node:module';" +
  'delete zlib.crc32; delete process.getBuiltinModule; syncBuiltinESMExports();';

// F431: an import of the embedded store on Node 20: it fails with a name that zlib does not export.
it.each(['index.js', 'embedded/index.js', 'embedded/index.cjs', 'postgres/index.js'])(
  'names the versions that it needs: %s',
  (entry) => {
    const file = pathToFileURL(join(__dirname, '../../dist', entry)).href;
    const { stdout } = spawnSync(
      process.execPath,
      [
        '--import',
        `data:text/javascript,${encodeURIComponent(WITHOUT)}`,
        '--eval',
        `import('${file}').catch(({ message }) => console.log(message))`,
      ],
      { encoding: 'utf8' },
    );
    const needed = `@gateway/balance-store needs Node ${engines.node}, and this is Node `;
    expect(stdout.trim()).toBe(needed + process.versions.node);
  },
);
