/**
 * What the ledger and the record of requests say, read from their files with plain queries: no code
 * that the pages use is asked.
 */

import { DatabaseSync } from 'node:sqlite';
import { join } from 'node:path';

export const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;

/** @param now - when a page asked for its figures, in milliseconds since the epoch */
export function readFacts(dataDir, now = Date.now()) {
  const ledger = new DatabaseSync(join(dataDir, 'ledger.db'), { readOnly: true });
  const record = new DatabaseSync(join(dataDir, 'requests.db'), { readOnly: true });
  const all = (text, ...values) => ledger.prepare(text).all(...values);
  const accounts = all('SELECT * FROM account');
  const keys = new Map(all('SELECT id, name FROM api_key').map(({ id, name }) => [id, name]));
  const charges = all("SELECT * FROM ledger WHERE kind = 'charge' ORDER BY created_at").map(
    (row) => ({ ...row, usd: -unitsOf(row.delta) }),
  );
  const facts = {
    now,
    today: Math.floor(now / DAY_MS) * DAY_MS,
    accounts,
    keys,
    charges,
    lots: all('SELECT * FROM credit_lot'),
    adjustments: all("SELECT * FROM ledger WHERE kind = 'adjustment' ORDER BY created_at"),
    named: (name) => accounts.find((account) => account.name === name),
    requests: readRequests(record),
  };
  ledger.close();
  record.close();
  return facts;
}

/** The requests of all blocks, as far as the questions need them. */
function readRequests(record) {
  const series = new Map(
    record
      .prepare('SELECT * FROM request_series')
      .all()
      .map((row) => [Number(row.id), row]),
  );
  return record
    .prepare('SELECT requests FROM request_block')
    .all()
    .flatMap(({ requests }) =>
      JSON.parse(String(requests)).map((row) => ({
        ...series.get(row[1]),
        id: row[0],
        endedAt: row[2],
        count: row[7],
        message: row[10],
      })),
    );
}

/** @param text - An exact amount such as `-1.5`. @returns units of 10^-14 USD */
export function unitsOf(text) {
  const [, sign = '', whole = '', decimals = ''] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(text) ?? [];
  const units = BigInt(whole) * 10n ** 14n + BigInt(decimals.padEnd(14, '0'));
  return sign === '-' ? -units : units;
}

/** @returns the amount as the gateway writes it, without zeros at the end */
export function usdOf(units) {
  const digits = (units < 0n ? -units : units).toString().padStart(15, '0');
  const decimals = digits.slice(-14).replace(/0+$/, '');
  const point = decimals === '' ? '' : `.${decimals}`;
  return `${units < 0n ? '-' : ''}${digits.slice(0, -14)}${point}`;
}

export function sumOf(charges) {
  return charges.reduce((sum, { usd }) => sum + usd, 0n);
}

/** @returns the names with the sums of their charges, the largest first */
export function ranked(charges, nameOf) {
  const sums = new Map();
  for (const charge of charges) {
    const name = nameOf(charge);
    sums.set(name, (sums.get(name) ?? 0n) + charge.usd);
  }
  return [...sums].sort(([, a], [, b]) => (a < b ? 1 : -1));
}

/**
 * When the money of an account ends at the pace of the last seven days in UTC, or of its life.
 * Credit that expires is spent first, and what is left of it when it expires is lost.
 */
export function endOfMoney({ now, today, charges, lots }, account) {
  const week = today - 6 * DAY_MS;
  const spent = sumOf(
    charges.filter((each) => each.account_id === account.id && each.created_at >= week),
  );
  if (spent <= 0n) return undefined;
  const since = Math.min(Math.max(week, account.created_at), now - DAY_MS);
  const perMs = Number(spent) / (now - since);
  let left = Number(unitsOf(account.balance));
  let at = now;
  const expiring = lots
    .filter((lot) => lot.account_id === account.id && lot.expires_at !== null)
    .sort((a, b) => a.expires_at - b.expires_at);
  // What was spent lately is not taken from the lots yet.
  let untaken = Number(unitsOf(account.spent) - unitsOf(account.allotted));
  for (const lot of expiring) {
    const stored = Number(unitsOf(lot.remaining));
    const remaining = Math.max(0, stored - untaken);
    untaken -= stored - remaining;
    const end = Math.min(at + remaining / perMs, lot.expires_at);
    left -= remaining;
    at = Math.max(at, end);
  }
  return new Date(at + Math.max(0, left) / perMs);
}
