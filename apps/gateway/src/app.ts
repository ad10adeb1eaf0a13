/** The client-facing Express application: one table of routes, and JSON for everything else. */

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
import { methodNotAllowed, noEndpoint } from './no-endpoint.js';
import type { Asked } from './no-endpoint.js';
import { badRequest, sendEarlyRefusal } from './refusal.js';
import type { Dialect, Refusal } from './refusal.js';
import { newRequestId } from './request-id.js';
import { balanceRoute } from './routes/balance.js';
import { chatCompletionsRoute } from './routes/chat-completions.js';
import { livenessRoute, readinessRoute } from './routes/health.js';
import { countTokensRoute, messagesRoute } from './routes/messages.js';
import { getModelRoute, listModelsRoute } from './routes/models.js';
import { getUsageRoute, listUsageRoute } from './routes/usage.js';
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
  app.route('/').get(describeGateway).all(refuseMethod('GET'));
  app.route('/v1/messages').post(messagesRoute(services)).all(refuseMethod('POST'));
  app.route('/v1/messages/count_tokens').post(countTokensRoute(services)).all(refuseMethod('POST'));
  app.route('/v1/chat/completions').post(chatCompletionsRoute(services)).all(refuseMethod('POST'));
  const reads = [
    ['/v1/models', listModelsRoute(services)],
    ['/v1/models/:id', getModelRoute(services)],
    ['/v1/dashboard/balance', balanceRoute(services)],
    ['/v1/dashboard/usage', listUsageRoute(services)],
    ['/v1/dashboard/usage/:request_id', getUsageRoute(services)],
    ['/healthz', livenessRoute()],
    ['/readyz', readinessRoute(services)],
  ] as const;
  for (const [path, route] of reads) {
    app.route(path).get(route).all(refuseMethod('GET'));
  }
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
  'x-gateway-translation-notes',
];
const PREFLIGHT_SECONDS = 7_200;

/** Keys travel in headers that a page sets itself, so cookies are never allowed. */
function allowBrowsers(origins: ReadonlySet<string>): RequestHandler {
  return cors({
    origin: origins.has('*') ? '*' : [...origins],
    methods: ['GET', 'POST'],
    exposedHeaders: EXPOSED_HEADERS,
    maxAge: PREFLIGHT_SECONDS,
  });
}

/** Answers people and programs that check whether the gateway is up. */
function describeGateway(req: Request, res: Response): void {
  const base = `${req.protocol}://${req.headers.host ?? 'localhost'}`;
  res.json({
    name: 'gateway',
    base_urls: { messages: base, chat_completions: `${base}/v1` },
  });
}

/**
 * While a process drains, each connection gets at most one more response. Otherwise a busy client
 * would keep the process running for ever.
 */
function endConnections({ activity }: Services): RequestHandler {
  return function endConnection(_req, res, next) {
    if (!activity.keepsConnection()) res.setHeader('connection', 'close');
    next();
  };
}

function refuseMethod(allowed: 'GET' | 'POST'): RequestHandler {
  return function refuseOtherMethod(req, res) {
    res.setHeader('allow', allowed === 'GET' ? 'GET, HEAD' : allowed);
    refuse(req, res, methodNotAllowed(askedBy(req), allowed));
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
 * The chat form of an error is a superset, so it also serves paths that belong to neither format.
 */
function dialectOf(req: Request): Dialect {
  return /^\/v1\/messages(\/|$)/.test(req.path) ? 'messages' : 'chat.completions';
}
