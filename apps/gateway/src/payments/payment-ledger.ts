/** The methods of the ledger that payments need, and the documents that payments keep beside it. */

import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { PROMO_CODE } from '@gateway/balance-store';
import type { DocumentKind, DocumentWrite, StoredDocument } from '@gateway/balance-store';
import type { PaymentLedger } from '../ledger/open-store.js';

const cents = z.int().min(1);
const isoTime = z.iso.datetime();

/** What a payment was paid as, and what was credited for it. It never changes. */
const paidMoney = z.object({
  /** In the smallest unit of the currency. The tax is a part of the amount. */
  amount_cents: cents,
  currency: z.string(),
  tax_cents: z.int().min(0),
  /** As the provider states them, if it does. */
  tax_percent: z.string().nullable(),
  tax_country: z.string().nullable(),
  credited_usd: z.string(),
  tax_usd: z.string(),
  /** What one unit of another currency was worth in USD, and who stated it. */
  rate: z.string().nullable(),
  rate_by: z.enum(['provider', 'operator']).nullable(),
});

/** What a refund or a dispute took back of a payment. */
const partOfPayment = z.object({
  /** The provider's id. */
  id: z.string(),
  amount_cents: cents,
  credited_usd: z.string(),
  tax_usd: z.string(),
  /** The refund failed, or the dispute was won. */
  is_undone: z.boolean(),
});

/** What the provider took for one of its transactions. Only operators may see it. */
const providerFee = z.object({ transaction_id: z.string(), fee_usd: z.string() });

/**
 * A payment that was started. Its notifications are compared with this document.
 *
 * `open`: the page, or the charge of an auto top-up, has no outcome yet. `pending`: a delayed
 * method was used. `paid`: the provider has the money; whether the account was credited is known
 * only from the ledger. `paid` is final. `failed` and `expired` can only change to `paid`.
 */
const payment = z.object({
  by: z.enum(['key', 'operator', 'auto_top_up']),
  /**
   * The id of the key, the name of the operator's token or, for an auto top-up, the id of the
   * account.
   */
  started_by: z.string(),
  /** What was asked for: with `added` tax the credit, otherwise what is paid. */
  amount_cents: cents,
  /** `null`: started by an earlier version, which credited what was paid. */
  tax: z.enum(['off', 'included', 'added']).nullable().default(null),
  paid: paidMoney.nullable().default(null),
  /** The rate to USD that an operator stated for a payment in another currency. */
  stated_rate: z.string().nullable().default(null),
  parts: z.array(partOfPayment).default([]),
  fees: z.array(providerFee).default([]),
  state: z.enum(['open', 'pending', 'paid', 'failed', 'expired']),
  url: z.string().nullable(),
  /** The provider's id of the page. Earlier versions did not keep it. */
  checkout_id: z.string().nullable().default(null),
  expires_at: isoTime.nullable(),
  provider_payment_id: z.string().nullable(),
  /** Why it failed, in the provider's words. */
  code: z.string().nullable(),
});

/** The customer's order to charge a saved method when the balance is low. */
const autoTopUp = z.object({
  /**
   * `stopped`: an attempt failed, or money was paid back. Nothing is charged until a person acts.
   */
  state: z.enum(['needs_method', 'on', 'stopped']),
  threshold_usd: z.string(),
  /** What each charge pays; `null` if it pays up to `target_cents`. */
  amount_cents: cents.nullable(),
  target_cents: cents.nullable().default(null),
  max_per_day: z.int().min(1),
  max_per_month_cents: cents,
  /** The id of the page on which the method is saved. */
  setup_id: z.string(),
  /**
   * The ids of earlier pages of this order. The customer may still save the method on one of them.
   */
  earlier_setup_ids: z.array(z.string()).default([]),
  customer_id: z.string().nullable(),
  method_id: z.string().nullable(),
  /** The code of the failure; `refund` or `chargeback` if money was paid back. */
  stopped_code: z.string().nullable(),
  /** The charge in progress. No other charge begins before it has ended. */
  attempt: z
    .object({
      payment_id: z.string(),
      /** Earlier versions left it to the order. */
      amount_cents: cents.optional(),
      started_at: isoTime,
      /** How often the charge was repeated, and when it last was. */
      tries: z.int().default(0),
      tried_at: isoTime.optional(),
      /** The owner of the charged method, which the order may replace in the meantime. */
      customer_id: z.string().optional(),
    })
    .nullable(),
  /** The number of charges that began on the UTC day, and the sum of those in the UTC month. */
  used: z.object({
    day: z.string(),
    count: z.int(),
    month: z.string(),
    cents: z.int(),
    /** When the last charge began; `null` if a person has acted since. */
    last_at: isoTime.nullable().default(null),
  }),
});

const promoCode = z.object({
  amount_usd: z.string(),
  /** The time until which the code can be redeemed. */
  expires_at: isoTime.nullable(),
  /** When the unused part of the credit expires. */
  credit_expires_at: isoTime.nullable(),
  max_redemptions: z.int().min(1),
  /** The accounts that redeemed it, each once. */
  accounts: z.array(z.string()),
});

