/** One request to an endpoint that calls the upstream, and what is known about it on its way. */

import type { Request, Response } from 'express';
import type { Refusal } from '../base/errors/refusal.js';
import type { Dialect } from '../http/refusal.js';
import type { ResponseFormat } from '../http/response-format.js';
import type { ExchangeEndpoint, LimitName } from '../observe/finished-request.js';
import type { RequestTrace } from '../observe/tracing/tracing.js';
import type { UpstreamCall } from '../upstream/upstream.js';
import type { ExchangeParts } from './exchange-parts.js';
import type { Preparation } from './preparation/prepare-request.js';
import type { PriceBook } from './price-book.js';
import type { Keeping } from './response-memory/keep-response.js';
import type { TranslationContext } from './translation-context.js';

export interface ExchangeRoute {
  /** For logs, metrics and limits. */
  readonly endpoint: ExchangeEndpoint;
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

/** One request, before its key is known. */
export interface Asked extends Pick<ExchangeParts, 'upstream'> {
  readonly route: ExchangeRoute;
  readonly parts: ExchangeParts;
  readonly requestId: string;
  readonly startedAt: number;
  readonly req: Request;
  readonly res: Response;
}

/** One request, with the settings and the prices it began with. */
export interface Exchange extends Asked, Pick<PriceBook, 'prices' | 'homePrices' | 'preparer'> {
  /** Only while tracing is on, and once the limits of the key have admitted the request. */
  readonly trace?: RequestTrace;
  /** Whether the account of the key has budgets. */
  readonly isBudgeted?: boolean | undefined;
}

export type Refused = Extract<Preparation, { readonly outcome: 'refused' }> & {
  /** The limit that was reached. */
  readonly limit?: LimitName | undefined;
};
type Prepared = Extract<Preparation, { readonly outcome: 'prepared' }>;
export type Sendable = Omit<Prepared, 'body' | 'conversation'> &
  Pick<UpstreamCall, 'body' | 'bodyBytes'> & { readonly kept: Keeping };

/** The client disconnected before its request was complete. */
export interface Gone {
  readonly outcome: 'gone';
}
