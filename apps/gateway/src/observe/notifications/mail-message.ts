/**
 * An event as its customer gets it by mail: a short plain text. It contains no text that another
 * customer or a holder of a key chose, so that nobody can use the gateway to write to strangers.
 */

import type { StoredEvent } from '@gateway/balance-store';
import type { MailSender } from '../../config/mail-config.js';
import { eventDetails } from './event-details.js';

export interface Mail {
  readonly subject: string;
  readonly text: string;
  /** The same at each attempt, so that mail programs show a repeated mail once. */
  readonly messageId: string;
  readonly date: Date;
}

export interface MailOrigin {
  readonly from: MailSender;
  /** The address at which browsers reach the gateway, if it is known. */
  readonly publicUrl: string | undefined;
  /** The operator's name, if customers may know it. */
  readonly operator: string | undefined;
}

/** @throws {Error} if events of this type are not sent by mail */
export function mailOf(event: StoredEvent, { from, publicUrl, operator }: MailOrigin): Mail {
  const { subject, lines } = noticeOf(event);
  const text = [
    ...lines,
    `Account: ${event.accountId}`,
    ...(publicUrl === undefined ? [] : ['', `Your page: ${publicUrl}/dashboard/`]),
    ...(operator === undefined ? [] : ['', operator]),
  ];
  const domain = from.address.slice(from.address.indexOf('@') + 1);
  return {
    subject,
    text: `${text.join('\n')}\n`,
    messageId: `<${event.id.replace(/[^\w.-]/g, '-')}@${domain}>`,
    date: event.createdAt,
  };
}

interface Notice {
  readonly subject: string;
  readonly lines: readonly string[];
}

function noticeOf({ type, keyId, data }: StoredEvent): Notice {
  const details = eventDetails(data);
  const of = (name: string): string => details[name] ?? 'unknown';
  const balance = `Balance: ${of('balance_usd')} USD`;
  switch (type) {
    case 'balance.share':
      return {
        subject: `${of('share')} % of your balance is used`,
        lines: [
          `${of('share')} % of the balance after your last credit is used.`,
          '',
          balance,
          `Balance after the last credit: ${of('full_usd')} USD`,
        ],
      };
    case 'balance.exhausted':
      return {
        subject: 'Your balance is used up',
        lines: ['Your balance is used up. Requests are refused until it has credit.', '', balance],
      };
    case 'cap.share':
      return {
        subject: `${of('share')} % of the cap of a key is used`,
        lines: [
          `${of('share')} % of the cap of a key is used${PERIODS[of('period')] ?? ''}.`,
          '',
          `Key: ${keyId ?? 'unknown'}`,
          `Used: ${of('used_usd')} USD of ${of('cap_usd')} USD`,
        ],
      };
    case 'auto_top_up.failed':
      return {
        subject: 'An automatic top-up failed',
        lines: [
          'An automatic top-up failed, and automatic top-ups are stopped until you turn them on',
          'again.',
          '',
          `Reason: ${of('code')}`,
        ],
      };
    default:
      throw new Error(`events of type ${type} are not sent by mail`);
  }
}

const PERIODS: Readonly<Record<string, string>> = {
  day: ' for this day',
  week: ' for this week',
  month: ' for this month',
};
