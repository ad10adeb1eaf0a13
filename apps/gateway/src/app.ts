/** The client-facing Express application: one table of routes, and JSON for everything else. */

import express from 'express';
import type { ErrorRequestHandler, Express, Request, RequestHandler, Response } from 'express';
import { sendRefusal } from './refusal.js';
import type { Dialect, Refusal } from './refusal.js';
import { newRequestId } from './request-id.js';
import { balanceRoute } from './routes/balance.js';
import { chatCompletionsRoute } from './routes/chat-completions.js';
import { countTokensRoute } from './routes/count-tokens.js';
import { livenessRoute, readinessRoute } from './routes/health.js';
import { messagesRoute } from './routes/messages.js';
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
  // `/v1/v1/…` is what an SDK calls whose base address was given with `/v1` although it adds its own.
  app
    .route(['/v1/messages', '/v1/v1/messages'])
    .post(messagesRoute(services))
    .all(methodNotAllowed('POST'));
  app
    .route(['/v1/messages/count_tokens', '/v1/v1/messages/count_tokens'])
    .post(countTokensRoute(services))
    .all(methodNotAllowed('POST'));
  app
    .route('/v1/chat/completions')
    .post(chatCompletionsRoute(services))
    .all(methodNotAllowed('POST'));
  const reads = [
    [['/v1/models', '/v1/v1/models'], listModelsRoute(services)],
    [['/v1/models/:id', '/v1/v1/models/:id'], getModelRoute(services)],
    ['/v1/dashboard/balance', balanceRoute(services)],
    ['/v1/dashboard/usage', listUsageRoute(services)],
    ['/v1/dashboard/usage/:request_id', getUsageRoute(services)],
    ['/healthz', livenessRoute()],
    ['/readyz', readinessRoute(services)],
  ] as const;
  for (const [path, route] of reads) {
    app
      .route(path as string | string[])
      .get(route)
      .all(methodNotAllowed('GET'));
  }
  app.use(notFound);
  app.use(failed(services));
  return app;
}

/**
 * Of a draining process each connection gets one more answer at most: a busy client would otherwise keep
 * it at work for ever.
 */
function endConnections({ activity }: Services): RequestHandler {
  return function endConnection(_req, res, next) {
    if (!activity.keepsConnection()) res.setHeader('connection', 'close');
    next();
  };
}

function methodNotAllowed(allowed: 'GET' | 'POST') {
  return function refuseMethod(req: Request, res: Response): void {
    res.setHeader('allow', allowed === 'GET' ? 'GET, HEAD' : allowed);
    refuse(req, res, {
      status: 405,
      type: 'invalid_request_error',
      message: `method: this endpoint takes ${allowed} only`,
      code: 'method_not_allowed',
    });
  };
}

function notFound(req: Request, res: Response): void {
  refuse(req, res, {
    status: 404,
    type: 'not_found_error',
    message: 'path: there is no such endpoint',
    code: 'unknown_url',
  });
}

/** A fault nobody foresaw, or a path that cannot be decoded. Its text stays in the log. */
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
        ? { status: 400, type: 'invalid_request_error', message: 'path: cannot be decoded' }
        : { status: 500, type: 'api_error', message: 'the gateway failed; nothing was charged' },
    );
  };
}

function refuse(req: Request, res: Response, refusal: Refusal): void {
  if (!req.complete) res.setHeader('connection', 'close');
  sendRefusal(res, refusal, { dialect: dialectOf(req), requestId: newRequestId(Date.now()) });
}

/** The chat form of an error is a superset, so it also serves paths that belong to neither format. */
function dialectOf(req: Request): Dialect {
  return /^\/v1\/(v1\/)?messages/.test(req.originalUrl) ? 'messages' : 'chat.completions';
}
