/** The dialog that makes a read-only link to the customer's page, for that page and the console. */

import { useState } from 'preact/hooks';
import { ActionDialog } from '../controls/actions.js';
import type { Change } from '../controls/actions.js';
import type { Answer } from '../api/api.js';
import type { Sent } from '../api/gateway-types.js';
import { CodeBlock, DateOf, TextField } from '../controls/parts.js';

type Link = Sent<'link'>;

const MOST_DAYS = 366;
const DAY_SECONDS = 86_400;

/** @param days - The number as typed. */
function daysProblem(days: string): string | undefined {
  const count = Number(days);
  const isValid = /^\d+$/.test(days.trim()) && count >= 1 && count <= MOST_DAYS;
  return isValid ? undefined : `Days: a whole number from 1 to ${String(MOST_DAYS)}.`;
}

function linkChanges(days: string): readonly Change[] {
  return [
    {
      what: 'Who sees the balance, the usage and the ledger of this key',
      before: 'those who have the key',
      after: `also those who have the link, for ${days} ${days === '1' ? 'day' : 'days'}`,
    },
  ];
}

export function LinkDialog(props: {
  readonly title: string;
  /** The key as the texts name it, such as "this key". */
  readonly keyText: string;
  /** The address before the path of the link; empty if this page does not know it. */
  readonly clientUrl: string;
  readonly make: (expiresInSeconds: number, actionId: string) => Promise<Answer<Link>>;
  readonly onClose: () => void;
  readonly onDone: () => void;
}) {
  const { title, keyText, clientUrl, make, ...callbacks } = props;
  const [days, setDays] = useState('30');
  return (
    <ActionDialog<Link>
      title={title}
      fields={
        <TextField
          label="Days for which it works"
          inputMode="numeric"
          value={days}
          onValue={setDays}
          hint={`1 to 366. It ends earlier when ${keyText} is rotated or revoked.`}
        />
      }
      problem={daysProblem(days)}
      changes={() => linkChanges(days)}
      confirm="Make the link"
      run={(actionId) => make(Number(days) * DAY_SECONDS, actionId)}
      isSecret={() => true}
      done={(link) => (
        <>
          <p>Anyone who opens this link can read, but cannot spend or change anything.</p>
          <CodeBlock text={`${clientUrl}${link.path}`} what="the read-only link" />
          {clientUrl === '' && <p>Put the address of the port for clients before it.</p>}
          <p>
            It works until <DateOf iso={link.expires_at} />.
          </p>
        </>
      )}
      {...callbacks}
    />
  );
}
