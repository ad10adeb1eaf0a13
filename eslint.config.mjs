import js from '@eslint/js';
import stylistic from '@stylistic/eslint-plugin';
import node from 'eslint-plugin-n';
import tseslint from 'typescript-eslint';
import { importLayers, noImportCycle } from './scripts/import-rules.mjs';

const CLIENTS_AND_BELOW = [
  'chat-client',
  'chat-client/request',
  'chat-client/answer',
  'responses-client',
  'responses-client/request',
  'responses-client/answer',
  'message',
  'reading',
  'wire',
];

/**
 * The folders of the translator, from the bottom up, each with the other folders that its files may
 * import.
 */
const TRANSLATOR_LAYERS = {
  wire: [],
  message: ['wire'],
  reading: ['wire'],
  'chat-client': ['wire'],
  'chat-client/request': ['chat-client', 'reading', 'wire'],
  'chat-client/answer': ['chat-client', 'message', 'wire'],
  features: ['reading', 'wire'],
  'responses-client': ['wire'],
  'responses-client/request': [
    'responses-client',
    'chat-client/request',
    'features',
    'reading',
    'wire',
  ],
  'responses-client/answer': ['responses-client', 'chat-client/answer', 'message', 'wire'],
  models: ['chat-client/request'],
  errors: ['wire'],
  mapping: ['reading'],
  streams: ['wire'],
  // The public entries.
  native: ['wire'],
  objects: CLIENTS_AND_BELOW,
  '.': [...CLIENTS_AND_BELOW, 'features', 'models', 'errors', 'mapping', 'streams'],
  fetch: [...CLIENTS_AND_BELOW, 'errors', 'streams'],
};

/** The rooms of the gateway, from the ground up (docs/decisions/0066). */
const GATEWAY_LAYERS = {
  base: [],
  config: ['base'],
  http: ['base', 'config'],
  ledger: ['base', 'config', 'http'],
  upstream: ['base', 'config', 'http', 'ledger'],
  observe: ['base', 'config', 'http', 'ledger', 'upstream'],
  payments: ['base', 'config', 'http', 'ledger', 'observe'],
  endpoints: ['base', 'config', 'ledger', 'upstream', 'observe', 'payments'],
  exchange: ['base', 'config', 'http', 'ledger', 'upstream', 'observe', 'endpoints'],
  customer: ['base', 'config', 'http', 'ledger', 'observe', 'payments', 'endpoints', 'exchange'],
  operator: ['base', 'config', 'http', 'ledger', 'upstream', 'observe', 'payments', 'endpoints'],
  openapi: ['endpoints', 'exchange', 'customer', 'operator'],
  process: [
    'base',
    'config',
    'http',
    'ledger',
    'upstream',
    'observe',
    'payments',
    'endpoints',
    'exchange',
    'customer',
    'operator',
    'openapi',
  ],
  cli: [
    'base',
    'config',
    'http',
    'ledger',
    'upstream',
    'payments',
    'endpoints',
    'operator',
    'openapi',
    'process',
  ],
  '.': ['base', 'cli'],
};

/** A spread that only keeps a list on one line. A reader looks for its reason, and there is none. */
const LITERAL_SPREAD = {
  selector: 'SpreadElement > ObjectExpression.argument, SpreadElement > ArrayExpression.argument',
  message: 'Write the members of this literal without the spread, and let the list break.',
};

