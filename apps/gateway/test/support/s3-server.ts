/**
 * A small S3-compatible store, which is strict: it checks the signature of each request as AWS
 * describes it (https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html), the
 * hash of each body, and the conditions of writes.
 */

import { createHash, createHmac } from 'node:crypto';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface S3Server {
  readonly url: string;
  /** By name, with the bucket: `bucket/prefix/file`. */
  readonly objects: Map<string, Buffer>;
  /** `PUT bucket/file 200`, in the order of the answers. */
  readonly answered: readonly string[];
  /** Called before each request is answered; an answer of its own replaces that of the store. */
  onRequest: (method: string, name: string) => Reply | undefined | Promise<Reply | undefined>;
  close(): Promise<void>;
}

interface Reply {
  readonly status: number;
  readonly code?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Buffer;
}

export const S3_LOGIN = {
  accessKeyId: 'AKIDTEST',
  secretAccessKey: 'secret/of+the=store',
} as const;
export const S3_REGION = 'eu-test-1';

const MAX_SKEW_MS = 15 * 60_000;
const FORM =
  /^AWS4-HMAC-SHA256 Credential=([^/,]+)\/(\d{8})\/([^/,]+)\/([^/,]+)\/aws4_request, ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})$/;

/** @param buckets - Those that exist. */
export async function startS3Server(buckets: readonly string[]): Promise<S3Server> {
  const objects = new Map<string, Buffer>();
  const answered: string[] = [];
  const server = createServer((req, res) => void serve(req, res));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const store: S3Server = {
    url: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`,
    objects,
    answered,
    onRequest: () => undefined,
    close: () =>
      new Promise((resolve) => {
        server.close(() => {
          resolve();
        });
        server.closeAllConnections();
      }),
  };

  async function serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const parts: Buffer[] = [];
    for await (const part of req) parts.push(part as Buffer);
    const body = Buffer.concat(parts);
    const { method = '', url = '' } = req;
    const name = decodeURIComponent(url.slice(1));
    const reply =
      faultOf(req, body) ?? (await store.onRequest(method, name)) ?? answer(req, name, body);
    answered.push(`${method} ${name} ${String(reply.status)}`);
    res.writeHead(reply.status, reply.headers);
    const code = reply.code === undefined ? '' : `<Error><Code>${reply.code}</Code></Error>`;
    res.end(reply.body ?? code);
  }

  function answer(req: IncomingMessage, name: string, body: Buffer): Reply {
    const before = objects.get(name);
    const etag = before === undefined ? undefined : etagOf(before);
    if (!buckets.includes(name.split('/')[0] ?? '')) return { status: 404, code: 'NoSuchBucket' };
    if (req.method === 'GET') {
      return before === undefined || etag === undefined
        ? { status: 404, code: 'NoSuchKey' }
        : { status: 200, headers: { etag }, body: before };
    }
    if (req.method !== 'PUT') return { status: 405, code: 'MethodNotAllowed' };
    const { 'if-none-match': none, 'if-match': same } = req.headers;
    // A write without a condition could replace what is final.
    if ((none === '*') === (same !== undefined)) return { status: 400, code: 'NoCondition' };
    if (same !== undefined && etag === undefined) return { status: 404, code: 'NoSuchKey' };
    if (none === '*' ? etag !== undefined : same !== etag) {
      return { status: 412, code: 'PreconditionFailed' };
    }
    objects.set(name, body);
    return { status: 200, headers: { etag: etagOf(body) } };
  }
  return store;
}

/** Why a request is refused: its signature, its time or its body. */
function faultOf(req: IncomingMessage, body: Buffer): Reply | undefined {
  const denied = (code: string): Reply => ({ status: 403, code });
  const [, id, day, region, service, names = '', signature] =
    FORM.exec(req.headers.authorization ?? '') ?? [];
  if (id !== S3_LOGIN.accessKeyId) return denied('InvalidAccessKeyId');
  const date = String(req.headers['x-amz-date']);
  const at = date.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z');
  if (!(Math.abs(Date.parse(at) - Date.now()) < MAX_SKEW_MS)) return denied('RequestTimeTooSkewed');
  const scope = [date.slice(0, 8), S3_REGION, 's3', 'aws4_request'];
  if ([day, region, service, 'aws4_request'].join() !== scope.join()) {
    return denied('AuthorizationHeaderMalformed');
  }
  const signed = names.split(';');
  // Everything that decides what the request does must be signed.
  const needed = Object.keys(req.headers).filter(
    (name) => name === 'host' || name.startsWith('x-amz-') || /^if-/.test(name),
  );
  if (needed.some((name) => !signed.includes(name)) || signed.toSorted().join(';') !== names) {
    return denied('AccessDenied');
  }
  const contents = String(req.headers['x-amz-content-sha256']);
  if (contents !== sha256(body)) return { status: 400, code: 'XAmzContentSHA256Mismatch' };
  const [path = '', query = ''] = (req.url ?? '').split('?');
  const canonical = [
    req.method,
    path,
    query.split('&').toSorted().join('&'),
    ...signed.map((name) => `${name}:${String(req.headers[name]).trim().replace(/ +/g, ' ')}`),
    '',
    names,
    contents,
  ].join('\n');
  const text = ['AWS4-HMAC-SHA256', date, scope.join('/'), sha256(canonical)].join('\n');
  const key = scope.reduce<Buffer | string>(
    (secret, part) => hmac(secret, part),
    `AWS4${S3_LOGIN.secretAccessKey}`,
  );
  return hmac(key, text).toString('hex') === signature
    ? undefined
    : denied('SignatureDoesNotMatch');
}

const sha256 = (data: Buffer | string) => createHash('sha256').update(data).digest('hex');
const hmac = (key: Buffer | string, text: string) =>
  createHmac('sha256', key).update(text).digest();
const etagOf = (data: Buffer) => `"${createHash('md5').update(data).digest('hex')}"`;
