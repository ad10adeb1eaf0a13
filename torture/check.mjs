/**
 * Compares the ledger with two witnesses: the usages that the clients received, and the upstream's
 * journal.
 */

import { withClient } from './plain-sql.mjs';

/** USD per million tokens, independent of the product's price table. */
export const MODELS = [
  { id: 'claude-opus-5-5', rateIn: 4n, rateOut: 20n },
  { id: 'claude-sonnet-4-6', rateIn: 3n, rateOut: 15n },
  { id: 'claude-haiku-4-5', rateIn: 1n, rateOut: 5n },
];
/** One USD per million tokens is this many units of 10^-14 USD per token. */
const PER_TOKEN = 10n ** 8n;

export function chargeOf({ model, input, output, read, written }) {
  const priced = MODELS.find(({ id }) => id === model);
  if (priced === undefined) throw new Error(`the torture does not know the price of ${model}`);
  const { rateIn, rateOut } = priced;
  const units = (tokens, rate) => BigInt(tokens) * rate * PER_TOKEN;
  return (
    units(input, rateIn) +
    units(output, rateOut) +
    units(read, rateIn) / 10n +
    (units(written, rateIn) * 5n) / 4n
  );
}

/** Reads the whole ledger with plain SQL, without the code under test. */
export function readLedger(databaseUrl, { withEntries = true } = {}) {
  return withClient(databaseUrl, async (client) => {
    const { rows } = !withEntries
      ? { rows: [] }
      : await client.query(
          `select id, account_id, key_id, kind, seq::text, delta::text, written_off::text, balance_after::text, model, upstream_id,
              upstream_account, created_at, reference,
              input_tokens, output_tokens, cache_read_input_tokens, cache_creation_input_tokens
         from ledger order by ledger.account_id, ledger.seq`,
        );
    const keys = await client.query('select id, balance::text, standing from key_standing');
    const accounts = await client.query('select id, balance::text from account');
    return {
      entries: rows,
      accountBalances: new Map(accounts.rows.map((row) => [row.id, row.balance])),
      balances: new Map(keys.rows.map((row) => [row.id, row.balance])),
      standings: new Map(keys.rows.map((row) => [row.id, row.standing])),
    };
  });
}

/** Converts an exact decimal of USD to units of 10^-14 USD. */
export function toUnits(decimal) {
  const [whole, fraction = ''] = decimal.replace('-', '').split('.');
  const units = BigInt(whole + fraction.padEnd(14, '0').slice(0, 14));
  return decimal.startsWith('-') ? -units : units;
}

/**
 * One line of a part's result: the comparison, the number of violations, and the first few
 * violations.
 */
export function lineOf(name, what, violations, examples = 3) {
  return { name, what, violations: violations.length, examples: violations.slice(0, examples) };
}

/**
 * @param {object} witnesses - the ledger, and what it is compared with
 * @param witnesses.ledger - from {@link readLedger}
 * @param witnesses.seen - usages that the clients received
 * @param witnesses.refused - requests that were refused
 * @param witnesses.served - usages in the upstreams' journals
 * @param {bigint} witnesses.floorPerKey - how far below zero a balance may be
 * @returns one line per invariant: its name, the comparison, the number of violations, and
 * examples.
 */
export function checkInvariants({ ledger, seen, refused, served, floorPerKey }) {
  const charges = new Map(
    ledger.entries.filter((entry) => entry.kind === 'charge').map((entry) => [entry.id, entry]),
  );
  const lines = [];
  const check = (name, what, violations) => {
    lines.push(lineOf(name, what, violations));
  };

  const deltas = ledger.entries.reduce((sum, entry) => sum + toUnits(entry.delta), 0n);
  const balances = [...ledger.accountBalances.values()].reduce(
    (sum, text) => sum + toUnits(text),
    0n,
  );
  check('I1', `sum of entries = sum of balances (${ledger.entries.length} entries)`, [
    ...(deltas === balances ? [] : [`${deltas} != ${balances}`]),
  ]);
  check(
    'I2',
    `each usage a client saw is charged once, exactly (${seen.length} seen)`,
    seen.filter((usage) => {
      const entry = charges.get(usage.requestId);
      return (
        entry === undefined ||
        entry.input_tokens !== usage.input ||
        entry.output_tokens !== usage.output ||
        entry.cache_read_input_tokens !== usage.read ||
        entry.cache_creation_input_tokens !== usage.written ||
        toUnits(entry.delta) - toUnits(entry.written_off) !== -chargeOf(usage)
      );
    }),
  );
  const byMessage = new Map(
    served.map(({ account, messageId, usage }) => [responseOf(account, messageId), usage]),
  );
  check(
    'I3',
    `each charge is a usage the upstream served (${charges.size} charges, ${served.length} served)`,
    [...charges.values()].filter((entry) => {
      const usage = byMessage.get(responseOf(entry.upstream_account, entry.upstream_id));
      return (
        usage === undefined ||
        usage.input_tokens !== entry.input_tokens ||
        usage.output_tokens !== entry.output_tokens
      );
    }),
  );
  const upstreamIds = [...charges.values()].map((entry) =>
    responseOf(entry.upstream_account, entry.upstream_id),
  );
  check('I3b', 'no response is charged twice', duplicatesOf(upstreamIds));
  check(
    'I4',
    `no refused request is charged (${refused.length} refused)`,
    refused.filter(({ requestId }) => charges.has(requestId)),
  );
  check('I5', 'sequences are gap-free, running balances exact', brokenChains(ledger.entries));
  check(
    'I6',
    'no balance below its bound',
    [...ledger.balances].filter(([, balance]) => toUnits(balance) < -floorPerKey),
  );
  return lines;
}

/** A response of the upstream. Two accounts may use the same ids. */
function responseOf(account, messageId) {
  return `${account ?? ''}/${messageId}`;
}

function duplicatesOf(values) {
  const known = new Set();
  return values.filter((value) => known.size === known.add(value).size);
}

function brokenChains(entries) {
  const broken = [];
  let account;
  let seq = 0n;
  let balance = 0n;
  for (const entry of entries) {
    if (entry.account_id !== account) [account, seq, balance] = [entry.account_id, 0n, 0n];
    seq += 1n;
    balance += toUnits(entry.delta);
    if (BigInt(entry.seq) !== seq || toUnits(entry.balance_after) !== balance) broken.push(entry);
  }
  return broken;
}
