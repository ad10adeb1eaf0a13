/**
 * The operator's Express application, on a port of its own: the table of operations behind a token,
 * metrics and health without one. API keys give no access here.
 */

import { createHash, timingSafeEqual } from 'node:crypto';
import express from 'express';
import type { ErrorRequestHandler, Express, RequestHandler } from 'express';
import { StoreUnavailableError } from '@gateway/balance-store';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import { OperationError, operations, runOperation } from './operations/operations.js';
import type { OperationContext, OperationName } from './operations/operations.js';
import { inviteBody } from './http-server.js';
import { sendRefusal, storeUnavailable } from './refusal.js';
import type { Refusal } from './refusal.js';
import { newRequestId } from './request-id.js';
import { livenessRoute, readinessRoute } from './routes/health.js';
import type { Activity } from './activity.js';

export interface AdminServices extends OperationContext {
  readonly adminToken: string;
  /** If set, reading the metrics requires it. */
  readonly metricsToken: string | undefined;
  readonly metrics: Pick<Registry, 'contentType' | 'metrics'>;
  readonly activity: Pick<Activity, 'isDraining'>;
  readonly log: Logger;
}

const MAX_BODY = '64kb';

export function createAdminApp(services: AdminServices): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.set('query parser', 'simple');
  app.get('/healthz', livenessRoute());
  app.get('/readyz', readinessRoute(services));
  if (services.metricsToken !== undefined) {
    app.use('/metrics', requireToken('METRICS_TOKEN', services.metricsToken));
  }
  app.get('/metrics', async (_req, res) => {
    res.setHeader('content-type', services.metrics.contentType);
    res.end(await services.metrics.metrics());
  });
  app.use(
    '/admin',
    requireToken('ADMIN_TOKEN', services.adminToken),
    inviteToSend,
    express.json({ limit: MAX_BODY }),
  );
  for (const name of Object.keys(operations) as OperationName[]) {
    const { method, path } = operations[name];
    app[METHODS[method]](path, async (req, res) => {
      const given: unknown = method === 'GET' ? req.query : req.body;
      const members = typeof given === 'object' ? given : {};
      res.json(await runOperation(name, { ...members, ...req.params }, services));
    });
  }
  app.use(((_req, res) => {
    refuse(res, {
      status: 404,
      type: 'not_found_error',
      message: 'path: there is no such endpoint',
    });
  }) satisfies RequestHandler);
  app.use(failed(services.log));
  return app;
}

const METHODS = { GET: 'get', POST: 'post', PATCH: 'patch' } as const;

function requireToken(name: string, token: string): RequestHandler {
  const expected = digest(token);
  return function checkToken(req, res, next) {
    const presented = /^bearer +(\S+)$/i.exec(req.headers.authorization ?? '')?.[1];
    if (presented !== undefined && timingSafeEqual(digest(presented), expected)) {
      next();
      return;
    }
    refuse(res, {
      status: 401,
      type: 'authentication_error',
      message: `authorization: must be "Bearer <${name}>"`,
    });
  };
}

const inviteToSend: RequestHandler = (req, res, next) => {
  inviteBody(req, res);
  next();
};

/** Comparing digests takes constant time, because they all have one length. */
function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

function failed(log: Logger): ErrorRequestHandler {
  return function answerFailure(error: unknown, _req, res, _next): void {
    if (error instanceof OperationError) {
      refuse(res, { status: error.status, type: error.type, message: error.message });
    } else if (error instanceof StoreUnavailableError) {
      log.warn({ fault: error.message }, 'admin request failed');
      refuse(res, storeUnavailable(error));
    } else if (isBodyError(error)) {
      refuse(res, {
        status: error.status,
        type: 'invalid_request_error',
        message: 'body: must be a JSON object',
      });
    } else {
      log.error({ err: error }, 'admin request crashed');
      refuse(res, { status: 500, type: 'api_error', message: 'the gateway failed' });
    }
  };
}

/** The errors that the body parser throws for a body that is too large or is not JSON. */
function isBodyError(error: unknown): error is { status: number } {
  return (
    error instanceof Error &&
    'status' in error &&
    typeof error.status === 'number' &&
    error.status >= 400 &&
    error.status < 500
  );
}

function refuse(res: express.Response, refusal: Refusal): void {
  sendRefusal(res, refusal, { dialect: 'messages', requestId: newRequestId(Date.now()) });
}
