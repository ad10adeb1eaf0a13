/**
 * An entry of the trail as a sentence: `Daily cap of key ci: 5 → 7 USD`. What a sentence leaves out
 * stands in the details of the entry.
 */

import type { Sent } from '../shared/api/gateway-types.js';
import { capitalized } from '../shared/text/capitalized.js';
import { decimalText } from '../shared/text/numbers.js';
import { dateText } from '../shared/text/times.js';
import { formatUsd, parseUsd } from '../shared/text/usd.js';

type Entry = Pick<Sent<'trailEntry'>, 'action' | 'account_id' | 'key_id' | 'details' | 'personal'>;
type Values = Readonly<Record<string, unknown>>;

/** @returns the name of an account or a key, or its id */
type NameOf = (id: string) => string;

/** Members that only the ledger's checks need. */
const UNSAID = new Set(['of', 'operator_bounds', 'credential_digest', 'ended_seq', 'counter']);

const PERIODS: Readonly<Record<string, string>> = {
  day: 'Daily cap',
  week: 'Weekly cap',
  month: 'Monthly cap',
  total: 'Total cap',
};

export function sentenceOf(entry: Entry, nameOf: NameOf): string {
  const { action, details } = entry;
  const subject = subjectOf(entry, nameOf);
  const cap = capOf(details);
  if (cap !== undefined) return capSentence(entry, `${cap} of ${subject}`);
  const said = SENTENCES[action]?.(details, subject, nameOf);
  if (said !== undefined) return said;
  const changes = changesOf(entry);
  if (changes.length > 0) return changes.map((change) => ofSubject(change, subject)).join('; ');
  return capitalized(`${action.replaceAll(/[._]/g, ' ')}: ${subject}`);
}

const SENTENCES: Readonly<
  Record<string, (details: Values, subject: string, nameOf: NameOf) => string | undefined>
> = {
  'account.create': ({ credit }, subject) =>
    `Created ${subject}${credit === undefined ? '' : ` with ${usd(credit)}`}`,
  'account.suspend': (_, subject) => `Suspended ${subject}`,
  'account.resume': (_, subject) => `Resumed ${subject}`,
  'account.close': (_, subject) => `Closed ${subject}`,
  'account.reopen': (_, subject) => `Opened ${subject} again`,
  'account.erase': (_, subject) => `Erased the personal data of ${subject}`,
  'key.create': ({ hint }, subject) => `Created ${subject}, ${textOf('hint', hint)}`,
  'key.suspend': (_, subject) => `Suspended ${subject}`,
  'key.resume': (_, subject) => `Resumed ${subject}`,
  'key.revoke': (_, subject) => `Revoked ${subject}`,
  'key.rotate': ({ hint }, subject) => `New credential of ${subject}: ${changeText('hint', hint)}`,
  'key.link': ({ expires_at: until }, subject) =>
    `Link that shows ${subject}, until ${textOf('expires_at', until)}`,
  'group.create': (_, subject) => `Created ${subject}`,
  'member.create': (_, subject) => `Created ${subject}`,
  'budget.create': ({ amount }, subject) => `Created ${subject}: ${usd(amount)}`,
  'budget.raise': ({ amount }, subject) => `Raised a ${subject} by ${usd(amount)}`,
  'member.end': (_, subject) => `Ended ${subject}`,
  'budget.end': (_, subject) => `Ended ${subject}`,
  'credit.add': ({ amount, source }, subject) =>
    `Credit of ${usd(amount)} for ${subject}, ${textOf('source', source)}`,
  'balance.adjust': ({ amount, reason }, subject) =>
    `Correction of ${usd(amount)} for ${subject}, ${textOf('reason', reason)}`,
  'balance.transfer': ({ amount, to }, subject, nameOf) =>
    `${usd(amount)} from ${subject} to ${typeof to === 'string' ? `account ${nameOf(to)}` : 'another account'}`,
  'fee.book': ({ amount }, subject) => `Fee of ${usd(amount)} for a payment of ${subject}`,
  'settings.change': (details) =>
    Object.entries(details)
      .map(([name, value]) => `Setting ${name}: ${changeText(name, value)}`)
      .join('; '),
};

