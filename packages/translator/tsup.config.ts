import { defineConfig } from 'tsup';

export default defineConfig({
  entry: {
    index: 'src/index.ts',
    'reverse/index': 'src/reverse/index.ts',
  },
  format: ['esm', 'cjs'],
  // What both directions share exists once, however many entries are loaded.
  splitting: true,
  dts: true,
  clean: true,
  target: 'node20',
});
