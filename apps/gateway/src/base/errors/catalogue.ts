/**
 * Every error that a client or an operator can meet in an answer, by the name under which it is
 * raised. `docs/errors.md` is written from it (`npm run docs`), and `errors.test.ts` provokes each.
 */

import { ACCOUNT_ERRORS } from './account-errors.js';
import { KEY_ERRORS } from './key-errors.js';
import { OPERATOR_ERRORS } from './operator-errors.js';
import { REQUEST_ERRORS } from './request-errors.js';
import { SERVICE_ERRORS } from './service-errors.js';

export const CATALOGUE = {
  ...REQUEST_ERRORS,
  ...KEY_ERRORS,
  ...SERVICE_ERRORS,
  ...ACCOUNT_ERRORS,
  ...OPERATOR_ERRORS,
};

export type Catalogue = typeof CATALOGUE;
export type ErrorName = keyof Catalogue;

/** The sections of the page. */
export const SECTIONS = {
  'The request': REQUEST_ERRORS,
  'The key': KEY_ERRORS,
  'The gateway and its upstream': SERVICE_ERRORS,
  'Accounts and payments': ACCOUNT_ERRORS,
  'Operators and the command line': OPERATOR_ERRORS,
};
