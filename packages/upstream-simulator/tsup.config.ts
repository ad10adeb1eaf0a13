import { defineConfig } from 'tsup';

export default defineConfig([
  {
    entry: ['src/index.ts', 'src/clouds/index.ts'],
    format: ['esm', 'cjs'],
    dts: true,
    // The clouds share the code of the main entry, which does not load theirs.
    splitting: true,
    clean: true,
    target: 'node20',
  },
  { entry: ['src/cli.ts'], format: ['esm'], target: 'node20' },
]);
