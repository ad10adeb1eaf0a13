/** Asks the upstream which models it offers, and whether it accepts the credentials. */

import { Agent } from 'undici';
import type { Dispatcher } from 'undici';
import { isSimulated } from '../config/upstream-target.js';
import type { AnthropicTarget, UpstreamTarget } from '../config/upstream-target.js';
import type { UpstreamCheck } from './asking.js';
import { openProxyAgent } from './client.js';
import type { ProxyVariables } from './client.js';
import { upstreamOf } from './upstream-of.js';
import type { UpstreamModel, UpstreamModelsReading } from './upstream-models.js';

const MOST_BYTES = 4 * 1024 * 1024;
const LIST_TIMEOUT_MS = 10_000;

/**
 * With several accounts, a model counts as offered if each account that serves it offers it,
 * because any of them may get the request.
 */
export async function listUpstreamModels(
  target: UpstreamTarget,
  proxies: ProxyVariables,
): Promise<UpstreamModelsReading> {
  const deadline = { ms: LIST_TIMEOUT_MS, signal: AbortSignal.timeout(LIST_TIMEOUT_MS) };
  return withDispatcher(target, proxies, async (dispatcher) => {
    const asking = { dispatcher, deadline };
    if (!('accounts' in target)) return upstreamOf(target, { proxies }).listModels(asking);
    const readings = await Promise.all(
      target.accounts.map(async (account) => ({
        name: account.name,
        served: account.models,
        reading: await upstreamOf(account, { proxies }).listModels(asking),
      })),
    );
    return inAll(readings);
  });
}

/** Whether the upstream accepts a credential. */
export interface CredentialCheck extends UpstreamCheck {
  /** The name of the upstream account; `undefined` if there is only one, without a name. */
  readonly account: string | undefined;
}

/** How long the upstream may take to accept or refuse a credential. */
const CHECK_TIMEOUT_MS = 5_000;

/**
 * Asks each account something that costs nothing, all at the same time: for a model, or what a home
 * without a list of models can be asked.
 *
 * @param stop - Ends the check, whose outcome is then `unclear`.
 */
export async function checkCredentials(
  target: UpstreamTarget,
  proxies: ProxyVariables,
  stop?: AbortSignal,
): Promise<readonly CredentialCheck[]> {
  const ended = AbortSignal.timeout(CHECK_TIMEOUT_MS);
  const signal = stop === undefined ? ended : AbortSignal.any([ended, stop]);
  const deadline = { ms: CHECK_TIMEOUT_MS, signal };
  const named =
    'accounts' in target
      ? target.accounts.map((account) => ({ account: account.name, at: account }))
      : [{ account: undefined, at: target }];
  return withDispatcher(target, proxies, (dispatcher) =>
    Promise.all(
      named.map(async ({ account, at }): Promise<CredentialCheck> => ({
        account,
        ...(await upstreamOf(at, { proxies }).check({ dispatcher, deadline })),
      })),
    ),
  );
}

async function withDispatcher<Result>(
  target: UpstreamTarget,
  proxies: ProxyVariables,
  ask: (dispatcher: Dispatcher) => Promise<Result>,
): Promise<Result> {
  const options = { maxResponseSize: MOST_BYTES };
  const dispatcher =
    openProxyAgent(isSimulated(target) ? {} : proxies, options) ?? new Agent(options);
  try {
    return await ask(dispatcher);
  } finally {
    await dispatcher.destroy();
  }
}

interface AccountReading {
  readonly name: string;
  /** The models that it serves; `undefined`: all. */
  readonly served: AnthropicTarget['models'];
  readonly reading: UpstreamModelsReading;
}

function inAll(readings: readonly AccountReading[]): UpstreamModelsReading {
  const found = new Map<string, UpstreamModel>();
  const lists: ((id: string) => boolean)[] = [];
  for (const { name, served, reading } of readings) {
    if (reading.outcome === 'failed') {
      return { outcome: 'failed', reason: `account "${name}": ${reading.reason}` };
    }
    const listed = new Set<string>();
    for (const model of reading.models) {
      listed.add(model.id);
      if (!found.has(model.id)) found.set(model.id, model);
    }
    lists.push((id) => listed.has(id) || (served !== undefined && !Object.hasOwn(served, id)));
  }
  const models = [...found.values()].filter(({ id }) => lists.every((isListed) => isListed(id)));
  return { outcome: 'listed', models };
}
