/** What the bookings of facts share: the ledger, the events, and facts that cannot be booked. */

import type { Logger } from 'pino';
import type { Actor, EventType, LedgerEntry } from '@gateway/balance-store';
import type { PaymentProvider } from '@gateway/payments';
import type { PaymentLedger } from '../ledger/open-store.js';
import { idOf } from './implied-entries.js';
import type { MoneyFact } from './implied-entries.js';
import { findDocument } from './payment-ledger.js';
import { keepUnbooked } from './unbooked-payments.js';
import type { UnbookedReason } from './unbooked-payments.js';

/**
 * `booked`: the fact is now in the ledger. `known`: it already was. `noted`: no money moved.
 * `foreign`: it belongs to something else that uses the provider's account. `unbooked`: the ledger
 * cannot book the money.
 */
export const FACT_OUTCOMES = ['booked', 'known', 'noted', 'foreign', 'unbooked'] as const;
export type FactOutcome = (typeof FACT_OUTCOMES)[number];

export interface FactBooks {
  readonly ledger: PaymentLedger;
  readonly provider: Pick<PaymentProvider, 'name' | 'mode' | 'findPaid' | 'readDetails'>;
  readonly log: Logger;
}

export function actorOf({ name }: Pick<PaymentProvider, 'name'>): Actor {
  return { name };
}

/** The operator's account of the provider's money, which is the other side of its bookings. */
export function cashOf({ name }: Pick<PaymentProvider, 'name'>): string {
  return `cash:${name}`;
}

export async function findEntry(
  ledger: Pick<PaymentLedger, 'findEntries'>,
  id: string,
): Promise<LedgerEntry | undefined> {
  const [entry] = await ledger.findEntries([id]);
  return entry;
}

/** Keeps the fact, and raises an alarm. */
export async function unbooked(
  { ledger, provider, log }: FactBooks,
  fact: MoneyFact,
  reason: UnbookedReason,
): Promise<'unbooked'> {
  const id = idOf(fact);
  const { providerPaymentId, amountCents, currency } = fact;
  const origin = 'origin' in fact ? fact.origin : undefined;
  const data = { fact: fact.kind, reason, provider_payment_id: providerPaymentId };
  const payment = { payment_id: origin?.paymentId ?? null, amount_cents: amountCents, currency };
  log.error({ ...data, ...payment, id }, 'payment not booked');
  const kept = await findDocument(ledger, 'unbooked_payment', id);
  if (kept?.data.reason !== reason) {
    await record({ ledger }, 'payment.unbooked', id, origin?.accountId ?? '', data);
  }
  await keepUnbooked(ledger, provider.name, fact, reason);
  return 'unbooked';
}

/**
 * Writes an event unless it was ever written. It is also called for a fact that was booked before,
 * because the process may have ended before it wrote the event. The mark remains when the event is
 * deleted after 30 days: a dispute, for example, may change months later.
 */
export async function recordOnce(
  { ledger }: Pick<FactBooks, 'ledger'>,
  ...[type, id, accountId, data]: EventOfFact
): Promise<void> {
  const mark = { kind: 'written_event', id: eventIdOf(type, id) } as const;
  if ((await findDocument(ledger, mark.kind, mark.id)) !== undefined) return;
  await record({ ledger }, type, id, accountId, data);
  await ledger.writeDocument({ ...mark, accountId, version: 0, data: {} });
}

/** Writes an event. Its id prevents a second one only until the first one is deleted. */
export function record(
  { ledger }: Pick<FactBooks, 'ledger'>,
  ...[type, id, accountId, data]: EventOfFact
): Promise<void> {
  return ledger.recordEvent({ id: eventIdOf(type, id), type, accountId, keyId: undefined, data });
}

type EventOfFact = readonly [
  type: EventType,
  id: string,
  accountId: string,
  data: Readonly<Record<string, string>>,
];

function eventIdOf(type: EventType, id: string): string {
  return `evt_${type.replaceAll('.', '_')}_${id}`;
}