export default tseslint.config(
  {
    ignores: [
      '**/dist/**',
      '**/node_modules/**',
      '**/generated/**',
      '**/coverage/**',
      '.data/**',
      '.pinned/**',
    ],
  },
  js.configs.recommended,
  {
    files: ['**/*.mjs'],
    languageOptions: {
      globals: {
        process: 'readonly',
        console: 'readonly',
        URL: 'readonly',
        Buffer: 'readonly',
        fetch: 'readonly',
      },
    },
  },
  {
    files: ['**/*.{ts,tsx}'],
    extends: [tseslint.configs.recommendedTypeChecked],
    languageOptions: {
      parserOptions: { project: './tsconfig.json', tsconfigRootDir: import.meta.dirname },
    },
    rules: {
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-unused-vars': [
        'error',
        { argsIgnorePattern: '^_', varsIgnorePattern: '^_' },
      ],
      '@typescript-eslint/no-misused-promises': ['error', { checksVoidReturn: false }],
      '@typescript-eslint/switch-exhaustiveness-check': [
        'error',
        { considerDefaultExhaustiveForUnions: true },
      ],
      'no-console': 'error',
      eqeqeq: ['error', 'smart'],
    },
  },
  {
    // The READMEs show these examples, which print what a program would keep.
    files: ['packages/*/test/examples/**/*.ts'],
    rules: { 'no-console': 'off' },
  },
  {
    // Every API that the code uses must exist in each Node version that `engines` of the nearest
    // package.json admits. The scripts listed here run on the user's Node, before the project's own
    // is installed.
    files: ['{packages,apps}/*/src/**/*.ts', 'scripts/{setup,start,test,servers}.mjs'],
    plugins: { n: node },
    rules: {
      'n/no-unsupported-features/node-builtins': ['error', { allowExperimental: true }],
      'n/no-unsupported-features/es-builtins': 'error',
    },
  },
  {
    files: ['**/*.{ts,tsx,js,mjs,cjs}'],
    rules: { 'no-restricted-syntax': ['error', LITERAL_SPREAD] },
  },
  {
    // Many objects in these files are made for each stream or request.
    files: ['packages/translator/src/**/*.ts', 'apps/gateway/src/exchange/relay/**/*.ts'],
    rules: {
      'no-restricted-syntax': [
        'error',
        LITERAL_SPREAD,
        {
          selector: 'ObjectExpression > Property[kind=/^[gs]et$/]',
          message:
            'An accessor of an object literal keeps the object in memory until the next full GC: use a property, a function or a class.',
        },
      ],
    },
  },
  {
    files: ['packages/balance-store/src/embedded/**/*.ts'],
    rules: {
      'no-restricted-syntax': [
        'error',
        LITERAL_SPREAD,
        {
          selector: 'Literal[value=/\\?[0-9]/], TemplateElement[value.raw=/\\?[0-9]/]',
          message:
            'In the oldest supported Node, SQLite cannot bind numbered parameters by position: use ?.',
        },
      ],
    },
  },
  importLayers('packages/translator/src', TRANSLATOR_LAYERS),
  {
    files: ['packages/translator/src/**/*.ts'],
    rules: {
      'no-restricted-imports': [
        'error',
        { patterns: [{ regex: '^[^.]', message: 'The translator has no dependencies.' }] },
      ],
    },
  },
  importLayers('apps/gateway/src', GATEWAY_LAYERS),
  {
    files: ['apps/dashboard/src/**/*.{ts,tsx}'],
    ignores: ['apps/dashboard/src/shared/api/gateway-types.ts'],
    rules: {
      'no-restricted-imports': [
        'error',
        { patterns: [{ regex: '/gateway/', message: 'Types of the gateway: gateway-types.ts.' }] },
      ],
    },
  },
  {
    // The pages import these files, and nothing of the gateway's code may get into the pages.
    files: ['apps/dashboard/src/shared/api/gateway-types.ts', 'apps/gateway/src/openapi/calls.ts'],
    rules: {
      'no-restricted-syntax': [
        'error',
        {
          selector:
            ':matches(ImportDeclaration[importKind!="type"], ' +
            ':matches(ExportNamedDeclaration, ExportAllDeclaration)[exportKind!="type"])',
          message: 'Only types here.',
        },
      ],
    },
  },
  {
    files: ['{packages,apps}/*/src/**/*.{ts,tsx}'],
    ignores: ['packages/balance-store/src/generated/**'],
    plugins: { house: { rules: { 'no-import-cycle': noImportCycle } } },
    rules: { 'house/no-import-cycle': 'error' },
  },
  {
    // Comments are not counted, because they explain.
    files: ['{packages,apps}/*/src/**/*.{ts,tsx}'],
    ignores: ['packages/balance-store/src/generated/**', '**/src/testing/**'],
    rules: {
      'max-lines-per-function': ['error', { max: 100, skipBlankLines: true, skipComments: true }],
    },
  },
  {
    // Prettier wraps code but not comments, so this rule is for comments only.
    files: ['{packages,apps}/**/*.{ts,tsx,mjs}', '{bench,clients,scripts,torture}/**/*.mjs'],
    plugins: { '@stylistic': stylistic },
    rules: {
      '@stylistic/max-len': [
        'error',
        { code: Number.MAX_SAFE_INTEGER, comments: 100, ignoreUrls: true },
      ],
    },
  },
  {
    files: ['**/test/**/*.ts', '**/testing/**/*.ts'],
    rules: {
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
      '@typescript-eslint/no-unsafe-argument': 'off',
      '@typescript-eslint/no-unsafe-return': 'off',
      '@typescript-eslint/require-await': 'off',
    },
  },
);
