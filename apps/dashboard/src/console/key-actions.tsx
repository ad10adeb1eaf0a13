/** What only an operator can do to a key. */

import { useState } from 'preact/hooks';
import { ActionDialog } from '../shared/actions.js';
import type { KeyActionEnds } from '../shared/key-actions.js';
import { DateOf, TextField } from '../shared/parts.js';
import { ReadLink, daysProblem, linkChanges, secondsOf } from '../shared/read-link.js';
import type { Link } from '../shared/read-link.js';
import type { Key } from './types.js';

const LIMITS = [
  ['concurrency', 'Requests at once'],
  ['burst', 'Burst'],
  ['requests_per_minute', 'Requests per minute'],
] as const;

export function EditLimits({ of, send, ...ends }: KeyActionEnds & { readonly of: Key }) {
  const [texts, setTexts] = useState({
    concurrency: String(of.limits.concurrency),
    burst: String(of.limits.burst),
    requests_per_minute: String(of.limits.requests_per_minute),
  });
  const changed = LIMITS.filter(([name]) => texts[name].trim() !== String(of.limits[name]));
  const wrong = LIMITS.find(([name]) => !/^[1-9]\d{0,7}$/.test(texts[name].trim()));
  return (
    <ActionDialog<Key>
      title={`Limits of "${of.name}"`}
      fields={LIMITS.map(([name, label]) => (
        <TextField
          key={name}
          label={label}
          inputMode="numeric"
          value={texts[name]}
          onValue={(value) => {
            setTexts({ ...texts, [name]: value });
          }}
        />
      ))}
      problem={
        wrong !== undefined
          ? `${wrong[1]}: a whole number above 0.`
          : changed.length === 0
            ? 'Nothing is changed yet.'
            : undefined
      }
      changes={() =>
        changed.map(([name, label]) => ({
          what: label,
          before: of.limits[name],
          after: texts[name].trim(),
        }))
      }
      confirm="Change the limits"
      run={() =>
        send<Key>(`keys/${of.id}`, {
          method: 'PATCH',
          body: Object.fromEntries(changed.map(([name]) => [name, Number(texts[name])])),
        })
      }
      done={(key) => <p>The limits of "{key.name}" are changed.</p>}
      {...ends}
    />
  );
}

/** A read-only link for the customer. */
export function ShareKey({ of, send, ...ends }: KeyActionEnds & { readonly of: Key }) {
  const [days, setDays] = useState('30');
  return (
    <ActionDialog<Link>
      title={`Read-only link for "${of.name}"`}
      fields={
        <TextField
          label="Days for which it works"
          inputMode="numeric"
          value={days}
          onValue={setDays}
          hint="1 to 366. It ends earlier when the key is rotated or revoked."
        />
      }
      problem={daysProblem(days)}
      changes={() => linkChanges(days)}
      confirm="Make the link"
      run={() =>
        send<Link>(`keys/${of.id}/links`, {
          method: 'POST',
          body: { expires_in_seconds: secondsOf(days) },
        })
      }
      done={(link) => (
        <>
          <ReadLink link={link} clientUrl="" />
          <p>
            It is on the port for clients, not on this one, and works until{' '}
            <DateOf iso={link.expires_at} />.
          </p>
        </>
      )}
      {...ends}
    />
  );
}
