/**
 * The code that the message endpoints share. It checks first the key, its limits and its standing,
 * then the body, its content and its highest possible charge, and then calls the upstream. A route
 * supplies only the parts that differ.
 */

import type { Request, RequestHandler, Response } from 'express';
import type { ModelPrice } from '@gateway/billing';
import { chargeWith, lowerLimit, writeLimit } from '../preparation/chosen-limit.js';
import { admitKey, checkCharging, checkModels, checkStanding, placeHold } from '../admission.js';
import type { KeyAdmission, RefusedAdmission } from '../admission.js';
import { authenticateKey } from '../authentication.js';
import type { Authentication } from '../authentication.js';
import { checkBodyHeaders, readBody, reserve, tooLarge } from '../body.js';
import { brokenStatusOn } from '../broken-request.js';
import type { ByteReservation } from '../byte-budget.js';
import { readCredential } from '../credentials.js';
import { inviteBody } from '../continue.js';
import { reasonOf } from '../error-code.js';
import type { Preparation, PreparationJob } from '../preparation/prepare-request.js';
import type { TranslationContext } from '../preparation/translations.js';
import { sendEarlyRefusal } from '../refusal.js';
import type { Dialect, Refusal } from '../refusal.js';
import { relay } from '../relay/relay.js';
import type { ExchangeReport } from '../relay/relay.js';
import type { ResponseFormat } from '../relay/format.js';
import type { Charge } from '../relay/settle-charge.js';
import { newRequestId } from '../request-id.js';
import { startKeeping } from '../response-memory/keep-response.js';
import type { Keeping } from '../response-memory/keep-response.js';
import { recallReferred } from '../response-memory/referred-responses.js';
import type { Recall } from '../response-memory/referred-responses.js';
import { memoryUnavailable } from '../response-memory/unavailable.js';
import type { Services } from '../services.js';
import type { FinishedRequest } from '../telemetry/finished-request.js';
import type { RequestTrace, Tracing } from '../tracing/tracing.js';
import { RequestBody } from '../upstream/request-body.js';
import type { UpstreamCall } from '../upstream/upstream.js';

export interface ExchangeRoute {
  /** For logs, metrics and limits. */
  readonly endpoint: PreparationJob['format'];
  readonly dialect: Dialect;
  /** The operation of the upstream. Counting tokens is free, under limits of its own. */
  readonly operation: UpstreamCall['operation'];
  /** @returns a refusal, if the headers of the request call for one. Checked first. */
  readonly checkHeaders: (req: Request) => Refusal | undefined;
  /** The call to the upstream, without its operation, its model and its body. */
  readonly callOf: (
    req: Request,
    translation: TranslationContext | undefined,
  ) => Pick<UpstreamCall, 'query' | 'headers'>;
  /** @returns the format of the response, whose headers it may set */
  readonly formatOf: (translation: TranslationContext | undefined, res: Response) => ResponseFormat;
}

/**
 * If reading and preparing the body takes longer than this, the key's standing is checked again,
 * because it may have changed.
 */
const RECHECK_AFTER_MS = 1_000;

export function exchangeRoute(route: ExchangeRoute, services: Services): RequestHandler {
  return async function serveExchange(req, res) {
    const startedAt = services.now();
    const requestId = newRequestId(startedAt);
    services.activity.begin();
    if (startedAt >= services.pricesUntil) services.changePrices(startedAt);
    // These are read once, because a reload changes them only for requests that begin later.
    const { prices, preparer, upstream } = services;
    // Stays so if the answer fails unexpectedly: `app.ts` sends a 500 then.
    let result: Result = { status: 500 };
    try {
      const exchange = {
        route,
        services,
        prices,
        preparer,
        upstream,
        requestId,
        startedAt,
        req,
        res,
      };
      result = await answer(exchange);
    } finally {
      services.activity.end();
      services.telemetry.requestFinished({
        requestId,
        endpoint: route.endpoint,
        durationMs: services.now() - startedAt,
        ...result,
      });
    }
  };
}

