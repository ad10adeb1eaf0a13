import { defineConfig } from 'tsup';

export default defineConfig({
  entry: ['src/index.ts', 'src/stripe/index.ts', 'src/testing/index.ts'],
  format: ['esm', 'cjs'],
  dts: true,
  // All entry points share one error class, also with `require`.
  splitting: true,
  clean: true,
  target: 'node20',
});
