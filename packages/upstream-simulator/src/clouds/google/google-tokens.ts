/**
 * Google's token endpoints: the grant of a service account, the exchange of a workload's token, and
 * the impersonation of a service account with the exchanged one.
 *
 * https://developers.google.com/identity/protocols/oauth2/service-account#httprest
 * https://cloud.google.com/iam/docs/reference/sts/rest/v1/TopLevel/token
 */

import { isObject } from '../../message/message.js';
import type { JsonObject } from '../../message/message.js';
import { claimedBy, isCurrent, verifiedClaims } from '../shared/jwt.js';
import { startTokenEndpoint } from '../shared/token-endpoint.js';
import type { TokenEndpoint, TokenReply, TokenRequest, Tokens } from '../shared/token-endpoint.js';
import { googleError } from './google-error.js';

export interface ServiceAccount {
  readonly email: string;
  /** In PEM. */
  readonly publicKey: string;
}

/** A platform whose tokens the customer trusts. */
export interface WorkloadProvider {
  /** `//iam.googleapis.com/projects/…/workloadIdentityPools/…/providers/…` */
  readonly audience: string;
  readonly issuer: string;
  /** In PEM. */
  readonly publicKey: string;
}

export interface GoogleIdentities {
  readonly serviceAccounts?: readonly ServiceAccount[];
  readonly workloadProviders?: readonly WorkloadProvider[];
  /** Default: 3,600. */
  readonly tokenLifetimeSeconds?: number;
  readonly now?: () => number;
}

const JWT_GRANT = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
const EXCHANGE_GRANT = 'urn:ietf:params:oauth:grant-type:token-exchange';
const ACCESS_TOKEN = 'urn:ietf:params:oauth:token-type:access_token';
const SUBJECT_TOKENS = [
  'urn:ietf:params:oauth:token-type:jwt',
  'urn:ietf:params:oauth:token-type:id_token',
];
const SCOPE = 'https://www.googleapis.com/auth/cloud-platform';
const AUDIENCE = 'https://oauth2.googleapis.com/token';
const MAX_LIFETIME_SECONDS = 3_600;
const IMPERSONATION = /^\/v1\/projects\/-\/serviceAccounts\/([^/]+):generateAccessToken$/;
/** What is federated may get tokens, but may not call models. */
export const FEDERATED = 'principal:';

/** Serves `/token`, `/v1/token` and the impersonation, which Google has on three hosts. */
export function startGoogleTokens(
  tokens: Tokens,
  identities: GoogleIdentities,
): Promise<TokenEndpoint> {
  return startTokenEndpoint((request) => {
    const impersonated = IMPERSONATION.exec(request.pathname)?.[1];
    if (impersonated !== undefined) {
      return impersonate(decodeURIComponent(impersonated), request, tokens, identities);
    }
    const form = new URLSearchParams(request.body);
    switch (request.pathname) {
      case '/token':
        return grantToAccount(form, tokens, identities);
      case '/v1/token':
        return exchange(form, tokens, identities);
      default:
        return { status: 404, body: { error: 'invalid_request' } };
    }
  });
}

function refused(error: string, description: string): TokenReply {
  return { status: 400, body: { error, error_description: description } };
}

function grantToAccount(
  form: URLSearchParams,
  tokens: Tokens,
  {
    serviceAccounts = [],
    tokenLifetimeSeconds = MAX_LIFETIME_SECONDS,
    now = Date.now,
  }: GoogleIdentities,
): TokenReply {
  if (form.get('grant_type') !== JWT_GRANT) {
    return refused('unsupported_grant_type', 'Invalid grant_type');
  }
  const assertion = form.get('assertion') ?? '';
  const email = claimedBy(assertion)?.['iss'];
  const account = serviceAccounts.find((each) => each.email === email);
  if (account === undefined) return refused('invalid_grant', 'Invalid grant: account not found');
  const claims = verifiedClaims(assertion, account.publicKey);
  if (claims === undefined) return refused('invalid_grant', 'Invalid JWT Signature.');
  if (claims['aud'] !== AUDIENCE)
    return refused('invalid_grant', 'Invalid JWT: Failed audience check.');
  if (
    Number(claims['exp']) - Number(claims['iat']) > MAX_LIFETIME_SECONDS ||
    !isCurrent(claims, now())
  ) {
    return refused(
      'invalid_grant',
      'Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe. Check your iat and exp values in the JWT claim.',
    );
  }
  if (!String(claims['scope']).split(' ').includes(SCOPE)) {
    return refused('invalid_scope', 'Invalid OAuth scope or ID token audience provided.');
  }
  const expiresAtMs = now() + tokenLifetimeSeconds * 1_000;
  const token = tokens.issue({ subject: account.email, expiresAtMs });
  return {
    status: 200,
    body: { access_token: token, expires_in: tokenLifetimeSeconds - 1, token_type: 'Bearer' },
  };
}

