/**
 * Refuses arguments that one of the databases could not store, before anything is changed. Each
 * error names the argument.
 */

import type { AccountChange, Actor, Closing, Creation, NewAccount } from '../../account.js';
import { PROMO_CODE, PROMO_CODE_ACTIONS, SETTINGS, SETTINGS_ACTIONS } from '../../document.js';
import type { DocumentKind, DocumentWrite } from '../../document.js';
import { CAP_PERIODS } from '../../key.js';
import type { KeyCaps, KeyChange, KeyLimits, NewKey } from '../../key.js';
import type { Metadata } from '../../metadata.js';
import { readNetwork } from '../../network.js';
import { HOUR_MS } from '../base/hours.js';
import { LONGEST_TIMER_MS } from '../base/timeout.js';

/** 10^20 USD, in units of 10^-14 USD. Sums of such amounts fit into NUMERIC(38,14). */
const MAX_AMOUNT = 10n ** 34n;
const MAX_INTEGER = 2 ** 31 - 1;
/** Ids are columns of unique indexes, whose entries PostgreSQL limits to some 2,700 bytes. */
const MAX_ID_LENGTH = 500;
const MAX_TEXT_LENGTH = 10_000;
const MAX_PAIRS = 50;
const MAX_METADATA_BYTES = 4_096;
const MAX_NAMES = 100;
const MAX_SHARES = 10;
const MAX_DOCUMENT_BYTES = 64 * 1024;

/** @throws {RangeError} unless the amount is above zero and at most 10^20 USD. */
export function assertPositive(name: string, amount: bigint): void {
  if (amount <= 0n) throw new RangeError(`${name} must be above zero`);
  assertAmount(name, amount);
}

/** @throws {RangeError} for an amount that is too large. */
export function assertAmount(name: string, amount: bigint): void {
  if (amount > MAX_AMOUNT || amount < -MAX_AMOUNT) {
    throw new RangeError(`${name} must not exceed 10^20 USD`);
  }
}

/** Texts that are looked up: 1 to 500 characters. @throws {RangeError} */
export function assertId(name: string, id: string): void {
  if (id === '' || id.length > MAX_ID_LENGTH) {
    throw new RangeError(`${name} must have 1 to ${String(MAX_ID_LENGTH)} characters`);
  }
  assertText(name, id);
}

/** What any booking may have: a reference, a note, another side, tax. @throws {RangeError} */
export function assertBooking(booking: {
  readonly reference?: string | undefined;
  readonly note?: string | undefined;
  readonly counter?: string | undefined;
  readonly tax?: bigint | undefined;
  readonly by: Actor;
}): void {
  const { reference, note, counter, tax, by } = booking;
  assertText('reference', reference);
  assertText('note', note);
  assertActor(by);
  if (counter !== undefined && !/^[a-z][a-z0-9_:-]{0,59}$/.test(counter)) {
    throw new RangeError('counter is not the name of an account of the operator');
  }
  if (counter?.startsWith('balance:') === true) {
    throw new RangeError('counter is an account of the customer');
  }
  if (tax !== undefined) assertAmount('a tax', tax);
}

/** @throws {RangeError} for a text that is too long, contains NUL or is not valid Unicode. */
export function assertText(name: string, text: string | undefined): void {
  if (text === undefined) return;
  if (text.length > MAX_TEXT_LENGTH) {
    throw new RangeError(`${name} has more than ${String(MAX_TEXT_LENGTH)} characters`);
  }
  if (text.includes('\0')) throw new RangeError(`${name} contains NUL`);
  // Does the same as `isWellFormed`, which Node has but TypeScript's ES2023 library lacks.
  if (/\p{Surrogate}/u.test(text)) throw new RangeError(`${name} is not valid Unicode`);
}

/** @throws {RangeError} */
export function assertTime(name: string, time: Date | null | undefined): void {
  if (time === null || time === undefined) return;
  if (Number.isNaN(time.getTime())) throw new RangeError(`${name} is not a time`);
}

