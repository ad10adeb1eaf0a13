/**
 * The common steps of a key's endpoints that do not call the upstream, such as the endpoints for
 * the balance, usage, models, keys, links and top-ups.
 */

import type { OutgoingHttpHeaders } from 'node:http';
import type { Request, RequestHandler, Response } from 'express';
import { StoreUnavailableError } from '@gateway/balance-store';
import type { Actor, KeyRecord } from '@gateway/balance-store';
import type { LogPolicy } from '@gateway/rate-limiter';
import { newRefusal } from '../base/errors/refusal.js';
import type { Refusal } from '../base/errors/refusal.js';
import { declare } from '../endpoints/endpoint.js';
import type { Declared, Endpoint as AnyEndpoint } from '../endpoints/endpoint.js';
import { isRead } from '../exchange/authentication.js';
import type { Authentication } from '../exchange/authentication.js';
import type { AcceptedCredential } from '../exchange/credentials.js';
import { encoded, endWithBody } from '../exchange/relay/write-text.js';
import { brokenStatusOn } from '../http/broken-request.js';
import { addressGroup } from '../http/client-address.js';
import type { ReadPages } from '../http/exports.js';
import { NEXT_CURSOR } from '../http/list-headers.js';
import { invalidQuery } from '../http/query-refusal.js';
import { requestIdHeaders, sendRefusal, storeUnavailable, waitOf } from '../http/refusal.js';
import { newRequestId } from '../http/request-id.js';
import { reserveAnswer } from '../http/reserve-answer.js';
import type { Endpoint, FinishedRequest } from '../observe/finished-request.js';
import { authenticateKeyLink } from './authenticate-key-link.js';
import type { CustomerParts } from './customer-parts.js';
import { authenticateHolder } from './page-session.js';

export type ReadAnswer =
  | { readonly json: unknown }
  | { readonly json: unknown; readonly cookies: readonly string[] }
  /** A body that is already JSON text, or that has another type. */
  | {
      readonly text: string;
      readonly contentType: string;
      readonly next?: string | undefined;
      readonly headers?: Readonly<Record<string, string>>;
    }
  /** A whole list as CSV, which is sent while it is read. */
  | { readonly pages: ReadPages }
  | { readonly refusal: Refusal };

/** An answer as it is sent. */
type WrittenAnswer =
  | { readonly headers: OutgoingHttpHeaders; readonly body: Uint8Array | string }
  | { readonly sent: true }
  | { readonly refusal: Refusal };

/**
 * How many times the limit of an address a key and an account have. One person's addresses do not
 * reach the limit of a key, and many customers behind keys of one account do not reach that of the
 * account; but with these, the work that a holder can cause does not grow with the number of
 * addresses or keys.
 */
const TIMES = { address: 1, key: 4, account: 20 } as const;

/** An endpoint for a key, as it is declared. */
export interface KeyEndpoint extends AnyEndpoint {
  readonly credential: AcceptedCredential;
  /** Its name in logs, metrics and limits. */
  readonly name: Endpoint;
  /**
   * Limit of requests per address, applied before the credential is checked. A key and an account
   * may send {@link TIMES} as many, from all addresses.
   */
  readonly limit: LogPolicy | undefined;
  /**
   * It changes nothing, whatever its method is, so that links and replaced credentials may use it.
   */
  readonly changesNothing?: true;
  /** It takes a link that shows a key, in place of a key. */
  readonly takesKeyLink?: true;
}

export type Presented = Extract<Authentication, { outcome: 'authenticated' }>['presented'];

type Answer = (
  key: KeyRecord,
  req: Request,
  presented: Presented,
) => ReadAnswer | Promise<ReadAnswer>;

/** Declares an endpoint together with its answer to an authenticated key within its limits. */
export function keyEndpoint<const Declaration extends KeyEndpoint>(
  endpoint: Declaration,
  answer: (parts: CustomerParts) => Answer,
): Declared<Declaration, CustomerParts> {
  return declare(endpoint, (parts) => keyRoute(endpoint, parts, answer(parts)));
}

/** The holder of a key, as the author of a change. */
export function holderOf({ id, accountId }: KeyRecord, req: Request) {
  return { name: id, holderOf: accountId, address: addressGroup(req.ip) } satisfies Actor;
}

