/** Events that are delivered to the operator's systems. */

export const EVENT_TYPES = [
  'account.suspended',
  'account.resumed',
  'account.closed',
  'account.reopened',
  'balance.low',
  'balance.exhausted',
  'balance.share',
  'balance.adjusted',
  'cap.reached',
  'cap.share',
  'budget.reached',
  'budget.share',
  'credit.added',
  'credit.expired',
  'key.rotated',
  'key.suspended',
  'key.resumed',
  'key.revoked',
  'key.expiring',
  'key.new_model',
  'key.new_network',
  'key.pace',
  'payment.succeeded',
  'payment.failed',
  'payment.unbooked',
  'refund.created',
  'dispute.opened',
  'dispute.closed',
  'auto_top_up.failed',
  'upstream.refused',
  'upstream.limited',
  'ledger.unsound',
  'ledger.clock_behind',
  'model.retiring',
  'model.retired',
  'model.sold_below_cost',
] as const;

export type EventType = (typeof EVENT_TYPES)[number];

/**
 * The events that are also sent by mail to accounts with an address for notices. Those of a budget
 * also go to the member whose budget it is, or to its contact if that is an address.
 */
export const MAILED_EVENT_TYPES = [
  'balance.share',
  'balance.exhausted',
  'cap.share',
  'budget.reached',
  'budget.share',
  'auto_top_up.failed',
  'key.new_model',
  'key.new_network',
  'key.pace',
] as const satisfies readonly EventType[];

/** How events are delivered. Each is a queue of its own, with its own attempts. */
export type EventChannel = 'webhook' | 'mail';

export interface NewEvent {
  /**
   * `evt_` and a text that the caller chooses. The event is then written once, however often it is
   * recorded.
   */
  readonly id?: string | undefined;
  readonly type: EventType;
  /** Empty for an event of the gateway as a whole. */
  readonly accountId: string;
  readonly keyId: string | undefined;
  /**
   * Amounts are decimal text in USD. Holds no secret, no prompt, and no name of an account or a
   * key.
   */
  readonly data: Readonly<Record<string, string | null>>;
}

export interface StoredEvent extends Omit<NewEvent, 'id'> {
  readonly seq: bigint;
  /**
   * `evt_` and a random text, or the one that its writer chose. By it, a receiver recognizes an
   * event that is sent again.
   */
  readonly id: string;
  readonly createdAt: Date;
  /** By the channel that took it; in lists, those by webhook. */
  readonly attempts: number;
  readonly deliveredAt: Date | null;
  readonly lastError: string | null;
  /** `undefined` if it is not sent by mail. */
  readonly mail: EventState | undefined;
  readonly mailError: string | null;
}

/**
 * Of a webhook or a mail. `undelivered`: given up after its last attempt, or by `pruneEvents`
 * without any.
 */
export type EventState = 'pending' | 'delivered' | 'undelivered';
