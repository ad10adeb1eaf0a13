/**
 * Which folder of each package may import which, types included: from the bottom up, each with the
 * other folders that its files may import (docs/decisions/0066 and 0096).
 */

export const BILLING_LAYERS = { '.': [] };

export const PAYMENTS_LAYERS = { '.': [], stripe: ['.'], testing: [] };

export const RATE_LIMITER_LAYERS = { '.': [], testing: ['.'], redis: ['.'] };

export const UPSTREAM_SIMULATOR_LAYERS = {
  message: [],
  models: ['message'],
  schemas: ['message'],
  rules: ['message', 'models', 'schemas'],
  '.': ['message', 'models', 'schemas', 'rules'],
  // The simulated clouds: what several have in common, and one folder each.
  'clouds/shared': ['message', 'models', '.'],
  'clouds/aws': ['message', 'models', 'rules', '.', 'clouds/shared'],
  'clouds/google': ['message', 'models', '.', 'clouds/shared'],
  'clouds/foundry': ['message', 'models', '.', 'clouds/shared'],
  // The public entry.
  clouds: ['.', 'clouds/shared', 'clouds/aws', 'clouds/google', 'clouds/foundry'],
};

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

export const TRANSLATOR_LAYERS = {
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

/** Their subjects are in apps/gateway/src/README.md. */
export const GATEWAY_LAYERS = {
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

/** The rooms of the ledger (docs/decisions/0096). */
const LEDGER_LAYERS = {
  // Time, timers, batches and bytes on disk: nothing about a ledger.
  'ledger/base': ['.'],
  // The tables as the schema declares them, and their migrations.
  'ledger/tables': ['generated', '.'],
  // Rules that bookings, charges and audits share: budgets, caps, allowances, ids, notices.
  'ledger/rules': ['.', 'ledger/base', 'ledger/tables'],
  // What a row means: how it is read, written and hashed, and the rights that it gives.
  'ledger/rows': ['.', 'ledger/tables', 'ledger/rules'],
  // The statements that both databases run for lists and sums, and how the results are read.
  'ledger/queries': ['.', 'ledger/base', 'ledger/tables', 'ledger/rules', 'ledger/rows'],
  // The sealed form of rows, and the hashes of the chain.
  'ledger/seals': ['generated', '.', 'ledger/tables'],
  // The rows of the whole ledger, page by page, for archives and audits.
  'ledger/scan': ['generated', '.', 'ledger/rows', 'ledger/seals'],
  // The file of an archive, and the sums that take the place of its charges.
  'ledger/archive': ['generated', '.', 'ledger/base', 'ledger/rows', 'ledger/seals', 'ledger/scan'],
  // Recomputes the ledger, independently of the code that wrote it.
  'ledger/audit': [
    'generated',
    '.',
    'ledger/base',
    'ledger/tables',
    'ledger/rules',
    'ledger/rows',
    'ledger/queries',
    'ledger/seals',
    'ledger/scan',
    'ledger/archive',
  ],
  // All bookings but charges, as functions over one transaction.
  'ledger/books': ['.', 'ledger/base', 'ledger/tables', 'ledger/rules', 'ledger/rows'],
  // Charges: their check, group commit, and whether they can be recorded now.
  'ledger/charging': ['.', 'ledger/base', 'ledger/rules', 'ledger/rows'],
  // The record of requests.
  'ledger/requests': ['.', 'ledger/base', 'ledger/tables', 'ledger/queries'],
  // Calls between threads.
  'ledger/threads': ['.', 'ledger/base'],
  // What a database has to do, and the background thread that both databases have.
  'ledger/database': [
    '.',
    'ledger/rules',
    'ledger/rows',
    'ledger/queries',
    'ledger/scan',
    'ledger/archive',
    'ledger/audit',
    'ledger/books',
    'ledger/charging',
    'ledger/requests',
    'ledger/threads',
  ],
  // The operations of the store, over any database.
  'ledger/store': [
    '.',
    'ledger/base',
    'ledger/rules',
    'ledger/rows',
    'ledger/queries',
    'ledger/seals',
    'ledger/scan',
    'ledger/archive',
    'ledger/books',
    'ledger/charging',
    'ledger/requests',
    'ledger/database',
  ],
};
const LEDGER = Object.keys(LEDGER_LAYERS);

export const BALANCE_STORE_LAYERS = {
  generated: [],
  // The interface of the store.
  '.': ['generated'],
  ...LEDGER_LAYERS,
  postgres: ['generated', '.', ...LEDGER],
  'embedded/sqlite': ['generated', '.', ...LEDGER],
  'embedded/files': ['.', 'ledger/base', 'embedded/sqlite'],
  'embedded/threads': ['.', ...LEDGER, 'embedded/sqlite', 'embedded/files'],
  embedded: [
    'generated',
    '.',
    ...LEDGER,
    'postgres',
    'embedded/sqlite',
    'embedded/files',
    'embedded/threads',
  ],
  testing: ['generated', '.', 'ledger/base', 'ledger/rules', 'ledger/rows', 'ledger/archive'],
  'index.ts': ['.', 'ledger/rules', 'ledger/rows', 'ledger/archive'],
};

const PARTS_AND_BELOW = ['shared/text', 'shared/api', 'shared/controls'];
const SHARED = [
  ...PARTS_AND_BELOW,
  'shared/plots',
  'shared/money',
  'shared/breakdown',
  'shared/keys',
  'shared/members',
  'shared/requests',
];

export const DASHBOARD_LAYERS = {
  // Values as texts: numbers, amounts, times, ids, CSV.
  'shared/text': [],
  // Calls of the gateway, results that stay fresh, and what the address of the page says.
  'shared/api': ['shared/text'],
  // What pages are made of: tables, dialogs, forms.
  'shared/controls': ['shared/text', 'shared/api'],
  // Bars over days.
  'shared/plots': PARTS_AND_BELOW,
  // Charges, prices and statements.
  'shared/money': PARTS_AND_BELOW,
  // Usage by model, key or tag.
  'shared/breakdown': [...PARTS_AND_BELOW, 'shared/plots'],
  // Keys, and links that read.
  'shared/keys': PARTS_AND_BELOW,
  // Groups, members and budgets.
  'shared/members': [...PARTS_AND_BELOW, 'shared/keys'],
  // The record of requests.
  'shared/requests': [...PARTS_AND_BELOW, 'shared/plots'],
  customer: SHARED,
  console: SHARED,
};
