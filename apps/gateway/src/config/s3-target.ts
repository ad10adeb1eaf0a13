/** `CHARGEBACK_S3` and the variables that belong to it: a bucket of an S3-compatible store. */

import { z } from 'zod';

export interface S3Target {
  readonly bucket: string;
  /** Of the names of all objects, without a slash at its ends; may be empty. */
  readonly prefix: string;
  /** Without a slash at its end. The bucket is in the path. */
  readonly endpoint: string;
  readonly region: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

/** Other characters would be written in several ways in an address, and signed in one. */
const FORM = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])((?:\/[A-Za-z0-9_][A-Za-z0-9._-]*)*)\/?$/;

export const s3Bucket = z.string().transform((given, context) => {
  const [, bucket, prefix = ''] = FORM.exec(given) ?? [];
  if (bucket !== undefined) return { bucket, prefix: prefix.slice(1) };
  context.addIssue('must be s3://bucket or s3://bucket/prefix');
  return z.NEVER;
});

export const s3Endpoint = z
  .url({ protocol: /^https?$/, error: 'must be an http(s):// URL' })
  .refine((text) => {
    if (!URL.canParse(text)) return true;
    const { pathname, search, hash, username, password } = new URL(text);
    return pathname === '/' && [search, hash, username, password].every((part) => part === '');
  }, 'must be a host and a port only')
  .transform((text) => new URL(text).origin);

interface Given {
  readonly CHARGEBACK_S3?: z.output<typeof s3Bucket> | undefined;
  readonly CHARGEBACK_S3_ENDPOINT?: string | undefined;
  readonly CHARGEBACK_S3_REGION: string;
  readonly CHARGEBACK_S3_KEY_ID?: string | undefined;
  readonly CHARGEBACK_S3_SECRET?: string | undefined;
}

/** `undefined`: nothing is written to a store. */
export function s3TargetOf(v: Given): S3Target | undefined {
  const [to, keyId, secret] = [v.CHARGEBACK_S3, v.CHARGEBACK_S3_KEY_ID, v.CHARGEBACK_S3_SECRET];
  if (to === undefined || keyId === undefined || secret === undefined) return undefined;
  const region = v.CHARGEBACK_S3_REGION;
  return {
    ...to,
    endpoint: v.CHARGEBACK_S3_ENDPOINT ?? `https://s3.${region}.amazonaws.com`,
    region,
    accessKeyId: keyId,
    secretAccessKey: secret,
  };
}

export function s3Problems(v: Given): readonly string[] {
  const names = ['CHARGEBACK_S3_KEY_ID', 'CHARGEBACK_S3_SECRET'] as const;
  if (v.CHARGEBACK_S3 !== undefined) {
    return names
      .filter((name) => v[name] === undefined)
      .map((name) => `${name}: is needed when CHARGEBACK_S3 is set`);
  }
  return [...names, 'CHARGEBACK_S3_ENDPOINT' as const].some((name) => v[name] !== undefined)
    ? ['CHARGEBACK_S3: is needed when another CHARGEBACK_S3_… is set']
    : [];
}
