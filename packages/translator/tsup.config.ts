import { defineConfig } from 'tsup';

export default defineConfig({
  entry: {
    index: 'src/index.ts',
    'models/index': 'src/models/index.ts',
    'features/index': 'src/features/index.ts',
    'objects/index': 'src/objects/index.ts',
    'errors/index': 'src/errors/index.ts',
    'streams/index': 'src/streams/index.ts',
    'native/index': 'src/native/index.ts',
    'reverse/index': 'src/reverse/index.ts',
    'responses/index': 'src/responses/index.ts',
    'mapping/index': 'src/mapping/index.ts',
  },
  format: ['esm', 'cjs'],
  // Code that both directions share is loaded once, even if several entries are imported.
  splitting: true,
  dts: true,
  clean: true,
  target: 'node20',
});
