/**
 * Microsoft Entra's token endpoint: the grant of an application, by a secret or by the token of a
 * platform that the application trusts.
 *
 * https://learn.microsoft.com/entra/identity-platform/v2-oauth2-client-creds-grant-flow
 */

import { claimedBy, isCurrent, verifiedClaims } from '../shared/jwt.js';
import { startTokenEndpoint } from '../shared/token-endpoint.js';
import type { TokenEndpoint, TokenReply, Tokens } from '../shared/token-endpoint.js';

export interface EntraApplication {
  readonly clientId: string;
  readonly secret?: string;
  /** A platform whose tokens stand for the application. */
  readonly federated?: {
    readonly issuer: string;
    readonly subject: string;
    /** In PEM. */
    readonly publicKey: string;
  };
}

export interface EntraIdentities {
  /** Default: `simulated-tenant`. */
  readonly tenantId?: string;
  readonly applications?: readonly EntraApplication[];
  /** Default: 3,600. */
  readonly tokenLifetimeSeconds?: number;
  readonly now?: () => number;
}

const SCOPES = ['https://cognitiveservices.azure.com/.default', 'https://ai.azure.com/.default'];
const ASSERTION = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
const AUDIENCE = 'api://AzureADTokenExchange';

export function startEntraTokens(
  tokens: Tokens,
  identities: EntraIdentities,
): Promise<TokenEndpoint> {
  const { tenantId = 'simulated-tenant', now = Date.now } = identities;
  const { applications = [], tokenLifetimeSeconds = 3_600 } = identities;
  return startTokenEndpoint(({ pathname, body }) => {
    const form = new URLSearchParams(body);
    const [, tenant = ''] = /^\/([^/]+)\/oauth2\/v2\.0\/token$/.exec(pathname) ?? [];
    if (tenant !== tenantId) {
      return refused(400, 'invalid_request', 90002, `Tenant '${tenant}' not found.`);
    }
    if (form.get('grant_type') !== 'client_credentials') {
      return refused(400, 'unsupported_grant_type', 70003, 'The grant type is not supported.');
    }
    const clientId = form.get('client_id') ?? '';
    const application = applications.find((each) => each.clientId === clientId);
    if (application === undefined) {
      const message = `Application with identifier '${clientId}' was not found in the directory '${tenant}'.`;
      return refused(400, 'unauthorized_client', 700016, message);
    }
    const scope = form.get('scope') ?? '';
    if (!SCOPES.includes(scope)) {
      const message = `The resource principal named ${scope} was not found in the tenant named ${tenant}.`;
      return refused(400, 'invalid_resource', 500011, message);
    }
    const problem = credentialProblem(form, application, now());
    if (problem !== undefined) return problem;
    const expiresAtMs = now() + tokenLifetimeSeconds * 1_000;
    const lifetime = {
      expires_in: tokenLifetimeSeconds - 1,
      ext_expires_in: tokenLifetimeSeconds - 1,
    };
    const token = tokens.issue({ subject: clientId, expiresAtMs });
    return { status: 200, body: { token_type: 'Bearer', ...lifetime, access_token: token } };
  });
}

function credentialProblem(
  form: URLSearchParams,
  { clientId, secret, federated }: EntraApplication,
  nowMs: number,
): TokenReply | undefined {
  const assertion = form.get('client_assertion');
  if (assertion === null) {
    return secret !== undefined && form.get('client_secret') === secret
      ? undefined
      : refused(
          401,
          'invalid_client',
          7000215,
          `Invalid client secret provided. Ensure the secret being sent in the request is the client secret value, not the client secret ID, for a secret added to app '${clientId}'.`,
        );
  }
  const claimed = claimedBy(assertion);
  const isKnown =
    form.get('client_assertion_type') === ASSERTION &&
    claimed?.['iss'] === federated?.issuer &&
    claimed?.['sub'] === federated?.subject &&
    claimed?.['aud'] === AUDIENCE;
  if (federated === undefined || !isKnown) {
    const message = `No matching federated identity record found for presented assertion.`;
    return refused(401, 'invalid_client', 700213, message);
  }
  const claims = verifiedClaims(assertion, federated.publicKey);
  if (claims === undefined) {
    return refused(401, 'invalid_client', 700027, 'The signature of the assertion is not valid.');
  }
  return isCurrent(claims, nowMs)
    ? undefined
    : refused(
        401,
        'invalid_client',
        700024,
        'Client assertion is not within its valid time range.',
      );
}

function refused(status: number, error: string, code: number, message: string): TokenReply {
  return {
    status,
    body: {
      error,
      error_description: `AADSTS${String(code)}: ${message}`,
      error_codes: [code],
    },
  };
}
