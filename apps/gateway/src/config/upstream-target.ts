/** Which accounts of the upstream the gateway uses. */

import type { HomeCredential } from './home-credential.js';

export interface AnthropicTarget extends HomeForm {
  readonly url: string;
  /** `undefined` if the home has a `credential`. */
  readonly apiKey?: string | undefined;
}

/**
 * How a home of the models differs from Anthropic's own API, which has none of these (see
 * docs/decisions/0123).
 */
export interface HomeForm {
  /** `undefined`: as `messages`, Anthropic's own. */
  readonly api?: HomeApiName | undefined;
  /** In place of a key: an identity that signs requests, or gets tokens for them. */
  readonly credential?: HomeCredential | undefined;
  /** Where `apiKey` came from. It is read again when the file changes. */
  readonly apiKeyFile?: string | undefined;
  /** The header that carries the credential. `undefined`: as `x-api-key`. */
  readonly auth?: 'x-api-key' | 'bearer' | undefined;
  /** Sent with each request. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /**
   * The home's name of each model that it serves, by the id in the price table. `undefined`: it
   * serves every model, under the name that the client uses.
   */
  readonly models?: Readonly<Record<string, string>> | undefined;
  /** Sent instead of the client's version of the API. */
  readonly version?: string | undefined;
  /** `body`: version and betas become members of the body. `undefined`: as `header`. */
  readonly versionIn?: 'header' | 'body' | undefined;
  readonly lacks?: readonly HomeLack[] | undefined;
}

/** The APIs of homes: Anthropic's, Google's rawPredict, and Bedrock's InvokeModel. */
export const HOME_APIS = ['messages', 'vertex', 'invoke'] as const;
export type HomeApiName = (typeof HOME_APIS)[number];
/** Which credential each of the clouds' own APIs takes. */
export const CREDENTIAL_OF: Readonly<
  Record<Exclude<HomeApiName, 'messages'>, HomeCredential['kind']>
> = { vertex: 'google', invoke: 'aws' };

/** What a home may lack: the counting of tokens, or the list of its models. */
export const HOME_LACKS = ['count_tokens', 'models'] as const;
export type HomeLack = (typeof HOME_LACKS)[number];

/** The ceilings of an account. A customer's accounts share them fairly: see `fair-ceiling.ts`. */
export interface CeilingLimits {
  readonly requestsPerMinute: number | undefined;
  readonly tokensPerMinute: number | undefined;
}

export interface AccountTarget extends AnthropicTarget, CeilingLimits {
  readonly name: string;
  /**
   * Accounts of the ledger. Their requests go only to upstream accounts that list them, so that
   * they share no prompt cache with others. `undefined`: for all that no upstream account lists.
   */
  readonly onlyFor?: readonly string[] | undefined;
  /**
   * What happens to a request that fails here after it was sent, without an error of the API
   * itself. It may have been accepted. `move`: another account gets it, and the operator bears what
   * both bill. `undefined`: as `stay`.
   */
  readonly unclearFailures?: 'stay' | 'move' | undefined;
  /** A key for the provider's reports on this account. */
  readonly adminKey?: string | undefined;
}

/** Plain data, because the primary sends it to its workers. */
export type UpstreamTarget =
  | (AnthropicTarget & {
      /** Reached without a proxy: the bundled simulator, which listens on this machine. */
      readonly isLocal?: boolean;
    })
  | { readonly accounts: readonly AccountTarget[] };

/** Whether the bundled simulator answers in place of a model. */
export function isSimulated(target: UpstreamTarget): boolean {
  return 'isLocal' in target && target.isLocal === true;
}

/** What a header can carry: undici refuses to send anything else. */
export const API_KEY_FORM = /^[\x21-\x7e]+$/;
export const API_KEY_PROBLEM = 'must be printable ASCII characters without spaces';
