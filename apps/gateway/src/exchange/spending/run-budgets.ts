/**
 * The budget that a request sets for its run, by a header. Each key may, for its own runs: the
 * budget counts only what the key's member spends in this run, or the key if it has none. So a
 * request that names the run of another one bounds nothing of it.
 */

import type { Request, Response } from 'express';
import {
  MAX_RUN_BUDGETS,
  MAX_RUN_BUDGETS_OF_ONE,
  StoreUnavailableError,
} from '@gateway/balance-store';
import type { KeyRecord, Spender } from '@gateway/balance-store';
import { formatUsd, parseUsd } from '@gateway/billing';
import { newRefusal } from '../../base/errors/refusal.js';
import type { Refusal } from '../../base/errors/refusal.js';
import { addressGroup } from '../../http/client-address.js';
import { badRequest, storeUnavailable } from '../../http/refusal.js';
import type { RequestLedger } from '../../ledger/open-store.js';
import { sessionOf } from '../../observe/requests/client-headers.js';
import { UNKNOWN_KEY } from '../credentials.js';

/** Also of the response: with the amount that is in force. */
export const RUN_BUDGET_HEADER = 'x-gateway-run-budget';

/** In USD. Finer amounts cannot be charged. */
const AMOUNT = /^\d{1,9}(?:\.\d{1,14})?$/;

/** @returns the refusal of a header that is no amount, or of a request that names no run */
export function checkRunBudgetHeader({ headers }: Pick<Request, 'headers'>): Refusal | undefined {
  const value = givenText(headers);
  if (value === undefined) return undefined;
  if (!AMOUNT.test(value) || parseUsd(value) === 0n) {
    const problem = `${RUN_BUDGET_HEADER}: must be one amount of USD above 0, such as 0.50`;
    return badRequest(problem, RUN_BUDGET_HEADER);
  }
  if (sessionOf(headers) !== undefined) return undefined;
  const problem = `${RUN_BUDGET_HEADER}: needs a run: name it with x-gateway-run, by 4 to 64 letters, digits or _.:-`;
  return badRequest(problem, RUN_BUDGET_HEADER);
}

/** A header template whose variable is unset sends an empty value, which is no amount. */
function givenText(headers: Request['headers']): string | undefined {
  const value = headers[RUN_BUDGET_HEADER];
  return typeof value === 'string' && value.trim() !== '' ? value.trim() : undefined;
}

export type SetRunBudget =
  { readonly outcome: 'set' } | { readonly outcome: 'refused'; readonly refusal: Refusal };

export interface RunBudgets {
  /** @returns `undefined` if the request sets none; it must have passed the check of the header */
  set(
    key: Pick<KeyRecord, 'id' | 'accountId'>,
    spender: Spender | undefined,
    request: { readonly req: Request; readonly res: Response },
  ): Promise<SetRunBudget | undefined>;
}

/** A client sends the header with each request of a run. */
const REMEMBERED_MS = 10_000;
/** Beyond, the oldest one is forgotten. One takes up to some 300 bytes. */
const MAX_REMEMBERED = 4_096;

/** @param now - In milliseconds, from any origin. */
export function createRunBudgets(
  store: Pick<RequestLedger, 'setRunBudget'>,
  now = () => performance.now(),
): RunBudgets {
  const remembered = new Map<string, { readonly at: number; readonly amount: bigint }>();

  function remember(place: string, inForce: bigint): void {
    const known = remembered.get(place);
    // Answers may come in another order than the changes were made.
    const amount = known !== undefined && known.amount < inForce ? known.amount : inForce;
    remembered.delete(place);
    const [oldest] = remembered.size >= MAX_REMEMBERED ? remembered.keys() : [];
    if (oldest !== undefined) remembered.delete(oldest);
    remembered.set(place, { at: now(), amount });
  }

  return {
    async set({ id, accountId }, spender, { req, res }) {
      const text = givenText(req.headers);
      if (text === undefined || spender?.run === undefined) return undefined;
      const { run, memberId: onlyFor = id } = spender;
      const amount = parseUsd(text);
      const place = `${accountId}\n${onlyFor}\n${run}`;
      const known = remembered.get(place);
      const say = (inForce: bigint) => {
        res.setHeader(RUN_BUDGET_HEADER, formatUsd(inForce));
        return { outcome: 'set' } as const;
      };
      if (known !== undefined && known.amount <= amount && now() - known.at < REMEMBERED_MS) {
        return say(known.amount);
      }
      try {
        const set = await store.setRunBudget(
          { accountId, run, onlyFor, name: RUN_BUDGET_HEADER, amount },
          { name: id, holderOf: accountId, address: addressGroup(req.ip) },
        );
        switch (set.outcome) {
          case 'set':
            remember(place, set.record.amount);
            return say(set.record.amount);
          case 'too_many': {
            const most = { most: MAX_RUN_BUDGETS_OF_ONE, of_account: MAX_RUN_BUDGETS };
            return refused(newRefusal('too_many_run_budgets', most));
          }
          case 'unknown_account':
          case 'account_closed':
            return refused(UNKNOWN_KEY);
        }
      } catch (error) {
        if (!(error instanceof StoreUnavailableError)) throw error;
        return refused(storeUnavailable(error));
      }
    },
  };
}

function refused(refusal: Refusal): SetRunBudget {
  return { outcome: 'refused', refusal };
}
