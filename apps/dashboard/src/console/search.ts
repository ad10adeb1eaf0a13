/** What the search of the console finds: accounts, keys, requests and payments. */

import type { Sent } from '../shared/api/gateway-types.js';
import { to } from '../shared/api/router.js';
import { isSecret, reading, together } from '../shared/controls/search.js';
import type { Found, SearchAnswer } from '../shared/controls/search.js';
import { positive, usdText } from '../shared/text/usd.js';
import { learn, nameOf } from './names.js';
import { call, may } from './session.js';

/** Of each kind. */
const MOST = 6;
/** Payments that are searched by the provider's id, the newest. */
const MOST_PAYMENTS = 500;

/** `give 5 Example Ltd`: leads to the form of that action, which asks as ever. */
const COMMAND =
  /^(refund|give back|give|credit|take back|paid out)\s+\$?(\d[\d.,'’]*)(?:\s+usd)?\s+(?:(?:to|from)\s+)?(\S.*)$/i;

const TAKES = new Set(['take back', 'paid out']);

export async function find(text: string, signal: AbortSignal): Promise<SearchAnswer> {
  if (isSecret(text)) return findCredential(text, signal);
  const [, word = '', amount = '', name = ''] = COMMAND.exec(text) ?? [];
  const usd = positive(amount);
  if (usd !== undefined) {
    const verb = word.toLowerCase();
    return reading(
      call('GET /admin/accounts', { query: { limit: MOST, name }, signal }),
      ({ data }) => data.flatMap((account) => actionsOn(account, verb, usd)),
    );
  }
  const named = { limit: MOST, name: text };
  const external = { limit: MOST, external_id: text };
  const isId = /^[\w.:-]{6,128}$/.test(text);
  return together([
    reading(call('GET /admin/accounts', { query: named, signal }), ofList(ofAccount)),
    reading(call('GET /admin/accounts', { query: external, signal }), ofList(ofAccount)),
    reading(call('GET /admin/keys', { query: named, signal }), ofList(ofKey)),
    reading(call('GET /admin/keys', { query: external, signal }), ofList(ofKey)),
    ...(isId ? byId(text, signal) : []),
  ]);
}

/**
 * Credit raises the balance, and taking back lowers it. A refund can be meant as either: what the
 * customer gets comes first, and what is only booked because it was paid out elsewhere, second.
 */
function actionsOn(
  { id, name }: Pick<Sent<'account'>, 'id' | 'name'>,
  verb: string,
  usd: string,
): readonly Found[] {
  const amount = usdText(usd);
  const give = {
    kind: 'Action',
    about: 'the balance rises',
    href: to(['accounts', id], { give: usd }),
  };
  const take = {
    kind: 'Action',
    about: 'the balance falls',
    href: to(['accounts', id], { [verb === 'take back' ? 'take' : 'paid_out']: usd }),
  };
  const credit = verb === 'refund' || verb === 'give back' ? 'Give back' : 'Give';
  return [
    ...(TAKES.has(verb) || !may('credit')
      ? []
      : [{ ...give, name: `${credit} ${amount} to ${name}` }]),
    ...((TAKES.has(verb) || verb === 'refund') && may('change')
      ? [{ ...take, name: `Take ${amount} from ${name}: paid out elsewhere` }]
      : []),
  ];
}

function byId(id: string, signal: AbortSignal) {
  const prefix = id.slice(0, id.indexOf('_'));
  switch (prefix) {
    case 'acct':
      return [
        reading(
          call('GET /admin/accounts/:account_id', { path: { account_id: id }, signal }),
          (account) => [ofAccount(account)],
        ),
      ];
    case 'key':
      return [
        reading(call('GET /admin/keys/:key_id', { path: { key_id: id }, signal }), (key) => [
          ofKey(key),
        ]),
      ];
    default:
      return [
        reading(
          call('GET /admin/requests', { query: { id, limit: MOST }, signal }),
          ofList(ofRecorded),
        ),
        reading(
          call('GET /admin/requests/:request_id', { path: { request_id: id }, signal }),
          (request) => [ofRequest(request)],
        ),
        reading(
          call('GET /admin/payments/:payment_id', { path: { payment_id: id }, signal }),
          (payment) => [ofPayment(payment)],
        ),
        reading(call('GET /admin/payments', { query: { limit: MOST_PAYMENTS }, signal }), (list) =>
          list.data.filter(({ reference }) => reference === id).map(ofPayment),
        ),
      ];
  }
}

/** The gateway is asked in a body, as ever, so that the credential is in no address and no log. */
async function findCredential(credential: string, signal: AbortSignal): Promise<SearchAnswer> {
  if (!credential.startsWith('gw_')) return [];
  return together([
    reading(call('POST /admin/keys/find', { body: { api_key: credential }, signal }), (key) => [
      ofKey(key),
    ]),
  ]);
}

function ofList<Item>(found: (item: Item) => Found) {
  return ({ data }: { readonly data: readonly Item[] }) => data.map(found);
}

function ofAccount(account: Pick<Sent<'account'>, 'id' | 'name' | 'external_id'>): Found {
  learn([account]);
  const { id, name, external_id: about } = account;
  return { kind: 'Account', name, about: about ?? undefined, href: to(['accounts', id]) };
}

function ofKey(key: Sent<'key'>): Found {
  const account = nameOf(key.account_id);
  const about = [key.hint, account === undefined ? '' : `of ${account}`].join(' ').trim();
  return { kind: 'Key', name: key.name, about, href: to(['accounts', key.account_id]) };
}

function ofRecorded({ id, status, model }: Sent<'operatorRecordedRequest'>): Found {
  const about = [String(status), model].filter(Boolean).join(' ');
  return { kind: 'Request', name: id, about, href: to(['requests'], { id }) };
}

/** A charge is in the ledger for longer than its request is in the record. */
function ofRequest({ request_id: id, key }: Sent<'request'>): Found {
  return {
    kind: 'Charge',
    name: id,
    about: `key ${key.name}`,
    href: to(['dispute'], { request_id: id }),
  };
}

function ofPayment(payment: Pick<Sent<'payment'>, 'id' | 'amount_usd' | 'state'>): Found {
  const { id, amount_usd: usd, state } = payment;
  return {
    kind: 'Payment',
    name: id,
    about: `${usdText(usd)}, ${state}`,
    href: to(['payments', 'list'], { payment_id: id }),
  };
}
