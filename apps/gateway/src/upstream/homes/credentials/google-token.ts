/**
 * Google's tokens: of a service account or a workload identity, whose file Google's own library
 * reads, or of the machine.
 */

import { fetch } from 'undici';
import type { RequestInit } from 'undici';
import type { GoogleSource } from '../../../config/home-credential.js';
import type { ProxyVariables } from '../../client.js';
import type { IssuedToken } from './renewed-token.js';
import { CredentialError } from './renewed-token.js';
import { credentialError, withTokenConnections } from './token-requests.js';

const SCOPES = ['https://www.googleapis.com/auth/cloud-platform'];

/**
 * Loads Google's library, which only gateways with such a home need.
 *
 * @param send - What reaches Google.
 */
export async function loadGoogleToken(
  { file }: Pick<GoogleSource, 'file'>,
  proxies: ProxyVariables,
  send: typeof fetch = fetch,
): Promise<IssuedToken<string>> {
  const { GoogleAuth } = await import('google-auth-library');
  return withTokenConnections(proxies, async (dispatcher) => {
    // Some of the library's requests go around this: the exchange of a workload's token, and those
    // to the machine. For these it reads the variables of proxies itself.
    const fetchImplementation = (url: unknown, init?: object): Promise<Response> =>
      send(String(url), { ...(init as RequestInit), dispatcher }) as unknown as Promise<Response>;
    const auth = new GoogleAuth({
      ...(file === undefined ? undefined : { keyFilename: file }),
      scopes: SCOPES,
      clientOptions: { transporterOptions: { fetchImplementation } },
    });
    try {
      const client = await auth.getClient();
      const { token } = await client.getAccessToken();
      if (typeof token !== 'string') throw new CredentialError('Google: it gave no token');
      return { token, expiresAtMs: client.credentials.expiry_date ?? undefined };
    } catch (error) {
      throw credentialError('Google', error);
    }
  });
}