/** A refund that an operator made. The trail of this document names the operator. */
const refund = z.object({
  payment_id: z.string(),
  /** The provider's id. */
  provider_refund_id: z.string(),
  amount_cents: cents,
});

/** Under the id of the payment: the refunds that the provider is asked for. */
const refundClaims = z.object({
  claims: z.array(z.object({ refund_id: z.string(), amount_cents: cents, at: isoTime })),
});

/** A fact about money that the ledger does not have, kept for the operator. */
const unbooked = z.object({
  fact: z.string(),
  reason: z.string(),
  payment_id: z.string().nullable(),
  provider_payment_id: z.string(),
  amount_cents: z.int(),
  currency: z.string(),
  /** The ids of the ledger entries that it implies, with their amounts in cents. */
  entries: z.record(z.string(), z.int()),
  /** For a payment that is unbooked: the entries of its refunds and disputes, in the same form. */
  taken_back: z.record(z.string(), z.int()),
});

/** The event with the id of this document was written, and may have been deleted since. */
const writtenEvent = z.object({});

const KINDS = {
  payment,
  auto_top_up: autoTopUp,
  [PROMO_CODE]: promoCode,
  refund,
  refund_claims: refundClaims,
  unbooked_payment: unbooked,
  written_event: writtenEvent,
} as const satisfies Readonly<Partial<Record<DocumentKind, z.ZodType>>>;

type Kind = keyof typeof KINDS;
export type DocumentOf<Of extends Kind> = z.output<(typeof KINDS)[Of]>;

/** A document as it was read. */
export interface Known<Of extends Kind> extends Pick<
  StoredDocument,
  'seq' | 'id' | 'accountId' | 'version' | 'createdAt' | 'updatedAt' | 'balanceBelow'
> {
  readonly data: DocumentOf<Of>;
}

/** Reads documents of one kind. A document that cannot be read was written by another version. */
export function knownAs<Of extends Kind>(kind: Of, document: StoredDocument): Known<Of> {
  const read = KINDS[kind].safeParse(document.data);
  if (!read.success) throw new Error(`the document ${kind} ${document.id} cannot be read`);
  return { ...document, data: read.data as DocumentOf<Of> };
}

export async function findDocument<Of extends Kind>(
  ledger: Pick<PaymentLedger, 'getDocument'>,
  kind: Of,
  id: string,
): Promise<Known<Of> | undefined> {
  const found = await ledger.getDocument(kind, id);
  return found === undefined ? undefined : knownAs(kind, found);
}

const PAYMENTS_PER_PAGE = 100;

/** The payment of an account that the provider knows by this id. Newer ones are found sooner. */
export async function findPaymentOf(
  ledger: Pick<PaymentLedger, 'listDocuments'>,
  accountId: string,
  providerPaymentId: string,
): Promise<Known<'payment'> | undefined> {
  const kind = 'payment';
  for (let before: bigint | undefined; ;) {
    const page = await ledger.listDocuments({ kind, accountId, before, limit: PAYMENTS_PER_PAGE });
    const known = page.map((document) => knownAs(kind, document));
    const found = known.find(({ data }) => data.provider_payment_id === providerPaymentId);
    if (found !== undefined || page.length < PAYMENTS_PER_PAGE) return found;
    before = page.at(-1)?.seq;
  }
}

const ATTEMPTS = 50;
const LONGEST_PAUSE_MS = 50;

/**
 * Changes a document. If another process changed it in between, tries again.
 *
 * @param change - Returns the new contents for the current ones; `undefined` leaves them as they
 * are. New contents without `balanceBelow` remove the document's threshold.
 * @returns the document after the change; `undefined` if there is none
 */
export async function changeDocument<Of extends Kind>(
  ledger: Pick<PaymentLedger, 'getDocument' | 'writeDocument'>,
  { kind, id }: { readonly kind: Of; readonly id: string },
  change: (known: Known<Of>) =>
    | (Pick<DocumentWrite, 'trail'> & {
        readonly data: DocumentOf<Of>;
        readonly balanceBelow?: bigint | null;
      })
    | undefined,
): Promise<Known<Of> | undefined> {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    const known = await findDocument(ledger, kind, id);
    if (known === undefined) return undefined;
    const changed = change(known);
    if (changed === undefined) return known;
    const { accountId, version } = known;
    const { data, balanceBelow = null, trail } = changed;
    const { outcome } = await ledger.writeDocument({
      kind,
      id,
      accountId,
      version,
      data,
      balanceBelow,
      trail,
    });
    if (outcome === 'written') return { ...known, data, balanceBelow, version: version + 1 };
    // A random pause, so that many simultaneous changes do not collide again and again.
    await sleep(Math.random() * Math.min(attempt * 2, LONGEST_PAUSE_MS));
  }
  throw new Error(`the document ${kind} ${id} was changed by others at every attempt`);
}
