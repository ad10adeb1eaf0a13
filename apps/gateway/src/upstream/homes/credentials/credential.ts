/** What puts the credential of a home into its requests. */

import type { IncomingHttpHeaders } from 'node:http';
import type { ProxyVariables } from '../../client.js';

/** A request without its credential. */
export interface BareRequest {
  readonly method: 'GET' | 'POST';
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The pieces of the body. Only a signature reads them. */
  readonly body: () => Iterable<Uint8Array>;
}

export interface CredentialedRequest {
  readonly headers: Readonly<Record<string, string>>;
  /**
   * Called for an error of the home.
   *
   * @returns whether the credential is the reason, and another one may be accepted
   */
  readonly isStale?: (status: number, headers: IncomingHttpHeaders) => boolean;
}

/**
 * @returns a promise only if something has to be waited for
 * @throws {CredentialError} by the promise
 */
export type AddCredential = (
  request: BareRequest,
) => CredentialedRequest | Promise<CredentialedRequest>;

export interface CredentialOptions {
  /** Milliseconds from any origin. */
  readonly now: () => number;
  /** Called once for each reason why the credential cannot be renewed. The last one stays. */
  readonly onProblem: (reason: string) => void;
  /** For the requests that get tokens. */
  readonly proxies: ProxyVariables;
}
