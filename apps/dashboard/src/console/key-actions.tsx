/** What only an operator can do to a key. */

import { useState } from 'preact/hooks';
import { ActionDialog } from '../shared/actions.js';
import type { KeyActionEnds } from '../shared/key-actions.js';
import { TextField } from '../shared/parts.js';
import { LinkDialog } from '../shared/read-link.js';
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
  return (
    <LinkDialog
      title={`Read-only link for "${of.name}"`}
      whose="the key"
      clientUrl=""
      make={(seconds) =>
        send<Link>(`keys/${of.id}/links`, {
          method: 'POST',
          body: { expires_in_seconds: seconds },
        })
      }
      {...ends}
    />
  );
}