function exchange(
  form: URLSearchParams,
  tokens: Tokens,
  {
    workloadProviders = [],
    tokenLifetimeSeconds = MAX_LIFETIME_SECONDS,
    now = Date.now,
  }: GoogleIdentities,
): TokenReply {
  const isExchange =
    form.get('grant_type') === EXCHANGE_GRANT &&
    form.get('requested_token_type') === ACCESS_TOKEN &&
    SUBJECT_TOKENS.includes(form.get('subject_token_type') ?? '');
  if (!isExchange) return refused('invalid_request', 'Invalid token exchange request.');
  const provider = workloadProviders.find(({ audience }) => audience === form.get('audience'));
  if (provider === undefined) {
    return refused(
      'invalid_target',
      'The target service indicated by the "audience" parameters is invalid.',
    );
  }
  const subjectToken = form.get('subject_token') ?? '';
  const claims = verifiedClaims(subjectToken, provider.publicKey);
  if (claims === undefined) {
    return refused('invalid_grant', 'Invalid signature for the given credential.');
  }
  if (claims['iss'] !== provider.issuer) {
    return refused('invalid_grant', 'The issuer in ID Token does not match the expected ones.');
  }
  const audiences = [claims['aud']].flat();
  if (!audiences.includes(`https:${provider.audience}`) && !audiences.includes(provider.audience)) {
    return refused(
      'invalid_grant',
      'The audience in ID Token does not match the expected audience.',
    );
  }
  if (!isCurrent(claims, now())) {
    return refused('invalid_grant', 'ID Token is stale to sign-in.');
  }
  const subject = `${FEDERATED}${provider.audience}/subject/${String(claims['sub'])}`;
  const expiresAtMs = now() + tokenLifetimeSeconds * 1_000;
  return {
    status: 200,
    body: {
      access_token: tokens.issue({ subject, expiresAtMs }),
      issued_token_type: ACCESS_TOKEN,
      token_type: 'Bearer',
      expires_in: tokenLifetimeSeconds - 1,
    },
  };
}

function impersonate(
  email: string,
  { headers, body }: TokenRequest,
  tokens: Tokens,
  {
    serviceAccounts = [],
    tokenLifetimeSeconds = MAX_LIFETIME_SECONDS,
    now = Date.now,
  }: GoogleIdentities,
): TokenReply {
  const bearer = /^Bearer (.+)$/.exec(headers.authorization ?? '')?.[1];
  const caller = tokens.find(bearer);
  if (caller === undefined || caller.expiresAtMs <= now()) return googleError('UNAUTHENTICATED');
  if (!serviceAccounts.some((account) => account.email === email)) {
    const message =
      "Permission 'iam.serviceAccounts.getAccessToken' denied on resource (or it may not exist).";
    return googleError('PERMISSION_DENIED', message);
  }
  if (!asked(body)?.['scope'])
    return googleError('INVALID_ARGUMENT', 'Request contains an invalid argument.');
  const expiresAtMs = now() + tokenLifetimeSeconds * 1_000;
  const accessToken = tokens.issue({ subject: email, expiresAtMs });
  return { status: 200, body: { accessToken, expireTime: new Date(expiresAtMs).toISOString() } };
}

function asked(body: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(body);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
