/** Where a deliverer sends events: to the receiver of webhooks, or as mail to customers. */

import type { EventChannel, StoredEvent } from '@gateway/balance-store';

export type SendOutcome =
  | { readonly outcome: 'delivered' }
  /**
   * `reason` is a text of the gateway. It repeats nothing of the receiver's response except the
   * status. `isFinal`: another attempt would fail as well.
   */
  | { readonly outcome: 'failed'; readonly reason: string; readonly isFinal?: true }
  /** There is nobody to send the event to any more. */
  | { readonly outcome: 'needless'; readonly reason: string }
  /** The signal ended the attempt. The receiver may have got the event. */
  | { readonly outcome: 'stopped' };

export interface DeliveryTarget {
  readonly channel: EventChannel;
  /** The most attempts in progress. An account has at most one. */
  readonly mostAtOnce: number;
  /** The longest time that an attempt takes. */
  readonly timeoutMs: number;
  send(event: StoredEvent, signal: AbortSignal): Promise<SendOutcome>;
  close(): Promise<void>;
}
