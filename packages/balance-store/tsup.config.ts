import { defineConfig } from 'tsup';

export default defineConfig({
  entry: {
    index: 'src/index.ts',
    'postgres/index': 'src/postgres/index.ts',
    'embedded/index': 'src/embedded/index.ts',
    'embedded/worker': 'src/embedded/worker.ts',
    'testing/index': 'src/testing/index.ts',
  },
  format: ['esm', 'cjs'],
  // Entries share chunks, so that an error thrown by a store is an `instanceof` the exported class.
  splitting: true,
  // tsup's own shim for `import.meta.url` ends up in a shared chunk and returns that chunk's
  // address. The worker must be found beside the file that starts it.
  banner: ({ format }) =>
    format === 'cjs'
      ? { js: "const importMetaUrl = require('node:url').pathToFileURL(__filename).href;" }
      : {},
  esbuildOptions(options, { format }) {
    if (format === 'cjs')
      options.define = { ...options.define, 'import.meta.url': 'importMetaUrl' };
  },
  dts: true,
  clean: true,
  target: 'node20',
});