/** One request, with the settings it began with. */
interface Exchange extends Pick<Services, 'prices' | 'preparer' | 'upstream'> {
  readonly route: ExchangeRoute;
  readonly services: Services;
  readonly requestId: string;
  readonly startedAt: number;
  readonly req: Request;
  readonly res: Response;
  /** Only while tracing is on, and once the limits of the key have admitted the request. */
  readonly trace?: RequestTrace;
}

type Result = Omit<FinishedRequest, 'requestId' | 'endpoint' | 'durationMs'>;

async function answer(exchange: Exchange): Promise<Result> {
  const { route, services, req } = exchange;
  const headerRefusal = route.checkHeaders(req);
  if (headerRefusal !== undefined) return refuse(exchange, headerRefusal);
  const presented = readCredential(
    req.headers,
    'bearer_or_x_api_key',
    services.sameKeyInBothHeaders,
  );
  if (presented.outcome === 'refused') return refuse(exchange, presented.refusal);
  const { credential } = presented;
  const bodyRefusal = checkBodyHeaders(req, { maxBytes: services.maxBodyBytes });
  const work = route.operation === 'count_tokens' ? 'count_tokens' : 'paid';
  // A key that was used in the last minute is looked up again while its limits are asked, which
  // saves a round trip. Only the limits may be those of a minute ago.
  const recalled = bodyRefusal === undefined ? services.store.recallKey(credential) : undefined;
  const early = recalled === undefined ? undefined : admitKey(recalled, work, services);
  let authentication: Authentication;
  try {
    const authenticating = authenticateKey(credential, req, services);
    [authentication] = await Promise.all([authenticating, early]);
  } catch (error) {
    early?.then(giveBack, () => undefined);
    throw error;
  }
  if (authentication.outcome === 'refused') {
    giveBack(await early);
    return refuse(exchange, authentication.refusal);
  }
  const { key } = authentication;
  if (bodyRefusal !== undefined) return { keyId: key.id, ...refuse(exchange, bodyRefusal) };
  const admission = await (early ?? admitKey(key, work, services));
  return { keyId: key.id, ...(await serveAdmitted(exchange, key, admission)) };
}

function giveBack(admission: KeyAdmission | undefined): void {
  if (admission?.outcome === 'admitted') admission.lease.release();
}

/**
 * Holds a lease of the key until the response has ended, and memory for the body no longer than
 * that.
 */
async function serveAdmitted(
  exchange: Exchange,
  key: KnownKey,
  admission: KeyAdmission,
): Promise<Result> {
  const { services } = exchange;
  if (admission.outcome === 'refused') return refuseAdmission(exchange, admission);
  const memory = services.memory.open(key.accountId);
  try {
    const { tracing } = services;
    if (tracing === undefined) return await serve(exchange, key, memory);
    return await serveTraced(exchange, tracing, key, memory);
  } finally {
    memory.release();
    admission.lease.release();
  }
}

/** {@link serve}, in a span that ends with it. */
async function serveTraced(
  exchange: Exchange,
  tracing: Tracing,
  key: KnownKey,
  memory: ByteReservation,
): Promise<Result> {
  const { route, req, requestId, startedAt } = exchange;
  const { endpoint } = route;
  const trace = tracing.begin({ requestId, endpoint, key, headers: req.headers, startedAt });
  let result: Result;
  try {
    result = await serve({ ...exchange, trace }, key, memory);
  } catch (error) {
    trace.fail();
    throw error;
  }
  trace.end(result);
  return { ...result, trace: trace.ids };
}

async function serve(exchange: Exchange, key: KnownKey, memory: ByteReservation): Promise<Result> {
  const admittedAt = exchange.services.now();
  const preparation = await prepare(exchange, key, memory);
  if (preparation.outcome === 'gone') return { status: brokenStatusOn(exchange.req.socket) ?? 499 };
  if (preparation.outcome === 'refused') return refuse(exchange, preparation.refusal);
  try {
    return await servePrepared(exchange, key, preparation, admittedAt);
  } finally {
    preparation.kept.release();
  }
}

