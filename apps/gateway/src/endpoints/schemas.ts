/** What responses contain. The OpenAPI documents follow, and tests compare real responses. */

export { listOf, time } from './schemas/basics.js';
export * from './schemas/accounts.js';
export * from './schemas/console.js';
export * from './schemas/entries.js';
export * from './schemas/errors.js';
export * from './schemas/exports.js';
export * from './schemas/keys.js';
export * from './schemas/ledger.js';
export * from './schemas/models.js';
export * from './schemas/payments.js';
export * from './schemas/reconciliations.js';
export * from './schemas/requests.js';
export * from './schemas/spenders.js';
export * from './schemas/statements.js';
export * from './schemas/today.js';
export * from './schemas/usage.js';
