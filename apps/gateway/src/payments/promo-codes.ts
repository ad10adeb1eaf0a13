/**
 * Promotional credit by code. Each account can redeem a code once, and a code has a maximum number
 * of redemptions.
 */

import { PROMO_CODE } from '@gateway/balance-store';
import type { Actor } from '@gateway/balance-store';
import { formatUsd, parseUsd } from '@gateway/billing';
import type { PaymentLedger } from '../ledger/open-store.js';
import { changeDocument, findDocument, knownAs } from './payment-ledger.js';
import type { Known } from './payment-ledger.js';

export interface NewPromoCode {
  readonly code: string;
  /** In units of 10^-14 USD. */
  readonly amount: bigint;
  readonly expiresAt: Date | undefined;
  readonly creditExpiresAt: Date | undefined;
  readonly maxRedemptions: number;
  readonly by: Actor;
}

/**
 * The maximum number of redemptions of one code, because its accounts are listed in one document.
 */
export const MAX_REDEMPTIONS = 1_000;

/** @returns `undefined` if there is a code of that name already */
export async function createPromoCode(
  ledger: PaymentLedger,
  { code, amount, expiresAt, creditExpiresAt, maxRedemptions, by }: NewPromoCode,
): Promise<Known<'promo_code'> | undefined> {
  const data = {
    amount_usd: formatUsd(amount),
    expires_at: expiresAt?.toISOString() ?? null,
    credit_expires_at: creditExpiresAt?.toISOString() ?? null,
    max_redemptions: maxRedemptions,
    accounts: [],
  };
  const { accounts: _accounts, ...details } = data;
  const { outcome } = await ledger.writeDocument({
    kind: PROMO_CODE,
    id: code,
    accountId: '',
    version: 0,
    data,
    trail: { action: 'promo_code.create', by, details: { ...details, code } },
  });
  return outcome === 'written' ? findDocument(ledger, PROMO_CODE, code) : undefined;
}

export async function listPromoCodes(
  ledger: PaymentLedger,
  page: { readonly before: bigint | undefined; readonly limit: number },
): Promise<readonly Known<'promo_code'>[]> {
  const documents = await ledger.listDocuments({ kind: PROMO_CODE, ...page });
  return documents.map((document) => knownAs(PROMO_CODE, document));
}

export type RedemptionOutcome =
  | {
      readonly outcome: 'redeemed' | 'replayed';
      readonly amount: bigint;
      /** The balance of the account, in units of 10^-14 USD. */
      readonly balance: bigint;
      readonly creditExpiresAt: Date | undefined;
    }
  /**
   * The code is unknown or used up, or it or its credit has expired. The outcome is the same, so
   * that guessing reveals nothing.
   */
  | { readonly outcome: 'refused' };

/**
 * Credits an account with a code, once. The account is recorded first. If the process ends before
 * the credit, redeeming the code again credits the account.
 */
export async function redeemPromoCode(
  ledger: PaymentLedger,
  { code, accountId, by, now }: RedemptionRequest,
): Promise<RedemptionOutcome> {
  const known = await changeDocument(ledger, { kind: PROMO_CODE, id: code }, ({ data }) => {
    const isOver = hasPassed(data.expires_at, now) || hasPassed(data.credit_expires_at, now);
    const isUsedUp = data.accounts.length >= data.max_redemptions;
    if (data.accounts.includes(accountId) || isOver || isUsedUp) return undefined;
    return {
      data: { ...data, accounts: [...data.accounts, accountId] },
      trail: { action: 'promo_code.redeem', by, details: { code, account: accountId } },
    };
  });
  if (known?.data.accounts.includes(accountId) !== true) return { outcome: 'refused' };
  const { amount_usd, credit_expires_at } = known.data;
  const amount = parseUsd(amount_usd);
  const creditExpiresAt = credit_expires_at === null ? undefined : new Date(credit_expires_at);
  const credited = await ledger.topUp({
    topUpId: `promo:${code}:${accountId}`,
    to: { accountId },
    amount,
    source: 'promotional',
    expiresAt: creditExpiresAt,
    reference: code,
    by,
  });
  switch (credited.outcome) {
    case 'credited':
    case 'replayed': {
      const outcome = credited.outcome === 'credited' ? 'redeemed' : 'replayed';
      return { outcome, amount, balance: credited.balance, creditExpiresAt };
    }
    case 'conflict':
    case 'unknown':
    case 'account_closed':
    case 'no_usable_key':
      return { outcome: 'refused' };
  }
}

function hasPassed(time: string | null, now: number): boolean {
  return time !== null && Date.parse(time) <= now;
}

interface RedemptionRequest {
  readonly code: string;
  readonly accountId: string;
  readonly by: Actor;
  /** Milliseconds since the epoch. */
  readonly now: number;
}
