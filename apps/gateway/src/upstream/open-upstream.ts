/** Opens the upstream that the settings name: one account, or several of the same API. */

import { isSimulated } from '../config/upstream-target.js';
import type { AccountTarget, UpstreamTarget } from '../config/upstream-target.js';
import { AccountPool } from './accounts/account-pool.js';
import type { AccountPoolOptions } from './accounts/account-pool.js';
import { createUpstreamClient } from './client.js';
import type { ProxyVariables, UpstreamClient } from './client.js';
import { upstreamOf } from './upstream-of.js';

export interface OpenUpstreamOptions extends Pick<AccountPoolOptions, 'onAnswer' | 'onState'> {
  readonly proxies: ProxyVariables;
  /** How many processes share the ceilings. Each takes an equal part. */
  readonly processes: number;
  /** The credential of an account cannot be renewed. The last one stays while it is accepted. */
  readonly onCredentialProblem: (account: string, reason: string) => void;
}

/** If requests waited longer, a client's own timeout could end them before the answer arrives. */
const MAX_WAIT_MS = 3_000;
/** The longest pause before a request moves: short beside the time of an answer. */
const MAX_JITTER_MS = 100;

export function openUpstream(
  target: UpstreamTarget,
  { proxies, processes, onAnswer, onState, onCredentialProblem }: OpenUpstreamOptions,
): UpstreamClient {
  if (!('accounts' in target)) {
    const used = isSimulated(target) ? {} : proxies;
    return createUpstreamClient(upstreamOf(target), {}, used);
  }
  const part = (limit: number | undefined) => (limit === undefined ? undefined : limit / processes);
  const now = (): number => performance.now();
  const open = (account: AccountTarget) =>
    upstreamOf(account, {
      now,
      proxies,
      onProblem: (reason) => {
        onCredentialProblem(account.name, reason);
      },
    });
  const accounts = target.accounts.map((account) => ({
    name: account.name,
    onlyFor: account.onlyFor,
    unclearFailures: account.unclearFailures,
    client: createUpstreamClient(open(account), {}, proxies),
    requestsPerMinute: part(account.requestsPerMinute),
    tokensPerMinute: part(account.tokensPerMinute),
  }));
  const jitterMs = (): number => Math.random() * MAX_JITTER_MS;
  const { routes } = target;
  const told = { onAnswer, onState };
  return new AccountPool(accounts, { now, maxWaitMs: MAX_WAIT_MS, jitterMs, routes, ...told });
}
