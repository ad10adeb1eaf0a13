import { defineConfig } from 'tsup';

export default defineConfig({
  entry: { main: 'src/main.ts', 'prepare-thread': 'src/preparation/prepare-thread.ts' },
  format: ['esm'],
  clean: true,
  // The lowest version that `engines` in package.json names: nothing newer may be in the syntax.
  target: 'node22.19',
  sourcemap: true,
});
