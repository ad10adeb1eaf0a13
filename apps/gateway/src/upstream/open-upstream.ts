/** Opens the upstream that the settings name: one account, or several of the same API. */

import { anthropicUpstream } from './anthropic.js';
import type { AnthropicTarget } from './anthropic.js';
import { createAccountPool } from './accounts/account-pool.js';
import type { AccountPoolOptions, PooledAccount } from './accounts/account-pool.js';
import type { CeilingLimits } from './accounts/fair-ceiling.js';
import { createUpstreamClient } from './client.js';
import type { ProxyVariables, UpstreamClient } from './client.js';

export interface AccountTarget
  extends AnthropicTarget, CeilingLimits, Pick<PooledAccount, 'name' | 'onlyFor'> {
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

export interface OpenUpstreamOptions extends Pick<AccountPoolOptions, 'onAnswer' | 'onState'> {
  readonly proxies: ProxyVariables;
  /** How many processes share the ceilings. Each takes an equal part. */
  readonly processes: number;
}

/** If requests waited longer, a client's own timeout could end them before the answer arrives. */
const MAX_WAIT_MS = 3_000;

export function openUpstream(
  target: UpstreamTarget,
  { proxies, processes, onAnswer, onState }: OpenUpstreamOptions,
): UpstreamClient {
  if (!('accounts' in target)) {
    const used = target.isLocal === true ? {} : proxies;
    return createUpstreamClient(anthropicUpstream(target), {}, used);
  }
  const part = (limit: number | undefined) => (limit === undefined ? undefined : limit / processes);
  const accounts = target.accounts.map((account) => ({
    name: account.name,
    onlyFor: account.onlyFor,
    client: createUpstreamClient(anthropicUpstream(account), {}, proxies),
    requestsPerMinute: part(account.requestsPerMinute),
    tokensPerMinute: part(account.tokensPerMinute),
  }));
  const now = (): number => performance.now();
  return createAccountPool(accounts, { now, maxWaitMs: MAX_WAIT_MS, onAnswer, onState });
}
