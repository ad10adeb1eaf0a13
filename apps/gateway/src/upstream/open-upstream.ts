/** Opens the upstream that the settings name: one account, or several of the same API. */

import { isSimulated } from '../config/upstream-target.js';
import type { UpstreamTarget } from '../config/upstream-target.js';
import { AccountPool } from './accounts/account-pool.js';
import type { AccountPoolOptions } from './accounts/account-pool.js';
import { anthropicUpstream } from './anthropic.js';
import { createUpstreamClient } from './client.js';
import type { ProxyVariables, UpstreamClient } from './client.js';

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
    const used = isSimulated(target) ? {} : proxies;
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
  return new AccountPool(accounts, { now, maxWaitMs: MAX_WAIT_MS, onAnswer, onState });
}