/** Of a time that a timer waits for. @throws {RangeError} */
export function assertDuration(name: string, ms: number | undefined): void {
  if (ms === undefined || (ms > 0 && ms <= LONGEST_TIMER_MS)) return;
  throw new RangeError(
    `${name} is ${String(ms)}, not above 0 and at most ${String(LONGEST_TIMER_MS)}`,
  );
}

/** @throws {RangeError} it is not a whole hour, as totals of hours cannot be cut */
export function assertHour(name: string, time: Date): void {
  assertTime(name, time);
  if (time.getTime() % HOUR_MS !== 0) throw new RangeError(`${name} is not a whole hour`);
}

/** @throws {RangeError} */
export function assertActor({ name, address }: Actor): void {
  assertText('the name of the actor', name);
  assertText('the address of the actor', address);
}

/** @throws {RangeError} */
export function assertCreation({ creationId, account, key, maxKeys, credit, by }: Creation): void {
  if (creationId !== undefined) assertId('creationId', creationId);
  if (!('id' in account)) assertAccount(account);
  if (key !== undefined) assertKey(key);
  if (maxKeys !== undefined && (!Number.isInteger(maxKeys) || maxKeys < 1)) {
    throw new RangeError(`maxKeys is ${String(maxKeys)}, not an integer of at least 1`);
  }
  if (credit !== undefined) {
    assertPositive('a credit', credit.amount);
    assertTime('expiresAt', credit.expiresAt);
  }
  assertActor(by);
}

/** @throws {RangeError} */
export function assertClosing({ closingId, accountId, rest, reason, by }: Closing): void {
  assertId('closingId', closingId);
  assertText('reason', reason);
  assertBooking({ by, counter: rest?.as === 'refund' ? rest.counter : undefined });
  if (rest?.as === 'transfer' && rest.to === accountId) {
    throw new RangeError('the rest must go to another account');
  }
}

/** @throws {RangeError} */
export function assertAccount(account: NewAccount | AccountChange): void {
  for (const [member, value] of Object.entries(account) as [string, unknown][]) {
    if (typeof value === 'string') assertText(member, value);
    if (typeof value === 'bigint') assertAmount(member, value);
    if (value instanceof Date) assertTime(member, value);
  }
  const { externalId, metadata, prices, allowance, noticeShares, noticeEmail } = account;
  const { membersSeeBalance: shows = null } = account;
  if (typeof externalId === 'string') assertId('externalId', externalId);
  if (typeof prices === 'string') assertId('prices', prices);
  if (typeof allowance === 'bigint') assertPositive('allowance', allowance);
  assertMetadata(metadata);
  assertShares('noticeShares', noticeShares);
  if (typeof noticeEmail === 'string') assertId('noticeEmail', noticeEmail);
  if (shows !== null && typeof shows !== 'boolean') {
    throw new RangeError('membersSeeBalance is neither true nor false');
  }
}

/** Of percentages. @throws {RangeError} */
export function assertShares(name: string, shares: readonly number[] = []): void {
  const isShare = (share: number) => Number.isInteger(share) && share >= 1 && share <= 100;
  const isAscending = shares.every((share, at) => at === 0 || share > (shares[at - 1] ?? 0));
  if (shares.length > MAX_SHARES || !isAscending || !shares.every(isShare)) {
    throw new RangeError(`${name} must be ascending integers from 1 to 100`);
  }
}

/** @throws {RangeError} */
export function assertKey(key: NewKey | KeyChange): void {
  const { name, externalId, metadata, limits, caps, expiresAt, ...others } = key;
  assertText('name', name);
  if (typeof externalId === 'string') assertId('externalId', externalId);
  assertMetadata(metadata);
  assertLimits(limits ?? {});
  assertCaps(caps ?? {});
  for (const [member, value] of Object.entries(others)) {
    if (Array.isArray(value)) assertNames(member, value);
  }
  for (const network of key.allowedNetworks ?? []) readNetwork(network);
  assertTime('expiresAt', expiresAt);
}

