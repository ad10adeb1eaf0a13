/**
 * Auto top-up: charges a saved payment method when the account's balance is below a threshold.
 *
 * One document per account has the customer's order and the charge in progress. A replica begins a
 * charge by writing the charge's id into that document, which only one of several replicas can do.
 * It repeats the charge only with the same id, each time after a longer wait, and the provider
 * charges once per id. If none of the repetitions reached the provider, a later run begins a new
 * charge. A charge that fails stops the order until a person acts, and so does a refund or a
 * dispute of any payment. Between two charges there is a pause, so that there is never a burst.
 */

import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import type { Actor } from '@gateway/balance-store';
import { formatUsd, parseUsd } from '@gateway/billing';
import type {
  ChargeOutcome,
  MethodSavedFact,
  PaymentFact,
  PaymentProvider,
  TaxMode,
} from '@gateway/payments';
import { reasonOf } from '../base/error-code.js';
import { HOUR_MS, MINUTE_MS } from '../base/times.js';
import { centsBelow } from '../config/cents.js';
import type { PaymentLedger } from '../ledger/open-store.js';
import type { FactOutcome } from './fact-books.js';
import { creditId } from './implied-entries.js';
import { changeDocument, findDocument, knownAs } from './payment-ledger.js';
import type { DocumentOf, Known } from './payment-ledger.js';
import { openPayment, returnUrls } from './start-payment.js';
import { cancelAutoTopUp } from './stop-auto-top-up.js';

type Order = Known<'auto_top_up'>;
type OrderData = DocumentOf<'auto_top_up'>;

export interface AutoTopUpRules {
  /** In units of 10^-14 USD. */
  readonly threshold: bigint;
  /** What each charge pays, or the balance up to which it pays. */
  readonly credit: { readonly amountCents: number } | { readonly targetCents: number };
  /** The most charges in one UTC day. */
  readonly maxPerDay: number;
  /** The largest sum of charges in one UTC month. */
  readonly maxPerMonthCents: number;
}

export interface AutoTopUpParts {
  readonly ledger: PaymentLedger;
  readonly provider: PaymentProvider;
  readonly book: (fact: PaymentFact) => Promise<FactOutcome>;
  /** The smallest and the largest payment. */
  readonly limits: { readonly minCents: number; readonly maxCents: number };
  /** How charges are taxed that begin from now on. */
  readonly tax: TaxMode;
  readonly log: Logger;
  readonly now: () => number;
}

const KIND = 'auto_top_up';
const PAGE = 100;
/**
 * A charge that began less than this ago is not continued, because the replica that began it may
 * still be waiting for the provider's response.
 */
const ATTEMPT_PATIENCE_MS = 90_000;
/** Each repetition doubles the wait before the next one, up to this. */
const LONGEST_PATIENCE_MS = HOUR_MS;
/**
 * The time between the beginnings of two charges. A balance that stays below the threshold, because
 * it was far below zero or is spent faster than this, does not cause a burst of charges.
 */
const PAUSE_MS = 10 * MINUTE_MS;
/**
 * A charge is repeated only within this time. The provider forgets ids of requests after a day, so
 * a later repetition could charge again.
 */
const REPEATABLE_MS = 12 * HOUR_MS;
/**
 * A charge that the provider does not know is given up after this time. This is an hour after its
 * last repetition, because a repetition in progress would still reach the provider.
 */
const GIVEN_UP_MS = REPEATABLE_MS + HOUR_MS;
/** The code of a charge that was not found at the provider. */
const NO_ANSWER = 'no_answer';
/**
 * The number of earlier pages of an order that are remembered. A method that is saved on an older
 * page is ignored.
 */
const MAX_EARLIER_SETUPS = 10;

const NOTHING_USED = { day: '', count: 0, month: '', cents: 0, last_at: null } as const;

export class AutoTopUp {
  readonly #ledger: PaymentLedger;
  readonly #provider: PaymentProvider;
  readonly #book: AutoTopUpParts['book'];
  readonly #limits: AutoTopUpParts['limits'];
  readonly #tax: TaxMode;
  readonly #log: Logger;
  readonly #now: () => number;

  constructor({ ledger, provider, book, limits, tax, log, now }: AutoTopUpParts) {
    this.#ledger = ledger;
    this.#provider = provider;
    this.#book = book;
    this.#limits = limits;
    this.#tax = tax;
    this.#log = log;
    this.#now = now;
  }

