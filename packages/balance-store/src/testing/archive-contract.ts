/**
 * The part of the contract about archives: charges leave the ledger, and all figures computed from
 * them stay.
 */

import { DAY_MS, HOUR_MS } from '../ledger/base/hours.js';
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { verifyArchive } from '../ledger/archive/verify-archive.js';
import type { LedgerEntry } from '../ledger-entry.js';
import { waitPastMidnight } from './midnight.js';
import { settlement } from './samples.js';
import { TESTS, USD } from './subject.js';
import type { ContractPart } from './subject.js';
import { withChange } from './with-change.js';

/** Long enough ago that nothing else in the ledger is older. */
const AGE_DAYS = 400;

/** Some programs end a line at these characters, and JSON allows them within texts. */
const LINE_ENDS = 'a\u2028b\u2029c\u0085d';

/** Leaves the ledger sound, with archives of charges that these tests made. */
export function archiveContract(part: ContractPart): void {
  const { runner, subject, newAccount, settle } = part;
  const { describe, it, beforeAll, afterAll } = runner;
  let directory: string;
  /** Each archive ends two days after the one before. */
  let archives = 0;
  const today = Math.floor(Date.now() / DAY_MS) * DAY_MS;
  const dayOf = (number: number) => new Date(today - (AGE_DAYS - 2 * number) * DAY_MS);
  const archive = (file: string, until: Date) =>
    subject().store.archive({ until, file: join(directory, file), by: TESTS });

  async function entriesOf(accountId: string): Promise<readonly LedgerEntry[]> {
    return (await subject().store.listEntries({ accountId, limit: 1_000 })).entries;
  }

  /** Moves an account's entries to the day before `until`, at the same time of the day. */
  async function backdate(accountId: string, until: Date): Promise<void> {
    const entries = await entriesOf(accountId);
    const last = entries[0]?.createdAt.getTime() ?? 0;
    const days = Math.ceil((last - until.getTime()) / DAY_MS);
    const { literal } = subject();
    const updates = entries.map(({ id, createdAt }) => {
      const time = literal.time(new Date(createdAt.getTime() - days * DAY_MS));
      return `UPDATE ledger SET created_at = ${time} WHERE id = '${id}'`;
    });
    await subject().tamper(
      [
        ...updates,
        ...['usage_hour', 'money_hour'].map(
          (table) =>
            `UPDATE ${table} SET hour = hour - ${String(days * 24)} WHERE account_id = '${accountId}'`,
        ),
      ].join('; '),
      'disabled',
    );
  }

  /** An account with charges of two keys between credits, all before the next archive ends. */
  async function oldAccount() {
    const { store } = subject();
    await waitPastMidnight();
    const { accountId, keyIds } = await newAccount(USD, {}, {});
    const [first = '', second = ''] = keyIds;
    const topUp = (amount: bigint, more: object = {}) =>
      store.topUp({ topUpId: randomUUID(), to: { accountId }, amount, by: TESTS, ...more });
    const charge = async (keyId: string, parts: Parameters<typeof settlement>[1] = {}) => {
      const charged = settlement(keyId, parts);
      assert.equal((await settle(charged)).outcome, 'settled');
      return charged;
    };
    const pricing = { terms: {}, fees: [{ what: 'web_search_requests', units: 2, perUnit: 9n }] };
    const charges = [
      await charge(first),
      await charge(second, { pricing, cost: 7n }),
      await charge(first, { cost: 0n }),
    ];
    const expiresAt = new Date('2200-01-01T00:00:00.000Z');
    await topUp(5n * USD, { source: 'promotional', expiresAt });
    charges.push(
      await charge(second, { model: 'claude-other', endpoint: 'responses', remarks: LINE_ENDS }),
    );
    await store.adjust({
      adjustmentId: randomUUID(),
      accountId,
      amount: -USD,
      reason: 'correction',
      by: TESTS,
    });
    // Costs more than the balance, so a part of the charge is written off.
    const usage = { inputTokens: 2_000_000 };
    charges.push(await charge(first, { usage, overdraft: 'none' }));
    await topUp(3n * USD);
    charges.push(await charge(second));
    archives += 1;
    const until = dayOf(archives);
    await backdate(accountId, until);
    return { accountId, keyIds, charges, until, charge, file: `${String(archives)}.jsonl` };
  }

  /** Everything that operators and customers can read about an account and its archived period. */
  async function readsOf(accountId: string, until: Date) {
    const { store } = subject();
    const from = new Date(until.getTime() - 3 * DAY_MS);
    const hours = Array.from({ length: 4 * 24 }, (_, hour) =>
      store.readBalanceAt(accountId, new Date(from.getTime() + hour * HOUR_MS)),
    );
    return {
      account: await store.getAccount(accountId),
      unspent: await store.readUnspent(accountId),
      usage: await store.readUsage({
        by: ['day', 'model', 'key', 'endpoint'],
        byRates: true,
        from,
        until: new Date(from.getTime() + hours.length * HOUR_MS),
        accountId,
      }),
      balances: await Promise.all(hours),
      now: await store.readBalanceAt(accountId, new Date(Date.now() + DAY_MS)),
      bookings: (await entriesOf(accountId)).filter(({ kind }) => kind !== 'charge'),
    };
  }

  describe('an archive', () => {
    beforeAll(() => {
      directory = mkdtempSync(join(tmpdir(), 'archive-'));
      return Promise.resolve();
    });
    afterAll(() => {
      rmSync(directory, { recursive: true, force: true });
      return Promise.resolve();
    });

    it('moves charges out of the ledger and keeps all sums, balances and credits', async () => {
      const { store } = subject();
      const { accountId, keyIds, charges, until, charge, file } = await oldAccount();
      const young = await charge(keyIds[0] ?? '');
      const anchor = await store.sealEntries({ all: true });
      const before = await readsOf(accountId, until);
      const audited = await store.audit();
      assert.deepEqual(audited.differences, []);
      assert.ok((await store.rollUpUsage()) > 0);
      assert.deepEqual(await readsOf(accountId, until), before);
      const { archive: made, deleted } = await archive(file, until);

      assert.equal(deleted, charges.length);
      assert.equal(made.charges, charges.length);
      assert.deepEqual(await readsOf(accountId, until), before);
      const ids = charges.map(({ requestId }) => requestId);
      assert.deepEqual(await store.findEntries(ids), []);
      assert.equal((await store.findEntries([young.requestId])).length, 1);
      const page = await store.listEntries({ accountId, limit: 1_000 });
      assert.deepEqual(page.archivedUntil, until);
      const later = await store.listEntries({ accountId, from: until, limit: 1_000 });
      assert.equal(later.archivedUntil, undefined);

      const after = await store.audit({ anchor });
      assert.deepEqual(after.differences, []);
      assert.equal(after.archived - audited.archived, charges.length);
      assert.equal(after.entries, audited.entries - charges.length);
      for (const figure of ['credited', 'adjusted', 'charged', 'writtenOff', 'balances'] as const) {
        assert.equal(after[figure], audited[figure], figure);
      }
      const path = join(directory, file);
      assert.equal(statSync(path).mode & 0o777, 0o600);
      const { file: summary, differences } = await store.compareArchive(path);
      assert.deepEqual(differences, []);
      assert.deepEqual(summary, await verifyArchive(path));
      assert.equal(summary.charges, charges.length);
      assert.equal(summary.charged, made.charged);
      assert.ok(made.writtenOff > 0n);
      const text = readFileSync(path, 'utf8');
      for (const id of ids) assert.ok(text.includes(id));

      // The ledger continues to take charges, seals and audits.
      await charge(keyIds[1] ?? '');
      await store.sealEntries({ all: true });
      assert.deepEqual((await store.audit({ anchor })).differences, []);
    });

    it('leaves the ledger sound, also when its hourly totals of usage are rolled up later', async () => {
      const { store } = subject();
      const { accountId, until, file } = await oldAccount();
      await archive(file, until);
      const before = await readsOf(accountId, until);
      assert.ok((await store.rollUpUsage()) > 0);
      assert.deepEqual(await readsOf(accountId, until), before);
      assert.deepEqual((await store.audit()).differences, []);
    });

    it('makes readBalanceAt refuse a time inside an archived hour, because only whole hours are kept', async () => {
      const { store } = subject();
      const { accountId, until, file } = await oldAccount();
      await archive(file, until);
      const inside = new Date(until.getTime() - HOUR_MS / 2);
      await assert.rejects(store.readBalanceAt(accountId, inside), /whole hours only/);
    });

    it('can be followed by an archive of newer charges, which does not change the first one', async () => {
      const { store } = subject();
      const first = await oldAccount();
      await archive(first.file, first.until);
      await first.charge(first.keyIds[0] ?? '');
      const second = await oldAccount();
      const before = await readsOf(first.accountId, first.until);
      const made = await archive(second.file, second.until);
      assert.equal(made.archive.charges, second.charges.length);
      assert.deepEqual(await readsOf(first.accountId, first.until), before);
      assert.deepEqual((await store.audit()).differences, []);
      for (const { file } of [first, second]) {
        assert.deepEqual((await store.compareArchive(join(directory, file))).differences, []);
      }
      assert.deepEqual(
        (await store.listArchives()).slice(-2).map(({ until }) => until),
        [first.until, second.until],
      );
    });

    // F119
    it('is refused for a wrong day, an unusable file or archived charges, and changes nothing', async () => {
      const { store } = subject();
      const { until, file, charges } = await oldAccount();
      const known = (await store.listArchives()).length;
      const refused = async (name: string, day: Date, reason: RegExp) => {
        await assert.rejects(archive(name, day), reason);
        assert.equal((await store.listArchives()).length, known);
      };
      await refused(file, new Date(until.getTime() + 1), /until: must be a day/);
      await refused(file, new Date(today), /until: must be at least 3 days ago/);
      await refused('no/such/directory', until, /cannot be written/);
      assert.equal(existsSync(join(directory, file)), false);
      writeFileSync(join(directory, file), 'something else\n');
      await refused(file, until, new RegExp(`${file}:1: `));
      assert.equal(readFileSync(join(directory, file), 'utf8'), 'something else\n');
      rmSync(join(directory, file));
      assert.equal((await archive(file, until)).deleted, charges.length);
      // The same archive again has nothing to do. Another file, or an earlier day, is refused.
      assert.equal((await archive(file, until)).deleted, 0);
      await assert.rejects(archive('another', until), /archived already/);
      await assert.rejects(archive('another', dayOf(0)), /archived already/);
      archives += 1;
      await assert.rejects(archive('another', dayOf(archives)), /no charge before/);
      assert.deepEqual((await store.audit()).differences, []);
    });

    // F122: two archives at once; charges and audits meanwhile: the second is refused; charges go
    // on; audits stay sound.
    it('is refused while another archive is being made, and charges go on', async () => {
      const { store } = subject();
      const { until, file, charge, keyIds, charges } = await oldAccount();
      let isRunning = true;
      const writer = (async () => {
        while (isRunning) await charge(keyIds[0] ?? '', { usage: { inputTokens: 1 } });
      })();
      const results = await Promise.allSettled([archive(file, until), archive('other', until)]);
      isRunning = false;
      await writer;
      assert.deepEqual(results.map(({ status }) => status).sort(), ['fulfilled', 'rejected']);
      const refusal = results.find(({ status }) => status === 'rejected') as PromiseRejectedResult;
      assert.match(String(refusal.reason), /another archive of this ledger is being made/);
      const [made] = (await store.listArchives()).slice(-1);
      assert.equal(made?.charges, charges.length);
      assert.deepEqual((await store.audit()).differences, []);
    });

    // F120
    it('cannot be changed by plain SQL, nor can charges that it does not carry be deleted', async () => {
      const { accountId, until, file, charge, keyIds } = await oldAccount();
      await archive(file, until);
      await charge(keyIds[0] ?? '');
      for (const sql of [
        `DELETE FROM ledger WHERE account_id = '${accountId}'`,
        `DELETE FROM ledger WHERE account_id = '${accountId}' AND kind = 'charge'`,
        `DELETE FROM ledger WHERE account_id = '${accountId}' AND kind <> 'charge'`,
        'UPDATE ledger_carry SET charges = 0',
        'DELETE FROM ledger_carry',
        'UPDATE ledger_archive SET charges = 0',
        'DELETE FROM ledger_archive',
      ]) {
        await assert.rejects(subject().tamper(sql), /refused/, sql);
      }
    });

    // F238: an archive is interrupted after its sums were written, before it is recorded: they
    // count for nothing, no charge may be deleted because of them, and the next archive replaces
    // them.
    it('has sums that count for nothing until it is recorded', async () => {
      const { store, literal } = subject();
      const tamper = (sql: string) => subject().tamper(sql);
      const { accountId, keyIds, until, file, charges } = await oldAccount();
      const next = (await store.listArchives()).length + 1;
      const time = literal.time(until);
      const amounts = `'0.00000000000001', '0.00000000000000', '0.00000000000000'`;
      await tamper(
        'INSERT INTO ledger_carry (account_id, from_seq, to_seq, key_id, archive_id, charges, charged, ' +
          'written_off, over_cap, first_at, last_at, balance_after) VALUES ' +
          `('${accountId}', 2, 4, '${keyIds[0] ?? ''}', ${String(next)}, 3, ${amounts}, ` +
          `${time}, ${time}, '0.00000000000000')`,
      );
      assert.deepEqual((await store.audit()).differences, []);
      const remove = `DELETE FROM ledger WHERE account_id = '${accountId}' AND seq = 2`;
      await assert.rejects(tamper(remove), /refused/);
      const { archive: made } = await archive(file, until);
      assert.deepEqual([made.number, made.charges], [next, charges.length]);
      assert.deepEqual((await store.audit()).differences, []);
    });

    // F120: carried sums, sums of usage or the mark of an archive changed: the audit names the
    // archive.
    // F520
    it('makes the audit report a difference when rows that it left in the ledger were changed', async () => {
      const { store } = subject();
      const { accountId, until, file, charges } = await oldAccount();
      const { archive: made } = await archive(file, until);
      const path = join(directory, file);
      const carry = `ledger_carry WHERE account_id = '${accountId}' AND from_seq = 2`;
      const mark = `ledger_archive WHERE id = ${String(made.number)}`;
      const usage = `usage_hour WHERE account_id = '${accountId}' AND model = 'claude-other'`;
      const update = (row: string, column: string, value: string) =>
        `UPDATE ${row.replace(' WHERE', ` SET ${column} = ${value} WHERE`)}`;
      const tampering = [
        ...['charged', 'written_off', 'over_cap', 'balance_after'].map((column) => [
          update(carry, column, `'0.00000000000009'`),
        ]),
        [update(carry, 'charges', 'charges + 1')],
        [update(carry, 'to_seq', 'to_seq + 1')],
        [update(carry, 'last_at', 'first_at')],
        [update(carry, 'key_id', `'key_another' || key_id`)],
        [update(carry, 'first_at', 'last_at')],
        [update(carry, 'account_id', `account_id || 'x'`)],
        [update(carry, 'from_seq', 'from_seq - 1')],
        [update(carry, 'archive_id', 'archive_id + 1000')],
        [`DELETE FROM ${carry}`],
        ...['carry_digest', 'usage_digest', 'file_digest', 'last_hash'].map((column) => [
          update(mark, column, `'00'`),
        ]),
        [update(mark, 'until_at', 'created_at')],
        [update(mark, 'charges', 'charges - 1')],
        [update(mark, 'charged', `'0.00000000000001'`)],
        [update(mark, 'written_off', `'0.00000000000009'`)],
        [update(mark, 'last_block', 'last_block + 1000')],
        [update(mark, 'id', 'id + 1000')],
        [`DELETE FROM ${mark}`],
        [update(usage, 'requests', 'requests + 1')],
        [update(usage, 'hour', 'hour - 1')],
        [`DELETE FROM ${usage}`],
      ];
      const tables = ['ledger_carry', 'ledger_archive', 'usage_hour'];
      const change = (sql: string, check: () => Promise<void>) =>
        withChange(subject(), { tables, sql }, check);
      for (const [sql = ''] of tampering) {
        await change(sql, async () => {
          const { differences, isSound } = await store.audit();
          assert.equal(isSound, false, sql);
          assert.ok(
            differences.some(({ check }) => check === 'archive'),
            sql,
          );
        });
      }
      // An hour of archived charges whose sides do not sum to 0.
      const hour = Math.floor(until.getTime() / HOUR_MS) - 24;
      const row = (at: number, side: string, amount: string) =>
        'INSERT INTO money_hour (account_id, hour, side, amount) VALUES ' +
        `('${accountId}', ${String(at)}, '${side}', '${amount}')`;
      const [more, less] = ['0.00000000000003', '-0.00000000000003'];
      for (const sql of [
        `DELETE FROM money_hour WHERE account_id = '${accountId}' AND side = 'redeemed'`,
        `DELETE FROM money_hour WHERE account_id = '${accountId}' AND side <> 'redeemed'`,
        `${row(hour - 30, 'redeemed', more)}; ${row(hour - 30, 'balance:given', less)}`,
        `${row(hour - 30, 'redeemed', more)}; ${row(hour - 31, 'redeemed', less)}`,
        `${row(hour - 30, 'balance:paid', more)}; ${row(hour - 30, 'balance:given', less)}`,
      ]) {
        await withChange(subject(), { tables: ['money_hour'], sql }, async () => {
          const { differences } = await store.audit();
          const found = differences.find(({ check }) => check === 'sides');
          assert.equal(found?.accountId, accountId, sql);
        });
      }
      // Otherwise the difference of an earlier change could be taken for that of a later one.
      assert.deepEqual((await store.audit()).differences, []);
      await change(update(carry, 'charged', `'0.00000000000009'`), async () => {
        const { differences } = await store.compareArchive(path);
        assert.match(differences[0]?.expected ?? '', /^from entry 2 of acct_/);
      });
      assert.ok(charges.length > 0);
    });

    // F121: an archive's file: changed, cut off, or of another ledger: refused; the first wrong
    // line or the difference is named.
    it('has a file that is verified without the ledger', async () => {
      const { until, file } = await oldAccount();
      await archive(file, until);
      const lines = readFileSync(join(directory, file), 'utf8').trimEnd().split('\n');
      const indexOf = (member: string) => lines.findIndex((one) => one.startsWith(`{"${member}"`));
      assert.ok(lines.some((one) => one.includes('a\\u2028b\\u2029c')));
      assert.ok(lines.every((one) => !/[\u2028\u2029]/.test(one)));
      const [block, charge, end] = [indexOf('block'), indexOf('charge'), lines.length - 1];
      const changed = (index: number, from: RegExp | string, to: string) =>
        lines.map((one, at) => (at === index ? one.replace(from, to) : one));
      const forged: readonly (readonly [string[], RegExp])[] = [
        [changed(0, /"version":1/, '"version":2'), /:1: is not the header/],
        [changed(0, /"number":\d+/, '"number":77'), /the line says/],
        [changed(0, /"ledger":"./, '"ledger":"x'), /digest: the line says/],
        [changed(block, /"entries":(\d+)/, '"entries":9$1'), /the block differs from its hash/],
        [changed(charge, '"messages"', '"responses"'), /the charge differs from what was sealed/],
        [lines.filter((_, at) => at !== charge), /the line says/],
        [[...lines.slice(0, charge), ...lines.slice(charge - 1)], /does not|out of order/],
        [lines.slice(0, end), /is cut off/],
        [[...lines, lines[charge] ?? ''], /nothing may follow the last line/],
        [changed(end, /"charges":(\d+)/, '"charges":1$1'), /charges: the line says/],
        [changed(end, /"charged_usd":"/, '"charged_usd":"1'), /charged_usd: the line says/],
        [changed(end, /"digest":"../, '"digest":"zz'), /digest: the line says/],
        [lines.map((one, at) => (at === charge ? one.slice(0, -9) : one)), /JSON|Unterminated/],
      ];
      const path = join(directory, 'forged.jsonl');
      for (const [text, reason] of forged) {
        writeFileSync(path, `${text.join('\n')}\n`);
        await assert.rejects(verifyArchive(path), reason);
      }
      await assert.rejects(verifyArchive(join(directory, 'none')), /cannot be read/);
    });
  });
}
