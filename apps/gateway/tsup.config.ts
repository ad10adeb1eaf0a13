import { defineConfig } from 'tsup';

export default defineConfig({
  entry: { main: 'src/main.ts', 'prepare-thread': 'src/preparation/prepare-thread.ts' },
  format: ['esm'],
  clean: true,
  target: 'node24',
  sourcemap: true,
});
