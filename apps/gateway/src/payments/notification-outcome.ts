/** The outcomes of notifications, as metrics name them. */

/** The possible outcomes of a notification. */
export const NOTIFICATION_OUTCOMES = [
  'booked',
  'known',
  'noted',
  'foreign',
  'unbooked',
  'ignored',
  'unsigned',
  'other_mode',
  'unreadable',
  'unavailable',
] as const;
export type NotificationOutcome = (typeof NOTIFICATION_OUTCOMES)[number];
