/** The settings in force, and sessions of the console. */

import { z } from 'zod';
import { TOKEN_RIGHTS } from '../../config/admin-tokens.js';
import { count, text, time } from './basics.js';

export const settings = z
  .strictObject({
    object: z.literal('settings'),
    version: text.nullable(),
    loaded_at: time.nullable(),
    workers: z.array(z.strictObject({ worker: count, version: text })),
    needs_restart: z.array(text),
    variables: z.array(
      z.strictObject({
        name: text,
        about: text,
        value: text.nullable(),
        is_set: z.boolean(),
        is_secret: z.boolean(),
        is_json: z.boolean(),
        default: text.nullable(),
        set_in: z.enum(['gateway', 'environment', 'file', 'default']),
        changes_by: z.enum(['gateway', 'reload', 'restart']),
      }),
    ),
  })
  .meta({ id: 'Settings' });

export const consoleSession = z
  .strictObject({
    object: z.literal('console_session'),
    name: text,
    right: z.enum(TOKEN_RIGHTS),
    may: z.array(z.enum(['read', 'credit', 'change'])),
    idle_expires_at: time,
    expires_at: time,
    simulated: z.boolean(),
    client_url: text.nullable().meta({
      description: 'the address of the port for clients, for links to the customer’s page',
    }),
  })
  .meta({ id: 'ConsoleSession' });

export const consoleLink = z
  .strictObject({
    object: z.literal('console_link'),
    path: text.meta({ description: 'below the address of the admin port; it has a secret' }),
    expires_at: time,
  })
  .meta({ id: 'ConsoleLink' });
