/**
 * Compares the teams' ledger with the operators' record, and the sums and statements of the admin
 * API with the ledger. Also checks how far charges exceed caps or take balances below zero.
 */

import { MODELS, chargeOf, lineOf, toUnits } from '../check.mjs';

const HOUR_MS = 3_600_000;

/** @param {readonly bigint[]} amounts */
const sum = (amounts) => amounts.reduce((total, each) => total + each, 0n);
const sumOfDeltas = (entries) => sum(entries.map(({ delta }) => toUnits(delta)));

/** Corrections and credits: exactly those that were acknowledged. */
export function compareBookings({ witness, teams, entries }) {
  const expected = new Map(witness.booked);
  for (const { id, firstCredit } of teams) {
    expected.set(`topup:${id}`, { accountId: id, amount: firstCredit });
  }
  const found = entries.filter(({ kind }) => kind === 'top_up' || kind === 'adjustment');
  const missing = new Set(expected.keys());
  const wrong = found.filter((entry) => {
    missing.delete(entry.id);
    const { accountId, amount } = expected.get(entry.id) ?? {};
    return accountId !== entry.account_id || amount !== toUnits(entry.delta);
  });
  const balances = balancesOf(entries);
  const expectedBalance = (id) =>
    sum([...expected.values()].filter((each) => each.accountId === id).map((each) => each.amount)) +
    sumOfDeltas(entriesOf(entries, id, ['charge', 'expiry']));
  return [
    lineOf(
      'T1',
      `each acknowledged credit, correction and transfer has its entries once, and there are no others (${expected.size} acknowledged, ${witness.refused.size} refused)`,
      [...missing, ...wrong.map(({ id }) => id), ...witness.surprises],
    ),
    lineOf(
      'T2',
      'each balance = acknowledged credits and corrections - charges - expiries',
      teams.filter(({ id }) => balances.get(id) !== expectedBalance(id)).map(({ id }) => id),
    ),
  ];
}

/**
 * No credit expires before its time or by more than its amount. No credit that is due has an
 * unspent part.
 */
export function compareExpiries({ witness, entries, lotsLeft }) {
  const expiries = entries.filter(({ kind }) => kind === 'expiry');
  const amounts = new Map(entries.map(({ id, delta }) => [id, toUnits(delta)]));
  const taken = Map.groupBy(expiries, ({ reference }) => reference);
  return [
    lineOf(
      'T3',
      `no credit expires early or beyond its amount, and none that is due is left (${expiries.length} expiries of ${witness.expiries.size} credits)`,
      [
        ...expiries.filter(({ reference, created_at: at }) => {
          const due = witness.expiries.get(reference);
          return due === undefined || at < due;
        }),
        ...[...taken].filter(([id, each]) => -sumOfDeltas(each) > amounts.get(id)),
        ...lotsLeft,
        ...(expiries.length === 0 ? ['no credit ever expired'] : []),
      ],
    ),
  ];
}

/** The sums of usage of the admin API. */
export async function compareSums({ callAdmin, entries }) {
  // Sums are kept by hour, so a range has whole hours.
  const [from, until] = [-24, 24].map((hours) =>
    new Date((Math.floor(Date.now() / HOUR_MS) + hours) * HOUR_MS).toISOString(),
  );
  const charges = entries.filter(({ kind }) => kind === 'charge');
  /**
   * `ofSum` and `ofEntry` return the name of the group that a reported sum or an entry belongs to.
   */
  const groups = [
    { by: 'account', ofSum: (each) => each.account_id, ofEntry: (each) => each.account_id },
    { by: 'key', ofSum: (each) => each.key_id, ofEntry: (each) => each.key_id },
    { by: 'model', ofSum: (each) => each.model, ofEntry: (each) => each.model },
    {
      by: 'hour',
      ofSum: (each) => each.hour.slice(0, 13),
      ofEntry: (each) => each.created_at.toISOString().slice(0, 13),
    },
  ];
  const wrong = [];
  for (const { by, ofSum, ofEntry } of groups) {
    const path = `usage?by=${by}&from=${from}&until=${until}&top=10000`;
    const { data } = await read(callAdmin, path);
    const reported = new Map(data.map((each) => [ofSum(each), each]));
    const expected = Map.groupBy(charges, ofEntry);
    if (reported.size !== expected.size)
      wrong.push({ by, reported: reported.size, expected: expected.size });
    for (const [name, each] of expected) {
      const found = reported.get(name);
      if (
        found === undefined ||
        found.requests !== each.length ||
        toUnits(found.charged_usd) !== -sumOfDeltas(each) ||
        toUnits(found.written_off_usd) !== sum(each.map((charge) => toUnits(charge.written_off))) ||
        found.output_tokens !== each.reduce((all, charge) => all + charge.output_tokens, 0)
      ) {
        wrong.push({ by, name });
      }
    }
  }
  return [lineOf('T4', 'sums by account, key, model and hour = entries', wrong)];
}

