import { defineConfig } from 'tsup';
import type { Options } from 'tsup';

type Plugin = NonNullable<Options['esbuildPlugins']>[number];

/** See `imports` in package.json. */
const PRISMA_CLIENT = '#prisma-client';

const prismaApart: Plugin = {
  name: 'prisma-apart',
  setup(build) {
    build.onResolve({ filter: /\/generated\/client\.js$/ }, () => ({
      path: PRISMA_CLIENT,
      external: true,
    }));
  },
};

export default defineConfig([
  {
    // Prisma's client has a configuration of its own, because tsup's handling of CommonJS in shared
    // chunks would break it. It is bundled because `@prisma/client` installs 71 MB, of which the
    // client uses 3 MB.
    entry: { 'prisma-client': 'src/generated/client.ts' },
    format: ['esm', 'cjs'],
    noExternal: [/^@prisma\/client/],
    // The bundle calls `require` for Node's own modules, and an ES module has no `require`.
    banner: ({ format }) =>
      format === 'esm'
        ? {
            js:
              "import { createRequire as createRequireOfNode } from 'node:module';\n" +
              'const require = createRequireOfNode(import.meta.url);',
          }
        : {},
    splitting: false,
    target: 'node22',
  },
  {
    entry: {
      index: 'src/index.ts',
      'postgres/index': 'src/postgres/index.ts',
      'postgres/background-thread': 'src/postgres/background-thread.ts',
      'embedded/index': 'src/embedded/index.ts',
      'embedded/copy-thread': 'src/embedded/copy-thread.ts',
      'embedded/ledger-thread': 'src/embedded/threads/ledger-thread.ts',
      'testing/index': 'src/testing/index.ts',
    },
    format: ['esm', 'cjs'],
    esbuildPlugins: [prismaApart],
    // Entries share chunks, so that an error thrown by a store is an `instanceof` the exported
    // class.
    splitting: true,
    // tsup's own shim for `import.meta.url` ends up in a shared chunk and returns that chunk's
    // address. A thread's file must be found beside the file that starts it.
    banner: ({ format }) =>
      format === 'cjs'
        ? { js: "const importMetaUrl = require('node:url').pathToFileURL(__filename).href;" }
        : {},
    esbuildOptions(options, { format }) {
      if (format === 'cjs')
        options.define = { ...options.define, 'import.meta.url': 'importMetaUrl' };
    },
    dts: true,
    target: 'node22',
  },
]);
