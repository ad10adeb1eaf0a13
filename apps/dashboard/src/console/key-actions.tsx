/** The actions on a key that the console adds to those of `shared/keys/key-actions.tsx`. */

import { useState } from 'preact/hooks';
import { ActionDialog } from '../shared/controls/actions.js';
import type { DialogCallbacks } from '../shared/controls/actions.js';
import type { Sent } from '../shared/api/gateway-types.js';
import { TextField } from '../shared/controls/parts.js';
import { LinkDialog } from '../shared/keys/read-link.js';
import { call } from './session.js';

interface Props extends DialogCallbacks {
  readonly of: Sent<'key'>;
}

const LIMITS = [
  ['concurrency', 'Requests at once'],
  ['burst', 'Burst'],
  ['requests_per_minute', 'Requests per minute'],
] as const;

export function EditLimits({ of, ...callbacks }: Props) {
  const [texts, setTexts] = useState({
    concurrency: String(of.limits.concurrency),
    burst: String(of.limits.burst),
    requests_per_minute: String(of.limits.requests_per_minute),
  });
  const changed = LIMITS.filter(([name]) => texts[name].trim() !== String(of.limits[name]));
  const changedTo = (limit: (typeof LIMITS)[number][0]) =>
    changed.some(([name]) => name === limit) ? Number(texts[limit]) : undefined;
  const wrong = LIMITS.find(([name]) => !/^[1-9]\d{0,7}$/.test(texts[name].trim()));
  return (
    <ActionDialog
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
        call('PATCH /admin/keys/:key_id', {
          path: { key_id: of.id },
          body: {
            concurrency: changedTo('concurrency'),
            burst: changedTo('burst'),
            requests_per_minute: changedTo('requests_per_minute'),
          },
        })
      }
      done={(key) => <p>The limits of "{key.name}" are changed.</p>}
      {...callbacks}
    />
  );
}

/** The dialog that makes a read-only link for the customer. */
export function ShareKey({ of, ...callbacks }: Props) {
  return (
    <LinkDialog
      title={`Read-only link for "${of.name}"`}
      keyText="the key"
      clientUrl=""
      make={(seconds) =>
        call('POST /admin/keys/:key_id/links', {
          path: { key_id: of.id },
          body: { expires_in_seconds: seconds },
        })
      }
      {...callbacks}
    />
  );
}
