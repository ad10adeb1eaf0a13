/**
 * Verifies a request's signature: signs the same request again with AWS's own library, and
 * compares.
 *
 * https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
 */

import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { Sha256 } from '@smithy/core/checksum';
import { HttpRequest } from '@smithy/core/protocols';
import { SignatureV4 } from '@smithy/signature-v4';
import type { AwsError } from './aws-error.js';

export interface AwsCredential {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** Present if the credential is a temporary one. */
  readonly sessionToken?: string;
  /** In milliseconds since the epoch. Default: never. */
  readonly expiresAtMs?: number;
}

/** What a signature must be for. */
export interface SigningScope {
  readonly service: string;
  readonly region: string;
  readonly credentials: readonly AwsCredential[];
  readonly nowMs: number;
}

interface Authorization {
  readonly accessKeyId: string;
  readonly region: string;
  readonly service: string;
  readonly signedHeaders: readonly string[];
  readonly signature: string;
}

const AUTHORIZATION =
  /^AWS4-HMAC-SHA256 Credential=([^/]+)\/\d{8}\/([^/]+)\/([^/]+)\/aws4_request, ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})$/;
/** The largest difference of the clocks. */
const SKEW_MINUTES = 5;

/** @returns AWS's refusal of the request's signature; `undefined` for a valid one */
export async function signatureProblem(
  req: IncomingMessage,
  body: Buffer,
  scope: SigningScope,
): Promise<AwsError | undefined> {
  if (req.headers.authorization === undefined) {
    return refused('MissingAuthenticationTokenException', 'Missing Authentication Token');
  }
  const given = readAuthorization(req.headers.authorization);
  const dateText = String(req.headers['x-amz-date'] ?? '');
  const signedAt = readDate(dateText);
  if (given === undefined || signedAt === undefined) {
    return refused(
      'IncompleteSignatureException',
      "Authorization header requires 'Credential', 'SignedHeaders' and 'Signature' parameters, and the request an 'X-Amz-Date' header.",
    );
  }
  const credential = scope.credentials.find(({ accessKeyId }) => accessKeyId === given.accessKeyId);
  const token = req.headers['x-amz-security-token'];
  if (credential === undefined || credential.sessionToken !== token) {
    return refused(
      'UnrecognizedClientException',
      'The security token included in the request is invalid.',
    );
  }
  if ((credential.expiresAtMs ?? Infinity) <= scope.nowMs) {
    return refused(
      'ExpiredTokenException',
      'The security token included in the request is expired',
    );
  }
  const misplaced = scopeProblem(given, scope) ?? clockProblem(dateText, signedAt, scope.nowMs);
  if (misplaced !== undefined) return refused('InvalidSignatureException', misplaced);
  const isValid =
    coversAll(req, given.signedHeaders) &&
    hasBody(req, body) &&
    (await signatureOf(req, body, { ...given, ...credential, signedAt })) === given.signature;
  return isValid
    ? undefined
    : refused(
        'InvalidSignatureException',
        'The request signature we calculated does not match the signature you provided. Check your AWS Secret Access Key and signing method. Consult the service documentation for details.',
      );
}

function refused(name: string, message: string): AwsError {
  return { name, status: 403, message };
}

function readAuthorization(header: string): Authorization | undefined {
  const [, accessKeyId, region, service, names, signature] = AUTHORIZATION.exec(header) ?? [];
  if (accessKeyId === undefined || region === undefined || service === undefined) return undefined;
  if (names === undefined || signature === undefined) return undefined;
  return { accessKeyId, region, service, signedHeaders: names.split(';'), signature };
}

function readDate(text: string): Date | undefined {
  const match = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(text);
  if (match === null) return undefined;
  const [, year, month, day, hour, minute, second] = match;
  const date = new Date(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
  return Number.isNaN(date.getTime()) ? undefined : date;
}

function writeDate(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19).replace(/[-:]/g, '')}Z`;
}

function scopeProblem(given: Authorization, { service, region }: SigningScope): string | undefined {
  if (given.region !== region) return 'Credential should be scoped to a valid region.';
  return given.service === service
    ? undefined
    : `Credential should be scoped to correct service: '${service}'.`;
}

function clockProblem(dateText: string, signedAt: Date, nowMs: number): string | undefined {
  const skewMs = SKEW_MINUTES * 60_000;
  const now = writeDate(nowMs);
  const earliest = writeDate(nowMs - skewMs);
  const latest = writeDate(nowMs + skewMs);
  const minutes = String(SKEW_MINUTES);
  if (signedAt.getTime() < nowMs - skewMs) {
    return `Signature expired: ${dateText} is now earlier than ${earliest} (${now} - ${minutes} min.)`;
  }
  return signedAt.getTime() > nowMs + skewMs
    ? `Signature not yet current: ${dateText} is still later than ${latest} (${now} + ${minutes} min.)`
    : undefined;
}

/** The host and everything of AWS's own must be signed. */
function coversAll({ headers }: IncomingMessage, signed: readonly string[]): boolean {
  const must = Object.keys(headers).filter((name) => name === 'host' || name.startsWith('x-amz-'));
  return must.every((name) => signed.includes(name));
}

/** A client may state the hash of its body, which is then signed instead of the body. */
function hasBody({ headers }: IncomingMessage, body: Buffer): boolean {
  const stated = headers['x-amz-content-sha256'];
  return stated === undefined || stated === createHash('sha256').update(body).digest('hex');
}

async function signatureOf(
  req: IncomingMessage,
  body: Buffer,
  given: Authorization & AwsCredential & { readonly signedAt: Date },
): Promise<string | undefined> {
  const { signedHeaders, signedAt, service, region } = given;
  const { accessKeyId, secretAccessKey, sessionToken } = given;
  const signer = new SignatureV4({
    service,
    region,
    sha256: Sha256,
    applyChecksum: false,
    credentials: {
      accessKeyId,
      secretAccessKey,
      ...(sessionToken === undefined ? {} : { sessionToken }),
    },
  });
  const [path = '', search = ''] = (req.url ?? '').split('?');
  const query = new URLSearchParams(search);
  const request = new HttpRequest({
    method: req.method ?? '',
    path,
    query: Object.fromEntries([...query.keys()].map((key) => [key, query.getAll(key)])),
    headers: Object.fromEntries(
      signedHeaders.map((name) => [name, String(req.headers[name] ?? '')]),
    ),
    body,
  });
  const signed = await signer.sign(request, {
    signingDate: signedAt,
    signableHeaders: new Set(signedHeaders),
  });
  return readAuthorization(String(signed.headers['authorization']))?.signature;
}