  /**
   * Accepts or changes an order. An order that was stopped is then active again.
   *
   * @returns the order, and the page on which the method is saved if there is none yet
   */
  async order(
    accountId: string,
    rules: AutoTopUpRules,
    { returnUrl, by }: { readonly returnUrl: string; readonly by: Actor },
  ): Promise<{ readonly order: Order; readonly setupUrl: string | undefined }> {
    const given = {
      threshold_usd: formatUsd(rules.threshold),
      amount_cents: 'amountCents' in rules.credit ? rules.credit.amountCents : null,
      target_cents: 'targetCents' in rules.credit ? rules.credit.targetCents : null,
      max_per_day: rules.maxPerDay,
      max_per_month_cents: rules.maxPerMonthCents,
    };
    const before = await this.find(accountId);
    const hasMethod = before !== undefined && before.data.method_id !== null;
    const setupId = `setup_${randomUUID()}`;
    const data: OrderData = {
      ...(before?.data ?? { customer_id: null, method_id: null, attempt: null }),
      ...given,
      // A person has acted, so the next charge need not wait.
      used: { ...(before?.data.used ?? NOTHING_USED), last_at: null },
      state: hasMethod ? 'on' : 'needs_method',
      setup_id: hasMethod ? before.data.setup_id : setupId,
      earlier_setup_ids: hasMethod ? [] : setupIdsOf(before).slice(-MAX_EARLIER_SETUPS),
      stopped_code: null,
    };
    const { outcome } = await this.#ledger.writeDocument({
      kind: KIND,
      id: accountId,
      accountId,
      version: before?.version ?? 0,
      data: data,
      balanceBelow: data.state === 'on' ? rules.threshold : null,
      trail: { action: 'auto_top_up.order', by, details: given },
    });
    if (outcome === 'conflict') return this.order(accountId, rules, { returnUrl, by });
    const setupUrl = hasMethod
      ? undefined
      : (await this.#startSetup(accountId, setupId, returnUrl)).url;
    const written = await this.find(accountId);
    if (written === undefined) throw new Error(`the order of ${accountId} is gone`);
    return { order: written, setupUrl };
  }

  #startSetup(accountId: string, paymentId: string, returnUrl: string) {
    return this.#provider.startMethodSetup({
      origin: { paymentId, accountId },
      tax: this.#tax,
      ...returnUrls(returnUrl, 'auto_top_up'),
    });
  }

  /**
   * Called when a customer has saved a method on a page of an order. The first method to be saved
   * turns the order on.
   */
  async saveMethod({ origin, setupId }: MethodSavedFact): Promise<'noted' | 'foreign'> {
    const known = await this.find(origin.accountId);
    if (known === undefined) return 'foreign';
    if (!isAwaiting(known, origin.paymentId)) return 'noted';
    const method = await this.#provider.readSavedMethod(setupId);
    if (method === undefined) return 'noted';
    await this.#change(origin.accountId, (data) =>
      isAwaiting({ data }, origin.paymentId)
        ? {
            ...data,
            state: 'on',
            earlier_setup_ids: [],
            customer_id: method.customerId,
            method_id: method.methodId,
          }
        : undefined,
    );
    return 'noted';
  }

  /**
   * Charges, or continues to charge, the accounts whose balance is below the threshold of their
   * order.
   */
  async runDue(): Promise<void> {
    let before: bigint | undefined;
    do {
      const page = await this.#ledger.listDocuments({
        kind: KIND,
        isDue: true,
        before,
        limit: PAGE,
      });
      for (const document of page) {
        try {
          await this.#attend(knownAs(KIND, document));
        } catch (error) {
          // The next run continues with the same attempt.
          const reason = reasonOf(error);
          this.#log.warn({ account_id: document.accountId, reason }, 'auto top-up failed for now');
        }
      }
      before = page.length < PAGE ? undefined : page.at(-1)?.seq;
    } while (before !== undefined);
  }

  async #attend(known: Order): Promise<void> {
    const { attempt } = known.data;
    if (attempt === null) await this.#begin(known);
    else await this.#goOn(known, attempt);
  }

  async #begin(known: Order): Promise<void> {
    const { accountId, data, version, balanceBelow } = known;
    // The balance is read after the document. If the document has no attempt, the last charge is
    // already in the balance, because an attempt is cleared only after its credit.
    const account = await this.#ledger.getAccount(accountId);
    if (account === undefined || balanceBelow === null || account.balance >= balanceBelow) return;
    // Nobody could spend the money or cancel the order. A key that only lacks balance is usable.
    if (account.usableKeys === 0) return;
    const at = new Date(this.#now());
    if (account.allowanceDueAt !== null && account.allowanceDueAt <= at) {
      // The allowance may be enough. The next run decides.
      await this.#ledger.bookDue(accountId);
      return;
    }
    const amountCents = this.#amountOf(data, account.balance);
    const used = usedAfter(data, amountCents, at);
    if (used === undefined) return;
    const attempt = {
      payment_id: `pay_${randomUUID()}`,
      amount_cents: amountCents,
      started_at: at.toISOString(),
      tries: 0,
      customer_id: data.customer_id ?? undefined,
    };
    const next = { ...data, used, attempt };
    const { outcome } = await this.#ledger.writeDocument({
      kind: KIND,
      id: accountId,
      accountId,
      version,
      balanceBelow,
      data: next,
    });
    // The document was changed in between: another replica has begun a charge, or the order was
    // changed or stopped.
    if (outcome === 'conflict') return;
    await this.#charge({ ...known, data: next }, attempt);
  }

  async #goOn(known: Order, attempt: Attempt): Promise<void> {
    const payment = await findDocument(this.#ledger, 'payment', attempt.payment_id);
    switch (payment?.data.state) {
      case 'paid': {
        // The payment's document becomes `paid` before its credit is booked.
        const id = creditId(this.#provider.name, payment.data.provider_payment_id ?? '');
        if ((await this.#ledger.findEntries([id])).length > 0) await this.#clear(known, attempt);
        return;
      }
      case 'failed':
      case 'expired':
        // The process may have ended while it gave the charge up.
        if (payment.data.code === NO_ANSWER) await this.#clear(known, attempt);
        else await this.#stop(known, attempt, payment.data.code ?? 'failed');
        return;
      case 'pending':
        return;
      case 'open':
      case undefined:
        break;
    }
    const now = this.#now();
    const ageMs = now - Date.parse(attempt.started_at);
    const { tries, tried_at: triedAt = attempt.started_at } = attempt;
    const patienceMs = Math.min(ATTEMPT_PATIENCE_MS * 2 ** tries, LONGEST_PATIENCE_MS);
    if (now - Date.parse(triedAt) < patienceMs) return;
    // Of several replicas, the one that writes this asks the provider.
    const { accountId, version, balanceBelow, data } = known;
    const next = { ...attempt, tries: tries + 1, tried_at: new Date(now).toISOString() };
    const { outcome } = await this.#ledger.writeDocument({
      kind: KIND,
      id: accountId,
      accountId,
      version,
      balanceBelow,
      data: { ...data, attempt: next },
    });
    if (outcome === 'conflict') return;
    const method = methodOf(known);
    // The provider finds a charge by its customer. If the order has another customer by now, the
    // charge may have been made although it is not found, so it is neither repeated nor replaced.
    if (method === undefined || method.customerId !== (attempt.customer_id ?? method.customerId)) {
      await this.#stop(known, attempt, NO_ANSWER);
      return;
    }
    const origin = { paymentId: attempt.payment_id, accountId: known.accountId };
    const asked = await this.#provider.findCharge(
      { ...method, origin, ...this.#chargeOf(payment, attempt, known) },
      new Date(attempt.started_at),
    );
    if (asked !== undefined) await this.#settle(known, attempt, asked);
    else if (ageMs < REPEATABLE_MS) await this.#charge(known, attempt);
    else if (ageMs > GIVEN_UP_MS) await this.#giveUp(known, attempt);
  }

  /** Ends a charge that never reached the provider. A later run begins a new one. */
  async #giveUp(known: Order, attempt: Attempt): Promise<void> {
    const payment = await changeDocument(
      this.#ledger,
      { kind: 'payment', id: attempt.payment_id },
      ({ data }) =>
        data.state === 'open' ? { data: { ...data, state: 'failed', code: NO_ANSWER } } : undefined,
    );
    // A notification may have changed the payment in between. The next run then continues with it.
    if (payment === undefined || payment.data.code === NO_ANSWER) await this.#clear(known, attempt);
  }

  /**
   * A target that is too far above the balance for one payment is reached by the next ones. The
   * operator may have lowered the maximum of one payment since the order.
   */
  #amountOf({ amount_cents: amount, target_cents: target }: OrderData, balance: bigint): number {
    const { minCents, maxCents } = this.#limits;
    if (target === null) return Math.min(maxCents, amount ?? 0);
    return Math.min(maxCents, Math.max(minCents, target - centsBelow(balance)));
  }

  async #charge(known: Order, attempt: Attempt): Promise<void> {
    const { accountId } = known;
    const method = methodOf(known);
    if (method === undefined) return;
    const payment = openPayment({
      by: 'auto_top_up',
      started_by: accountId,
      amount_cents: amountOf(attempt, known),
      tax: this.#tax,
    });
    // Written before the charge, so that the notification of the charge finds this document.
    const id = attempt.payment_id;
    await this.#ledger.writeDocument({ kind: 'payment', id, accountId, version: 0, data: payment });
    const started = await findDocument(this.#ledger, 'payment', id);
    const charge = this.#chargeOf(started, attempt, known);
    const origin = { paymentId: id, accountId };
    await this.#settle(
      known,
      attempt,
      await this.#provider.chargeSavedMethod({ ...method, origin, ...charge }),
    );
  }

  /** A repetition has the amount and the tax mode of the first attempt. */
  #chargeOf(payment: Known<'payment'> | undefined, attempt: Attempt, known: Order) {
    const { amount_cents, tax } = payment?.data ?? {
      amount_cents: amountOf(attempt, known),
      tax: this.#tax,
    };
    return { amountCents: amount_cents, tax: tax ?? 'off' };
  }

  async #settle(known: Order, attempt: Attempt, outcome: ChargeOutcome): Promise<void> {
    switch (outcome.outcome) {
      case 'paid': {
        const booked = await this.#book(outcome.fact);
        if (booked === 'booked' || booked === 'known') await this.#clear(known, attempt);
        else await this.#stop(known, attempt, booked);
        return;
      }
      case 'pending':
        await changeDocument(
          this.#ledger,
          { kind: 'payment', id: attempt.payment_id },
          ({ data }) =>
            data.state === 'open' ? { data: { ...data, state: 'pending' } } : undefined,
        );
        return;
      case 'declined':
        // The provider's notification may book the same failure later. `payment.failed` is still
        // sent once.
        await this.#book({
          kind: 'failed',
          origin: { paymentId: attempt.payment_id, accountId: known.accountId },
          code: outcome.code,
        });
        await this.#stop(known, attempt, outcome.code);
    }
  }

  async #clear({ accountId }: Order, attempt: Attempt): Promise<void> {
    await this.#change(accountId, (data) =>
      data.attempt?.payment_id === attempt.payment_id ? { ...data, attempt: null } : undefined,
    );
  }

  async #stop({ accountId }: Order, attempt: Attempt, code: string): Promise<void> {
    // The event comes first, because the process may end in between. The next run then stops the
    // order, and the event's id prevents a second one.
    await this.#ledger.recordEvent({
      id: `evt_auto_top_up_failed_${attempt.payment_id}`,
      type: 'auto_top_up.failed',
      accountId,
      keyId: undefined,
      data: { payment_id: attempt.payment_id, code },
    });
    await this.#change(accountId, (data) =>
      data.attempt?.payment_id === attempt.payment_id
        ? { ...data, attempt: null, state: 'stopped', stopped_code: code }
        : undefined,
    );
  }

  /** `balanceBelow` is set only while the order is on. */
  #change(accountId: string, by: (data: OrderData) => OrderData | undefined) {
    return changeDocument(this.#ledger, { kind: KIND, id: accountId }, ({ data }) => {
      const next = by(data);
      if (next === undefined) return undefined;
      const balanceBelow = next.state === 'on' ? parseUsd(next.threshold_usd) : null;
      return { data: next, balanceBelow };
    });
  }

  find(accountId: string): Promise<Order | undefined> {
    return findDocument(this.#ledger, KIND, accountId);
  }

  cancel(accountId: string, by: Actor) {
    return cancelAutoTopUp(this.#ledger, accountId, by);
  }
}

type Attempt = NonNullable<OrderData['attempt']>;

function amountOf(attempt: Attempt, { data }: Order): number {
  return attempt.amount_cents ?? data.amount_cents ?? 0;
}

/** The ids of all unfinished pages, oldest first. A canceled order has the empty id. */
function setupIdsOf(order: Pick<Order, 'data'> | undefined): string[] {
  if (order === undefined) return [];
  const { earlier_setup_ids, setup_id } = order.data;
  return [...earlier_setup_ids, setup_id].filter((id) => id !== '');
}

/** Whether the order has no method yet, and the page is one of its pages. */
function isAwaiting(order: Pick<Order, 'data'>, setupId: string): boolean {
  return order.data.method_id === null && setupIdsOf(order).includes(setupId);
}

function methodOf({ data: { customer_id, method_id } }: Order) {
  if (customer_id === null || method_id === null) return undefined;
  return { customerId: customer_id, methodId: method_id };
}

/** @returns the used amounts after one more charge; `undefined` if it may not begin now */
function usedAfter(data: OrderData, amountCents: number, at: Date): OrderData['used'] | undefined {
  const [day, month] = [at.toISOString().slice(0, 10), at.toISOString().slice(0, 7)];
  const { used, max_per_day, max_per_month_cents } = data;
  const lastAt = used.last_at === null ? -Infinity : Date.parse(used.last_at);
  if (at.getTime() - lastAt < PAUSE_MS) return undefined;
  const count = (used.day === day ? used.count : 0) + 1;
  const cents = (used.month === month ? used.cents : 0) + amountCents;
  return count > max_per_day || cents > max_per_month_cents
    ? undefined
    : { day, count, month, cents, last_at: at.toISOString() };
}
