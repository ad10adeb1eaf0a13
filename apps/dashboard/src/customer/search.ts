/** What the search of the customer's page finds: keys, requests, payments and models. */

import type { Sent } from '../shared/api/gateway-types.js';
import { isHintOf } from '../shared/keys/key-parts.js';
import { to } from '../shared/api/router.js';
import { isSecret, reading, together } from '../shared/controls/search.js';
import type { Found, SearchAnswer } from '../shared/controls/search.js';
import { call, isLink } from './session.js';
import { usdText } from '../shared/text/usd.js';

const MOST = 6;
/** An account has at most 100 keys that are not revoked. */
const MOST_KEYS = 1_000;
const MOST_PAYMENTS = 100;

export function findFor({ key, may_see_account: seesAccount }: Sent<'accountOverview'>) {
  const mayList = key.scope === 'manage' && !isLink.peek();
  return async (text: string, signal: AbortSignal): Promise<SearchAnswer> => {
    const keys = mayList
      ? [
          reading(call('GET /v1/dashboard/keys', { query: { limit: MOST_KEYS }, signal }), (list) =>
            list.data.filter((each) => fits(each, text)).map(ofKey),
          ),
        ]
      : [];
    // A credential is compared with what the page knows of the keys, and is not sent.
    if (isSecret(text)) {
      if (mayList) return together(keys);
      return isHintOf(key.hint, text) ? [ofKey(key)] : [];
    }
    const of = seesAccount ? 'account' : 'key';
    const isId = /^[\w.:-]{6,128}$/.test(text);
    return together([
      ...keys,
      reading(call('GET /v1/dashboard/prices', { signal }), (list) =>
        list.data.filter(({ model }) => model.includes(text.toLowerCase())).map(ofModel),
      ),
      ...(isId
        ? [
            reading(
              call('GET /v1/dashboard/requests', { query: { of, id: text, limit: MOST }, signal }),
              (list) => list.data.map(ofRequest),
            ),
            // A charge is in the ledger for longer than its request is in the record.
            reading(
              call('GET /v1/dashboard/usage/:request_id', {
                path: { request_id: text },
                query: { of },
                signal,
              }),
              (charge) => [ofCharge(charge)],
            ),
            reading(
              call('GET /v1/dashboard/top-ups', { query: { limit: MOST_PAYMENTS }, signal }),
              (list) =>
                list.data
                  .filter(({ id, reference }) => id === text || reference === text)
                  .map(ofPayment),
            ),
          ]
        : []),
    ]);
  };
}

type HolderKey = Pick<Sent<'holderKey'>, 'name' | 'hint' | 'id'>;

function fits({ name, hint, id }: HolderKey, text: string): boolean {
  if (isSecret(text)) return isHintOf(hint, text);
  return name.toLowerCase().includes(text.toLowerCase()) || id === text;
}

function ofKey({ name, hint, id }: HolderKey): Found {
  return { kind: 'Key', name, about: hint, href: to(['requests'], { key_id: id, range: 'month' }) };
}

function ofModel({ model, display_name: about }: Sent<'price'>): Found {
  return { kind: 'Model', name: model, about, href: to(['requests'], { model, range: 'month' }) };
}

function ofRequest({ id, status, model }: Sent<'recordedRequest'>): Found {
  const about = [String(status), model].filter(Boolean).join(' ');
  return { kind: 'Request', name: id, about, href: to(['requests'], { id }) };
}

function ofCharge({ request_id: id, model }: Sent<'usage'>): Found {
  return { kind: 'Charge', name: id, about: model, href: to(['ledger'], { request_id: id }) };
}

function ofPayment({ id, amount_usd: usd, state }: Sent<'payment'>): Found {
  return { kind: 'Payment', name: id, about: `${usdText(usd)}, ${state}`, href: to(['payments']) };
}
