/** Who may send requests to a place of AWS: by signature, or by a key that AWS issued. */

import type { Incoming } from '../../simulation.js';
import { bearerOf, sendRefusal } from '../shared/cloud-answers.js';
import type { CloudKey } from '../shared/cloud-options.js';
import { doorError } from './aws-error.js';
import { signatureProblem } from './signature.js';
import type { AwsCredential } from './signature.js';

export interface AwsAccess {
  /** Default: `eu-central-1`. */
  readonly region?: string;
  readonly credentials?: readonly AwsCredential[];
  readonly keys?: readonly CloudKey[];
}

export const DEFAULT_REGION = 'eu-central-1';

export interface Door {
  /** The name of the service in signatures. */
  readonly service: string;
  /** Whether a key may also come in `x-api-key`, as to Anthropic's own API. */
  readonly takesApiKeyHeader: boolean;
  readonly nowMs: number;
}

/** Answers the request if it is refused. @returns whether it was accepted */
export async function isAdmitted(
  incoming: Incoming,
  { region = DEFAULT_REGION, credentials = [], keys = [] }: AwsAccess,
  { service, takesApiKeyHeader, nowMs }: Door,
): Promise<boolean> {
  const { req, body } = incoming;
  const key = bearerOf(req) ?? (takesApiKeyHeader ? req.headers['x-api-key'] : undefined);
  if (key !== undefined) {
    const found = keys.find((each) => each.key === key);
    if (found !== undefined && (found.expiresAtMs ?? Infinity) > nowMs) return true;
    const message =
      found === undefined
        ? 'Authentication failed: Please make sure your API Key is valid.'
        : 'Bearer Token has expired';
    const refusal = doorError({ name: 'AccessDeniedException', status: 403, message });
    // With a capital letter, unlike all other errors.
    sendRefusal(incoming, { ...refusal, body: { Message: message } });
    return false;
  }
  const problem = await signatureProblem(req, body, { service, region, credentials, nowMs });
  if (problem !== undefined) sendRefusal(incoming, doorError(problem));
  return problem === undefined;
}
