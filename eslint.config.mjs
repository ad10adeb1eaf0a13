import js from '@eslint/js';
import stylistic from '@stylistic/eslint-plugin';
import node from 'eslint-plugin-n';
import tseslint from 'typescript-eslint';
import {
  BALANCE_STORE_LAYERS,
  BILLING_LAYERS,
  DASHBOARD_LAYERS,
  GATEWAY_LAYERS,
  PAYMENTS_LAYERS,
  RATE_LIMITER_LAYERS,
  TRANSLATOR_LAYERS,
  UPSTREAM_SIMULATOR_LAYERS,
} from './scripts/import-layers.mjs';
import { importLayers, noImportCycle } from './scripts/import-rules.mjs';

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
        AbortSignal: 'readonly',
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
    files: ['packages/*/test/examples/**/*.ts', 'examples/*.ts'],
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
  {
    files: ['packages/translator/src/**/*.ts'],
    rules: {
      'no-restricted-imports': [
        'error',
        { patterns: [{ regex: '^[^.]', message: 'The translator has no dependencies.' }] },
      ],
    },
  },
  importLayers('packages/balance-store/src', BALANCE_STORE_LAYERS),
  importLayers('packages/billing/src', BILLING_LAYERS),
  importLayers('packages/payments/src', PAYMENTS_LAYERS),
  importLayers('packages/rate-limiter/src', RATE_LIMITER_LAYERS),
  importLayers('packages/translator/src', TRANSLATOR_LAYERS),
  importLayers('packages/upstream-simulator/src', UPSTREAM_SIMULATOR_LAYERS),
  importLayers('apps/gateway/src', GATEWAY_LAYERS),
  importLayers('apps/dashboard/src', DASHBOARD_LAYERS),
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
    files: ['{packages,apps}/**/*.{ts,tsx,mjs}', '{bench,clients,scripts,site,torture}/**/*.mjs'],
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
