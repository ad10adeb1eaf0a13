/**
 * Signs requests to AWS (signature version 4) with the credentials that AWS's own chain finds: in
 * the environment, in its shared files, by a web identity, from a container, or of the machine.
 *
 * https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
 */

import { createHash } from 'node:crypto';
import type { AwsSource } from '../../../config/home-credential.js';
import type { AwsIdentity } from './aws-identity.js';
import type { AddCredential, BareRequest, CredentialOptions } from './credential.js';
import { RenewedToken } from './renewed-token.js';

/** Refusals that a newer credential may not get. */
const STALE = /^(?:ExpiredToken|UnrecognizedClient|InvalidSignature)/;

export function awsSignature(
  source: AwsSource,
  { onProblem, proxies }: CredentialOptions,
): AddCredential {
  const identity = new RenewedToken({
    renew: async () => {
      const { loadAwsIdentity } = await import('./aws-identity.js');
      return loadAwsIdentity(source, proxies);
    },
    now: () => Date.now(),
    onProblem,
  });
  /** AWS derives a key from the secret for each day, which is kept. */
  const keys = new Map<string, ArrayBuffer>();
  return async (request) => {
    const current = await identity.current();
    if (keys.size > 1) keys.clear();
    return {
      headers: await signed(request, { ...source, ...current, keys }),
      isStale: (status, headers) =>
        (status === 401 || status === 403) &&
        STALE.test(String(headers['x-amzn-errortype'])) &&
        identity.refused(current),
    };
  };
}

type Signing = Pick<AwsSource, 'region' | 'service'> &
  AwsIdentity & { readonly keys: Map<string, ArrayBuffer> };

async function signed(
  { method, url, headers, body }: BareRequest,
  { region, service, keys, ...identity }: Signing,
): Promise<Readonly<Record<string, string>>> {
  const { AwsV4Signer } = await import('aws4fetch');
  const hash = createHash('sha256');
  for (const piece of body()) hash.update(piece);
  const signer = new AwsV4Signer({
    ...identity,
    method,
    url,
    headers: { ...headers, 'x-amz-content-sha256': hash.digest('hex') },
    region,
    service,
    cache: keys,
  });
  return Object.fromEntries((await signer.sign()).headers);
}
