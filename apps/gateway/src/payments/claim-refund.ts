/**
 * Sets a part of a payment aside for a refund, before the provider is asked, so that refunds that
 * are made at the same time do not exceed together what is refundable. The provider's own rules
 * differ from this bound: many do not know of disputes.
 */

import { formatUsd } from '@gateway/billing';
import type { PaymentProvider } from '@gateway/payments';
import { unitsFromCents } from '../config/cents.js';
import type { PaymentLedger } from '../ledger/open-store.js';
import { changeDocument, findDocument } from './payment-ledger.js';
import type { DocumentOf, Known } from './payment-ledger.js';
import { readPaymentMoney, refundableOf } from './refunds.js';

export interface ClaimedRefund {
  readonly refundId: string;
  readonly payment: Known<'payment'>;
  readonly providerPaymentId: string;
  readonly amountCents: number;
}

interface Parts {
  readonly ledger: PaymentLedger;
  readonly provider: Pick<PaymentProvider, 'name'>;
  readonly now: () => number;
}

type Claim = DocumentOf<'refund_claims'>['claims'][number];

export type ClaimOutcome =
  { readonly outcome: 'claimed' } | { readonly outcome: 'refused'; readonly message: string };

/** The ledger has a refund by then, through the provider's notification, or there is none. */
const CLAIM_MS = 5 * 60_000;
const KIND = 'refund_claims';

/**
 * A refund with this id that was begun before stays claimed, so that it can be repeated after any
 * fault, even if nothing is refundable any more because it was made.
 */
export async function claimRefund(parts: Parts, refund: ClaimedRefund): Promise<ClaimOutcome> {
  const { ledger, provider, now } = parts;
  const { refundId, payment, providerPaymentId, amountCents } = refund;
  const { id, accountId } = payment;
  if ((await findDocument(ledger, 'refund', refundId)) !== undefined) return CLAIMED;
  for (;;) {
    const known = await findDocument(ledger, KIND, id);
    const claims = known?.data.claims ?? [];
    if (claims.some((claim) => claim.refund_id === refundId)) return CLAIMED;
    // In this order: a refund that is booked meanwhile counts twice rather than not at all.
    const claimed = await sumOfUnbooked(parts, claims);
    const money = await readPaymentMoney(ledger, provider.name, providerPaymentId);
    const refundable = refundableOf(money);
    if (unitsFromCents(amountCents) > refundable - claimed) return refused(refundable, claimed);
    const at = new Date(now()).toISOString();
    const data = { claims: [...claims, { refund_id: refundId, amount_cents: amountCents, at }] };
    const version = known?.version ?? 0;
    const { outcome } = await ledger.writeDocument({ kind: KIND, id, accountId, version, data });
    if (outcome === 'written') return CLAIMED;
  }
}

const CLAIMED: ClaimOutcome = { outcome: 'claimed' };

function refused(refundable: bigint, claimed: bigint): ClaimOutcome {
  const most = `exceeds what is refundable: ${formatUsd(refundable)}`;
  const message =
    claimed > 0n ? `${most}, of which ${formatUsd(claimed)} is being refunded now` : most;
  return { outcome: 'refused', message };
}

/** The claims of refunds that are under way, and not in the ledger. */
async function sumOfUnbooked(
  { ledger, provider, now }: Parts,
  claims: readonly Claim[],
): Promise<bigint> {
  let sum = 0n;
  for (const { refund_id, amount_cents, at } of claims) {
    if (Date.parse(at) + CLAIM_MS < now()) continue;
    const made = await findDocument(ledger, 'refund', refund_id);
    const entryId = made && `adjustment:${provider.name}:${made.data.provider_refund_id}`;
    const booked = entryId === undefined ? [] : await ledger.findEntries([entryId]);
    if (booked.length === 0) sum += unitsFromCents(amount_cents);
  }
  return sum;
}

/** Once the refund is recorded, or the provider has refused it. */
export async function dropClaim(
  ledger: PaymentLedger,
  { refundId, payment }: Pick<ClaimedRefund, 'refundId' | 'payment'>,
): Promise<void> {
  await changeDocument(ledger, { kind: KIND, id: payment.id }, ({ data: { claims } }) => {
    const others = claims.filter(({ refund_id }) => refund_id !== refundId);
    return others.length === claims.length ? undefined : { data: { claims: others } };
  });
}
