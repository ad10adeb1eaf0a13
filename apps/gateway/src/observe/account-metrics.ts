/** Metrics of each upstream account that `UPSTREAMS` names. Without `UPSTREAMS` there are none. */

import { Counter, Gauge } from 'prom-client';
import type { Registry } from 'prom-client';
import type { AccountState } from '../upstream/accounts/account-standing.js';
import type { Charge } from '../ledger/fold-outcomes.js';
import { TOKEN_CLASSES, UPSTREAM_STATUSES } from './metrics.js';
import { approximateUsd } from './registry.js';

export interface AccountMetrics {
  /** @param status - 0: no response. */
  readonly onAnswer: (account: string, status: number) => void;
  /** @returns the state before; `undefined` the first time */
  readonly onState: (account: string, state: AccountState) => AccountState | undefined;
  /** Removes the states of all other accounts, because a reload has removed those accounts. */
  readonly keepStates: (accounts: readonly string[]) => void;
  readonly onCharge: (account: string, charge: Charge) => void;
}

const STATES: readonly AccountState[] = ['available', 'cooling', 'refused'];

export function createAccountMetrics(registry: Registry): AccountMetrics {
  const states = new Map<string, AccountState>();
  const responses = new Counter({
    name: 'gateway_upstream_account_responses_total',
    help: 'Responses of each upstream account by status; none: no response',
    labelNames: ['account', 'status'],
    registers: [registry],
  });
  const state = new Gauge({
    name: 'gateway_upstream_account_state',
    help: 'The state of each upstream account, as this process sees it: 1 for the state it is in',
    labelNames: ['account', 'state'],
    registers: [registry],
  });
  const tokens = new Counter({
    name: 'gateway_upstream_account_tokens_total',
    help: 'Tokens charged for responses of each upstream account, by token class',
    labelNames: ['account', 'class'],
    registers: [registry],
  });
  const charged = new Counter({
    name: 'gateway_upstream_account_charged_usd_total',
    help: 'USD charged for responses of each upstream account; approximate, the ledger is exact',
    labelNames: ['account'],
    registers: [registry],
  });
  /** So that an alert on an increase also reacts to the first event. */
  function startAtZero(account: string): void {
    for (const status of UPSTREAM_STATUSES) responses.inc({ account, status }, 0);
    for (const each of TOKEN_CLASSES) tokens.inc({ account, class: each }, 0);
    charged.inc({ account }, 0);
  }

  return {
    onAnswer(account, status) {
      responses.inc({ account, status: status === 0 ? 'none' : status });
    },
    onState(account, now) {
      const before = states.get(account);
      if (before === now) return before;
      if (before === undefined) startAtZero(account);
      states.set(account, now);
      for (const each of STATES) state.set({ account, state: each }, Number(each === now));
      return before;
    },
    keepStates(accounts) {
      for (const account of states.keys()) {
        if (accounts.includes(account)) continue;
        states.delete(account);
        for (const each of STATES) state.remove({ account, state: each });
      }
    },
    onCharge(account, { usage, charge }) {
      tokens.inc({ account, class: 'input' }, usage.inputTokens);
      tokens.inc({ account, class: 'output' }, usage.outputTokens);
      tokens.inc({ account, class: 'cache_read' }, usage.cacheReadInputTokens);
      tokens.inc({ account, class: 'cache_creation' }, usage.cacheCreationInputTokens);
      charged.inc({ account }, approximateUsd(charge));
    },
  };
}
