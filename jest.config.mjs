/**
 * One configuration for every package: tests import the sources, so nothing has to be built first
 * (suites that drive the built gateway say so, and `npm test` builds before it runs them).
 */
const toCommonJs = { module: { type: 'commonjs' } };

export default {
  testMatch: ['<rootDir>/{packages,apps}/*/test/**/*.test.ts'],
  testEnvironment: 'node',
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      { jsc: { parser: { syntax: 'typescript' }, target: 'es2023' }, ...toCommonJs },
    ],
    'otlp-exporter-base.+\\.cjs$': ['@swc/jest', toCommonJs],
  },
  // This package imports `node:http` when it first sends, by `import()`, which Jest does not offer to
  // CommonJS as it is.
  transformIgnorePatterns: ['/node_modules/(?!.*otlp-exporter-base)'],
  moduleNameMapper: {
    '^(\\.{1,2}/.*)\\.js$': '$1',
    '^@gateway/([a-z-]+)$': '<rootDir>/packages/$1/src/index.ts',
    '^@gateway/([a-z-]+)/([a-z-]+)$': '<rootDir>/packages/$1/src/$2/index.ts',
  },
  // Only for what hangs: a busy machine may take ten times as long for the longest.
  testTimeout: 900_000,
  maxWorkers: 2,
};
