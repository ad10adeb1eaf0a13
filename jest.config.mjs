/**
 * One configuration for every package: tests import the sources, so nothing has to be built first
 * (suites that drive the built gateway say so, and `npm test` builds before it runs them).
 */
const toCommonJs = { module: { type: 'commonjs' } };

export default {
  cacheDirectory: '<rootDir>/node_modules/.cache/jest',
  testMatch: ['<rootDir>/{packages,apps}/*/test/**/*.test.ts'],
  // A second checkout, with packages of the same names.
  modulePathIgnorePatterns: ['<rootDir>/\\.pinned/'],
  testEnvironment: '<rootDir>/scripts/jest-environment.cjs',
  runtime: '<rootDir>/scripts/jest-runtime.cjs',
  setupFilesAfterEnv: ['<rootDir>/scripts/jest-setup.cjs'],
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      { jsc: { parser: { syntax: 'typescript' }, target: 'es2023' }, ...toCommonJs },
    ],
    'otlp-exporter-base.+\\.cjs$|gaxios/build/cjs/.+\\.js$': ['@swc/jest', toCommonJs],
  },
  // These packages load others by `import()` when they first send. Jest supports that in CommonJS
  // only after they were transformed.
  transformIgnorePatterns: ['/node_modules/(?!.*(?:otlp-exporter-base|gaxios/build/cjs))'],
  moduleNameMapper: {
    // As in the build (apps/gateway/tsup.config.ts).
    '^node-fetch$': '<rootDir>/apps/gateway/src/upstream/homes/credentials/library-fetch.ts',
    '^(\\.{1,2}/.*)\\.js$': '$1',
    '^@gateway/([a-z-]+)$': '<rootDir>/packages/$1/src/index.ts',
    '^@gateway/([a-z-]+)/([a-z-]+)$': '<rootDir>/packages/$1/src/$2/index.ts',
  },
  // Only to end tests that hang: on a busy machine, the longest test may take ten times as long.
  testTimeout: 900_000,
  // One more than the cores that the project expects, because many tests wait: for a process that
  // starts, for a connection that is closed, for a lease that expires.
  maxWorkers: 3,
  // A worker keeps some memory of each file. With gigabytes of it, each full GC takes seconds. At
  // the end, V8 unmaps the heap page by page, after the `exit` event: 0.15 s of CPU time for 700 MB.
  // If other processes are using the cores, that takes longer than the 0.5 s that Jest waits before
  // it says that a worker "has failed to exit gracefully".
  workerIdleMemoryLimit: '800MB',
  testSequencer: '<rootDir>/scripts/jest-sequencer.cjs',
};