/** A key, a member or a budget of an account, or the account itself. */
function subjectOf({ action, account_id, key_id, personal, details }: Entry, nameOf: NameOf) {
  const kind = action.split('.')[0] ?? '';
  if (['member', 'group', 'budget'].includes(kind) && capOf(details) === undefined) {
    const name = ownName(personal);
    const of = account_id === null ? '' : ` of account ${nameOf(account_id)}`;
    return `${kind}${name === undefined ? '' : ` ${name}`}${of}`;
  }
  if (key_id !== null && kind !== 'account') return `key ${nameOf(key_id)}`;
  return account_id === null ? 'the gateway' : `account ${nameOf(account_id)}`;
}

function ownName(personal: Entry['personal']): string | undefined {
  if (personal === null || typeof personal === 'string') return undefined;
  const { name } = personal;
  return typeof name === 'string' ? name : undefined;
}

/** @returns such as `Daily cap`, if it is about a cap of a key, which is stored as a budget */
function capOf({ of }: Values): string | undefined {
  const [, period = ''] = (typeof of === 'string' && /^cap_([a-z]+)_/.exec(of)) || [];
  return PERIODS[period];
}

function capSentence({ action, details }: Entry, what: string): string {
  if (action === 'budget.end') return `${what} removed`;
  const { amount } = details;
  return `${what}: ${changeText('amount', amount)}`;
}

/** Each changed value, such as `requests per minute: 60 → 90`. */
function changesOf({ details, personal }: Entry): readonly string[] {
  const texts = personal === null || typeof personal === 'string' ? {} : personal;
  return Object.entries({ ...details, ...texts }).flatMap(([name, value]) =>
    UNSAID.has(name) || !isChange(value) ? [] : [`${wordsOf(name)}: ${changeText(name, value)}`],
  );
}

function ofSubject(change: string, subject: string): string {
  const [what = '', ...rest] = change.split(': ');
  return `${capitalized(what)} of ${subject}: ${rest.join(': ')}`;
}

function wordsOf(name: string): string {
  return name
    .replaceAll(/([a-z])([A-Z])/g, '$1 $2')
    .replaceAll('_', ' ')
    .toLowerCase();
}

interface Change {
  readonly before: unknown;
  readonly after: unknown;
}

function isChange(value: unknown): value is Change {
  return typeof value === 'object' && value !== null && 'before' in value && 'after' in value;
}

/** Of two amounts, only the second has its unit. */
function changeText(name: string, value: unknown): string {
  if (!isChange(value)) return textOf(name, value);
  const [before, after] = [textOf(name, value.before), textOf(name, value.after)];
  const unit = ' USD';
  const first =
    before.endsWith(unit) && after.endsWith(unit) ? before.slice(0, -unit.length) : before;
  return `${first} → ${after}`;
}

const MONEY = /^-?\d+\.\d{14}$/;
const TIME = /^\d{4}-\d{2}-\d{2}T[\d:.]+Z$/;

function textOf(name: string, value: unknown): string {
  if (value === null || value === undefined) return name.endsWith('_at') ? 'never' : 'none';
  if (typeof value === 'string') {
    if (MONEY.test(value)) return usd(value);
    return TIME.test(value) ? dateText(value) : value;
  }
  if (Array.isArray(value)) return value.length === 0 ? 'none' : value.map(String).join(', ');
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  return typeof value === 'number' ? decimalText(String(value)) : JSON.stringify(value);
}

function usd(value: unknown): string {
  const text = String(value);
  return MONEY.test(text) ? `${decimalText(formatUsd(parseUsd(text)))} USD` : text;
}
