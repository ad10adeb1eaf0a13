/**
 * Errors that a cloud wrote, and not the API behind it, in the API's terms. Each cloud is known by
 * the form of its errors. Anything else stays as it is: something in between may have written it.
 */

import type { IncomingHttpHeaders } from 'node:http';
import { z } from 'zod';
import { parseJson } from '../../../base/parse-json.js';
import type { WrittenError } from '../../upstream.js';
import type { ApiError } from './api-error.js';
import { awsError } from './aws-error.js';
import { azureError } from './azure-error.js';
import { googleError } from './google-error.js';

const words = z.string().default('');
const google = z.object({ error: z.object({ status: z.string(), message: words }) });
const azure = z.union([
  z.object({
    type: z.undefined().optional(),
    error: z.object({ code: z.string(), message: words }),
  }),
  z
    .object({ statusCode: z.number(), message: words })
    .transform(({ statusCode, message }) => ({ error: { code: String(statusCode), message } })),
]);
const aws = z.object({ message: z.string().optional(), Message: z.string().optional() });

/** @returns `undefined` if no cloud wrote it */
export function readCloudError(
  status: number,
  headers: IncomingHttpHeaders,
  body: Buffer,
): WrittenError | undefined {
  const found = recognized(status, headers, parseJson(body.toString()));
  if (found === undefined) return undefined;
  const { type, message, code } = found;
  const details = code === undefined ? undefined : { details: { error_code: code } };
  const error = { type: 'error', error: { type, message, ...details } };
  return { status: found.status, body: Buffer.from(JSON.stringify(error)) };
}

function recognized(
  status: number,
  { 'x-amzn-errortype': name }: IncomingHttpHeaders,
  json: unknown,
): ApiError | undefined {
  if (name !== undefined) {
    const { message, Message } = aws.safeParse(json).data ?? {};
    return awsError(String(name), message ?? Message ?? '');
  }
  // Google answers a request for a stream with a list.
  const byGoogle = google.safeParse(Array.isArray(json) ? json[0] : json);
  if (byGoogle.success) return googleError(byGoogle.data.error.status, byGoogle.data.error.message);
  const byAzure = azure.safeParse(json);
  if (!byAzure.success) return undefined;
  const { code, message } = byAzure.data.error;
  return azureError(status, code, message);
}
