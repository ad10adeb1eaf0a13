/** Delivers events as mail to the addresses for notices of their accounts. */

import type { BalanceStore } from '@gateway/balance-store';
import type { DeliveryTarget } from './delivery-target.js';
import type { MailClient } from './mail-client.js';
import { mailOf } from './mail-message.js';
import type { MailOrigin } from './mail-message.js';

/** Mail servers admit few connections from one client. */
const MOST_AT_ONCE = 4;

export function mailTarget(
  store: Pick<BalanceStore, 'getAccount'>,
  client: MailClient,
  origin: MailOrigin,
): DeliveryTarget {
  return {
    channel: 'mail',
    mostAtOnce: MOST_AT_ONCE,
    timeoutMs: client.timeoutMs,
    async send(event, signal) {
      // Read now, because it may have been changed or erased since the event was written.
      const address = (await store.getAccount(event.accountId))?.noticeEmail ?? undefined;
      if (address === undefined) {
        return { outcome: 'needless', reason: 'the account has no address for notices' };
      }
      return client.send(address, mailOf(event, origin), signal);
    },
    close: () => Promise.resolve(),
  };
}
