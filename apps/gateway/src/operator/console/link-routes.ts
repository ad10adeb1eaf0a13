/**
 * `POST /admin/console-links` makes a link that signs in to the console once, and `POST
 * /console/link` exchanges it for a cookie. See decision 0076.
 */

import { z } from 'zod';
import { newRefusal } from '../../base/errors/refusal.js';
import { declare } from '../../endpoints/endpoint.js';
import { OperationError } from '../../endpoints/operation-error.js';
import * as schema from '../../endpoints/schemas.js';
import { transportOf } from '../../http/origin.js';
import type { PageFiles } from '../../http/pages/page-files.js';
import { refuse } from '../refuse.js';
import type { ConsoleLinks } from './console-links.js';
import {
  adminTokenOf,
  refusalOfPlace,
  refusalOfWrongLogIn,
  startSession,
} from './session-routes.js';
import type { SessionParts } from './session-routes.js';

export interface LinkParts extends SessionParts {
  readonly consoleLinks: ConsoleLinks;
  /** The console; `undefined` if there is none. */
  readonly consolePage: PageFiles | undefined;
}

export const linkEndpoints = [
  declare(
    {
      method: 'post',
      path: '/admin/console-links',
      id: 'makeConsoleLink',
      credential: 'admin-token',
      right: 'read',
      summary: 'Makes a link that signs in to the console once, on the machine of the gateway',
      result: schema.consoleLink,
    },
    ({ consoleLinks, consolePage }: LinkParts) =>
      (req, res) => {
        // A session ends after twelve hours. With a link it could start the next one itself.
        if (req.headers.authorization === undefined) {
          refuse(res, NEEDS_TOKEN);
          return;
        }
        if (consolePage === undefined) throw new OperationError(newRefusal('no_console'));
        const { path, expiresAt } = consoleLinks.make(adminTokenOf(res));
        const expires = new Date(expiresAt).toISOString();
        res.json({ object: 'console_link', path, expires_at: expires });
      },
  ),
] as const;

const linkInput = z.strictObject({ code: z.string().min(1).max(1_000) });

export const linkSessionEndpoints = [
  declare(
    {
      method: 'post',
      path: '/console/link',
      id: 'useConsoleLink',
      credential: 'none',
      summary: 'Exchanges the code of a console link, which works once, for a cookie',
      body: linkInput,
      result: schema.consoleSession,
    },
    (parts: LinkParts) => async (req, res) => {
      const refusal = refusalOfPlace(req);
      if (refusal !== undefined) {
        refuse(res, refusal);
        return;
      }
      if (transportOf(req) !== 'loopback') {
        refuse(res, ELSEWHERE);
        return;
      }
      const body = linkInput.safeParse(req.body);
      const code = body.success ? body.data.code : '';
      const redemption = parts.consoleLinks.redeem(code, parts.adminTokens);
      if (redemption.outcome === 'redeemed') startSession(req, res, redemption.token, parts);
      else {
        const wrong = redemption.outcome === 'used' ? USED : UNKNOWN;
        refuse(res, await refusalOfWrongLogIn(req, wrong, parts));
      }
    },
  ),
] as const;

const NEEDS_TOKEN = newRefusal('console_link_needs_token');
const ELSEWHERE = newRefusal('console_link_elsewhere');
const USED = newRefusal('console_link_used');
const UNKNOWN = newRefusal('console_link_unknown');
