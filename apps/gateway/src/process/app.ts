/** The client-facing Express application: one table of routes, and JSON errors for other paths. */

import cors from 'cors';
import express from 'express';
import type {
  ErrorRequestHandler,
  Express,
  NextFunction,
  Request,
  RequestHandler,
  Response,
} from 'express';
import { newRefusal } from '../base/errors/refusal.js';
import type { Refusal } from '../base/errors/refusal.js';
import type { Config } from '../config/config.js';
import type { CustomerParts } from '../customer/customer-parts.js';
import { getResponse } from '../customer/kept-response.js';
import type { Method } from '../endpoints/endpoint.js';
import type { ExchangeParts } from '../exchange/exchange-parts.js';
import { canonicalUrl } from '../http/canonical-path.js';
import { allowHeader, methodNotAllowed, noEndpoint, noWebSocket } from '../http/no-endpoint.js';
import type { Asked } from '../http/no-endpoint.js';
import { CUSTOMER_PAGE } from '../http/pages/addresses.js';
import type { PageFiles } from '../http/pages/page-files.js';
import { redirectBrowsers, servePage } from '../http/pages/serve-page.js';
import { sendEarlyRefusal } from '../http/refusal.js';
import type { Dialect } from '../http/refusal.js';
import { newRequestId } from '../http/request-id.js';
import { clientEndpoints } from '../openapi/endpoints.js';
import { providerEndpoints } from '../customer/customer-endpoints.js';

/** What the client-facing application is composed of. */
export interface AppParts extends ExchangeParts, CustomerParts, Readonly<Config['app']> {
  /** The page for holders of keys; `undefined` if there is none. */
  readonly customerPage: PageFiles | undefined;
}

export function createApp(parts: AppParts): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.enable('case sensitive routing');
  app.enable('strict routing');
  app.set('query parser', 'simple');
  app.set('trust proxy', parts.trustedProxies);

  app.use(endConnections(parts));
  app.use(useCanonicalPath);
  if (parts.corsOrigins.size > 0) app.use(allowBrowsers(parts.corsOrigins));
  const { customerPage } = parts;
  if (customerPage !== undefined) app.get('/', redirectBrowsers(CUSTOMER_PAGE));
  addEndpoints(app, parts);
  if (customerPage !== undefined) app.use(servePage(CUSTOMER_PAGE, customerPage));
  app.use(notFound);
  app.use(failed(parts));
  return app;
}

/** Routes each endpoint of the table, and refuses the other methods of its path. */
function addEndpoints(app: Express, parts: AppParts): void {
  const all =
    parts.payments === undefined ? clientEndpoints : [...clientEndpoints, ...providerEndpoints];
  for (const path of new Set(all.map((endpoint) => endpoint.path))) {
    const here = all.filter((endpoint) => endpoint.path === path);
    const route = app.route(path);
    for (const { method, serve } of here) route[method](serve(parts));
    const others = refuseMethod(...here.map(({ method }) => method));
    route.all(path === getResponse.path ? onlyOfResponse(others) : others);
  }
}

function useCanonicalPath(req: Request, _res: Response, next: NextFunction): void {
  req.url = canonicalUrl(req.url);
  next();
}

/** The headers that a page may read. */
const EXPOSED_HEADERS = [
  'request-id',
  'retry-after',
  'x-should-retry',
  'x-request-id',
  'x-gateway-request-id',
  'x-gateway-charge-usd',
  'x-gateway-balance-usd',
  'x-gateway-next-cursor',
  'x-gateway-from',
  'x-gateway-until',
  'x-gateway-archived-until',
  'x-gateway-recorded-from',
  'x-gateway-translation-notes',
  'x-gateway-max-tokens',
];
const PREFLIGHT_SECONDS = 7_200;

/** A page sends keys in headers that it sets itself, so cookies are never allowed. */
function allowBrowsers(origins: ReadonlySet<string>): RequestHandler {
  return cors({
    origin: origins.has('*') ? '*' : [...origins],
    methods: ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'],
    exposedHeaders: EXPOSED_HEADERS,
    maxAge: PREFLIGHT_SECONDS,
  });
}

/**
 * While a process drains, each connection gets at most one more response. Otherwise a busy client
 * would keep the process running forever.
 */
function endConnections({ activity }: AppParts): RequestHandler {
  return function endConnection(_req, res, next) {
    if (!activity.keepsConnection()) res.setHeader('connection', 'close');
    next();
  };
}

function refuseMethod(...methods: readonly Method[]): RequestHandler {
  const allowed = methods.map((method) => method.toUpperCase());
  return function refuseOtherMethod(req, res) {
    if (req.headers.upgrade?.toLowerCase() === 'websocket') {
      // RFC 9110, 15.5.22: such an answer must name the protocol that is served.
      res.setHeader('upgrade', 'HTTP/1.1').setHeader('connection', 'upgrade, close');
      refuse(req, res, noWebSocket(askedBy(req), allowed.join(' and ')));
      return;
    }
    res.setHeader('allow', allowHeader(allowed));
    refuse(req, res, methodNotAllowed(askedBy(req), allowed.join(' and ')));
  };
}

/** Other paths below `/v1/responses`, such as `/v1/responses/compact`, are not ids. */
function onlyOfResponse(handler: RequestHandler): RequestHandler {
  return function refuseIfResponse(req, res, next) {
    if (String(req.params['response_id']).startsWith('resp_')) handler(req, res, next);
    else next();
  };
}

function notFound(req: Request, res: Response): void {
  refuse(req, res, noEndpoint(askedBy(req)));
}

function askedBy({ method, originalUrl, path }: Request): Asked {
  return { method, url: originalUrl, path };
}

/** An unforeseen fault, or a path that cannot be decoded. The fault's text stays in the log. */
function failed(parts: AppParts): ErrorRequestHandler {
  return function answerFailure(error: unknown, req, res, _next): void {
    const isClientError = error instanceof URIError;
    if (!isClientError) parts.log.error({ err: error }, 'request crashed');
    if (res.headersSent) {
      // Not `res.destroy()`: the response to a pipelined request may have no socket yet.
      req.socket.destroy();
      return;
    }
    refuse(
      req,
      res,
      isClientError ? newRefusal('path_not_decodable') : newRefusal('gateway_failed'),
    );
  };
}

function refuse(req: Request, res: Response, refusal: Refusal): void {
  const context = { dialect: dialectOf(req), requestId: newRequestId(Date.now()) };
  sendEarlyRefusal(req, res, refusal, context);
}

/**
 * The chat form of an error has all members of the native form, so it also serves all other paths.
 */
function dialectOf(req: Request): Dialect {
  return /^\/v1\/messages(\/|$)/.test(req.path) ? 'messages' : 'chat.completions';
}
