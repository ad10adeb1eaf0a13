/**
 * An event as its customer gets it by mail: a short plain text. It contains no text that another
 * customer or a holder of a key chose, so that nobody can use the gateway to write to strangers.
 */

import type { EmptiedBy, StoredEvent } from '@gateway/balance-store';
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
  const taken = CAUSES[details['cause'] ?? ''];
  switch (type) {
    case 'balance.share':
      if (taken !== undefined) {
        return {
          subject: 'Your balance is lower',
          lines: [
            `${taken} Of the balance after your last credit, ${left(details['share'])} % or less is left.`,
            '',
            balance,
            `Balance after the last credit: ${of('full_usd')} USD`,
          ],
        };
      }
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
      if (taken !== undefined) {
        return {
          subject: 'Your balance is empty',
          lines: [`${taken} Requests are refused until your balance has credit.`, '', balance],
        };
      }
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

/** What took money from a balance, by the `cause` of its event. Charges have none. */
const CAUSES: Readonly<Record<string, string>> = {
  expiry: 'Credit has expired.',
  refund: 'A payment was refunded.',
  chargeback: 'A payment was disputed, and its credit was taken back.',
  transfer: 'Money was moved to another account.',
  correction: 'Your balance was corrected.',
  goodwill: 'Your balance was corrected.',
  write_off: 'Your balance was corrected.',
} satisfies Record<EmptiedBy, string>;

function left(share: string | null | undefined): string {
  return String(100 - Number(share));
}
