/** Reads the JSON body of a small request, after its credential was recognised. */

import express from 'express';
import type { Request } from 'express';
import { newRefusal } from '../base/errors/refusal.js';
import type { Refusal } from '../base/errors/refusal.js';
import { inviteBody } from './continue.js';

const parseJson = express.json({ limit: '64kb' });

/**
 * Reads the body into `req.body`. A missing body is an object without members.
 *
 * @returns the refusal, if it cannot be used
 */
export function readJson(req: Request): Promise<Refusal | undefined> {
  return new Promise((resolve) => {
    const { res } = req;
    if (res === undefined) throw new Error('the Express request has no `res`');
    const refusal = refusalOfType(req);
    if (refusal !== undefined) {
      resolve(refusal);
      return;
    }
    inviteBody(req, res);
    parseJson(req, res, (error?: unknown) => {
      const body: unknown = (req.body ??= {});
      resolve(
        error === undefined && !Array.isArray(body)
          ? undefined
          : newRefusal('small_body_unreadable'),
      );
    });
  });
}

/**
 * The refusal of a body whose type is not JSON, such as that of `curl -d`. The parser would ignore
 * such a body, and the request would run with the default of each field.
 */
export function refusalOfType(req: Request): Refusal | undefined {
  const { 'content-length': length, 'transfer-encoding': encoding } = req.headers;
  const hasBody = encoding !== undefined || Number(length ?? 0) > 0;
  if (!hasBody || typeof req.is('application/json') === 'string') return undefined;
  return newRefusal('unsupported_media_type');
}
