/** The part of the contract about audits of what accounts and keys may do. */

import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import type { AuditDifference } from '../audit.js';
import { PROMO_CODE } from '../document.js';
import { AUDITED_COLUMNS } from '../generated/audited.js';
import { settlement } from './samples.js';
import { TESTS, USD, closeAny } from './subject.js';
import type { ContractPart } from './subject.js';

/** SQL for another value of a column, and how the audit must name the difference. */
type Tampering = Readonly<Record<string, readonly [value: string, named: RegExp]>>;
/** Columns that the audit need not compare with anything, each with the reason. */
type Exempt = Readonly<Record<string, string>>;

const EXEMPT = { account: exemptIn('account'), api_key: exemptIn('api_key') } as const;

type Statement = { readonly check: string } | { readonly exempt: string };

function exemptIn(table: 'account' | 'api_key'): Exempt {
  const statements: Readonly<Record<string, Statement>> = AUDITED_COLUMNS[table];
  return Object.fromEntries(
    Object.entries(statements).flatMap(([name, statement]) =>
      'exempt' in statement ? [[name, statement.exempt]] : [],
    ),
  );
}

export function rightsContract({ runner, subject, newAccount, settle }: ContractPart): void {
  const { describe, it } = runner;

  describe('audit of rights', () => {
    /** The differences that appear while these changes of the tables are in force. */
    async function differencesDuring(
      changes: readonly { table: string; where: string; set: string }[],
    ): Promise<readonly AuditDifference[]> {
      const before = new Set((await subject().store.audit()).differences.map(textOf));
      const each = (write: (change: (typeof changes)[number], copy: string) => string) =>
        subject().tamper(changes.map((change, n) => write(change, `copy_${String(n)}`)).join(';'));
      await each(
        ({ table, where, set }, copy) =>
          `CREATE TABLE ${copy} AS SELECT * FROM ${table} WHERE ${where}; ` +
          `UPDATE ${table} SET ${set} WHERE ${where}`,
      );
      try {
        const { differences } = await subject().store.audit();
        return differences.filter((difference) => !before.has(textOf(difference)));
      } finally {
        const columns = new Map<string, string>();
        for (const { table } of changes) {
          const names = await subject().columnsOf(table);
          const list = names.filter((name) => name !== 'id').join(', ');
          columns.set(table, list);
        }
        await each(({ table, where }, copy) => {
          const list = columns.get(table) ?? '';
          return (
            `UPDATE ${table} SET (${list}) = (SELECT ${list} FROM ${copy}) WHERE ${where}; ` +
            `DROP TABLE ${copy}`
          );
        });
        const left = (await subject().store.audit()).differences.map(textOf);
        assert.deepEqual(
          left.filter((difference) => !before.has(difference)),
          [],
        );
      }
    }

    // F214: a right of a key or an account is changed with plain SQL: the audit names it, with what
    // the trail says; no hash is shown.
    it('reports each column of an account or key that was changed, or says why it need not', async () => {
      const { store, literal } = subject();
      const later = literal.time(new Date('2300-01-01T00:00:00.000Z'));
      const bytes = () => literal.bytes(randomBytes(32));
      const { accountId, keyIds } = await newAccount(USD, { models: ['m'], caps: { day: 5n } });
      const [keyId = ''] = keyIds;
      await store.rotateKey(keyId, { by: TESTS, graceMs: 3_600_000 });
      await store.suspendKey(keyId, TESTS);
      await store.setAccountState(accountId, 'suspended', TESTS);
      const amount = "'7.00000000000000'";
      const named = (right: string) => new RegExp(`^${right}: `);
      const sums = /./;
      await settle(settlement(keyId, { spender: { tag: 't' } }));
      const tampering: Record<keyof typeof EXEMPT, Tampering> = {
        account: {
          state: ["'active'", named('state')],
          low_balance: [amount, named('low balance')],
          prices: ["'0.1'", named('prices')],
          allowance: [amount, named('allowance')],
          members_see_balance: ['TRUE', named('members see balance')],
          allowance_start: ['allowance_start + 1', /^last allowance /],
          balance: [amount, sums],
          spent: [amount, sums],
          credited: [amount, sums],
          adjusted: [amount, sums],
          expired: [amount, sums],
          written_off: [amount, sums],
          uncovered: [amount, sums],
          given: [amount, sums],
          opened: ['NOT opened', /opened/],
          budgeted: ['NOT budgeted', /^budgets/],
          label_salt: ["'another'", /labels of spender/],
          next_expiry_at: [later, /^the first credit does not expire/],
          seq: ['seq + 1', sums],
        },
        api_key: {
          hint: ["'gw_aaaa…bbbb'", named('hint')],
          credential_hmac: [bytes(), named('credential')],
          pepper_id: ["'another'", named('credential')],
          previous_hmac: [bytes(), named('previous credential')],
          previous_pepper_id: ["'another'", named('previous credential')],
          previous_until: [later, named('previous until')],
          state: ["'active'", named('state')],
          scope: ["'manage'", named('scope')],
          models: ['\'["m","n"]\'', named('models')],
          allowed_networks: ['\'["192.0.2.0/24"]\'', named('allowed networks')],
          member_id: ["'mem_another'", named('member id')],
          naming: ['\'{"unknown":"create"}\'', named('naming')],
          expires_at: [later, named('expires at')],
          concurrency: ['concurrency + 1', named('concurrency')],
          burst: ['burst + 1', named('burst')],
          requests_per_minute: ['requests_per_minute + 1', named('requests per minute')],
          spent: [amount, sums],
          written_off: [amount, sums],
        },
      };
      for (const table of ['account', 'api_key'] as const) {
        const columns = [...(await subject().columnsOf(table))].sort();
        const decided = [...Object.keys(tampering[table]), ...Object.keys(EXEMPT[table])];
        const ids = table === 'account' ? ['id'] : ['id', 'account_id'];
        assert.deepEqual(columns, [...decided, ...ids].sort(), `every column of ${table}`);
      }
      const setOf = (table: Tampering) =>
        Object.entries(table)
          .map(([column, [value]]) => `${column} = ${value}`)
          .join(', ');
      const found = await differencesDuring([
        { table: 'account', where: `id = '${accountId}'`, set: setOf(tampering.account) },
        { table: 'api_key', where: `id = '${keyId}'`, set: setOf(tampering.api_key) },
      ]);
      for (const [table, columns] of Object.entries(tampering)) {
        const of = found.filter((difference) =>
          table === 'account'
            ? difference.accountId === accountId && difference.keyId === undefined
            : difference.keyId === keyId,
        );
        for (const [column, [value, pattern]] of Object.entries(columns)) {
          assert.ok(
            of.some((difference) => pattern.test(difference.expected)),
            `${table}.${column}: ${textOf(of)}`,
          );
          // Neither a stored hash nor what stands for it is in a report.
          assert.ok(!/[0-9a-f]{32}/.test(textOf(of)), `${table}.${column} ${value}`);
        }
      }
      assert.deepEqual(new Set(found.map(({ check }) => check)).has('rights'), true);
    });

    // F219: a promotional code is changed, renamed or added with plain SQL, or a redemption of it
    // is taken back: the audit names it.
    it('reports a promotional code that was changed, renamed, added or put back, and none that was redeemed', async () => {
      const { store } = subject();
      const [code, other] = [randomUUID(), randomUUID()];
      const data = { amount_usd: '1', max_redemptions: 2 };
      const write = (version: number, accounts: readonly string[], id = code) =>
        store.writeDocument({
          kind: PROMO_CODE,
          id,
          accountId: '',
          version,
          data: { accounts, ...data },
          trail: {
            action: version === 0 ? 'promo_code.create' : 'promo_code.redeem',
            by: TESTS,
            details: { code: id },
          },
        });
      await write(0, []);
      await write(0, [], other);
      await write(1, ['acct_1']);
      await write(2, ['acct_1', 'acct_2']);
      const about = async () =>
        (await store.audit()).differences.flatMap(({ check, expected, found }) =>
          check === 'rights' && expected.includes(code) ? [`${expected} | ${found}`] : [],
        );
      assert.deepEqual(await about(), []);
      const where = `WHERE kind = '${PROMO_CODE}' AND id =`;
      const stored = (accounts: readonly string[], more: object = {}) =>
        `data = '${JSON.stringify({ ...data, ...more, accounts })}'`;
      const both = ['acct_1', 'acct_2'];
      const contents = [`promotional code ${code}: contents: as in the trail | contents: another`];
      const renamed = `${code}-2`;
      for (const [change, undo, expected] of [
        [stored(['acct_1']), stored(both), contents],
        [stored([]), stored(both), contents],
        [stored(both, { max_redemptions: 3 }), stored(both), contents],
        [`version = 2`, 'version = 3', contents],
        [`account_id = 'acct_1'`, `account_id = ''`, contents],
        [
          `id = '${renamed}'`,
          `id = '${code}'`,
          [
            `promotional code ${code}: a row of this code | none`,
            `promotional code ${renamed}: the creation of this code in the trail | none`,
          ],
        ],
      ] as const) {
        await subject().tamper(`UPDATE document SET ${change} ${where} '${code}'`);
        const found = await about();
        const id = change.includes(renamed) ? renamed : code;
        await subject().tamper(`UPDATE document SET ${undo} ${where} '${id}'`);
        assert.deepEqual(found.sort(), [...expected].sort(), change);
        // Members in another order are the same contents.
        assert.deepEqual(await about(), []);
      }
      // As recorded before the trail had digests: nothing is known until the next redemption.
      const old = randomUUID();
      await store.writeDocument({
        kind: 'written_event',
        id: old,
        accountId: '',
        version: 0,
        data,
        trail: { action: 'promo_code.create', by: TESTS, details: { code: old } },
      });
      await subject().tamper(`UPDATE document SET kind = '${PROMO_CODE}' WHERE id = '${old}'`);
      const changed = `UPDATE document SET data = '{"accounts":["acct_9"]}' ${where} '${old}'`;
      const aboutOld = async () =>
        (await store.audit()).differences.filter(({ expected }) => expected.includes(old));
      assert.deepEqual(await aboutOld(), []);
      await subject().tamper(changed);
      assert.deepEqual(await aboutOld(), []);
      await write(1, ['acct_9', 'acct_1'], old);
      assert.deepEqual(await aboutOld(), []);
      await subject().tamper(changed);
      assert.equal((await aboutOld()).length, 1);
      const unrecorded = { kind: PROMO_CODE, id: other, accountId: '', version: 1, data } as const;
      await assert.rejects(store.writeDocument(unrecorded), RangeError);
    });

    // F215: a key is moved to another account, added, renamed, or freed of an operator's bound: the
    // audit names it.
    it('reports a key of another account, an added or renamed key, and changed bounds of an operator', async () => {
      const { store } = subject();
      const { keyIds } = await newAccount(USD, {}, {}, {});
      const other = await newAccount(USD);
      const [moved = '', renamed = '', bounded = ''] = keyIds;
      await store.suspendKey(bounded, TESTS);
      const unsuspended =
        '{"is_suspended":false,"caps":{},"limits":{},"expires_at":null,"models":null}';
      const found = await differencesDuring([
        {
          table: 'api_key',
          where: `id = '${moved}'`,
          set: `account_id = '${other.accountId}'`,
        },
        {
          table: 'document',
          where: `kind = 'operator_bounds' AND document.id = '${bounded}'`,
          set: `data = '${unsuspended}'`,
        },
      ]);
      assert.deepEqual(
        found.map(({ keyId, expected }) => [keyId, expected.split(':')[0]]).sort(),
        [
          [moved, 'account'],
          [bounded, 'operator bounds'],
        ].sort(),
      );
      const name = `key_${randomUUID()}`;
      const known = new Set((await store.audit()).differences.map(textOf));
      await subject().tamper(`UPDATE api_key SET id = '${name}' WHERE id = '${renamed}'`);
      const { differences } = await subject().store.audit();
      await subject().tamper(`UPDATE api_key SET id = '${renamed}' WHERE id = '${name}'`);
      assert.deepEqual(
        differences
          .filter((difference) => !known.has(textOf(difference)))
          .map(({ keyId, expected, found: is }) => [keyId, expected, is])
          .sort(),
        [
          [name, 'the creation of this key in the trail', 'none'],
          [renamed, 'a row of this key', 'none'],
        ].sort(),
      );
    });

    // F216: a new pepper, a rotation with grace, a replayed creation, an erasure: the rights still
    // agree with the trail.
    it('stays sound through every change of a key, a new pepper, a replay and an erasure', async () => {
      const { store, pepper } = subject();
      const sound = async () => {
        const { differences } = await store.audit();
        return differences.filter(({ keyId, check }) => check === 'rights' && keyId === own);
      };
      const creation = {
        creationId: randomUUID(),
        account: { name: 'n', lowBalance: 3n },
        key: {
          name: 'k',
          limits: { concurrency: 2, burst: 3, requestsPerMinute: 0.7 },
          expiresAt: new Date('2250-01-01T00:00:00.000Z'),
          models: ['b', 'a'],
          caps: { month: 12n },
        },
        credit: { amount: USD, source: 'paid' as const },
        by: TESTS,
      };
      const created = await store.create(creation);
      assert.ok(created.outcome === 'created' && created.key !== undefined);
      const own = created.key.id;
      const holder = { name: own, holderOf: created.account.id };
      assert.equal((await store.create(creation)).outcome, 'replayed');
      assert.deepEqual(await sound(), []);
      await store.updateKey(own, { models: ['a'], caps: { month: 5n, day: 1n } }, holder);
      await store.updateKey(own, { models: null, caps: { month: null }, expiresAt: null }, TESTS);
      await store.suspendKey(own, holder);
      // Decides that only an operator may resume it, although its state stays.
      await store.suspendKey(own, TESTS);
      assert.deepEqual(await sound(), []);
      await store.resumeKey(own, TESTS);
      await store.updateAccount(created.account.id, { lowBalance: null }, TESTS);
      await store.setAccountState(created.account.id, 'suspended', TESTS);
      await store.setAccountState(created.account.id, 'active', TESTS);
      const rotated = await store.rotateKey(own, { by: TESTS, graceMs: 3_600_000 });
      assert.ok(rotated.outcome === 'rotated');
      await settle(settlement(own));
      assert.deepEqual(await sound(), []);
      const renewing = await subject().openBeside({ pepper: 'a new one', previousPepper: pepper });
      try {
        for (const credential of [rotated.credential, created.credential ?? '']) {
          assert.equal((await renewing.findKeyByCredential(credential))?.id, own);
        }
        assert.deepEqual(await sound(), []);
      } finally {
        await renewing.close();
      }
      const actions = (await store.listTrail({ keyId: own, limit: 2 })).map((row) => row.action);
      assert.deepEqual(actions, ['key.renew_hash', 'key.renew_hash']);
      await store.rotateKey(own, { by: TESTS });
      await closeAny(store, created.account.id);
      await store.eraseAccount(created.account.id, TESTS);
      await store.revokeKey(own, TESTS);
      await store.reopenAccount(created.account.id, { reason: 'asked for', by: TESTS });
      assert.deepEqual(await sound(), []);
    });
  });
}

function textOf(value: unknown): string {
  return JSON.stringify(value);
}
