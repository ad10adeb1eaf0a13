/** Compares the provider's facts with the ledger, and books those whose notification was lost. */

import type { LedgerEntry } from '@gateway/balance-store';
import type { PaymentFact, PaymentProvider } from '@gateway/payments';
import { DAY_MS } from '../base/times.js';
import type { PaymentLedger } from '../ledger/open-store.js';
import type { FactOutcome } from './fact-books.js';
import { creditId, idOf, impliedEntries, isAboutMoney } from './implied-entries.js';
import type { MoneyFact } from './implied-entries.js';

export interface MissingEntry {
  readonly fact: PaymentFact['kind'];
  /** The provider's id of the payment, the refund or the dispute. */
  readonly id: string;
  readonly providerPaymentId: string;
  readonly accountId: string | undefined;
  readonly amountCents: number;
  readonly currency: string;
  /** `missing` if the comparison was not asked to book. */
  readonly outcome: FactOutcome | 'missing';
}

export interface Reconciliation {
  /** Facts about money that were compared. */
  readonly compared: number;
  /** The facts that the ledger did not have. */
  readonly missing: readonly MissingEntry[];
}

/** Facts whose entries are looked up in one query. */
const BATCH = 100;
/**
 * A fact whose entries are younger than this is booked again, because the process that booked it
 * may have ended before it wrote the event.
 */
const BOOKED_AGAIN_MS = 7 * DAY_MS;

/** @param book - If absent, nothing is changed. */
export async function reconcile(
  {
    ledger,
    provider,
    now,
  }: {
    readonly ledger: Pick<PaymentLedger, 'findEntries'>;
    readonly provider: Pick<PaymentProvider, 'name' | 'listFacts' | 'findPaid'>;
    /** Milliseconds since the epoch. */
    readonly now: () => number;
  },
  range: { readonly from: Date; readonly until: Date },
  book: ((fact: PaymentFact) => Promise<FactOutcome>) | undefined,
): Promise<Reconciliation> {
  const missing: MissingEntry[] = [];
  const seen = new Set<string>();
  let compared = 0;
  let batch: { readonly fact: MoneyFact; readonly ids: readonly string[] }[] = [];

  async function compareBatch(): Promise<void> {
    const creditOf = (fact: MoneyFact) => creditId(provider.name, fact.providerPaymentId);
    const asked = new Set(batch.flatMap(({ fact, ids }) => [creditOf(fact), ...ids]));
    const found = await ledger.findEntries([...asked]);
    const entries = new Map(found.map((entry) => [entry.id, entry]));
    for (const { fact, ids } of batch) {
      const known = ids.map((id) => entries.get(id)).filter((entry) => entry !== undefined);
      if (known.length === ids.length) {
        if (known.every(isOwnAndYoung)) await book?.(fact);
        continue;
      }
      const credited = entries.get(creditOf(fact))?.accountId;
      const outcome =
        book !== undefined
          ? await book(fact)
          : credited !== undefined || (await wasStartedHere(provider, fact))
            ? 'missing'
            : 'foreign';
      // `known`: the entry exists by now, because a notification arrived in between, or the booking
      // of another fact has booked it too.
      if (outcome === 'foreign' || outcome === 'known') continue;
      missing.push({
        fact: fact.kind,
        id: idOf(fact),
        providerPaymentId: fact.providerPaymentId,
        accountId: 'origin' in fact ? fact.origin?.accountId : credited,
        amountCents: fact.amountCents,
        currency: fact.currency,
        outcome,
      });
    }
    batch = [];
  }

  /** An operator's entry has no such event, and differs from the one that the fact implies. */
  function isOwnAndYoung(entry: LedgerEntry): boolean {
    const isOwn = entry.kind !== 'charge' && entry.actor === provider.name;
    return isOwn && now() - entry.createdAt.getTime() < BOOKED_AGAIN_MS;
  }

  for await (const fact of provider.listFacts(range)) {
    if (!isAboutMoney(fact)) {
      await book?.(fact);
      continue;
    }
    const ids = impliedEntries(provider.name, fact).map(({ entryId }) => entryId);
    // The same fact can be in several of the provider's lists.
    const key = ids.join(' ');
    if (ids.length === 0 || seen.has(key)) continue;
    seen.add(key);
    compared += 1;
    batch.push({ fact, ids });
    if (batch.length === BATCH) await compareBatch();
  }
  if (batch.length > 0) await compareBatch();
  return { compared, missing };
}

/** Whether the gateway started the payment of a fact whose payment the ledger lacks. */
async function wasStartedHere(
  provider: Pick<PaymentProvider, 'findPaid'>,
  fact: MoneyFact,
): Promise<boolean> {
  const paid = fact.kind === 'paid' ? fact : await provider.findPaid(fact.providerPaymentId);
  return paid?.origin !== undefined;
}
