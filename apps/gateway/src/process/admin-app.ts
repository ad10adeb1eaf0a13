/**
 * The operator's Express application, on a port of its own: operations, metrics and health.
 * Operations need an admin token or a console session, metrics need a token if METRICS_TOKEN is
 * set, and health needs none. API keys give no access here.
 */

import express from 'express';
import type { ErrorRequestHandler, Express, RequestHandler } from 'express';
import { BackgroundWorkError, StoreUnavailableError } from '@gateway/balance-store';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import type { Activity } from '../base/activity.js';
import { newRefusal } from '../base/errors/refusal.js';
import type { Refusal } from '../base/errors/refusal.js';
import { mayDo } from '../config/admin-tokens.js';
import type { AdminToken, Right } from '../config/admin-tokens.js';
import type { Settings } from '../config/settings.js';
import type { Endpoint, Method, Served } from '../endpoints/endpoint.js';
import { OperationError } from '../endpoints/operation-error.js';
import type { TextFormat } from '../endpoints/text-format.js';
import { addressGroup } from '../http/client-address.js';
import { inviteBody } from '../http/continue.js';
import { createExports } from '../http/exports.js';
import { refusalOfType } from '../http/json-body.js';
import { allowHeader, methodNotAllowed } from '../http/no-endpoint.js';
import { CONSOLE_PAGE } from '../http/pages/addresses.js';
import { redirectBrowsers, servePage } from '../http/pages/serve-page.js';
import { storeUnavailable } from '../http/refusal.js';
import { OPEN_METRICS_TYPE, wantsOpenMetrics } from '../observe/open-metrics.js';
import { openAdminEndpoints } from '../openapi/endpoints.js';
import {
  CSV_HEADERS,
  csvExport,
  csvFormatOf,
  isWholeList,
  listHeadersOf,
} from '../operator/csv-lists.js';
import { linkEndpoints, linkSessionEndpoints } from '../operator/console/link-routes.js';
import type { LinkParts } from '../operator/console/link-routes.js';
import {
  adminTokenOf,
  noStore,
  requireAdmin,
  sessionEndpoints,
} from '../operator/console/session-routes.js';
import type { OperationContext } from '../operator/operations/operation.js';
import {
  OPERATION_NAMES,
  isRepeatable,
  operations,
  runOperation,
  textFormatOf,
} from '../operator/operations/operations.js';
import type { OperationName } from '../operator/operations/operations.js';
import { refuse } from '../operator/refuse.js';
import { limitTokenGuesses } from '../operator/token-guesses.js';

export interface AdminParts extends Omit<OperationContext, 'by'>, LinkParts {
  /** Returns the settings in force. */
  readonly settings: () => Pick<Settings, 'metricsToken'>;
  readonly metrics: Pick<Registry, 'contentType' | 'metrics'>;
  /** The metrics in the OpenMetrics form, which has exemplars; `undefined` without traces. */
  readonly openMetrics: (() => Promise<string>) | undefined;
  readonly activity: Pick<Activity, 'isStopping'>;
  /** Called when an operation failed through no fault of the call. */
  readonly operationFailed: (name: OperationName) => void;
  readonly log: Logger;
}

/** A batch of 200 lost charges has up to 200 KB: see `WITNESS_BATCH`. */
const MAX_BODY = '256kb';
const MAX_LOG_IN = '4kb';

export function createAdminApp(parts: AdminParts): Express {
  const app = express();
  const exports = createExports();
  app.disable('x-powered-by');
  app.disable('etag');
  app.set('query parser', 'simple');
  addRoutes(app, openAdminEndpoints, ({ serve }) => [serve(parts)]);
  app.use('/metrics', requireMetricsToken(parts));
  app.get('/metrics', async (req, res) => {
    const { metrics, openMetrics } = parts;
    if (openMetrics !== undefined && wantsOpenMetrics(req)) {
      res.setHeader('content-type', OPEN_METRICS_TYPE);
      res.end(await openMetrics());
      return;
    }
    res.setHeader('content-type', metrics.contentType);
    res.end(await metrics.metrics());
  });
  app.use('/console', inviteToSend);
  app.use(['/console/session', '/console/link'], noStore);
  const opening: readonly Served<LinkParts>[] = [...sessionEndpoints, ...linkSessionEndpoints];
  addRoutes(app, opening, ({ body, serve }) => [
    ...(body === undefined ? [] : [express.json({ limit: MAX_LOG_IN })]),
    serve(parts),
  ]);
  app.use(
    '/admin',
    requireAdmin(parts),
    requireJson,
    inviteToSend,
    express.json({ limit: MAX_BODY }),
  );
  addRoutes(app, linkEndpoints, ({ right, serve }) => [requireRight(right), serve(parts)]);
  addRoutes(app, namedOperations(), ({ name, right, method }) => [
    requireRight(right),
    async (req, res) => {
      const token = adminTokenOf(res);
      const given: unknown = method === 'get' ? req.query : req.body;
      const members = typeof given === 'object' ? given : {};
      const repeatable = idempotencyKeyOf(name, req.headers['idempotency-key']);
      const by = { name: token.name, address: addressGroup(req.ip) };
      const input: Record<string, unknown> = { ...members, ...repeatable, ...req.params };
      const run = (asked: unknown) =>
        runOperation(name, asked, { ...parts, by }).catch((error: unknown) => {
          const isRefused = error instanceof OperationError && error.status < 500;
          if (!isRefused) parts.operationFailed(name);
          throw error;
        });
      if (isWholeList(name, input)) {
        const read = csvExport(name, input, run);
        const refusal = await exports.send(res, { owner: token.name, read, headers: CSV_HEADERS });
        if (refusal !== undefined) refuse(res, refusal);
        return;
      }
      const result = await run(input);
      const format = textFormatOf(name, input) ?? csvFormatOf(name, input);
      if (format === undefined) res.json(result);
      else sendText(res, format, result);
    },
  ]);
  app.all('/metrics', refuseMethod('get'));
  if (parts.consolePage !== undefined) {
    app.get('/', redirectBrowsers(CONSOLE_PAGE));
    app.use(servePage(CONSOLE_PAGE, parts.consolePage));
  }
  app.use(((_req, res) => {
    refuse(res, newRefusal('unknown_admin_url'));
  }) satisfies RequestHandler);
  app.use(failed(parts.log));
  return app;
}

