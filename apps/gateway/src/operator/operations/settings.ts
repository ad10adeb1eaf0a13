/** Operations on the settings: what is in force and why, reading it again, and changing it. */

import { z } from 'zod';
import { newRefusal } from '../../base/errors/refusal.js';
import { ConfigError } from '../../config/config.js';
import { ConcurrentChangeError } from '../../config/reloader.js';
import { help } from '../../endpoints/fields.js';
import { OperationError, invalidInput } from '../../endpoints/operation-error.js';
import * as schema from '../../endpoints/schemas.js';
import { operation } from './operation.js';

export const settingsOperations = {
  showSettings: operation({
    method: 'get',
    path: '/admin/settings',
    summary:
      'Every setting with its value and where it is set. Secrets are without their values. Also the version in force, and the changes that need a restart',
    right: 'read',
    input: z.strictObject({}),
    output: schema.settings,
    run: (_input, { settingsDesk }) => settingsDesk.report(),
  }),

  reloadSettings: operation({
    method: 'post',
    path: '/admin/reload',
    summary: 'Reads prices, models, upstream keys and tokens again',
    right: 'change',
    input: z.strictObject({}),
    output: schema.settings,
    async run(_input, { settingsDesk }) {
      try {
        return await settingsDesk.reload();
      } catch (error) {
        if (!(error instanceof ConfigError)) throw error;
        const problems = error.problems.join('; ');
        throw new OperationError(newRefusal('reload_refused', { problems }));
      }
    },
  }),

  changeSetting: operation({
    method: 'patch',
    path: '/admin/settings/:name',
    summary:
      'Changes a setting while the gateways serve, in all replicas within seconds. Requests that run keep the prices that they began with',
    right: 'change',
    input: z.strictObject({
      name: z.string().min(1).max(100),
      value: z.string().trim().min(1, 'must not be empty').max(65_536).nullable().register(help, {
        says: 'as in the environment, but JSON in place of a file; none: as set there again',
      }),
    }),
    output: schema.settings,
    async run({ name, value }, { settingsDesk, by }) {
      try {
        return await settingsDesk.change({ name, text: value }, by);
      } catch (error) {
        if (error instanceof ConcurrentChangeError) {
          throw new OperationError(newRefusal('settings_changed_meanwhile'));
        }
        if (!(error instanceof ConfigError) && !(error instanceof RangeError)) throw error;
        const problem =
          error instanceof ConfigError ? error.problems.join('; ') : `value: ${error.message}`;
        throw invalidInput(problem);
      }
    },
  }),
} as const;
