/** Requests for tokens, through the proxies and with the authorities that all requests use. */

import { Agent } from 'undici';
import type { Dispatcher } from 'undici';
import { errorCode, reasonOf } from '../../../base/error-code.js';
import { openProxyAgent } from '../../client.js';
import type { ProxyVariables } from '../../client.js';
import { hideIdentities } from '../hide-identities.js';
import { CredentialError } from './renewed-token.js';

const MOST_BYTES = 1024 * 1024;
const MOST_CHARACTERS = 300;

/** Opens connections for one renewal: renewals are too rare to keep any. */
export async function withTokenConnections<Result>(
  proxies: ProxyVariables,
  use: (dispatcher: Dispatcher) => Promise<Result>,
): Promise<Result> {
  const options = { maxResponseSize: MOST_BYTES };
  const dispatcher = openProxyAgent(proxies, options) ?? new Agent(options);
  try {
    return await use(dispatcher);
  } finally {
    await dispatcher.destroy();
  }
}

/** @param source - Such as `Google`. */
export function credentialError(source: string, error: unknown): CredentialError {
  if (error instanceof CredentialError) return error;
  const code = errorCode(error);
  const text = hideIdentities(reasonOf(error)).replace(/\s+/g, ' ').slice(0, MOST_CHARACTERS);
  return new CredentialError(`${source}: ${code === undefined ? '' : `${code}: `}${text}`);
}
