/** The access key of an AWS identity, from the sources that AWS's own libraries know. */

import type { Dispatcher } from 'undici';
import type { AwsSource } from '../../../config/home-credential.js';
import type { ProxyVariables } from '../../client.js';
import type { IssuedToken } from './renewed-token.js';
import { credentialError, withTokenConnections } from './token-requests.js';

export interface AwsIdentity {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
}

/** Loads AWS's library, which only gateways with such a home need. */
export async function loadAwsIdentity(
  { profile, region }: Pick<AwsSource, 'profile' | 'region'>,
  proxies: ProxyVariables,
): Promise<IssuedToken<AwsIdentity>> {
  const { defaultProvider } = await import('@aws-sdk/credential-provider-node');
  return withTokenConnections(proxies, async (dispatcher) => {
    try {
      const { accessKeyId, secretAccessKey, sessionToken, expiration } = await defaultProvider({
        ...(profile === undefined ? undefined : { profile }),
        // The files may have changed.
        ignoreCache: true,
        clientConfig: { region, requestHandler: requestHandler(dispatcher) },
      })();
      return {
        token: {
          accessKeyId,
          secretAccessKey,
          ...(sessionToken === undefined ? undefined : { sessionToken }),
        },
        expiresAtMs: expiration?.getTime(),
      };
    } catch (error) {
      throw credentialError('AWS', error);
    }
  });
}

/** The part of a request of AWS's library that its security token service needs. */
interface AwsRequest {
  readonly protocol: string;
  readonly hostname: string;
  readonly port?: number;
  readonly path: string;
  readonly method: string;
  readonly headers: Record<string, string>;
  readonly body?: string | Uint8Array;
}

/** Sends the requests of AWS's library. */
function requestHandler(dispatcher: Dispatcher) {
  return {
    async handle({ protocol, hostname, port, path, method, headers, body }: AwsRequest) {
      const origin = `${protocol}//${hostname}${port === undefined ? '' : `:${String(port)}`}`;
      const {
        statusCode,
        headers: answered,
        body: answer,
      } = await dispatcher.request({
        origin,
        path,
        method,
        headers,
        body: body ?? null,
      });
      return { response: { statusCode, headers: answered, body: answer } };
    },
  };
}
