/**
 * `GET /admin/settings` and `POST /admin/reload`: report the settings in force, and read the
 * settings again.
 */

import { Router } from 'express';
import { ConfigError } from '../config/config.js';
import type { Reloader } from '../config/reloader.js';
import type { Endpoint } from '../endpoints/endpoint.js';
import { OperationError } from '../endpoints/operation-error.js';
import * as schema from '../endpoints/schemas.js';

export const settingsEndpoints: readonly Endpoint[] = [
  {
    method: 'get',
    path: '/admin/settings',
    id: 'showSettings',
    credential: 'console',
    summary: 'The version of the settings in force, and the changes that need a restart',
    result: schema.settings,
  },
  {
    method: 'post',
    path: '/admin/reload',
    id: 'reloadSettings',
    credential: 'console',
    summary: 'Reads prices, models, upstream keys and tokens again',
    result: schema.settings,
  },
];

export function settingsRoutes(reloader: Reloader): Router {
  const routes = Router();
  routes.get('/admin/settings', async (_req, res) => {
    res.json(await reloader.report());
  });
  routes.post('/admin/reload', async (_req, res) => {
    try {
      res.json(await reloader.reload());
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      const message = `nothing was changed: ${error.problems.join('; ')}`;
      throw new OperationError(409, 'conflict_error', message);
    }
  });
  return routes;
}
