/** A read-only link for someone else, such as the finance department. */

import { useState } from 'preact/hooks';
import { ActionDialog } from '../shared/actions.js';
import { DateOf, TextField } from '../shared/parts.js';
import { ReadLink, daysProblem, linkChanges, secondsOf } from '../shared/read-link.js';
import type { Link } from '../shared/read-link.js';
import { change, gatewayUrl } from './session.js';

export function ShareLink() {
  const [isOpen, setIsOpen] = useState(false);
  return (
    <>
      <button
        type="button"
        class="no-print"
        onClick={() => {
          setIsOpen(true);
        }}
      >
        Share a read-only link
      </button>
      {isOpen && (
        <LinkDialog
          onClose={() => {
            setIsOpen(false);
          }}
        />
      )}
    </>
  );
}

function LinkDialog({ onClose }: { readonly onClose: () => void }) {
  const [days, setDays] = useState('30');
  return (
    <ActionDialog<Link>
      title="Share a read-only link"
      fields={
        <TextField
          label="Days for which it works"
          inputMode="numeric"
          value={days}
          onValue={setDays}
          hint="1 to 366. It ends earlier when this key is rotated or revoked."
        />
      }
      problem={daysProblem(days)}
      changes={() => linkChanges(days)}
      confirm="Make the link"
      run={() => change('links', { body: { expires_in_seconds: secondsOf(days) } })}
      done={(link) => (
        <>
          <ReadLink link={link} clientUrl={gatewayUrl} />
          <p>
            It works until <DateOf iso={link.expires_at} />.
          </p>
        </>
      )}
      onDone={() => undefined}
      onClose={onClose}
    />
  );
}
