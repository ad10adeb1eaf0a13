/** Read-only links to the customer's page: the same on both pages. */

import type { Change } from './actions.js';
import { CodeBlock } from './parts.js';

export interface Link {
  readonly link: string;
  /** Below the address that clients use. */
  readonly path: string;
  readonly expires_at: string;
}

const MOST_DAYS = 366;
const DAY_SECONDS = 86_400;

/** @param days - As typed. */
export function daysProblem(days: string): string | undefined {
  const count = Number(days);
  const isValid = Number.isInteger(count) && count >= 1 && count <= MOST_DAYS;
  return isValid ? undefined : `Days: a whole number from 1 to ${String(MOST_DAYS)}.`;
}

export function secondsOf(days: string): number {
  return Number(days) * DAY_SECONDS;
}

export function linkChanges(days: string): readonly Change[] {
  return [
    {
      what: 'Who sees the balance, the usage and the ledger of this key',
      before: 'those who have the key',
      after: `also those who have the link, for ${days} ${days === '1' ? 'day' : 'days'}`,
    },
  ];
}

export function ReadLink({ link, clientUrl }: { readonly link: Link; readonly clientUrl: string }) {
  return (
    <>
      <p>Who opens this link can read, and neither spend nor change anything.</p>
      <CodeBlock text={`${clientUrl}${link.path}`} what="the read-only link" />
    </>
  );
}
