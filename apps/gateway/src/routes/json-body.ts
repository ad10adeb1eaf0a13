/** Reads the JSON body of a small request, after its API key was recognised. */

import express from 'express';
import type { Request } from 'express';
import { inviteBody } from '../http-server.js';

const parseJson = express.json({ limit: '64kb' });

/** Reads the body into `req.body`. @returns whether it can be used */
export function readJson(req: Request): Promise<boolean> {
  return new Promise((resolve) => {
    const { res } = req;
    if (res === undefined) throw new Error('the Express request has no `res`');
    inviteBody(req, res);
    parseJson(req, res, (error?: unknown) => {
      resolve(error === undefined);
    });
  });
}
