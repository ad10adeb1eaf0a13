/**
 * The credential of a home: a key, as it is or from a file; a signature; or a token. The code of a
 * cloud is loaded when its first request needs it.
 */

import type { AnthropicTarget } from '../../../config/upstream-target.js';
import { awsSignature } from './aws-signature.js';
import type { AddCredential, CredentialOptions } from './credential.js';
import { openKey } from './file-key.js';
import { RenewedToken } from './renewed-token.js';
import type { IssuedToken } from './renewed-token.js';

export function openCredential(target: AnthropicTarget, options: CredentialOptions): AddCredential {
  const { credential, auth } = target;
  switch (credential?.kind) {
    case 'aws':
      return awsSignature(credential, options);
    case 'google':
      return bearerToken(async () => {
        const { loadGoogleToken } = await import('./google-token.js');
        return loadGoogleToken(credential, options.proxies);
      }, options);
    case 'entra':
      return bearerToken(async () => {
        const { loadEntraToken } = await import('./entra-token.js');
        return loadEntraToken(credential, options.proxies);
      }, options);
    case undefined: {
      const key = openKey(target, options);
      return ({ headers }) => ({
        headers:
          auth === 'bearer'
            ? { ...headers, authorization: `Bearer ${key()}` }
            : { ...headers, 'x-api-key': key() },
      });
    }
  }
}

function bearerToken(
  renew: () => Promise<IssuedToken<string>>,
  { onProblem }: CredentialOptions,
): AddCredential {
  const renewed = new RenewedToken({ renew, now: () => Date.now(), onProblem });
  return ({ headers }) => {
    const add = (token: string) => ({
      headers: { ...headers, authorization: `Bearer ${token}` },
      isStale: (status: number) => status === 401 && renewed.refused(token),
    });
    const token = renewed.current();
    return typeof token === 'string' ? add(token) : token.then(add);
  };
}
