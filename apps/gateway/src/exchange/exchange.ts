/**
 * The code that the message endpoints share. It checks first the key, its limits and its standing,
 * then the body, its content and its highest possible charge, and then calls the upstream. A route
 * supplies only the parts that differ.
 */

import type { RequestHandler } from 'express';
import type { KeyRecord, Spender } from '@gateway/balance-store';
import type { ModelPrice } from '@gateway/billing';
import type { ByteReservation } from '../base/byte-budget.js';
import type { Refusal } from '../base/errors/refusal.js';
import { checkBodyHeaders } from '../http/body.js';
import { brokenStatusOn } from '../http/broken-request.js';
import { sendEarlyRefusal } from '../http/refusal.js';
import { newRequestId } from '../http/request-id.js';
import type { Charge } from '../ledger/fold-outcomes.js';
import type { ExchangeReport } from '../observe/exchange-report.js';
import type { FinishedRequest } from '../observe/finished-request.js';
import type { Tracing } from '../observe/tracing/tracing.js';
import type { UpstreamCall } from '../upstream/upstream.js';
import {
  admitEarly,
  admitKey,
  checkBudgets,
  checkCharging,
  checkModels,
  checkStanding,
  isRefused,
  workOf,
} from './admission.js';
import type { EarlyAdmission, RefusedAdmission } from './admission.js';
import { authenticateKey } from './authentication.js';
import type { Authentication } from './authentication.js';
import { readCredential } from './credentials.js';
import type { ExchangeParts } from './exchange-parts.js';
import { atDearest } from './dearest-home.js';
import { holdCharge } from './hold-charge.js';
import { checkLowerLimitHeader } from './lower-limit-header.js';
import { prepareBody } from './prepare-body.js';
import { readScalar } from './preparation/native-fields.js';
import { relay } from './relay/relay.js';
import { pricesUnavailable } from './price-book.js';
import type { Asked, Exchange, ExchangeRoute, Refused, Sendable } from './route.js';
import { nameMember } from './spending/name-member.js';
import { checkRunBudgetHeader } from './spending/run-budgets.js';
import { spenderOfKey, withMember, withTag } from './spending/spender.js';

/**
 * If reading and preparing the body takes longer than this, the key's standing is checked again,
 * because it may have changed.
 */
const RECHECK_AFTER_MS = 1_000;

export function exchangeRoute(route: ExchangeRoute, parts: ExchangeParts): RequestHandler {
  return async function serveExchange(req, res) {
    const startedAt = parts.now();
    const requestId = newRequestId(startedAt);
    parts.activity.begin();
    // Read once, because a reload changes it only for requests that begin later.
    const { upstream } = parts;
    // Stays so if the answer fails unexpectedly: `app.ts` sends a 500 then.
    let result: Result = { status: 500 };
    try {
      result = await answer({ route, parts, upstream, requestId, startedAt, req, res });
    } finally {
      parts.activity.end();
      parts.telemetry.requestFinished({
        requestId,
        endpoint: route.endpoint,
        durationMs: parts.now() - startedAt,
        headers: req.headers,
        ...result,
      });
    }
  };
}

type Result = Omit<FinishedRequest, 'requestId' | 'endpoint' | 'durationMs' | 'headers'>;

async function answer(exchange: Asked): Promise<Result> {
  const { route, parts, req, startedAt } = exchange;
  const { sameKeyInBothHeaders, maxBodyBytes } = parts;
  const headerRefusal =
    route.checkHeaders(req) ?? checkLowerLimitHeader(req) ?? checkRunBudgetHeader(req);
  if (headerRefusal !== undefined) return refuse(exchange, headerRefusal);
  const presented = readCredential(req.headers, 'x-api-key', sameKeyInBothHeaders);
  if (presented.outcome === 'refused') return refuse(exchange, presented.refusal);

  const bodyRefusal = checkBodyHeaders(req, { maxBytes: maxBodyBytes });
  const work = workOf(route);
  const { credential } = presented;
  const early = bodyRefusal === undefined ? admitEarly(credential, req.ip, work, parts) : undefined;
  const authentication = await authenticateBeside(early, credential, exchange);
  if (authentication.outcome === 'refused') return refuse(exchange, authentication.refusal);
  const { key } = authentication;
  const of = { keyId: key.id, accountId: key.accountId };
  if (bodyRefusal !== undefined) return { ...of, ...refuse(exchange, bodyRefusal) };
  const admission = await (early?.admission ?? admitKey(key, work, parts));
  if (admission.outcome === 'refused') return { ...of, ...refuseAdmission(exchange, admission) };
  const { lease, isBudgeted } = admission;
  parts.networks?.seen(key, req.ip);
  try {
    const reading = parts.bookOf(key.prices, startedAt);
    if ('problem' in reading) {
      return { ...of, ...refuse(exchange, pricesUnavailable(reading.problem)) };
    }
    const { prices, homePrices, preparer } = reading.book;
    const priced = { ...exchange, prices, homePrices, preparer, isBudgeted };
    return { ...of, ...(await serveAdmitted(priced, key)) };
  } finally {
    lease.release();
  }
}

