/**
 * Asks at the start, and after a change, whether the upstream accepts the credentials, so that the
 * operator learns of a wrong one before a customer does. The gateway serves meanwhile.
 */

import type { Logger } from 'pino';
import type { UpstreamTarget } from '../config/upstream-target.js';
import type { ProxyVariables } from './client.js';
import { checkCredentials } from './list-models.js';
import type { CredentialCheck } from './list-models.js';

export interface CredentialWatch {
  /** Asks in the background, and logs the outcome. Ends an earlier check that still runs. */
  check(target: UpstreamTarget): void;
  /** The last outcome of each upstream account; empty until there is one. */
  latest(): readonly (CredentialCheck & { readonly checkedAt: Date })[];
  stop(): void;
}

export function createCredentialWatch({
  proxies,
  log,
  now,
}: {
  readonly proxies: ProxyVariables;
  readonly log: Logger;
  readonly now: () => number;
}): CredentialWatch {
  let checks: ReturnType<CredentialWatch['latest']> = [];
  let running = new AbortController();

  async function run(target: UpstreamTarget, { signal }: AbortController): Promise<void> {
    const found = await checkCredentials(target, proxies, signal);
    if (signal.aborted) return;
    const checkedAt = new Date(now());
    checks = found.map((check) => ({ ...check, checkedAt }));
    for (const check of found) {
      const fields = { upstream_account: check.account, outcome: check.outcome };
      const text = describeCheck(check);
      if (check.outcome === 'refused') log.error(fields, text);
      else if (check.outcome === 'unclear') log.warn(fields, text);
      else log.debug(fields, text);
      for (const problem of describeMissing(check)) log.warn(fields, problem);
    }
  }

  return {
    check(target) {
      running.abort();
      running = new AbortController();
      checks = [];
      void run(target, running);
    },
    latest: () => checks,
    stop() {
      running.abort();
    },
  };
}

/** A sentence that begins with the variable, without a secret. */
export function describeCheck({ account, outcome, reason, found }: CredentialCheck): string {
  const where =
    account === undefined ? 'UPSTREAM_API_KEY: ' : `UPSTREAMS: the key of account "${account}": `;
  if (outcome === 'accepted') {
    return `${where}the upstream accepts it${found === undefined ? '' : `; ${found}`}`;
  }
  return outcome === 'refused'
    ? `${where}the upstream refuses it (${reason ?? ''}), so requests will fail`
    : `${where}the upstream did not say whether it accepts it (${reason ?? ''})`;
}

/** A sentence for each model that the account does not serve under its configured name. */
export function describeMissing({ account, missing = [] }: CredentialCheck): readonly string[] {
  return missing.map((each) => `UPSTREAMS: account "${account ?? ''}": ${each}`);
}
