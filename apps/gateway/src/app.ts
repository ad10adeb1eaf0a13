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
import { canonicalUrl } from './canonical-path.js';
import { allowHeader, methodNotAllowed, noEndpoint, noWebSocket } from './no-endpoint.js';
import type { Asked } from './no-endpoint.js';
import { badRequest, sendEarlyRefusal } from './refusal.js';
import type { Dialect, Refusal } from './refusal.js';
import { newRequestId } from './request-id.js';
import { accountRoute } from './routes/account.js';
import { balanceRoute } from './routes/balance.js';
import { livenessRoute, readinessRoute } from './routes/health.js';
import { countTokensRoute, messagesRoute } from './routes/messages.js';
import { deleteResponseRoute, getResponseRoute } from './routes/kept-response.js';
import { getModelRoute, listModelsRoute } from './routes/models.js';
import { createLinkRoute } from './routes/links.js';
import { addKeyManagement } from './routes/keys.js';
import { openApiRoute } from './routes/openapi.js';
import { pricesRoute } from './routes/prices.js';
import { statementRoute } from './routes/statement.js';
import { getUsageRoute, listUsageRoute, usageSummaryRoute } from './routes/usage.js';
import { stripeWebhookRoute } from './routes/stripe-webhook.js';
import { addTopUps, redeemRoute } from './routes/top-ups.js';
import { translatedRoute } from './routes/translated-route.js';
import { CUSTOMER_PAGE } from './pages/addresses.js';
import { redirectBrowsers, servePage } from './pages/serve-page.js';
import type { Services } from './services.js';

export function createApp(services: Services): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.enable('case sensitive routing');
  app.enable('strict routing');
  app.set('query parser', 'simple');
  app.set('trust proxy', services.trustedProxies);

  app.use(endConnections(services));
  app.use(useCanonicalPath);
  if (services.corsOrigins.size > 0) app.use(allowBrowsers(services.corsOrigins));
  const { customerPage } = services;
  if (customerPage !== undefined) app.get('/', redirectBrowsers(CUSTOMER_PAGE));
  app.route('/').get(describeGateway(services)).all(refuseMethod('GET'));
  app.route('/v1/messages').post(messagesRoute(services)).all(refuseMethod('POST'));
  app.route('/v1/messages/count_tokens').post(countTokensRoute(services)).all(refuseMethod('POST'));
  for (const [path, format] of [
    ['/v1/chat/completions', 'chat.completions'],
    ['/v1/responses', 'responses'],
    ['/v1/responses/input_tokens', 'input_tokens'],
  ] as const) {
    app.route(path).post(translatedRoute(format, services)).all(refuseMethod('POST'));
  }
  app
    .route('/v1/responses/:response_id')
    .get(getResponseRoute(services))
    .delete(deleteResponseRoute(services))
    .all(onlyOfResponse(refuseMethod('GET', 'DELETE')));
  const reads = [
    ['/v1/models', listModelsRoute(services)],
    ['/v1/models/:id', getModelRoute(services)],
    ['/v1/dashboard/account', accountRoute(services)],
    ['/v1/dashboard/balance', balanceRoute(services)],
    ['/v1/dashboard/usage', listUsageRoute(services)],
    ['/v1/dashboard/usage/summary', usageSummaryRoute(services)],
    ['/v1/dashboard/usage/:request_id', getUsageRoute(services)],
    ['/v1/dashboard/prices', pricesRoute(services)],
    ['/v1/dashboard/statement', statementRoute(services)],
    ['/openapi.json', openApiRoute('client')],
    ['/healthz', livenessRoute()],
    ['/readyz', readinessRoute(services)],
  ] as const;
  for (const [path, route] of reads) {
    app.route(path).get(route).all(refuseMethod('GET'));
  }
  app.route('/v1/dashboard/links').post(createLinkRoute(services)).all(refuseMethod('POST'));
  addKeyManagement(app, services);
  app.route('/v1/dashboard/keys').all(refuseMethod('GET', 'POST'));
  app.route('/v1/dashboard/keys/:key_id').all(refuseMethod('GET', 'PATCH'));
  for (const act of ['rotate', 'suspend', 'resume', 'revoke']) {
    app.route(`/v1/dashboard/keys/:key_id/${act}`).all(refuseMethod('POST'));
  }
  app.route('/v1/dashboard/promo-codes').post(redeemRoute(services)).all(refuseMethod('POST'));
  if (services.payments !== undefined) {
    addTopUps(app, services.payments, services);
    app.route('/v1/dashboard/top-ups').all(refuseMethod('GET', 'POST'));
    app.route('/v1/dashboard/top-ups/:payment_id').all(refuseMethod('GET'));
    app.route('/v1/dashboard/top-ups/:payment_id/receipt').all(refuseMethod('GET'));
    app.route('/v1/dashboard/auto-top-up').all(refuseMethod('GET', 'PUT', 'DELETE'));
    app
      .route('/webhooks/stripe')
      .post(stripeWebhookRoute(services.payments, services))
      .all(refuseMethod('POST'));
  }
  if (customerPage !== undefined) app.use(servePage(CUSTOMER_PAGE, customerPage));
  app.use(notFound);
  app.use(failed(services));
  return app;
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
  'x-gateway-translation-notes',
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

/** Answers `GET /`, which people and programs request to see whether the gateway is up. */
function describeGateway({ topUpUrl }: Services): RequestHandler {
  return function describe(req, res) {
    const base = `${req.protocol}://${req.headers.host ?? 'localhost'}`;
    res.json({
      name: 'gateway',
      base_urls: { messages: base, chat_completions: `${base}/v1`, responses: `${base}/v1` },
      ...(topUpUrl === undefined ? {} : { top_up_url: topUpUrl }),
    });
  };
}

/**
 * While a process drains, each connection gets at most one more response. Otherwise a busy client
 * would keep the process running forever.
 */
function endConnections({ activity }: Services): RequestHandler {
  return function endConnection(_req, res, next) {
    if (!activity.keepsConnection()) res.setHeader('connection', 'close');
    next();
  };
}

function refuseMethod(
  ...allowed: readonly ('GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE')[]
): RequestHandler {
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
function failed(services: Services): ErrorRequestHandler {
  return function answerFailure(error: unknown, req, res, _next): void {
    const isClientError = error instanceof URIError;
    if (!isClientError) services.log.error({ err: error }, 'request crashed');
    if (res.headersSent) {
      res.destroy();
      return;
    }
    refuse(
      req,
      res,
      isClientError
        ? badRequest('path: cannot be decoded')
        : { status: 500, type: 'api_error', message: 'the gateway failed; nothing was charged' },
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
