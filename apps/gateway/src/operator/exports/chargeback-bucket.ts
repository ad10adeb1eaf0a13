/**
 * A bucket of an S3-compatible store, which gets the daily files of chargebacks. Each write is
 * conditional (https://docs.aws.amazon.com/AmazonS3/latest/userguide/conditional-writes.html): a
 * file is created only where there is none, and the manifest is replaced only if it is as it was
 * read. So gateways that write at the same time neither replace a file nor lose a line.
 */

import { hash } from 'node:crypto';
import type { AwsClient } from 'aws4fetch';
import type { S3Target } from '../../config/s3-target.js';
import { notSound } from './chargeback-place.js';
import type { ChargebackPlace } from './chargeback-place.js';

const TIMEOUT_MS = 60_000;
/** A store may have no ETags. Then the manifest could be replaced after another run changed it. */
const NO_VERSION = 'the store sends no ETag';

/** Loads the client, which only gateways with a bucket need. */
export async function bucketPlace(target: S3Target): Promise<ChargebackPlace> {
  const { AwsClient: Client } = await import('aws4fetch');
  const { accessKeyId, secretAccessKey, region } = target;
  // A write that fails is repeated by the next look, which first reads what is there.
  const client = new Client({ accessKeyId, secretAccessKey, region, service: 's3', retries: 0 });
  const name = `s3://${target.bucket}/${target.prefix}`;
  const send = (method: 'GET' | 'PUT', file: string, put?: Put) =>
    sendTo({ client, target, name }, { method, file, ...put });

  return {
    name,
    async read(file) {
      const { status, code, contents, etag } = await send('GET', file);
      if (status === 200) return { contents, version: etag };
      // A bucket that does not exist has the same status.
      if (status === 404 && code === 'NoSuchKey') return undefined;
      throw failed(name, `GET ${file}`, status, code);
    },
    async create(file, contents) {
      const { status, code } = await send('PUT', file, {
        body: contents,
        condition: { 'if-none-match': '*' },
      });
      if (status === 412) return false;
      if (status !== 200) throw failed(name, `PUT ${file}`, status, code);
      return true;
    },
    async append(file, before, lines) {
      const version = before?.version;
      if (before !== undefined && version === undefined) throw notSound({ name }, NO_VERSION);
      const { status, code } = await send('PUT', file, {
        body: `${before?.contents.toString('utf8') ?? ''}${lines}`,
        condition: version === undefined ? { 'if-none-match': '*' } : { 'if-match': version },
      });
      if (status === 412) throw notSound({ name }, `${file}: another run has changed it`);
      if (status !== 200) throw failed(name, `PUT ${file}`, status, code);
    },
    alone: (work) => work(),
  };
}

interface Put {
  readonly body: string;
  readonly condition: Readonly<Record<string, string>>;
}

interface Answer {
  readonly status: number;
  /** Of an error, such as `AccessDenied`. */
  readonly code: string | undefined;
  readonly contents: Buffer;
  readonly etag: string | undefined;
}

async function sendTo(
  {
    client,
    target,
    name,
  }: { readonly client: AwsClient; readonly target: S3Target; readonly name: string },
  {
    method,
    file,
    body,
    condition,
  }: { readonly method: string; readonly file: string } & Partial<Put>,
): Promise<Answer> {
  const { endpoint, bucket, prefix } = target;
  const path = [bucket, ...prefix.split('/'), file].filter((part) => part !== '').join('/');
  try {
    const response = await client.fetch(`${endpoint}/${path}`, {
      method,
      headers: {
        // Signed, so the store notices a body that was changed on its way.
        'x-amz-content-sha256': hash('sha256', body ?? ''),
        ...(body === undefined ? {} : { 'content-type': typeOf(file) }),
        ...condition,
      },
      // Another address would get the contents, and the signature is for this one only.
      redirect: 'manual',
      signal: AbortSignal.timeout(TIMEOUT_MS),
      ...(body === undefined ? {} : { body }),
    });
    const contents = Buffer.from(await response.arrayBuffer());
    const [, code] = /<Code>(\w{1,100})<\/Code>/.exec(response.ok ? '' : contents.toString()) ?? [];
    const etag = response.headers.get('etag') ?? undefined;
    return { status: response.status, code, contents, etag };
  } catch (error) {
    throw new Error(`${name}: ${method} ${file} got no answer from ${endpoint}`, { cause: error });
  }
}

function typeOf(file: string): string {
  return file.endsWith('.csv') ? 'text/csv; charset=utf-8' : 'application/jsonl';
}

function failed(name: string, what: string, status: number, code: string | undefined): Error {
  return new Error(`${name}: ${what} was answered by ${String(status)} ${code ?? ''}`.trimEnd());
}
