/** Reads the body of a request and turns it into the body that goes upstream. */

import type { Request } from 'express';
import type { KeyRecord } from '@gateway/balance-store';
import type { ByteReservation } from '../base/byte-budget.js';
import { reasonOf } from '../base/error-code.js';
import { newRefusal } from '../base/errors/refusal.js';
import type { Refusal } from '../base/errors/refusal.js';
import { readBody, reserve } from '../http/body.js';
import { inviteBody } from '../http/continue.js';
import { RequestBody } from '../upstream/request-body.js';
import { admitNames } from './admit-names.js';
import { workOf } from './admission.js';
import type { ExchangeParts } from './exchange-parts.js';
import type { Referral } from './preparation/refer-or-prepare.js';
import { startKeeping } from './response-memory/keep-response.js';
import { recallThinking } from './response-memory/kept-thinking.js';
import { namesIn, recallReferred } from './response-memory/referred-responses.js';
import type { Recall, RecalledResponses } from './response-memory/referred-responses.js';
import { memoryUnavailable } from './response-memory/unavailable.js';
import { lowersLimit } from './lower-limit-header.js';
import type { Exchange, ExchangeRoute, Gone, Refused, Sendable } from './route.js';

/**
 * Only this function and those that it calls have the bytes of the body, and they return before the
 * request is sent: the variables of a function that waits for the response would keep the bytes in
 * memory.
 */
export async function prepareBody(
  { route, parts, preparer, req, res }: Exchange,
  key: KeyRecord,
  memory: ByteReservation,
): Promise<Sendable | Refused | Gone> {
  const reading = await readBody(req, {
    maxBytes: parts.maxBodyBytes,
    memory,
    invite: () => {
      inviteBody(req, res);
    },
  });
  if (reading.outcome !== 'read') return reading;
  const job = {
    format: route.endpoint,
    hasLongContext: hasLongContext(req),
    lowersLimit: lowersLimit(req),
    readsUser: key.naming !== null,
  };
  const mayRecall = mayRecallFor(route, parts);
  let preparation = await preparer.prepare({ ...job, body: reading.body, mayRecall }, key);
  if (preparation.outcome === 'refers') {
    const { body, references } = preparation;
    const limited = await admitNames(namesIn(references), key, workOf(route), parts);
    if (limited !== undefined) return limited;
    const recall = await recallFor(route, preparation, key, { memory, parts });
    if (recall.outcome === 'refused') return recall;
    preparation = await preparer.prepare({ ...job, body, recalled: recall.recalled }, key);
  }
  if (preparation.outcome === 'refused') return preparation;
  if (preparation.outcome !== 'prepared') throw new Error('no thread prepares this body');
  const { body, conversation, ...prepared } = preparation;
  const { responses: keeping, log } = parts;
  const owner = { accountId: key.accountId, keyId: key.id };
  const kept = startKeeping({ ...prepared, conversation }, owner, { keeping, log });
  const onSent = () => {
    memory.release();
  };
  return { ...prepared, kept, body: new RequestBody(body, onSent), bodyBytes: body.length };
}

/** Whether the endpoint and the operator allow that a request needs what is kept. */
function mayRecallFor({ endpoint }: ExchangeRoute, { responses }: ExchangeParts): boolean {
  if (responses === undefined) return false;
  switch (endpoint) {
    case 'responses':
    case 'input_tokens':
      return true;
    case 'chat.completions':
      return responses.hasChatThinking;
    case 'messages':
    case 'count_tokens':
      return false;
  }
}

/**
 * Reads the kept responses that a body may refer to, or the kept thinking that it lacks. A body and
 * what it refers to count together, as if the client had sent all of it. Without a response that it
 * refers to, a request is refused; without thinking it is served.
 */
async function recallFor(
  { endpoint }: ExchangeRoute,
  { references, body }: Referral,
  { accountId, id: keyId }: KeyRecord,
  { memory, parts }: { readonly memory: ByteReservation; readonly parts: ExchangeParts },
): Promise<Recall | { readonly outcome: 'recalled'; readonly recalled?: RecalledResponses }> {
  const { responses, maxBodyBytes, log } = parts;
  const nothing = { outcome: 'recalled' } as const;
  if (responses === undefined) return nothing;
  const owner = { accountId, keyId };
  const reserveFor = (more: number): Refusal | undefined => {
    const bytes = body.length + more;
    return bytes > maxBodyBytes
      ? newRefusal('conversation_too_large', { bytes: maxBodyBytes })
      : reserve(memory, bytes);
  };
  switch (endpoint) {
    case 'responses':
    case 'input_tokens':
      try {
        return await recallReferred(references, owner, responses.memory, reserveFor);
      } catch (error) {
        return { outcome: 'refused', refusal: memoryUnavailable(reasonOf(error)) };
      }
    case 'chat.completions':
      try {
        const hasRoom = (more: number): boolean => reserveFor(more) === undefined;
        const recalled = await recallThinking(references, owner, responses.memory, hasRoom);
        return recalled === undefined ? nothing : { outcome: 'recalled', recalled };
      } catch (error) {
        log.warn({ reason: reasonOf(error) }, 'kept thinking could not be read');
        return nothing;
      }
    case 'messages':
    case 'count_tokens':
      return nothing;
  }
}

/** Whether the client uses the beta that widens the model's context window. */
function hasLongContext(req: Request): boolean {
  // Node.js joins the values of a header that is repeated.
  return String(req.headers['anthropic-beta'] ?? '')
    .toLowerCase()
    .includes('context-1m');
}