async function servePrepared(
  exchange: Exchange,
  key: KnownKey,
  preparation: Sendable,
  admittedAt: number,
): Promise<Result> {
  const { services, requestId } = exchange;
  const { model, models, chargeBound } = preparation;
  const forbidden = checkModels(key, models);
  if (forbidden !== undefined) return { model, ...refuse(exchange, forbidden) };

  const isLate = services.now() - admittedAt > RECHECK_AFTER_MS;
  const refused =
    checkCharging(services) ??
    (chargeBound === undefined && isLate ? await checkStanding(key, services) : undefined);
  if (refused !== undefined) return { model, ...refuseAdmission(exchange, refused) };
  const held =
    chargeBound === undefined
      ? preparation
      : await holdCharge(exchange, key, { ...preparation, chargeBound });
  if (held.outcome === 'refused') return { model, ...refuseAdmission(exchange, held) };

  const { kept } = held;
  let call = callTo(exchange, key, held);
  let format = exchange.route.formatOf(kept.translation, exchange.res);
  if (exchange.trace !== undefined)
    ({ call, format } = exchange.trace.toUpstream({ call, format }));
  const report = await relay(
    {
      requestId,
      keyId: key.id,
      price: priceOf(exchange, model),
      prices: exchange.prices,
      isModelOpen: models.length > 1,
      unknownMembers: held.unknownMembers,
      upstream: exchange.upstream,
      call,
      format,
      res: exchange.res,
      keep: kept.keep,
    },
    services,
  );
  if (chargeBound !== undefined && !keepsHold(report)) services.store.releaseHold(requestId);
  countFor(exchange, call, report.charged);
  return { model, status: report.status, report, account: call.account };
}

/**
 * Only this function and those that it calls have the bytes of the body, and they return before the
 * request is sent: the variables of a function that waits for the response would keep the bytes in
 * memory.
 */
async function prepare(
  { route, services, preparer, req, res }: Exchange,
  key: KnownKey,
  memory: ByteReservation,
): Promise<Sendable | Refused | Gone> {
  const reading = await readBody(req, {
    maxBytes: services.maxBodyBytes,
    memory,
    invite: () => {
      inviteBody(req, res);
    },
  });
  if (reading.outcome !== 'read') return reading;
  const recall = await recallFor(route, reading.body, key, { memory, services });
  if (recall.outcome === 'refused') return recall;
  const job = {
    format: route.endpoint,
    body: reading.body,
    recalled: recall.recalled,
    hasLongContext: hasLongContext(req),
  };
  const preparation = await preparer.prepare(job, key);
  if (preparation.outcome === 'too_large') throw new Error('no thread prepares this body');
  if (preparation.outcome === 'refused') return preparation;
  const { body, conversation, ...prepared } = preparation;
  const { responses: keeping, log } = services;
  const owner = { accountId: key.accountId, keyId: key.id };
  const kept = startKeeping({ ...prepared, conversation }, owner, { keeping, log });
  const onSent = () => {
    memory.release();
  };
  return { ...prepared, kept, body: new RequestBody(body, onSent), bodyBytes: body.length };
}

/**
 * Reads the kept responses that a body may refer to, if the endpoint and the operator allow it. A
 * body and what it refers to count together, as if the client had sent all of it.
 */
async function recallFor(
  { endpoint }: ExchangeRoute,
  body: Buffer,
  { accountId, id: keyId }: KnownKey,
  { memory, services }: { readonly memory: ByteReservation; readonly services: Services },
): Promise<Recall | { readonly outcome: 'recalled'; readonly recalled: undefined }> {
  const { responses, maxBodyBytes } = services;
  const refersToResponses = endpoint === 'responses' || endpoint === 'input_tokens';
  if (responses === undefined || !refersToResponses) {
    return { outcome: 'recalled', recalled: undefined };
  }
  try {
    return await recallReferred(body, { accountId, keyId }, responses.memory, (more) => {
      const bytes = body.length + more;
      return bytes > maxBodyBytes ? togetherTooLarge(maxBodyBytes) : reserve(memory, bytes);
    });
  } catch (error) {
    return { outcome: 'refused', refusal: memoryUnavailable(reasonOf(error)) };
  }
}