/** Authenticates while an early admission is under way, which a refused client gives back. */
async function authenticateBeside(
  early: EarlyAdmission | undefined,
  credential: string,
  { req, parts }: Asked,
): Promise<Authentication> {
  let isAccepted = false;
  try {
    const authenticating = authenticateKey(credential, req, parts);
    const [authentication] = await Promise.all([authenticating, early?.admission]);
    isAccepted = authentication.outcome !== 'refused';
    return authentication;
  } finally {
    if (!isAccepted) early?.giveBack();
  }
}

/** Holds memory for the body until the response has ended, at most. */
async function serveAdmitted(exchange: Exchange, key: KeyRecord): Promise<Result> {
  const { parts } = exchange;
  const memory = parts.memory.open(key.accountId);
  try {
    const { tracing } = parts;
    if (tracing === undefined) return await serve(exchange, key, memory);
    return await serveTraced(exchange, tracing, key, memory);
  } finally {
    memory.release();
  }
}

/** {@link serve}, in a span that ends with it. */
async function serveTraced(
  exchange: Exchange,
  tracing: Tracing,
  key: KeyRecord,
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

async function serve(exchange: Exchange, key: KeyRecord, memory: ByteReservation): Promise<Result> {
  const { parts, route, req, res, isBudgeted } = exchange;
  const admittedAt = parts.now();
  const ofKey = spenderOfKey(key, req.headers);
  const checksBudgets = isBudgeted === true && !isHeld(exchange);
  // The body of a request may name another member, if the key may.
  if (checksBudgets && key.naming === null) {
    const refused = await checkBudgets(key, ofKey, parts);
    if (refused !== undefined) return { spender: ofKey, ...refuseAdmission(exchange, refused) };
  }
  const preparation = await prepareBody(exchange, key, memory);
  if (preparation.outcome === 'gone') return { spender: ofKey, ...leave(exchange) };
  if (preparation.outcome === 'refused') {
    return { spender: ofKey, ...refuseAdmission(exchange, preparation) };
  }
  try {
    let spender = withTag(ofKey, preparation.tag);
    if (key.naming !== null) {
      const { user } = preparation;
      const named = await nameMember(key, key.naming, { req, user }, parts.members);
      if (named.outcome === 'refused') return { spender, ...refuseAdmission(exchange, named) };
      if (named.outcome === 'named') spender = withMember(spender, named.member);
    }
    const ofRun =
      workOf(route) === 'paid' ? await parts.runBudgets.set(key, spender, { req, res }) : undefined;
    if (ofRun?.outcome === 'refused') return { spender, ...refuseAdmission(exchange, ofRun) };
    const isNew = key.naming !== null || spender !== ofKey;
    if ((checksBudgets && isNew) || (ofRun !== undefined && !isHeld(exchange))) {
      const refused = await checkBudgets(key, spender, parts);
      if (refused !== undefined) return { spender, ...refuseAdmission(exchange, refused) };
    }
    return { spender, ...(await servePrepared(exchange, key, spender, preparation, admittedAt)) };
  } finally {
    preparation.kept.release();
  }
}

/** Whether the most that the request can cost is held before it is sent. */
function isHeld({ parts, route }: Exchange): boolean {
  return parts.overdraft === 'none' && workOf(route) === 'paid';
}

function leave({ req }: Exchange): Result {
  return { status: brokenStatusOn(req.socket) ?? 499 };
}

async function servePrepared(
  exchange: Exchange,
  key: KeyRecord,
  spender: Spender | undefined,
  prepared: Sendable,
  admittedAt: number,
): Promise<Result> {
  const { parts } = exchange;
  const { model, models } = prepared;
  const { upstream } = exchange;
  const forbidden =
    checkModels(key, models) ?? upstream.refusalFor?.(callTo(exchange, key, spender, prepared));
  if (forbidden !== undefined) return { model, ...refuse(exchange, forbidden) };

  const preparation = withDearestBound(exchange, key, spender, prepared);
  const { chargeBound } = preparation;
  const isLate = parts.now() - admittedAt > RECHECK_AFTER_MS;
  const refused =
    checkCharging(parts) ??
    (chargeBound === undefined && isLate ? await checkAgain(key, spender, parts) : undefined);
  if (refused !== undefined) return { model, ...refuseAdmission(exchange, refused) };
  return chargeBound === undefined
    ? send(exchange, key, spender, preparation)
    : sendHeld(exchange, key, spender, { ...preparation, chargeBound });
}

/** If accounts have prices of their own, the hold is that of the dearest that may answer. */
function withDearestBound(
  exchange: Exchange,
  key: KeyRecord,
  spender: Spender | undefined,
  prepared: Sendable,
): Sendable {
  const { homePrices, upstream } = exchange;
  if (homePrices === undefined || prepared.chargeBound === undefined) return prepared;
  const call = callTo(exchange, key, spender, prepared);
  return atDearest(prepared, upstream.mayAnswer?.(call) ?? []);
}

async function checkAgain(
  key: KeyRecord,
  spender: Spender | undefined,
  parts: ExchangeParts,
): Promise<RefusedAdmission | undefined> {
  const checked = await checkStanding(key, parts);
  if (isRefused(checked)) return checked;
  return checked === 'budgeted' ? checkBudgets(key, spender, parts) : undefined;
}

/** {@link send}, if the most that the request can cost can be held meanwhile. */
async function sendHeld(
  exchange: Exchange,
  key: KeyRecord,
  spender: Spender | undefined,
  preparation: Sendable & { readonly chargeBound: bigint },
): Promise<Result> {
  const { requestId, parts } = exchange;
  const { model } = preparation;
  try {
    const held = await holdCharge(exchange, key, preparation, spender);
    if (held.outcome === 'gone') return { model, ...leave(exchange) };
    if (held.outcome === 'refused') return { model, ...refuseAdmission(exchange, held) };
    const result = await send(exchange, key, spender, held);
    if (!keepsHold(result.report)) parts.store.releaseHold(requestId);
    parts.holdLine.onHoldEnd(key.accountId);
    return result;
  } catch (error) {
    // Not released: a charge that was under way may still be recorded.
    parts.store.abandonHold(requestId);
    throw error;
  }
}

async function send(
  exchange: Exchange,
  key: KeyRecord,
  spender: Spender | undefined,
  preparation: Sendable,
): Promise<Result & { readonly report: ExchangeReport }> {
  const { parts, requestId } = exchange;
  const { model, models, kept } = preparation;
  let call = callTo(exchange, key, spender, preparation);
  let format = exchange.route.formatOf(kept.translation, exchange.res);
  if (exchange.trace !== undefined)
    ({ call, format } = exchange.trace.toUpstream({ call, format }));
  const report = await relay(
    {
      requestId,
      keyId: key.id,
      spender,
      price: priceOf(exchange, model),
      prices: exchange.prices,
      homePrices: exchange.homePrices,
      inferenceGeo: parts.homeCosts && inferenceGeoOf(preparation),
      isModelOpen: models.length > 1,
      usageBound: preparation.usageBound,
      unknownMembers: preparation.unknownMembers,
      upstream: exchange.upstream,
      call,
      format,
      res: exchange.res,
      keep: kept.keep,
    },
    parts,
  );
  countFor(exchange, call, report.charged);
  return { model, status: report.status, report, account: call.account };
}

function callTo(
  { route, req, res }: Exchange,
  key: KeyRecord,
  spender: Spender | undefined,
  { model, models, members, body, bodyBytes, translation }: Sendable,
): UpstreamCall {
  return {
    ...route.callOf(req, translation),
    operation: route.operation,
    model,
    models,
    members,
    body,
    bodyBytes,
    keyId: key.id,
    accountId: key.accountId,
    spender,
    client: res,
  };
}

/** If there are several upstream accounts, counts the charge for the one that served the call. */
function countFor(
  { parts, upstream }: Exchange,
  call: UpstreamCall,
  charged: Charge | undefined,
): void {
  if (call.account === undefined || charged === undefined) return;
  parts.chargedTo(call.account, charged);
  upstream.used?.(call, tokensOf(charged));
}

/** The geography that a request names, unless that is any. */
function inferenceGeoOf({ members, body }: Sendable): string | undefined {
  const span = members?.get('inference_geo');
  const given = span && readScalar({ body: body.peek(), span });
  return typeof given === 'string' && given !== 'global' ? given : undefined;
}

function priceOf({ prices }: Exchange, model: string): ModelPrice {
  const price = prices.find(model);
  if (price === undefined) throw new Error('a prepared model has no price');
  return price;
}

function refuseAdmission(exchange: Asked, { refusal, limit }: Refused): Result {
  return { limited: limit, ...refuse(exchange, refusal) };
}

function refuse({ route, requestId, req, res }: Asked, refusal: Refusal): Result {
  sendEarlyRefusal(req, res, refusal, { dialect: route.dialect, requestId });
  const { status, type, message, fault } = refusal;
  return { status, error: { type, message, source: 'gateway' }, fault };
}

function tokensOf({ usage }: Charge): number {
  return usage.inputTokens + usage.cacheCreationInputTokens + usage.outputTokens;
}

/**
 * A charge replaces the hold. If the ledger did not confirm the charge, the hold is left to expire.
 */
function keepsHold({ charged, loss }: ExchangeReport): boolean {
  return charged !== undefined || loss === 'ledger_unavailable';
}
