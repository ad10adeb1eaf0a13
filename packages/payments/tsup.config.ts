import { defineConfig } from 'tsup';

export default defineConfig({
  entry: ['src/index.ts', 'src/stripe/index.ts', 'src/testing/index.ts'],
  format: ['esm', 'cjs'],
  dts: true,
  // One class of errors for all entry points, also for require.
  splitting: true,
  clean: true,
  target: 'node20',
});