/** The statement of this month of each account. */
export async function compareStatements({ callAdmin, teams, entries }) {
  const month = new Date().toISOString().slice(0, 7);
  const balances = balancesOf(entries);
  const wrong = [];
  for (const { id } of teams) {
    const value = await read(callAdmin, `accounts/${id}/statement?month=${month}`);
    const inMonth = (kinds) =>
      entriesOf(entries, id, kinds).filter(({ created_at: at }) =>
        at.toISOString().startsWith(month),
      );
    const deltas = (kinds) => sumOfDeltas(inMonth(kinds));
    const bookings = ['top_up', 'adjustment', 'expiry'];
    const lines = value.charges.flatMap((each) => each.lines);
    const writtenOff = sum(value.charges.map((each) => toUnits(each.written_off_usd)));
    const statement = {
      opening: toUnits(value.opening_balance_usd),
      booked: sum(value.bookings.map((each) => toUnits(each.amount_usd))),
      charged: toUnits(value.charged_usd),
      closing: toUnits(value.closing_balance_usd),
      lines: sum(lines.map((each) => toUnits(each.amount_usd))),
    };
    const isRight =
      statement.booked === deltas(bookings) &&
      statement.charged === -deltas(['charge']) &&
      statement.lines === statement.charged + writtenOff &&
      value.bookings.length === inMonth(bookings).length &&
      statement.closing === balances.get(id) &&
      statement.opening + statement.booked - statement.charged === statement.closing;
    if (!isRight) wrong.push({ id, ...statement });
  }
  return [lineOf('T5', `statements = entries, to the last digit (${teams.length})`, wrong)];
}

/**
 * Charges exceed a cap, or take a balance below zero, by at most the cost of the requests in
 * flight, and by nothing with `OVERDRAFT=none`, because no response here costs more than its hold.
 */
export function compareBounds({ overdraft, teams, entries, concurrency, parallel }) {
  const charges = entries.filter(({ kind }) => kind === 'charge');
  const highest = charges.reduce((most, entry) => {
    const cost = listPriceOf(entry);
    return cost > most ? cost : most;
  }, 0n);
  const margin = (inFlight) => (overdraft === 'none' ? 0n : BigInt(inFlight) * highest);
  const spent = Map.groupBy(charges, (entry) => entry.key_id);
  const capped = teams
    .flatMap(({ keys }) => keys)
    .filter(({ mostCap }) => mostCap !== undefined)
    .map(({ id, mostCap }) => ({
      id,
      mostCap,
      spent: -sumOfDeltas(spent.get(id) ?? []),
    }));
  // With `OVERDRAFT=none` a request holds more than it costs, so that a cap refuses it earlier.
  const reached = capped.filter((key) => key.spent + 4n * highest >= key.mostCap);
  const bound =
    overdraft === 'none' ? 'by nothing' : 'by no more than the cost of the requests in flight';
  return [
    lineOf(
      'T6',
      `caps are exceeded ${bound} (${capped.length} keys always capped, ${reached.length} came near their cap)`,
      [
        ...capped.filter((key) => key.spent > key.mostCap + margin(concurrency)),
        ...(reached.length === 0 ? ['no key came near its cap'] : []),
      ],
    ),
    lineOf(
      'T7',
      `charges take a balance below zero ${bound} (${countBelow(entries)} entries below zero)`,
      [
        ...teams
          .map(({ id }) => ({ id, debt: debtByCharges(entriesOf(entries, id)) }))
          .filter(({ debt }) => debt > margin(parallel)),
        ...(overdraft === 'bounded' && countBelow(entries) === 0
          ? ['no balance ever fell below zero']
          : []),
      ],
    ),
  ];
}

/**
 * For each period in which the balance is below zero, adds up the parts of charges that lie below
 * zero. Returns the largest of these sums.
 */
function debtByCharges(entries) {
  let most = 0n;
  let debt = 0n;
  for (const { kind, delta, balance_after: after } of entries) {
    const balance = toUnits(after);
    if (balance >= 0n) debt = 0n;
    else if (kind === 'charge') debt += -toUnits(delta) < -balance ? -toUnits(delta) : -balance;
    if (debt > most) most = debt;
  }
  return most;
}

function countBelow(entries) {
  return entries.filter(({ balance_after: after }) => toUnits(after) < 0n).length;
}

function listPriceOf(entry) {
  return chargeOf({
    model: MODELS.find(({ id }) => id === entry.model)?.id,
    input: entry.input_tokens,
    output: entry.output_tokens,
    read: entry.cache_read_input_tokens,
    written: entry.cache_creation_input_tokens,
  });
}

function entriesOf(entries, accountId, kinds) {
  return entries.filter(
    (entry) => entry.account_id === accountId && (kinds?.includes(entry.kind) ?? true),
  );
}

/**
 * The last running balance of each account.
 *
 * @returns {Map<string, bigint>}
 */
function balancesOf(entries) {
  return new Map(entries.map((entry) => [entry.account_id, toUnits(entry.balance_after)]));
}

/** @throws {Error} if the gateway refuses, as then nothing can be compared */
async function read(callAdmin, path) {
  const { status, value } = await callAdmin('GET', path);
  if (status !== 200) throw new Error(`GET ${path}: ${status} ${JSON.stringify(value)}`);
  return value;
}
