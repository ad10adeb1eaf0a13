import { defineConfig } from 'tsup';

/**
 * The packages in `dependencies` are imported when the gateway runs. OpenTelemetry is in
 * `devDependencies` instead, so the build includes the parts that are used: 0.1 of 20 MB.
 */
export default defineConfig({
  entry: { main: 'src/main.ts', 'prepare-thread': 'src/exchange/preparation/prepare-thread.ts' },
  format: ['esm'],
  clean: true,
  // The lowest version that `engines` in package.json names: nothing newer may be in the syntax.
  target: 'node22.19',
  sourcemap: true,
});
