/**
 * The part of the contract about where money comes from: the two sides of each entry, what is paid
 * and what is given, and an audit that finds money from nowhere.
 */

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { Adjustment } from '../account.js';
import type { AuditDifference } from '../audit.js';
import { HOUR_MS } from '../ledger/base/hours.js';
import { entryId } from '../ledger/rules/entry-ids.js';
import type { LedgerEntry, SettledRates } from '../ledger-entry.js';
import { numericFromUnits } from '../numeric.js';
import type { TopUp } from '../store.js';
import { letCreditExpire } from './expired-credit.js';
import { moneyOf } from './money.js';
import { settlement } from './samples.js';
import { TESTS } from './subject.js';
import type { ContractPart } from './subject.js';
import { withChange } from './with-change.js';

/** One unit per token. */
const RATES: SettledRates = {
  inputPerToken: 1n,
  outputPerToken: 0n,
  cacheReadPerToken: 0n,
  cacheWrite5mPerToken: 0n,
  cacheWrite1hPerToken: 0n,
};
const FAR = new Date('2200-01-01T00:00:00.000Z');
const FARTHER = new Date('2300-01-01T00:00:00.000Z');
const BOOKS = ['ledger', 'account', 'money_hour', 'credit_lot', 'trail'];

export function originContract(part: ContractPart): void {
  const { runner, subject, newAccount, balanceOf, settle } = part;
  const { describe, it } = runner;
  const store = () => subject().store;

  async function credit(accountId: string, amount: bigint, others: Partial<TopUp> = {}) {
    const topUpId = randomUUID();
    const topUp = { topUpId, to: { accountId }, amount, by: TESTS, ...others };
    assert.equal((await store().topUp(topUp)).outcome, 'credited');
    return `topup:${topUpId}`;
  }
  const give = (accountId: string, amount: bigint, expiresAt?: Date) =>
    credit(accountId, amount, { source: 'promotional', expiresAt });
  async function adjust(accountId: string, amount: bigint, others: Partial<Adjustment> = {}) {
    const adjustmentId = randomUUID();
    const reason = 'correction';
    const adjustment = { adjustmentId, accountId, amount, reason, by: TESTS, ...others } as const;
    assert.equal((await store().adjust(adjustment)).outcome, 'adjusted');
    return `adjustment:${adjustmentId}`;
  }
  async function reverse(accountId: string, reverses: string, adjustmentId = randomUUID()) {
    const { outcome } = await store().reverse({ adjustmentId, accountId, reverses, by: TESTS });
    return [outcome, `adjustment:${adjustmentId}`] as const;
  }
  async function transfer(from: string, to: string, amount: bigint) {
    const transferId = randomUUID();
    const { outcome } = await store().transfer({ transferId, from, to, amount, by: TESTS });
    assert.equal(outcome, 'transferred');
    return { out: `transfer:${transferId}:out`, into: `transfer:${transferId}:in` };
  }
  const charge = (keyId: string, units: number, overdraft: 'bounded' | 'none' = 'bounded') =>
    settle(settlement(keyId, { usage: { inputTokens: units }, rates: RATES, overdraft }));
  const entriesOf = async (accountId: string) =>
    (await store().listEntries({ accountId, limit: 1_000 })).entries;
  /** Of the newest entries, oldest first: how much each changed the balance, and its given part. */
  const movedBy = async (accountId: string, count: number) =>
    (await entriesOf(accountId))
      .slice(0, count)
      .reverse()
      .map(({ delta, given }) => [delta, given]);
  /** The balance, the given part of it, the credits that are left, and other money. */
  async function moneyIn(accountId: string) {
    const [account, unspent] = [
      await store().getAccount(accountId),
      await store().readUnspent(accountId),
    ];
    const lots = unspent?.lots.map(({ entryId: id, remaining }) => [id, remaining]);
    return [account?.balance, account?.given, lots, unspent?.other];
  }
  /** What the work moves between the sides of the books, after an audit that finds nothing. */
  async function sidesMovedBy(work: () => Promise<unknown>) {
    const before = await soundSides();
    await work();
    const after = await soundSides();
    assert.equal(
      [...after.values()].reduce((sum, amount) => sum + amount, 0n),
      0n,
    );
    return Object.fromEntries(
      [...after]
        .map(([side, amount]) => [side, amount - (before.get(side) ?? 0n)] as const)
        .filter(([, amount]) => amount !== 0n),
    );
  }
  async function soundSides() {
    const { differences, sides } = await store().audit();
    assert.deepEqual(differences, []);
    return new Map(sides.map(({ side, amount }) => [side, amount]));
  }
  const expire = () => store().expire({ keysWithinMs: 0 });

  describe('the two sides of an entry', () => {
    it('of a transfer: it carries credits with their expiry, equal terms as one', async () => {
      const [a, b] = [await newAccount(100n, {}), await newAccount(1n)];
      await give(a.accountId, 10n, FAR);
      await give(a.accountId, 5n, FAR);
      const sold = await credit(a.accountId, 7n, { expiresAt: FARTHER });
      const gift = await give(a.accountId, 20n);
      await charge(a.keyIds[0] ?? '', 3);
      // 139 are left. Other money goes first, so the credits keep the 22 that stay.
      let ids = { out: '', into: '' };
      const sides = await sidesMovedBy(async () => {
        ids = await transfer(a.accountId, b.accountId, 117n);
      });
      assert.deepEqual(sides, {});
      assert.deepEqual(await moneyIn(a.accountId), [
        22n,
        20n,
        [
          [sold, 2n],
          [gift, 20n],
        ],
        0n,
      ]);
      assert.deepEqual(await moneyIn(b.accountId), [
        118n,
        12n,
        [
          [ids.into, 12n],
          [`${ids.into}#2`, 5n],
        ],
        101n,
      ]);
      assert.deepEqual(await movedBy(a.accountId, 1), [[-117n, -12n]]);
      assert.deepEqual(await movedBy(b.accountId, 1), [[117n, 12n]]);
      const carried = (await store().readUnspent(b.accountId))?.lots;
      assert.deepEqual(
        carried?.map(({ source, expiresAt }) => [source, expiresAt]),
        [
          ['promotional', FAR],
          ['paid', FARTHER],
        ],
      );
    });

    it('of a transfer into debt: what pays the debt counts as used', async () => {
      const [a, b] = [await newAccount(0n), await newAccount(0n, {})];
      await give(a.accountId, 50n, FAR);
      await charge(b.keyIds[0] ?? '', 30);
      let into = '';
      const sides = await sidesMovedBy(async () => {
        ({ into } = await transfer(a.accountId, b.accountId, 40n));
      });
      assert.deepEqual(sides, { 'balance:given': -30n, 'balance:paid': 30n });
      assert.deepEqual(await movedBy(b.accountId, 1), [[40n, 10n]]);
      assert.deepEqual(await moneyIn(b.accountId), [10n, 10n, [[into, 10n]], 0n]);
    });

    it('of a transfer beside credit that has expired and is held: only what is free goes', async () => {
      const [a, b] = [await newAccount(0n, {}), await newAccount(0n)];
      await give(a.accountId, 4n, FAR);
      const gift = await give(a.accountId, 6n);
      const hold = { requestId: randomUUID(), keyId: a.keyIds[0] ?? '', amount: 8n };
      await store().placeHold(hold);
      await letCreditExpire(subject(), a.accountId, FAR);
      const transferred = {
        transferId: randomUUID(),
        from: a.accountId,
        to: b.accountId,
        by: TESTS,
      };
      const outcome = await store().transfer({ ...transferred, amount: 1n });
      assert.deepEqual(outcome, { outcome: 'short', free: 0n });
      const { requestId, keyId } = hold;
      const usage = { inputTokens: 8 };
      await settle(settlement(keyId, { requestId, usage, rates: RATES }));
      // 2 of the 4 expired. The request used the other 2, and 6 of the gift.
      assert.deepEqual(await movedBy(a.accountId, 2), [
        [-2n, -2n],
        [-8n, -8n],
      ]);
      assert.deepEqual(await moneyIn(a.accountId), [0n, 0n, [], 0n]);
      assert.ok(gift !== '');
    });

    it('of a reversal: it restores what an adjustment took, once', async () => {
      const { accountId } = await newAccount(100n);
      const far = await give(accountId, 10n, FAR);
      const took = await adjust(accountId, -104n, { reason: 'chargeback', tax: -19n });
      assert.deepEqual(await movedBy(accountId, 1), [[-104n, -4n]]);
      const again = randomUUID();
      const sides = await sidesMovedBy(() => reverse(accountId, took, again));
      // What is paid back includes the tax.
      assert.deepEqual(sides, {
        'balance:given': 4n,
        'balance:paid': 100n,
        refunds: -123n,
        tax: 19n,
      });
      assert.deepEqual(await moneyIn(accountId), [110n, 10n, [[far, 10n]], 100n]);
      assert.deepEqual(await reverse(accountId, took, again), ['replayed', `adjustment:${again}`]);
      const more = await store().reverse({
        adjustmentId: randomUUID(),
        accountId,
        reverses: took,
        by: TESTS,
      });
      assert.deepEqual(more, { outcome: 'not_reversible', why: 'reversed' });
      assert.equal(await balanceOf(accountId), 110n);
    });

    it('of a reversal after the credit has expired: what it restores expires at once', async () => {
      const { accountId } = await newAccount(0n);
      await give(accountId, 10n, FAR);
      const took = await adjust(accountId, -4n);
      await letCreditExpire(subject(), accountId, FAR);
      await expire();
      const sides = await sidesMovedBy(() => reverse(accountId, took));
      assert.deepEqual(sides, { corrections: -4n, given: 4n });
      assert.deepEqual(await movedBy(accountId, 4), [
        [-4n, -4n],
        [-6n, -6n],
        [4n, 4n],
        [-4n, -4n],
      ]);
      assert.deepEqual(await moneyIn(accountId), [0n, 0n, [], 0n]);
    });

    it('of the reversal of a credit that is spent in part, and of the reversal of that', async () => {
      const { accountId, keyIds } = await newAccount(100n, {});
      const far = await give(accountId, 10n, FAR);
      await charge(keyIds[0] ?? '', 4);
      const [, undone] = await reverse(accountId, far);
      assert.deepEqual(await movedBy(accountId, 1), [[-10n, -6n]]);
      assert.deepEqual(await moneyIn(accountId), [96n, 0n, [], 96n]);
      await reverse(accountId, undone);
      assert.deepEqual(await movedBy(accountId, 1), [[10n, 6n]]);
      assert.deepEqual(await moneyIn(accountId), [106n, 6n, [[far, 6n]], 100n]);
      await soundSides();
    });

    // F517: a reversal gives a credit back and takes from it again for a debt; then it is reversed:
    // the last change is undone first, and no paid money becomes given money.
    it('of the reversal of a reversal that found a debt', async () => {
      const { accountId, keyIds } = await newAccount(0n, {});
      await give(accountId, 4n, FAR);
      const took = await adjust(accountId, -10n);
      await charge(keyIds[0] ?? '', 2);
      const [, restored] = await reverse(accountId, took);
      assert.deepEqual(await movedBy(accountId, 3), [
        [-10n, -4n],
        [-2n, 0n],
        [10n, 2n],
      ]);
      await credit(accountId, 20n);
      const sides = await sidesMovedBy(() => reverse(accountId, restored));
      assert.deepEqual(sides, { 'balance:given': -2n, 'balance:paid': -8n, corrections: 10n });
      assert.deepEqual(await moneyIn(accountId), [12n, 0n, [], 12n]);
    });

    it('of goodwill: it is given money', async () => {
      const { accountId } = await newAccount(3n);
      let id = '';
      const sides = await sidesMovedBy(async () => {
        id = await adjust(accountId, 5n, { reason: 'goodwill' });
      });
      assert.deepEqual(sides, { 'balance:given': 5n, given: -5n });
      assert.deepEqual(await moneyIn(accountId), [8n, 5n, [[id, 5n]], 3n]);
      await reverse(accountId, id);
      assert.deepEqual(await moneyIn(accountId), [3n, 0n, [], 3n]);
    });

    it('of a fee: it changes no balance and causes no notice', async () => {
      const { accountId } = await newAccount(3n, {});
      const before = await store().getAccount(accountId);
      const events = await store().listEvents({ accountId, limit: 100 });
      const fee = { feeId: randomUUID(), accountId, fee: 2n, counter: 'cash:stripe', by: TESTS };
      const sides = await sidesMovedBy(() => store().bookFee(fee));
      assert.deepEqual(sides, { 'cash:stripe': 2n, fees: -2n });
      assert.equal((await store().bookFee(fee)).outcome, 'replayed');
      assert.equal((await store().bookFee({ ...fee, fee: 3n })).outcome, 'conflict');
      assert.deepEqual(await store().getAccount(accountId), before);
      assert.deepEqual(await store().listEvents({ accountId, limit: 100 }), events);
    });

    it('of charges that cross the border of given money, in one batch, of several keys', async () => {
      const { accountId, keyIds } = await newAccount(100n, {}, {});
      await give(accountId, 10n, FAR);
      const [first = '', second = ''] = keyIds;
      const usage = { inputTokens: 4 };
      const charges = [first, second, first, second].map((keyId) =>
        settlement(keyId, { usage, rates: RATES }),
      );
      const sides = await sidesMovedBy(async () => {
        await Promise.all(charges.map(settle));
        const [replayed] = charges;
        assert.ok(replayed !== undefined);
        assert.equal((await settle(replayed)).outcome, 'replayed');
      });
      assert.deepEqual(sides, { 'balance:given': -10n, redeemed: 10n });
      assert.deepEqual(await movedBy(accountId, 4), [
        [-4n, -4n],
        [-4n, -4n],
        [-4n, -2n],
        [-4n, 0n],
      ]);
      assert.deepEqual(await moneyIn(accountId), [94n, 0n, [], 94n]);
    });

    it('of charges that are written off, held or bounded: only what is charged was given', async () => {
      const { accountId, keyIds } = await newAccount(0n, {}, {});
      const [first = '', second = ''] = keyIds;
      await give(accountId, 10n);
      await charge(first, 15, 'none');
      await give(accountId, 10n, FAR);
      const requestId = randomUUID();
      await store().placeHold({ requestId, keyId: first, amount: 8n });
      await store().placeHold({ requestId: randomUUID(), keyId: second, amount: 1n });
      const usage = { inputTokens: 12 };
      await settle(settlement(first, { requestId, usage, rates: RATES }));
      await charge(second, 5);
      const spent = (await entriesOf(accountId)).filter(({ kind }) => kind === 'charge').reverse();
      assert.deepEqual(
        spent.map((entry) => [entry.delta, entry.given, 'writtenOff' in entry && entry.writtenOff]),
        [
          [-10n, -10n, 5n],
          [-9n, -9n, 3n],
          [-5n, -1n, 0n],
        ],
      );
      assert.deepEqual(await moneyIn(accountId), [-4n, 0n, [], 0n]);
      await soundSides();
    });
  });

  describe('audit of the origin of money', () => {
    interface Forgery {
      readonly of: string;
      readonly sql: readonly string[];
      /** Also accounts whose sums are made to agree with their entries. */
      readonly agreeing?: readonly string[];
      readonly found: readonly [check: AuditDifference['check'], id?: string | RegExp];
    }
    /** Makes the sums of the sides agree with the forged entries, and expects that it is found. */
    async function expectFound({ of, sql, agreeing = [], found: [check, id] }: Forgery) {
      await withChange(subject(), { tables: BOOKS, sql: sql.join(';') }, async () => {
        for (const accountId of agreeing) {
          const entries: readonly LedgerEntry[] = await entriesOf(accountId);
          await subject().tamper(moneyOf(accountId, entries).join(';'), 'disabled');
        }
        const { differences } = await store().audit();
        const isFound = differences.some(
          (one) =>
            one.check === check &&
            (id === undefined || new RegExp(id).test(one.entryId ?? one.accountId ?? '')),
        );
        assert.ok(isFound, `${of}: ${JSON.stringify(differences)}`);
      });
    }
    const usd = (units: bigint) => `'${numericFromUnits(units)}'`;
    /** Plants an entry after the others, with its number, balance and the account's totals. */
    async function planted(
      accountId: string,
      entry: { readonly id: string; readonly delta: bigint; readonly kind: string },
      more: Readonly<Record<string, string>>,
      totals: Readonly<Record<string, bigint>>,
    ) {
      const account = await store().getAccount(accountId);
      assert.ok(account !== undefined);
      const seq = (await entriesOf(accountId))[0]?.seq ?? 0n;
      const balance = account.balance + entry.delta;
      const row: Readonly<Record<string, string>> = {
        id: `'${entry.id}'`,
        account_id: `'${accountId}'`,
        seq: String(seq + 1n),
        kind: `'${entry.kind}'`,
        delta: usd(entry.delta),
        balance_after: usd(balance),
        input_hash: subject().literal.bytes(Buffer.alloc(32)),
        created_at: subject().literal.time(new Date()),
        actor: "'nobody'",
        given: usd(0n),
        ...more,
      };
      const changed = Object.entries({ balance, ...totals });
      return [
        `INSERT INTO ledger (${Object.keys(row).join(', ')}) VALUES (${Object.values(row).join(', ')})`,
        `UPDATE account SET seq = seq + 1, ${changed
          .map(([column, amount]) => `${column} = ${usd(amount)}`)
          .join(', ')} WHERE id = '${accountId}'`,
      ];
    }

    // F518: entries and rows of the trail are planted with numbers, balances and all sums as in a
    // sound ledger, an allowance that nobody set among them: the audit names each.
    it('finds whole pairs that nobody booked', async () => {
      const [a, b] = [await newAccount(100n), await newAccount(0n)];
      const { accountId } = a;
      const took = await adjust(accountId, -7n);
      const [last] = await store().listTrail({ accountId, limit: 1 });
      const topUp = { id: 'topup:stripe:pi_forged', delta: 500n, kind: 'top_up' };
      const month = new Date().toISOString().slice(0, 7);
      const allowance = {
        id: entryId.allowance(accountId, month),
        delta: 50n,
        kind: 'top_up',
      };
      const opening = { id: entryId.opening(accountId), delta: 0n, kind: 'adjustment' };
      const half = { id: 'transfer:forged:in', delta: 5n, kind: 'adjustment' };
      const { literal } = subject();
      await expectFound({
        of: 'a top-up',
        sql: await planted(
          accountId,
          topUp,
          { source: "'paid'", counter: "'cash:stripe'" },
          { credited: 600n },
        ),
        agreeing: [accountId],
        found: ['origin', topUp.id],
      });
      await expectFound({
        of: 'half a transfer',
        sql: await planted(
          accountId,
          half,
          { reason: "'transfer'", counter: "'transfers'", reference: `'${b.accountId}'` },
          { adjusted: -2n },
        ),
        agreeing: [accountId],
        found: ['origin', half.id],
      });
      const monthStart = Math.floor(Date.parse(`${month}-01T00:00:00.000Z`) / (24 * HOUR_MS));
      await expectFound({
        of: 'an allowance that nobody set',
        sql: [
          ...(await planted(
            accountId,
            allowance,
            { source: "'promotional'", counter: "'given'", given: usd(50n) },
            { credited: 150n, given: 50n },
          )),
          `UPDATE account SET allowance_start = ${String(monthStart)} WHERE id = '${accountId}'`,
          'INSERT INTO credit_lot (entry_id, account_id, source, expires_at, remaining) ' +
            `VALUES ('${allowance.id}', '${accountId}', 'promotional', NULL, ${usd(50n)})`,
        ],
        agreeing: [accountId],
        found: ['origin', allowance.id],
      });
      await expectFound({
        of: 'a second opening',
        sql: await planted(accountId, opening, { reason: "'opening'", counter: "'unknown'" }, {}),
        found: ['sides', opening.id],
      });
      await expectFound({
        of: 'an adjustment that is gone',
        sql: [
          `DELETE FROM ledger WHERE id = '${took}'`,
          `UPDATE account SET seq = seq - 1, balance = ${usd(100n)}, adjusted = ${usd(0n)}, ` +
            `notice_base = ${usd(100n)} WHERE id = '${accountId}'`,
        ],
        agreeing: [accountId],
        found: ['origin', `trail:${String(last?.seq)}`],
      });
      const details = `{"entry":"adjustment:none","amount":"0.00000000000001"}`;
      await expectFound({
        of: 'a row of the trail',
        sql: [
          'INSERT INTO trail (seq, created_at, actor, action, account_id, details) ' +
            `SELECT max(seq) + 1, ${literal.time(new Date())}, 'nobody', 'balance.adjust', ` +
            `'${accountId}', '${details}' FROM trail`,
        ],
        found: ['origin', /^trail:/],
      });
      await soundSides();
    });

    // F519: the other side, tax, fee, source or credits of an entry are changed before a seal, and
    // all sums with them: its row in the trail, its rule or its other half disagrees.
    it('finds entries that were changed before a seal, with their sums', async () => {
      const [a, b] = [await newAccount(0n), await newAccount(0n)];
      const { accountId } = a;
      const paid = await credit(accountId, 100n, { counter: 'cash:stripe', tax: 19n });
      const gift = await give(accountId, 10n, FAR);
      const goodwill = await adjust(accountId, 5n, { reason: 'goodwill' });
      const welcome = { amount: 3n, source: 'paid' } as const;
      const made = { account: { name: 'c' }, credit: welcome, by: TESTS };
      const created = await store().create(made);
      assert.ok(created.outcome === 'created');
      const { id: third } = created.account;
      const first = `topup:initial:${third}:1`;
      const took = await adjust(accountId, -50n, { reference: 'r' });
      const [, undone] = await reverse(accountId, took);
      const fee = { feeId: randomUUID(), accountId, fee: 2n, counter: 'cash:stripe', by: TESTS };
      await store().bookFee(fee);
      const { into, out } = await transfer(accountId, b.accountId, 111n);
      const set = (id: string, changes: string) =>
        `UPDATE ledger SET ${changes} WHERE id = '${id}'`;
      const given = (of: string, amount: bigint) =>
        `UPDATE account SET given = ${usd(amount)} WHERE id = '${of}'`;
      const lots = (changes: readonly (readonly unknown[])[]) => `'${JSON.stringify(changes)}'`;
      // 4 are left, of the goodwill.
      assert.deepEqual(await moneyIn(b.accountId), [
        111n,
        11n,
        [
          [into, 10n],
          [`${into}#2`, 1n],
        ],
        100n,
      ]);
      const changed: readonly (readonly [string, string, AuditDifference['check'], ...string[]])[] =
        [
          [paid, "counter = 'given'", 'origin'],
          [paid, `tax = ${usd(1n)}`, 'origin'],
          [paid, 'tax = NULL', 'origin'],
          [paid, `fee = ${usd(1n)}`, 'origin'],
          [paid, `reverses = '${gift}'`, 'origin'],
          [paid, `given = ${usd(1n)}`, 'sides', given(accountId, 5n)],
          [paid, "lots = '[]'", 'sides'],
          [first, "counter = 'cash:stripe'", 'origin'],
          [
            first,
            `source = 'promotional', given = ${usd(3n)}`,
            'origin',
            given(third, 3n),
            'INSERT INTO credit_lot (entry_id, account_id, source, expires_at, remaining) ' +
              `VALUES ('${first}', '${third}', 'promotional', NULL, ${usd(3n)})`,
          ],
          [goodwill, "counter = 'cash:stripe'", 'origin'],
          [took, "counter = 'bad_debt'", 'origin'],
          [took, "reason = 'refund'", 'origin'],
          [took, 'reference = NULL', 'origin'],
          [undone, `reverses = '${goodwill}'`, 'origin'],
          [undone, 'reverses = NULL', 'origin'],
          [undone, "counter = 'cash:stripe'", 'origin'],
          [`fee:${fee.feeId}`, "counter = 'cash:other'", 'origin'],
          [`fee:${fee.feeId}`, `fee = ${usd(3n)}`, 'origin'],
          [out, "counter = 'given'", 'sides'],
          [into, "counter = 'given'", 'sides'],
          [
            into,
            `given = ${usd(0n)}, lots = NULL`,
            'origin',
            given(b.accountId, 0n),
            `DELETE FROM credit_lot WHERE account_id = '${b.accountId}'`,
            `UPDATE account SET next_expiry_at = NULL WHERE id = '${b.accountId}'`,
          ],
          [
            into,
            `lots = ${lots([[into, numericFromUnits(11n), 'promotional', null]])}`,
            'origin',
            `DELETE FROM credit_lot WHERE entry_id = '${into}#2'`,
            `UPDATE credit_lot SET remaining = ${usd(11n)}, expires_at = NULL WHERE entry_id = '${into}'`,
            `UPDATE account SET next_expiry_at = NULL WHERE id = '${b.accountId}'`,
          ],
        ];
      for (const [id, changes, check, ...more] of changed) {
        await expectFound({
          of: `${id}: ${changes}`,
          sql: [set(id, changes), ...more],
          agreeing: [accountId, b.accountId, third],
          found: [check, id === out || id === into ? /^transfer:/ : id],
        });
      }
      await soundSides();
    });

    // F520: sums of the sides are changed in pairs, also of an account that does not exist and in
    // the present hour: the audit names account and side.
    it('finds changed sums of sides, and what accounts say of their given money', async () => {
      const [{ accountId }, empty] = [await newAccount(9n), await newAccount(0n)];
      const hour = Math.floor(Date.now() / HOUR_MS);
      const pair = (of: string, at: number) =>
        ['given', 'cash:manual'].map(
          (side, index) =>
            'INSERT INTO money_hour (account_id, hour, side, amount) VALUES ' +
            `('${of}', ${String(at)}, 'forged:${side}', ${usd(index === 0 ? 3n : -3n)})`,
        );
      const earlier = `UPDATE money_hour SET hour = hour - 24 WHERE account_id = '${accountId}'`;
      for (const [of, sql, id] of [
        ['the open hour', pair(accountId, hour), accountId],
        ['an old hour', pair(accountId, hour - 1_000), accountId],
        ['a coming hour', pair(accountId, hour + 1_000), accountId],
        ['another hour', [earlier], accountId],
        ['an account without entries', pair(empty.accountId, hour), empty.accountId],
        ['no account, now', pair(`${accountId}x`, hour), `${accountId}x`],
        ['no account, before', pair('zzz', hour - 1_000), 'zzz'],
        ['no account, after all others', pair('zzz', hour), 'zzz'],
      ] as const) {
        await expectFound({ of, sql, found: ['sides', `^${id}$`] });
      }
      const set = (changes: string) => `UPDATE account SET ${changes} WHERE id = '${accountId}'`;
      for (const changes of [`given = ${usd(1n)}`, 'opened = FALSE']) {
        const found = ['account_totals', accountId] as const;
        await expectFound({ of: changes, sql: [set(changes)], found });
      }
      await soundSides();
    });
  });
}
