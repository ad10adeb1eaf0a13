/**
 * The members of an entry of `UPSTREAMS` that describe a home of the models other than Anthropic's
 * own API: which headers it wants, how it names the models, and what it lacks.
 */

import { z } from 'zod';
import { homeCredential } from './home-credential.js';
import { HOME_LACKS } from './home-lacks.js';
import { CREDENTIAL_OF, HOME_APIS } from './upstream-target.js';

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
  api: z.enum(HOME_APIS).optional(),
  credential: homeCredential.optional(),
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
export function homeProblems(payload: z.core.ParsePayload<HomeFields & { url: string }>): void {
  const { value, issues } = payload;
  apiProblems(payload);
  const isBearer = value.auth === 'bearer' || value.credential !== undefined;
  const credentialHeader = isBearer ? 'authorization' : 'x-api-key';
  for (const name of Object.keys(value.headers ?? {})) {
    const message = HEADER_NAME.test(name)
      ? 'is written by the gateway itself, so it cannot be set'
      : 'must be the name of a header, in small letters';
    const isOwn =
      OWN_HEADERS.includes(name) || name === credentialHeader || name.startsWith('x-amz-');
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

const VERTEX_URL = /\/projects\/[^/]+\/locations\/[^/?#]+\/?$/;

/** What does not fit the API of the home or its credential. */
function apiProblems({ value, issues }: z.core.ParsePayload<HomeFields & { url: string }>): void {
  const { api = 'messages', credential, auth, models, url } = value;
  const refuse = (path: string[], message: string): void => {
    issues.push({ code: 'custom', path, message, input: value });
  };
  if (credential !== undefined && auth !== undefined) {
    refuse(['auth'], 'cannot be set beside credential');
  }
  if (api === 'messages') return;
  const kind = CREDENTIAL_OF[api];
  if (credential === undefined && auth !== 'bearer') {
    refuse(['auth'], `must be "bearer" with api "${api}", unless there is a credential`);
  }
  if (credential !== undefined && credential.kind !== kind) {
    refuse(['credential', 'kind'], `must be "${kind}" with api "${api}"`);
  }
  if (models === undefined) {
    refuse(['models'], `must name the home's models with api "${api}", which has them in its URL`);
  }
  if (value.version_in !== undefined) {
    refuse(['version_in'], `cannot be set with api "${api}", which has the version in the body`);
  }
  if (api === 'vertex' && !VERTEX_URL.test(url)) {
    refuse(['url'], 'must end with /projects/<project>/locations/<location> with api "vertex"');
  }
}
