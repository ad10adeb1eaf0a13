/**
 * How a home of the models knows the gateway, if not by a key: a member `credential` of an entry of
 * `UPSTREAMS`. It names where an identity is found, and has no secret itself.
 */

import { z } from 'zod';

const path = z.string().min(1, 'must be the path of a file');
const url = z.url({ protocol: /^https?$/, error: 'must be an http(s):// URL' });
const id = (what: string) => z.string().regex(/^[\w.-]{1,100}$/, `must be ${what}`);

const aws = z.strictObject({
  kind: z.literal('aws'),
  region: z.string().regex(/^[a-z0-9-]{1,40}$/, 'must be a region such as eu-central-1'),
  /** For which signatures are made. */
  service: z.enum(['bedrock', 'bedrock-mantle', 'aws-external-anthropic']),
  /** Of AWS's shared files. Without it, AWS's chain of sources applies. */
  profile: z.string().min(1, 'must be the name of a profile').optional(),
});

const google = z.strictObject({
  kind: z.literal('google'),
  /** A service account, or a workload identity. Without it, Google's chain of sources applies. */
  file: path.optional(),
});

const BY = ['client_secret_file', 'certificate_file', 'token_file'] as const;

const entra = z
  .strictObject({
    kind: z.literal('entra'),
    tenant: id('the id of a tenant').optional(),
    client_id: id('the id of an application').optional(),
    client_secret_file: path.optional(),
    /** In PEM: a certificate and its private key. */
    certificate_file: path.optional(),
    /** The token of a platform that the application trusts. It is read for each new token. */
    token_file: path.optional(),
    /** Of a national cloud. */
    authority: url.default('https://login.microsoftonline.com'),
    scope: z.string().min(1).default('https://ai.azure.com/.default'),
  })
  .check(({ value, issues }) => {
    const given = BY.filter((name) => value[name] !== undefined);
    const refuse = (name: string, message: string): void => {
      issues.push({ code: 'custom', path: [name], message, input: value });
    };
    for (const name of given.slice(1)) refuse(name, `cannot be set beside ${String(given[0])}`);
    if (given.length === 0) {
      // The machine's own identity.
      if (value.tenant !== undefined) refuse('tenant', `is used only with ${BY.join(' or ')}`);
      return;
    }
    for (const name of ['tenant', 'client_id'] as const) {
      if (value[name] === undefined) refuse(name, `is needed with ${String(given[0])}`);
    }
  });

export const homeCredential = z.discriminatedUnion('kind', [aws, google, entra], {
  error: 'must be an object whose kind is "aws", "google" or "entra"',
});

export type HomeCredential = z.output<typeof homeCredential>;
export type AwsSource = z.output<typeof aws>;
export type GoogleSource = z.output<typeof google>;
export type EntraSource = z.output<typeof entra>;