function assertLimits({ concurrency, burst, requestsPerMinute }: Partial<KeyLimits>): void {
  for (const [name, count] of Object.entries({ concurrency, burst })) {
    if (count === undefined) continue;
    if (!Number.isInteger(count) || count < 1 || count > MAX_INTEGER) {
      throw new RangeError(
        `${name} is ${String(count)}, not an integer from 1 to ${String(MAX_INTEGER)}`,
      );
    }
  }
  if (requestsPerMinute === undefined) return;
  if (!(requestsPerMinute > 0 && requestsPerMinute < Infinity)) {
    throw new RangeError(`requestsPerMinute is ${String(requestsPerMinute)}, not a number above 0`);
  }
}

function assertCaps(caps: Partial<KeyCaps>): void {
  for (const period of CAP_PERIODS) {
    const cap = caps[period];
    if (typeof cap !== 'bigint') continue;
    if (cap < 0n) throw new RangeError(`the cap ${period} is below 0`);
    assertAmount(`the cap ${period}`, cap);
  }
}

/** Of a right that is limited to some names, such as the models of a key. */
function assertNames(member: string, names: readonly string[]): void {
  if (names.length === 0 || names.length > MAX_NAMES) {
    throw new RangeError(`${member} must have 1 to ${String(MAX_NAMES)} names, or be null for all`);
  }
  for (const name of names) assertId(member, name);
}

/** @throws {RangeError} */
export function assertDocument(write: DocumentWrite): void {
  const { kind, id, accountId, version, data, balanceBelow, trail } = write;
  assertId('kind', kind);
  assertId('id', id);
  assertText('accountId', accountId);
  if (!Number.isInteger(version) || version < 0 || version >= MAX_INTEGER) {
    throw new RangeError(
      `version is ${String(version)}, not an integer from 0 to ${String(MAX_INTEGER - 1)}`,
    );
  }
  const text = JSON.stringify(data);
  if (Buffer.byteLength(text) > MAX_DOCUMENT_BYTES) {
    throw new RangeError(`data is larger than ${String(MAX_DOCUMENT_BYTES)} bytes of JSON`);
  }
  // In JSON text, NUL and lone surrogates are written as escapes. PostgreSQL refuses these escapes.
  if (/(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f])/i.test(text)) {
    throw new RangeError('data contains NUL or is not valid Unicode');
  }
  if (typeof balanceBelow === 'bigint') assertAmount('balanceBelow', balanceBelow);
  if (trail !== undefined) assertActor(trail.by);
  const actions: readonly string[] | undefined = RECORDED[kind];
  if (actions !== undefined && !actions.includes(trail?.action ?? '')) {
    throw new RangeError(`trail must have an action of: ${actions.join(', ')}`);
  }
}

/** The kinds whose every write is in the trail, with the actions of its rows. */
const RECORDED: Readonly<Partial<Record<DocumentKind, readonly string[]>>> = {
  [PROMO_CODE]: PROMO_CODE_ACTIONS,
  [SETTINGS.kind]: SETTINGS_ACTIONS,
};

/** @throws {RangeError} */
export function assertMetadata(metadata: Metadata = {}): void {
  const pairs = Object.entries(metadata);
  if (pairs.length > MAX_PAIRS) {
    throw new RangeError(`metadata has more than ${String(MAX_PAIRS)} pairs`);
  }
  if (Buffer.byteLength(JSON.stringify(metadata)) > MAX_METADATA_BYTES) {
    throw new RangeError(`metadata is larger than ${String(MAX_METADATA_BYTES)} bytes of JSON`);
  }
  for (const [name, value] of pairs as [string, unknown][]) {
    if (typeof value !== 'string') throw new RangeError(`metadata has a value that is not a text`);
    assertText('metadata', name);
    assertText('metadata', value);
  }
}
