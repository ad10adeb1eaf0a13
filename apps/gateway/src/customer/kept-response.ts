/** `GET` and `DELETE /v1/responses/{id}`: a response that is kept, and its end. */

import type { Request } from 'express';
import { z } from 'zod';
import type { KeyRecord } from '@gateway/balance-store';
import { reasonOf } from '../base/error-code.js';
import { newRefusal } from '../base/errors/refusal.js';
import type { Refusal } from '../base/errors/refusal.js';
import { MINUTE_MS } from '../base/times.js';
import { responsesResponse } from '../exchange/exchange-schemas.js';
import type { ResponseMemory, ResponseOwner } from '../exchange/response-memory/response-memory.js';
import { memoryUnavailable } from '../exchange/response-memory/unavailable.js';
import { badRequest } from '../http/refusal.js';
import type { CustomerParts } from './customer-parts.js';
import { keyEndpoint } from './key-route.js';
import type { ReadAnswer } from './key-route.js';

const ROUTE = {
  path: '/v1/responses/:response_id',
  credential: 'x-api-key',
  name: 'kept_responses',
  limit: { limit: 120, windowMs: MINUTE_MS },
} as const;

export const getResponse = keyEndpoint(
  {
    ...ROUTE,
    method: 'get',
    id: 'getResponse',
    summary: 'A response that is kept: for RESPONSE_MEMORY_MINUTES after its last use',
    result: responsesResponse,
  },
  ofKept(async ({ memory, owner, id, req }) => {
    if (req.query['stream'] === 'true') {
      return { refusal: badRequest('stream: a kept response is not streamed again', 'stream') };
    }
    const [response] = await memory.recallResponses(owner, [id]);
    if (response === undefined) return { refusal: notKept(id) };
    return { text: Buffer.from(response).toString(), contentType: 'application/json' };
  }),
);

export const deleteResponse = keyEndpoint(
  {
    ...ROUTE,
    method: 'delete',
    id: 'deleteResponse',
    summary: 'Forgets a response',
    result: z.strictObject({
      id: z.string(),
      object: z.literal('response'),
      deleted: z.literal(true),
    }),
  },
  ofKept(async ({ memory, owner, id }) =>
    (await memory.forget(owner, id))
      ? { json: { id, object: 'response', deleted: true } }
      : { refusal: notKept(id) },
  ),
);

function ofKept(
  answer: (asked: {
    readonly memory: ResponseMemory;
    readonly owner: ResponseOwner;
    readonly id: string;
    readonly req: Request;
  }) => Promise<ReadAnswer>,
) {
  return (parts: CustomerParts) =>
    async (key: KeyRecord, req: Request): Promise<ReadAnswer> => {
      const id = String(req.params['response_id']);
      const memory = parts.responses?.memory;
      // Other ids are not of responses: thinking is kept there, too.
      if (memory === undefined || !id.startsWith('resp_')) return { refusal: notKept(id) };
      const owner = { accountId: key.accountId, keyId: key.id };
      try {
        return await answer({ memory, owner, id, req });
      } catch (error) {
        return { refusal: memoryUnavailable(reasonOf(error)) };
      }
    };
}

function notKept(id: string): Refusal {
  return newRefusal('response_not_found', { id: JSON.stringify(id.slice(0, 100)) });
}
