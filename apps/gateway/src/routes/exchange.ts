/**
 * The path that both message endpoints share: credential, body, what the request asks for, limits,
 * balance, upstream. A route brings only what differs, as a {@link Preparation}.
 */

import type { Request, RequestHandler, Response } from 'express';
import type { ModelPrice } from '@gateway/billing';
import { admitKey, authenticate } from '../admission.js';
import type { LimitName } from '../admission.js';
import { readBody } from '../body.js';
import { sendRefusal } from '../refusal.js';
import type { Dialect, Refusal } from '../refusal.js';
import { relay } from '../relay/relay.js';
import type { ExchangeReport } from '../relay/relay.js';
import type { ResponseFormat } from '../relay/format.js';
import { newRequestId } from '../request-id.js';
import type { Services } from '../services.js';
import type { UpstreamRequest } from '../upstream/client.js';
import { worstCaseOf } from '../worst-case.js';

export type Preparation =
  | {
      readonly outcome: 'prepared';
      readonly price: ModelPrice;
      readonly upstream: UpstreamRequest;
      readonly format: ResponseFormat;
    }
  | { readonly outcome: 'refused'; readonly refusal: Refusal };

/** The client went away before its request was complete. */
interface Gone {
  readonly outcome: 'gone';
}

export interface ExchangeRoute {
  readonly endpoint: string;
  readonly dialect: Dialect;
  /** Whether a successful answer is charged. */
  readonly isCharged: boolean;
  /** Judged before the body is read. */
  readonly checkHeaders: (req: Request) => Refusal | undefined;
  readonly prepare: (body: Buffer, req: Request, res: Response) => Preparation;
}

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
      const keyId = authentication.key.id;

      const preparation = await prepare(req, res);
      if (preparation.outcome === 'gone') return { status: 499, keyId };
      if (preparation.outcome === 'refused') {
        return { keyId, ...refuse(preparation.refusal) };
      }
      const model = preparation.price.id;

      const worst =
        route.isCharged && services.overdraft === 'none'
          ? worstCaseOf(preparation.upstream.body.peek(), preparation.price)
          : undefined;
      if (worst?.outcome === 'unbounded') return { keyId, model, ...refuse(unbounded(worst.path)) };
      const hold = worst === undefined ? undefined : { requestId, amount: worst.amount };
      const admission = await admitKey(authentication.key, hold, services);
      if (admission.outcome === 'refused') {
        return { keyId, model, limited: admission.limit, ...refuse(admission.refusal) };
      }
      const report = await relay(
        {
          requestId,
          keyId,
          price: preparation.price,
          upstream: preparation.upstream,
          format: preparation.format,
          res,
          lease: admission.lease,
        },
        services,
      );
      if (hold !== undefined && !keepsHold(report)) services.store.releaseHold(requestId);
      return { keyId, model, status: report.status, report };
    }

    /** Apart, so that what is read is not held while the upstream answers. */
    async function prepare(req: Request, res: Response): Promise<Preparation | Gone> {
      const reading = await readBody(req, { maxBytes: services.maxBodyBytes });
      return reading.outcome === 'read' ? route.prepare(reading.body, req, res) : reading;
    }

    function refuse(refusal: Refusal): Result {
      // What is left of a body that nobody will read must not be taken for the next request.
      if (!req.complete) res.setHeader('connection', 'close');
      sendRefusal(res, refusal, context);
      return { status: refusal.status, fault: refusal.fault };
    }
  };
}

/** Where a balance must never fall below zero, only what can be held is sent. */
function unbounded(path: string): Refusal {
  return {
    status: 400,
    type: 'invalid_request_error',
    message:
      `${path}: is not possible on this gateway, which sets aside the most a request can cost: ` +
      'it may compact any number of times; ask for compaction in a request of its own',
    param: path,
  };
}

/** A charge replaces the hold. If the ledger did not say whether it did, the hold is left to expire. */
function keepsHold({ charged, loss }: ExchangeReport): boolean {
  return charged !== undefined || loss === 'ledger_unavailable';
}

interface Result {
  readonly status: number;
  readonly keyId?: string;
  readonly model?: string;
  readonly limited?: LimitName | undefined;
  readonly fault?: string | undefined;
  readonly report?: ExchangeReport;
}
