/** The body of a small request, read once its key is known. */

import express from 'express';
import type { Request } from 'express';
import { inviteBody } from '../http-server.js';

const parseJson = express.json({ limit: '64kb' });

/** Reads the body into `req.body`. @returns whether it can be used */
export function readJson(req: Request): Promise<boolean> {
  return new Promise((resolve) => {
    const { res } = req;
    if (res === undefined) throw new Error('a request of Express has its response');
    inviteBody(req, res);
    parseJson(req, res, (error?: unknown) => {
      resolve(error === undefined);
    });
  });
}
