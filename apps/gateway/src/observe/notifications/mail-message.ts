/**
 * An event as its customer gets it by mail: a short plain text. It contains no text that another
 * customer or a holder of a key chose, so that nobody can use the gateway to write to strangers:
 * of a budget neither its name nor a contact that is not an address.
 */

import type { EmptiedBy, StoredEvent } from '@gateway/balance-store';
import type { MailSender } from '../../config/mail-config.js';
import { budgetNotice } from './budget-notice.js';
import type { AboutBudget, Notice } from './budget-notice.js';
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

/**
 * @param about - What a notice of a budget says besides the event, and to whom.
 * @throws {Error} if events of this type are not sent by mail
 */
export function mailOf(event: StoredEvent, origin: MailOrigin, about?: AboutBudget): Mail {
  const { subject, lines } = about === undefined ? noticeOf(event) : budgetNotice(event, about);
  const { id, createdAt: date } = event;
  return letter({ id, date, subject, lines: [...lines, `Account: ${event.accountId}`] }, origin);
}

/**
 * @param of.id - The same at each attempt.
 */
export function letter(
  {
    id,
    date,
    subject,
    lines,
  }: { readonly id: string; readonly date: Date; readonly subject: string } & Pick<Notice, 'lines'>,
  { from, publicUrl, operator }: MailOrigin,
): Mail {
  const text = [
    ...lines,
    ...(publicUrl === undefined ? [] : ['', `Your page: ${publicUrl}/dashboard/`]),
    ...(operator === undefined ? [] : ['', operator]),
  ];
  const domain = from.address.slice(from.address.indexOf('@') + 1);
  const messageId = `<${id.replace(/[^\w.-]/g, '-')}@${domain}>`;
  return { subject, text: `${text.join('\n')}\n`, messageId, date };
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
    case 'key.new_model':
      return noticeOfKey('uses a new model', keyId, [`Model: ${of('model')}`], details);
    case 'key.new_network':
      return noticeOfKey('is used from a new network', keyId, [], details);
    case 'key.pace':
      return noticeOfKey(
        'spends faster than usual',
        keyId,
        [
          `Charged within one hour: ${of('charged_usd')} USD`,
          `Usual in one hour: ${of('usual_usd')} USD`,
        ],
        details,
      );
    default:
      throw new Error(`events of type ${type} are not sent by mail`);
  }
}

/** What may mean that a key has leaked. */
function noticeOfKey(
  what: string,
  keyId: string | undefined,
  figures: readonly string[],
  { action }: Readonly<Record<string, string | null>>,
): Notice {
  const isSuspended = action === 'suspend';
  return {
    subject: `A key ${what}`,
    lines: [
      `A key ${what}. If you do not know why, its credential may have leaked: give it a new one.`,
      ...(isSuspended ? ['The key is suspended. Your operator can resume it.'] : []),
      '',
      `Key: ${keyId ?? 'unknown'}`,
      ...figures,
    ],
  };
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