function togetherTooLarge(maxBytes: number): Refusal {
  return {
    ...tooLarge(maxBytes),
    message:
      'request body: together with the responses that it refers to, it exceeds the maximum of ' +
      `${String(maxBytes)} bytes`,
  };
}

/**
 * Holds the most that the request can cost. If that is too much and the gateway chose the limit of
 * its tokens, lowers the limit to what can be held, down to the least useful one.
 */
async function holdCharge(
  { requestId, services }: Exchange,
  key: KnownKey,
  preparation: Sendable & { readonly chargeBound: bigint },
): Promise<Sendable | RefusedAdmission> {
  const { chargeBound, chosenLimit, kept } = preparation;
  const { translation } = kept;
  const hold = (amount: bigint) => placeHold(key, { requestId, amount }, services);
  let refused = await hold(chargeBound);
  if (refused === undefined) return preparation;
  if (chosenLimit === undefined || translation === undefined) return refused;
  let { maxTokens } = chosenLimit;
  // A second lower limit is needed if the balance allows less than a cap, or changed meanwhile.
  for (let attempt = 0; attempt < 2 && refused?.available !== undefined; attempt += 1) {
    maxTokens = Math.min(maxTokens, lowerLimit(chosenLimit, refused.available));
    refused = await hold(chargeWith(chosenLimit, maxTokens));
  }
  if (refused !== undefined) return refused;
  const { member, span } = chosenLimit;
  writeLimit(preparation.body.peek(), span, maxTokens);
  const detail = `sent as ${String(maxTokens)}, which the balance covers`;
  const notes = [...translation.notes, { path: member, reason: 'capped', detail } as const];
  return { ...preparation, kept: { ...kept, translation: { ...translation, notes } } };
}

function callTo(
  { route, req, res }: Exchange,
  key: KnownKey,
  { model, body, bodyBytes, translation }: Sendable,
): UpstreamCall {
  const { id: keyId, accountId } = key;
  const call = route.callOf(req, translation);
  const { operation } = route;
  return { ...call, operation, model, body, bodyBytes, keyId, accountId, client: res };
}

/** If there are several upstream accounts, counts the charge for the one that served the call. */
function countFor(
  { services, upstream }: Exchange,
  call: UpstreamCall,
  charged: Charge | undefined,
): void {
  if (call.account === undefined || charged === undefined) return;
  services.chargedTo(call.account, charged);
  upstream.used?.(call, tokensOf(charged));
}

function priceOf({ prices }: Exchange, model: string): ModelPrice {
  const price = prices.find(model);
  if (price === undefined) throw new Error('a prepared model has no price');
  return price;
}

function refuseAdmission(exchange: Exchange, { refusal, limit }: RefusedAdmission): Result {
  return { limited: limit, ...refuse(exchange, refusal) };
}

function refuse({ route, requestId, req, res }: Exchange, refusal: Refusal): Result {
  sendEarlyRefusal(req, res, refusal, { dialect: route.dialect, requestId });
  return { status: refusal.status, fault: refusal.fault };
}

type KnownKey = Parameters<typeof admitKey>[0];
type Refused = Extract<Preparation, { readonly outcome: 'refused' }>;
type Prepared = Extract<Preparation, { readonly outcome: 'prepared' }>;
type Sendable = Omit<Prepared, 'body' | 'conversation'> &
  Pick<UpstreamCall, 'body' | 'bodyBytes'> & { readonly kept: Keeping };

/** The client disconnected before its request was complete. */
interface Gone {
  readonly outcome: 'gone';
}

function tokensOf({ usage }: Charge): number {
  return usage.inputTokens + usage.cacheCreationInputTokens + usage.outputTokens;
}

/** Whether the client uses the beta that widens the model's context window. */
function hasLongContext(req: Request): boolean {
  return String(req.headers['anthropic-beta'] ?? '').includes('context-1m');
}

/**
 * A charge replaces the hold. If the ledger did not confirm the charge, the hold is left to expire.
 */
function keepsHold({ charged, loss }: ExchangeReport): boolean {
  return charged !== undefined || loss === 'ledger_unavailable';
}
