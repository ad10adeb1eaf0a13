/**
 * The members of an entry of `UPSTREAMS` that describe a home of the models other than Anthropic's
 * own API: which headers it wants, how it names the models, and what it lacks.
 */

import { z } from 'zod';
import { HOME_LACKS } from './upstream-target.js';

const HEADER_NAME = /^[a-z0-9][a-z0-9-]{0,63}$/;
const headerValue = z
  .string()
  .regex(/^[\x20-\x7e]{1,4096}$/, 'must be 1 to 4096 printable ASCII characters');
const homeModel = z
  .string()
  .regex(/^[\x21-\x7e]{1,300}$/, 'must be 1 to 300 printable ASCII characters without spaces');

/**
 * Headers that the gateway writes itself, or that belong to the connection. A second value would
 * break requests in ways that are hard to find.
 */
const OWN_HEADERS: readonly string[] = [
  'accept-encoding',
  'anthropic-beta',
  'anthropic-version',
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'expect',
  'host',
  'keep-alive',
  'te',
  'traceparent',
  'tracestate',
  'transfer-encoding',
  'upgrade',
];

export const homeFields = {
  /** The header of the credential: `x-api-key`, or `authorization` as a bearer token. */
  auth: z.enum(['x-api-key', 'bearer']).optional(),
  headers: z.record(z.string(), headerValue).optional(),
  models: z
    .record(z.string(), homeModel)
    .refine((models) => Object.keys(models).length > 0, {
      error: 'must name a model, or be left out: then the home serves every model under its own id',
    })
    .optional(),
  version: z
    .string()
    .regex(/^[\w.-]{1,60}$/, 'must be a version such as 2023-06-01')
    .optional(),
  version_in: z.enum(['header', 'body']).optional(),
  lacks: z.array(z.enum(HOME_LACKS)).optional(),
};

type HomeFields = z.output<z.ZodObject<typeof homeFields>>;

/** Problems of several members, each under the name of the one to change. */
export function homeProblems({ value, issues }: z.core.ParsePayload<HomeFields>): void {
  const credentialHeader = value.auth === 'bearer' ? 'authorization' : 'x-api-key';
  for (const name of Object.keys(value.headers ?? {})) {
    const message = HEADER_NAME.test(name)
      ? 'is written by the gateway itself, so it cannot be set'
      : 'must be the name of a header, in small letters';
    const isOwn = OWN_HEADERS.includes(name) || name === credentialHeader;
    if (HEADER_NAME.test(name) && !isOwn) continue;
    issues.push({ code: 'custom', path: ['headers', name], message, input: name });
  }
  const ids = new Map<string, string>();
  for (const [id, name] of Object.entries(value.models ?? {})) {
    const other = ids.get(name);
    ids.set(name, id);
    if (other === undefined) continue;
    // An answer names the model by the home's name only.
    const message = `has the same name at the home as ${other}, so answers could not be told apart`;
    issues.push({ code: 'custom', path: ['models', id], message, input: name });
  }
}
