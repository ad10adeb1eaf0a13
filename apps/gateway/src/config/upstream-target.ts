/** Which accounts of the upstream the gateway uses. */

import type { HomeCredential } from './home-credential.js';
import type { HomeLack } from './home-lacks.js';

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
  /** Where the models run, such as `eu`: a cost for that geography applies. */
  readonly place?: string | undefined;
  /** Names that a route may use for several accounts. */
  readonly labels?: readonly string[] | undefined;
  /** What requests cost the operator here. `undefined`: as `COSTS` says. */
  readonly costs?: OwnTable | undefined;
  /** What customers pay for answers of this account. `undefined`: what they pay elsewhere. */
  readonly prices?: OwnTable | undefined;
}

/** Plain data, because the primary sends it to its workers. */
export type UpstreamTarget =
  | (AnthropicTarget & {
      /** Reached without a proxy: the bundled simulator, which listens on this machine. */
      readonly isLocal?: boolean;
    })
  | AccountsTarget;

/** A factor, or a table as in a file of prices, which may extend what holds elsewhere. */
export type OwnTable = string | Readonly<Record<string, unknown>>;

/** Which accounts serve some requests. Labels and places are replaced by names of accounts. */
export interface Route {
  /** Whose requests. If all three are absent: those that no other route is for. */
  readonly account?: string | undefined;
  readonly group?: string | undefined;
  readonly tag?: string | undefined;
  /** In the order in which they are tried. Accounts of one step differ only in their weights. */
  readonly steps: readonly (readonly WeightedHome[])[];
  /** Whether no other account may serve these requests. */
  readonly isFence: boolean;
}

export interface WeightedHome {
  readonly name: string;
  /** The share of the keys that begin with this account, relative to those of the same step. */
  readonly weight: number;
}

export interface AccountsTarget {
  readonly accounts: readonly AccountTarget[];
  /** `undefined`: every key has its own order of all accounts that may serve it. */
  readonly routes?: readonly Route[] | undefined;
}

/** Whether the bundled simulator answers in place of a model. */
export function isSimulated(target: UpstreamTarget): boolean {
  return 'isLocal' in target && target.isLocal === true;
}

/** What a header can carry: undici refuses to send anything else. */
export const API_KEY_FORM = /^[\x21-\x7e]+$/;
export const API_KEY_PROBLEM = 'must be printable ASCII characters without spaces';