function keyRoute(
  { name, credential, limit: policy, changesNothing, takesKeyLink }: KeyEndpoint,
  parts: CustomerParts,
  read: Answer,
): RequestHandler {
  return async function serveRead(req, res) {
    const startedAt = parts.now();
    const requestId = newRequestId(startedAt);
    // Stays so if the answer fails unexpectedly: `app.ts` sends a 500 then.
    let finished: Pick<FinishedRequest, 'status' | 'fault'> = { status: 500 };
    try {
      const answer = await answerOf(req, res, requestId);
      send(res, answer, requestId);
      finished = {
        status: brokenStatusOn(req.socket) ?? res.statusCode,
        fault: 'refusal' in answer ? answer.refusal.fault : undefined,
      };
    } finally {
      parts.telemetry.requestFinished({
        requestId,
        endpoint: name,
        durationMs: parts.now() - startedAt,
        ...finished,
      });
    }
  };

  function send(res: Response, answer: WrittenAnswer, requestId: string): void {
    if ('refusal' in answer) {
      sendRefusal(res, answer.refusal, { dialect: 'chat.completions', requestId });
    } else if ('body' in answer) {
      res.writeHead(200, { ...requestIdHeaders(requestId), ...answer.headers });
      endWithBody(res, answer.body);
    }
  }

  async function answerOf(req: Request, res: Response, requestId: string): Promise<WrittenAnswer> {
    try {
      return await limitedAnswerOf(req, res, requestId);
    } catch (error) {
      if (res.headersSent || !(error instanceof StoreUnavailableError)) throw error;
      return { refusal: storeUnavailable(error) };
    }
  }

  async function limitedAnswerOf(
    req: Request,
    res: Response,
    requestId: string,
  ): Promise<WrittenAnswer> {
    const tooMany = await refusalOfTooMany('address', addressGroup(req.ip));
    if (tooMany !== undefined) return { refusal: tooMany };
    const isReading = changesNothing ?? isRead(req);
    const takesLink = credential === 'link' && isReading;
    const authentication =
      takesKeyLink === true
        ? await authenticateKeyLink(req, parts)
        : await authenticateHolder(req, parts, { credential, takesLink });
    if (authentication.outcome === 'refused') return { refusal: authentication.refusal };
    const { key, presented } = authentication;
    const refusal =
      (await refusalOfTooMany('key', key.id)) ?? (await refusalOfTooMany('account', key.accountId));
    if (refusal !== undefined) return { refusal };
    const mayChange = presented !== 'link' && presented !== 'replaced';
    if (!mayChange && !isReading) return { refusal: onlyReads() };
    const given = await read(key, req, presented);
    if ('refusal' in given) return given;
    const reserve = (bytes: number) => reserveAnswer(res, parts.memory.open(key.accountId), bytes);
    if ('pages' in given) {
      const headers = { ...requestIdHeaders(requestId), ...CSV_HEADERS };
      const of = { owner: key.id, read: given.pages, headers, reserve };
      const refused = await parts.exports.send(res, of).catch((error: unknown) => {
        if (res.headersSent || !(error instanceof RangeError)) throw error;
        return wrongCursor();
      });
      return refused === undefined ? { sent: true } : { refusal: refused };
    }
    const answer = written(given);
    const full = reserve(answer.body.length);
    // After a change, the holder must get its answer, which may contain a new credential.
    return full === undefined || !isReading ? answer : { refusal: full };
  }

  async function refusalOfTooMany(
    whose: keyof typeof TIMES,
    id: string,
  ): Promise<Refusal | undefined> {
    if (policy === undefined) return undefined;
    const { windowMs } = policy;
    const limit = policy.limit * TIMES[whose];
    // One endpoint can have routes with different limits. These are counted separately.
    const subject = `${name}:${String(policy.limit)}:${id}`;
    const decision = await parts.limiter.record(subject, { limit, windowMs });
    if (decision.outcome === 'allowed') return undefined;
    return newRefusal('endpoint_limit', { limit, whose, ...waitOf(decision.retryAfterMs) });
  }
}

/** Otherwise the next person at the same browser could see the data. */
const NOT_STORED = { 'cache-control': 'no-store' } as const;
const CSV_HEADERS = { 'content-type': 'text/csv; charset=utf-8', ...NOT_STORED };

function written(answer: Exclude<ReadAnswer, { refusal: Refusal } | { pages: ReadPages }>) {
  const body = encoded('text' in answer ? answer.text : JSON.stringify(answer.json));
  const next = 'next' in answer ? answer.next : undefined;
  const headers = {
    'content-type': 'text' in answer ? answer.contentType : 'application/json',
    'content-length': body.length,
    ...NOT_STORED,
    ...(next === undefined ? undefined : { [NEXT_CURSOR]: next }),
    ...('headers' in answer ? answer.headers : undefined),
    ...('cookies' in answer ? { 'set-cookie': [...answer.cookies] } : undefined),
  };
  return { headers, body };
}

/** The store refuses a cursor that it did not make. */
export function wrongCursor(): Refusal {
  return invalidQuery('cursor', 'is not a cursor of this endpoint');
}

/**
 * Refuses a change by a replaced credential. Whoever has it may not be the owner: a key is also
 * rotated because its credential leaked, and a rotation by the old credential would end the new
 * one. `keyRoute` decides this, so that no route can forget it.
 */
export function onlyReads(): Refusal {
  return newRefusal('replaced_credential');
}
