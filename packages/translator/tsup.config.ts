import { defineConfig } from 'tsup';

export default defineConfig({
  entry: {
    index: 'src/index.ts',
    'streams/index': 'src/streams/index.ts',
    'native/index': 'src/native/index.ts',
    'reverse/index': 'src/reverse/index.ts',
    'mapping/index': 'src/mapping/index.ts',
  },
  format: ['esm', 'cjs'],
  // What both directions share exists once, however many entries are loaded.
  splitting: true,
  dts: true,
  clean: true,
  target: 'node20',
});
