/** How the attempts to deliver an event are stored, by channel. */

import type { EventChannel, EventState } from '../../event.js';

/** The columns in which each channel keeps its attempts. */
export const CHANNEL_COLUMNS = {
  webhook: { attempts: 'attempts', due: 'due_at', done: 'delivered_at', error: 'last_error' },
  mail: { attempts: 'mail_attempts', due: 'mail_due_at', done: 'mailed_at', error: 'mail_error' },
} as const satisfies Record<EventChannel, object>;

/** `undefined`: neither sent nor to be sent, and not given up. */
export function mailState({
  mailedAt,
  mailDueAt,
  mailError,
}: Readonly<Record<'mailedAt' | 'mailDueAt' | 'mailError', unknown>>): EventState | undefined {
  if (mailedAt !== null) return 'delivered';
  if (mailDueAt !== null) return 'pending';
  return mailError === null ? undefined : 'undelivered';
}

/** The error of events that were given up because nothing delivers them. */
export const NO_RECEIVER = 'no receiver is configured';
