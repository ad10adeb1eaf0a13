/** The header with which a client allows a lower limit of its answer than it stated. */

import type { Request } from 'express';
import type { Refusal } from '../base/errors/refusal.js';
import { badRequest } from '../http/refusal.js';
import { LOWER_HEADER } from './preparation/lowerable-limit.js';

export function checkLowerLimitHeader(req: Request): Refusal | undefined {
  const value = req.headers[LOWER_HEADER];
  return value === undefined || value === 'true' || value === 'false'
    ? undefined
    : badRequest(`${LOWER_HEADER}: must be true or false`);
}

export function lowersLimit(req: Request): boolean {
  return req.headers[LOWER_HEADER] === 'true';
}