function sendText(res: express.Response, format: TextFormat<unknown>, result: unknown): void {
  const { mediaType, write, headers } = format;
  res.writeHead(200, {
    'content-type': `${mediaType}; charset=utf-8`,
    ...headers,
    ...listHeadersOf(result),
  });
  res.end(write(result));
}

/** Adds the routes of endpoints. Other methods of their paths are refused. */
function addRoutes<Declared extends Pick<Endpoint, 'method' | 'path'>>(
  app: Express,
  endpoints: readonly Declared[],
  handlersOf: (endpoint: Declared) => readonly RequestHandler[],
): void {
  for (const endpoint of endpoints) {
    const { method, path } = endpoint;
    app[method](path, ...handlersOf(endpoint));
    const methods = endpoints.filter((other) => other.path === path).map((other) => other.method);
    // Before the routes of the next path, because its parameters may match this path too.
    if (method === methods.at(-1)) app.all(path, refuseMethod(...methods));
  }
}

/**
 * Paths without parameters come first, because `/admin/keys/find` also matches
 * `/admin/keys/:key_id`.
 */
function namedOperations() {
  const hasParameter = ({ path }: Pick<Endpoint, 'path'>): number => Number(path.includes(':'));
  return OPERATION_NAMES.map((name) => ({ ...operations[name], name })).sort(
    (left, right) => hasParameter(left) - hasParameter(right),
  );
}

function refuseMethod(...methods: readonly Method[]): RequestHandler {
  const allowed = methods.map((method) => method.toUpperCase());
  return function refuseOtherMethod(req, res) {
    res.setHeader('allow', allowHeader(allowed));
    const asked = { method: req.method, url: req.originalUrl, path: req.path };
    refuse(res, methodNotAllowed(asked, allowed.join(' and ')));
  };
}

/** Requires METRICS_TOKEN, if one is set. It gives access to the metrics only. */
function requireMetricsToken({ settings, limiter }: AdminParts): RequestHandler {
  const name = 'METRICS_TOKEN';
  const findMetricsToken = limitTokenGuesses({
    limiter,
    name: 'metrics token',
    wrong: newRefusal('wrong_token', { variable: name }),
    tokens: () => {
      const token = settings().metricsToken;
      return token === undefined ? [] : [{ name, right: 'read', token }];
    },
  });
  return async function checkMetricsToken(req, res, next) {
    if (settings().metricsToken === undefined) {
      next();
      return;
    }
    const found = await findMetricsToken(req);
    if ('refusal' in found) refuse(res, found.refusal);
    else next();
  };
}

/** Must run after {@link requireAdmin}. */
function requireRight(right: Right): RequestHandler {
  return function checkRight(_req, res, next) {
    const token = adminTokenOf(res);
    if (mayDo(token, right)) next();
    else refuse(res, forbidden(token));
  };
}

function forbidden({ name, right }: AdminToken): Refusal {
  const may = right === 'read' ? 'read' : 'read and add credit';
  return newRefusal('token_lacks_right', { name, right: may });
}

/**
 * Reads `Idempotency-Key`, which shops and SDKs send as a header. Operations take it as a member of
 * their input.
 */
function idempotencyKeyOf(
  name: OperationName,
  header: string | string[] | undefined,
): { readonly idempotency_key?: string } {
  return isRepeatable(name) && typeof header === 'string' ? { idempotency_key: header } : {};
}

const requireJson: RequestHandler = (req, res, next) => {
  const refusal = refusalOfType(req);
  if (refusal === undefined) next();
  else refuse(res, refusal);
};

const inviteToSend: RequestHandler = (req, res, next) => {
  inviteBody(req, res);
  next();
};

function failed(log: Logger): ErrorRequestHandler {
  return function answerFailure(error: unknown, _req, res, _next): void {
    if (res.headersSent) {
      log.error({ err: error }, 'an export broke off');
    } else if (error instanceof OperationError) {
      refuse(res, error.refusal);
    } else if (error instanceof StoreUnavailableError) {
      log.warn({ fault: error.message }, 'admin request failed');
      refuse(res, storeUnavailable(error));
    } else if (error instanceof BackgroundWorkError) {
      log.error({ err: error }, 'admin request failed');
      refuse(res, newRefusal('background_work_failed', { reason: error.message }));
    } else if (error instanceof URIError) {
      refuse(res, newRefusal('path_not_decodable'));
    } else if (isBodyError(error)) {
      refuse(res, refusalOfBody(error.status));
    } else {
      log.error({ err: error }, 'admin request crashed');
      refuse(res, newRefusal('admin_failed'));
    }
  };
}

function refusalOfBody(status: number): Refusal {
  switch (status) {
    case 413:
      return newRefusal('admin_body_too_large');
    case 415:
      return newRefusal('admin_body_encoded');
    default:
      return newRefusal('admin_body_unreadable');
  }
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
