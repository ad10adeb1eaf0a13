/**
 * `GET /admin/settings` and `POST /admin/reload`: report the settings in force, and read the
 * settings again.
 */

import { ConfigError } from '../config/config.js';
import type { Right } from '../config/admin-tokens.js';
import type { Reloader } from '../config/reloader.js';
import type { Served } from '../endpoints/endpoint.js';
import { OperationError } from '../endpoints/operation-error.js';
import * as schema from '../endpoints/schemas.js';

export const settingsEndpoints: readonly (Served<Reloader> & { readonly right: Right })[] = [
  {
    method: 'get',
    path: '/admin/settings',
    id: 'showSettings',
    credential: 'console',
    right: 'read',
    summary: 'The version of the settings in force, and the changes that need a restart',
    result: schema.settings,
    serve: (reloader) => async (_req, res) => {
      res.json(await reloader.report());
    },
  },
  {
    method: 'post',
    path: '/admin/reload',
    id: 'reloadSettings',
    credential: 'console',
    right: 'change',
    summary: 'Reads prices, models, upstream keys and tokens again',
    result: schema.settings,
    serve: (reloader) => async (_req, res) => {
      try {
        res.json(await reloader.reload());
      } catch (error) {
        if (!(error instanceof ConfigError)) throw error;
        const message = `nothing was changed: ${error.problems.join('; ')}`;
        throw new OperationError(409, 'conflict_error', message);
      }
    },
  },
];
