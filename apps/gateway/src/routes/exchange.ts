/**
 * The path that the message endpoints share. First the key, its limits and its standing; then the
 * body, what it asks for and the money it may cost; then the upstream. A route supplies only what
 * differs.
 */

import type { Request, RequestHandler, Response } from 'express';
import type { ModelPrice } from '@gateway/billing';
import { admitKey, checkStanding, placeHold } from '../admission.js';
import type { RefusedAdmission } from '../admission.js';
import { authenticate } from '../authentication.js';
import { checkBodyHeaders, readBody } from '../body.js';
import type { ByteReservation } from '../byte-budget.js';
import { inviteBody } from '../http-server.js';
import type { ChatContext, Preparation, PreparationJob } from '../preparation/prepare-request.js';
import { sendEarlyRefusal } from '../refusal.js';
import type { Dialect, Refusal } from '../refusal.js';
import { relay } from '../relay/relay.js';
import type { ExchangeReport } from '../relay/relay.js';
import type { ResponseFormat } from '../relay/format.js';
import { newRequestId } from '../request-id.js';
import type { Services } from '../services.js';
import type { FinishedRequest } from '../telemetry/finished-request.js';
import { RequestBody } from '../upstream/request-body.js';
import type { UpstreamCall } from '../upstream/upstream.js';

export interface ExchangeRoute {
  /** For logs, metrics and limits. */
  readonly endpoint: PreparationJob['format'];
  readonly dialect: Dialect;
  /** @returns a refusal, if the headers of the request call for one. Checked first. */
  readonly checkHeaders: (req: Request) => Refusal | undefined;
  /** The call to the upstream, without its model and body. */
  readonly callOf: (req: Request) => Omit<UpstreamCall, 'model' | 'body'>;
  /** @returns the format of the response, whose headers it may set */
  readonly formatOf: (chat: ChatContext | undefined, res: Response) => ResponseFormat;
}

/**
 * After an upload that took longer the key's standing is checked again, because it may have
 * changed.
 */
const RECHECK_AFTER_MS = 1_000;

export function exchangeRoute(route: ExchangeRoute, services: Services): RequestHandler {
  return async function serveExchange(req, res) {
    const startedAt = services.now();
    const requestId = newRequestId(startedAt);
    const context = { dialect: route.dialect, requestId };
    services.activity.begin();
    try {
      const result = await answer(req, res, requestId);
      services.telemetry.requestFinished({
        requestId,
        endpoint: route.endpoint,
        durationMs: services.now() - startedAt,
        ...result,
      });
    } finally {
      services.activity.end();
    }

    async function answer(req: Request, res: Response, requestId: string): Promise<Result> {
      const headerRefusal = route.checkHeaders(req);
      if (headerRefusal !== undefined) return refuse(headerRefusal);
      const authentication = await authenticate(req, services, 'bearer_or_x_api_key');
      if (authentication.outcome === 'refused') return refuse(authentication.refusal);
      const { key } = authentication;
      const result = await serve(key, requestId);
      return { keyId: key.id, ...result };
    }

    async function serve(key: Parameters<typeof admitKey>[0], requestId: string): Promise<Result> {
      const bodyRefusal = checkBodyHeaders(req, { maxBytes: services.maxBodyBytes });
      if (bodyRefusal !== undefined) return refuse(bodyRefusal);
      const isPaid = route.endpoint !== 'count_tokens';
      const admission = await admitKey(key, isPaid ? 'paid' : 'count_tokens', services);
      if (admission.outcome === 'refused') return refuseAdmission(admission);
      const { lease } = admission;
      const memory = services.memory.open(key.id);
      try {
        const admittedAt = services.now();
        const preparation = await prepare(key.id, memory);
        if (preparation.outcome === 'gone') return { status: 499 };
        if (preparation.outcome === 'refused') return refuse(preparation.refusal);
        const { model, chargeBound } = preparation;

        const hold = chargeBound === undefined ? undefined : { requestId, amount: chargeBound };
        const isLate = services.now() - admittedAt > RECHECK_AFTER_MS;
        const refused =
          hold !== undefined
            ? await placeHold(key, hold, services)
            : isLate
              ? await checkStanding(key, services)
              : undefined;
        if (refused !== undefined) return { model, ...refuseAdmission(refused) };
        const report = await relay(
          {
            requestId,
            keyId: key.id,
            price: priceOf(model),
            call: {
              ...route.callOf(req),
              model,
              body: new RequestBody(preparation.body, () => {
                memory.release();
              }),
            },
            format: route.formatOf(preparation.chat, res),
            res,
          },
          services,
        );
        if (hold !== undefined && !keepsHold(report)) services.store.releaseHold(requestId);
        return { model, status: report.status, report };
      } finally {
        memory.release();
        lease.release();
      }
    }

    /**
     * A function of its own, so that no variable keeps the body in memory while the upstream
     * responds.
     */
    async function prepare(
      keyId: string,
      memory: ByteReservation,
    ): Promise<Exclude<Preparation, { readonly outcome: 'too_large' }> | Gone> {
      const reading = await readBody(req, {
        maxBytes: services.maxBodyBytes,
        memory,
        invite: () => {
          inviteBody(req, res);
        },
      });
      if (reading.outcome !== 'read') return reading;
      const job = {
        format: route.endpoint,
        body: reading.body,
        hasLongContext: hasLongContext(req),
      };
      const preparation = await services.preparer.prepare(job, keyId);
      if (preparation.outcome === 'too_large') throw new Error('no thread prepares this body');
      return preparation;
    }

    function priceOf(model: string): ModelPrice {
      const price = services.prices.find(model);
      if (price === undefined) throw new Error('a prepared model has no price');
      return price;
    }

    function refuseAdmission({ refusal, limit }: RefusedAdmission): Result {
      return { limited: limit, ...refuse(refusal) };
    }

    function refuse(refusal: Refusal): Result {
      sendEarlyRefusal(req, res, refusal, context);
      return { status: refusal.status, fault: refusal.fault };
    }
  };
}

/** The client went away before its request was complete. */
interface Gone {
  readonly outcome: 'gone';
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

type Result = Omit<FinishedRequest, 'requestId' | 'endpoint' | 'durationMs'>;
