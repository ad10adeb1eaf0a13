import { execFile } from 'node:child_process';
import { cp, mkdir, writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { defineConfig } from 'tsup';

const MOST_BYTES = 16 * 1024 * 1024;

/**
 * The packages in `dependencies` are imported when the gateway runs. OpenTelemetry and the
 * libraries of the clouds are in `devDependencies` instead, so the build includes the parts that
 * are used: of OpenTelemetry, 0.1 of 20 MB.
 */
export default defineConfig({
  entry: {
    main: 'src/main.ts',
    gateway: 'src/gateway.ts',
    'prepare-thread': 'src/exchange/preparation/prepare-thread.ts',
  },
  format: ['esm'],
  clean: true,
  // The lowest version that `engines` in package.json names: nothing newer may be in the syntax.
  target: 'node22.19',
  sourcemap: true,
  esbuildOptions(options) {
    options.alias = { 'node-fetch': './src/upstream/homes/credentials/library-fetch.ts' };
  },
  /**
   * Copies the pages, which are then part of the package. Writes the OpenAPI documents that this
   * build serves, to be compared with later ones.
   */
  async onSuccess() {
    await cp('../dashboard/dist', 'dist/pages', { recursive: true });
    const run = promisify(execFile);
    await mkdir('dist/openapi', { recursive: true });
    for (const port of ['client', 'admin']) {
      const args = ['dist/main.js', 'openapi', port];
      const { stdout } = await run(process.execPath, args, { maxBuffer: MOST_BYTES });
      await writeFile(`dist/openapi/${port}.json`, stdout);
    }
  },
});
