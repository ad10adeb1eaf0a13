/**
 * A cache point in the native format: `cache_control` of a block, tool or request.
 */
export interface CacheControl {
  type: 'ephemeral';
  ttl?: '5m' | '1h' | undefined;
}

/** A part of a native request that may carry a cache point. */
export interface CachePointHolder {
  cache_control?: CacheControl | undefined;
}

/** The parts of a native request that become its cached prefix, and the choice of tools. */
export interface CacheableRequest extends CachePointHolder {
  readonly tools?: readonly CachePointHolder[] | undefined;
  readonly tool_choice?: { readonly type: string } | undefined;
  readonly system?: readonly CachePointHolder[] | undefined;
  readonly messages: readonly {
    readonly role: string;
    readonly content: readonly CachePointHolder[];
  }[];
}

/** Adds cache points to a request that has none. */
export type AddCachePoints = (request: CacheableRequest) => void;
