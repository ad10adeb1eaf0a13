/** Endpoints for keys with the scope `manage`: what all of them check, and refuse alike. */

import type { Request } from 'express';
import { SetByOperatorError } from '@gateway/balance-store';
import type { Actor, BoundField, KeyRecord } from '@gateway/balance-store';
import { newRefusal } from '../base/errors/refusal.js';
import type { Refusal } from '../base/errors/refusal.js';
import { holdersId } from '../base/repeat-ids.js';
import type { Declared } from '../endpoints/endpoint.js';
import { idempotencyId } from '../endpoints/fields.js';
import { OperationError } from '../endpoints/operation-error.js';
import { readJson } from '../http/json-body.js';
import { badRequest } from '../http/refusal.js';
import type { CustomerParts } from './customer-parts.js';
import { holderOf, keyEndpoint } from './key-route.js';
import type { KeyEndpoint, ReadAnswer } from './key-route.js';
import { needsManage, refusalOfStopped } from './scope.js';

/** A request of a key that may manage its account, and the actor of its changes. */
export interface Managed {
  readonly parts: CustomerParts;
  readonly key: KeyRecord;
  readonly req: Request;
  readonly by: Actor;
}

/** Declares an endpoint for keys that may manage their account. */
export function managed<const Declaration extends KeyEndpoint>(
  endpoint: Declaration,
  work: (managed: Managed) => Promise<ReadAnswer>,
): Declared<Declaration, CustomerParts> {
  return keyEndpoint(endpoint, (parts) => async (key, req): Promise<ReadAnswer> => {
    if (key.scope !== 'manage') return { refusal: needsManage(endpoint.name) };
    const stopped = await refusalOfStopped(endpoint.name, key, parts);
    if (stopped !== undefined) return { refusal: stopped };
    const unreadable = req.method === 'GET' ? undefined : await readJson(req);
    if (unreadable !== undefined) return { refusal: unreadable };
    try {
      const by = holderOf(key, req);
      return await work({ parts, key, req, by });
    } catch (error) {
      if (error instanceof SetByOperatorError) return { refusal: setByOperator(error.field) };
      if (!(error instanceof OperationError)) throw error;
      const { refusal } = error;
      return { refusal: { ...refusal, param: refusal.message.split(':')[0] ?? null } };
    }
  });
}

type Given = { readonly id: string | undefined } | { readonly refusal: Refusal };

/** The id that a request gives for its repetitions; `undefined` if it gives none. */
export function givenIdOf(req: Request): Given {
  const given = idempotencyId.optional().safeParse(req.headers['idempotency-key']);
  if (given.success) return { id: given.data };
  const problem = given.error.issues[0]?.message ?? '';
  return { refusal: badRequest(`idempotency-key: ${problem}`, 'idempotency-key') };
}

/** The id under which a repeated request changes nothing. Other accounts may choose the same id. */
export function repetitionOf(req: Request, key: KeyRecord): Given {
  const given = givenIdOf(req);
  if ('refusal' in given || given.id === undefined) return given;
  return { id: holdersId(key, given.id) };
}

/** The field of a request that a bound refuses. */
const BOUND_FIELDS = {
  models: 'models',
  allowedNetworks: 'allowed_networks',
  expiresAt: 'expires_at',
  concurrency: 'concurrency',
  burst: 'burst',
  requestsPerMinute: 'requests_per_minute',
  cap_day: 'cap_day_usd',
  cap_week: 'cap_week_usd',
  cap_month: 'cap_month_usd',
  cap_total: 'cap_total_usd',
} as const satisfies Record<Exclude<BoundField, 'state'>, string>;

function setByOperator(field: BoundField): Refusal {
  return field === 'state'
    ? newRefusal('suspended_by_operator')
    : newRefusal('set_by_operator', { param: BOUND_FIELDS[field] });
}
