/**
 * Tokens of Microsoft Entra: one form, sent with a secret, a certificate or the token of a trusted
 * platform; or one question to the machine for its own identity.
 *
 * https://learn.microsoft.com/entra/identity-platform/v2-oauth2-client-creds-grant-flow
 * https://learn.microsoft.com/entra/identity/managed-identities-azure-resources/how-to-use-vm-token
 */

import { X509Certificate, createPrivateKey, randomUUID, sign } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { request } from 'undici';
import { z } from 'zod';
import { parseJson } from '../../../base/parse-json.js';
import type { EntraSource } from '../../../config/home-credential.js';
import type { ProxyVariables } from '../../client.js';
import type { IssuedToken } from './renewed-token.js';
import { CredentialError } from './renewed-token.js';
import { credentialError, withTokenConnections } from './token-requests.js';

const ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
/** Virtual machines and Kubernetes. App Service and Container Apps name another address. */
const MACHINE = 'http://169.254.169.254/metadata/identity/oauth2/token';
const ASSERTION_SECONDS = 600;

const issued = z.object({
  access_token: z.string().min(1),
  /** The machine writes it as a text. */
  expires_in: z.coerce.number().positive(),
});
const refused = z.object({
  error: z.string(),
  error_codes: z.array(z.number()).optional(),
});

export async function loadEntraToken(
  source: EntraSource,
  proxies: ProxyVariables,
  env: NodeJS.ProcessEnv = process.env,
): Promise<IssuedToken<string>> {
  try {
    return source.tenant === undefined
      ? // The machine answers only directly.
        await ask(machineQuestion(source, env), {})
      : await ask(await applicationQuestion(source), proxies);
  } catch (error) {
    throw credentialError('Entra', error);
  }
}

interface Question {
  readonly url: string;
  readonly headers?: Record<string, string>;
  /** `undefined`: it is a GET. */
  readonly form?: URLSearchParams;
}

async function ask(
  { url, headers, form }: Question,
  proxies: ProxyVariables,
): Promise<IssuedToken<string>> {
  const askedAt = Date.now();
  const { statusCode, text } = await withTokenConnections(proxies, async (dispatcher) => {
    const answer = await request(url, {
      dispatcher,
      ...(form === undefined
        ? { method: 'GET', headers: { ...headers } }
        : {
            method: 'POST',
            headers: { 'content-type': 'application/x-www-form-urlencoded' },
            body: form.toString(),
          }),
    });
    return { statusCode: answer.statusCode, text: await answer.body.text() };
  });
  const token = issued.safeParse(parseJson(text));
  if (statusCode === 200 && token.success) {
    const { access_token: value, expires_in: seconds } = token.data;
    return { token: value, expiresAtMs: askedAt + seconds * 1000 };
  }
  throw new CredentialError(`Entra: ${refusalIn(text) ?? `status ${String(statusCode)}`}`);
}

/** Only the codes: the descriptions name the tenant and the application. */
function refusalIn(text: string): string | undefined {
  const { data } = refused.safeParse(parseJson(text));
  if (data === undefined || !/^\w{1,60}$/.test(data.error)) return undefined;
  return [data.error, ...(data.error_codes ?? []).map((code) => `AADSTS${String(code)}`)].join(' ');
}

async function applicationQuestion(source: EntraSource): Promise<Question> {
  const { authority, scope, tenant = '', client_id: clientId = '' } = source;
  const url = `${authority.replace(/\/+$/, '')}/${tenant}/oauth2/v2.0/token`;
  const proof = await proofOf(source, url);
  const grant = { grant_type: 'client_credentials', client_id: clientId, scope };
  return { url, form: new URLSearchParams({ ...grant, ...proof }) };
}

async function proofOf(source: EntraSource, url: string): Promise<Record<string, string>> {
  const { client_secret_file: secret, certificate_file: certificate, token_file: token } = source;
  if (secret !== undefined) return { client_secret: await read(secret) };
  const assertion =
    certificate === undefined
      ? await read(token ?? '')
      : assertionOf(await read(certificate), { clientId: source.client_id ?? '', url });
  return { client_assertion_type: ASSERTION_TYPE, client_assertion: assertion };
}

async function read(file: string): Promise<string> {
  return (await readFile(file, 'utf8')).trim();
}

/** https://learn.microsoft.com/entra/identity-platform/certificate-credentials */
function assertionOf(
  pem: string,
  { clientId, url }: { readonly clientId: string; readonly url: string },
): string {
  const { fingerprint256 } = new X509Certificate(pem);
  const thumbprint = Buffer.from(fingerprint256.replaceAll(':', ''), 'hex').toString('base64url');
  const nbf = Math.floor(Date.now() / 1000);
  const header = { alg: 'RS256', typ: 'JWT', 'x5t#S256': thumbprint };
  const who = { aud: url, iss: clientId, sub: clientId, jti: randomUUID() };
  const signed = [header, { ...who, nbf, exp: nbf + ASSERTION_SECONDS }]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.');
  const signature = sign('RSA-SHA256', Buffer.from(signed), createPrivateKey(pem));
  return `${signed}.${signature.toString('base64url')}`;
}

function machineQuestion(
  { scope, client_id: clientId }: EntraSource,
  { IDENTITY_ENDPOINT: endpoint, IDENTITY_HEADER: header }: NodeJS.ProcessEnv,
): Question {
  const isHosted = endpoint !== undefined && header !== undefined;
  const url = new URL(isHosted ? endpoint : MACHINE);
  url.searchParams.set('api-version', isHosted ? '2019-08-01' : '2018-02-01');
  url.searchParams.set('resource', scope.replace(/\/\.default$/, ''));
  if (clientId !== undefined) url.searchParams.set('client_id', clientId);
  return {
    url: url.href,
    headers: isHosted ? { 'x-identity-header': header } : { metadata: 'true' },
  };
}
