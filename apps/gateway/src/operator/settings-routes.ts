/**
 * `GET /admin/settings` and `POST /admin/reload`: report the settings in force, and read the
 * settings again.
 */

import { ConfigError } from '../config/config.js';
import type { Reloader } from '../config/reloader.js';
import { declare } from '../endpoints/endpoint.js';
import { OperationError } from '../endpoints/operation-error.js';
import * as schema from '../endpoints/schemas.js';

export const settingsEndpoints = [
  declare(
    {
      method: 'get',
      path: '/admin/settings',
      id: 'showSettings',
      credential: 'console',
      right: 'read',
      summary: 'The version of the settings in force, and the changes that need a restart',
      result: schema.settings,
    },
    (reloader: Reloader) => async (_req, res) => {
      res.json(await reloader.report());
    },
  ),
  declare(
    {
      method: 'post',
      path: '/admin/reload',
      id: 'reloadSettings',
      credential: 'console',
      right: 'change',
      summary: 'Reads prices, models, upstream keys and tokens again',
      result: schema.settings,
    },
    (reloader: Reloader) => async (_req, res) => {
      try {
        res.json(await reloader.reload());
      } catch (error) {
        if (!(error instanceof ConfigError)) throw error;
        const message = `nothing was changed: ${error.problems.join('; ')}`;
        throw new OperationError(409, 'conflict_error', message);
      }
    },
  ),
] as const;
