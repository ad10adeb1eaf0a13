import { defineConfig } from 'tsup';

export default defineConfig({
  entry: {
    index: 'src/index.ts',
    'fetch/index': 'src/fetch/index.ts',
    'objects/index': 'src/objects/index.ts',
    'native/index': 'src/native/index.ts',
  },
  format: ['esm', 'cjs'],
  // Code that entries share is loaded once, even if several entries are imported.
  splitting: true,
  dts: true,
  clean: true,
  target: 'node20',
});
