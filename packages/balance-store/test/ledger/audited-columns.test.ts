/** An audit names a changed value of each column of which `prisma/schema.prisma` says so. */

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { DatabaseSync } from 'node:sqlite';
import { Client } from 'pg';
import { PROMO_CODE, SETTINGS } from '../../src/index.js';
import type { AuditDifference, BalanceStore, Spender } from '../../src/index.js';
import { openEmbeddedStore } from '../../src/embedded/index.js';
import { AUDITED_COLUMNS } from '../../src/generated/audited.js';
import { TABLES } from '../../src/generated/tables.js';
import type { Kind } from '../../src/ledger/tables/tables.js';
import { openPostgresStore } from '../../src/postgres/index.js';
import { sampleLimits, settlement } from '../../src/testing/index.js';
import { usePostgresServer } from '../postgres-server.js';
import type { PostgresServer } from '../postgres-server.js';
import { timeLiteral } from '../rewrite-ledger.js';
import type { LedgerPlace } from '../rewrite-ledger.js';

const PEPPER = 'the pepper of audited columns';
const USD = 10n ** 14n;
const BY = { name: 'tests' };
const DEADLINE = { deadlineMs: 20_000 };
const SCHEMA = readFileSync(join(__dirname, '../../prisma/schema.prisma'), 'utf8');

type Table = keyof typeof AUDITED_COLUMNS;
type Statement = { readonly check: AuditDifference['check'] } | { readonly exempt: string };

interface Ledger {
  readonly store: BalanceStore;
  readonly place: LedgerPlace;
  readonly bytes: (hex: string) => string;
  /** Nothing refuses what these statements write, and no trigger notices it. */
  readonly run: (statements: string) => Promise<void>;
  /** Must be called before `run`. */
  readonly unbind: () => Promise<void>;
  readonly close: () => Promise<void>;
}

interface Filled {
  readonly accountId: string;
  readonly keyId: string;
  readonly code: string;
}

/** @returns what the generator complains about in this schema; empty: nothing */
function complaintAbout(schema: string): string {
  const generator = pathToFileURL(join(__dirname, '../../scripts/generate-tables.mjs')).href;
  const script =
    `import { readKinds, readTables } from '${generator}';` +
    "import { readFileSync } from 'node:fs';" +
    "const schema = readFileSync(0, 'utf8'); readTables(schema); readKinds(schema);";
  const args = ['--input-type=module', '-e', script];
  const { status, stderr } = spawnSync(process.execPath, args, { input: schema });
  return status === 0 ? '' : String(stderr);
}

describe('the schema', () => {
  // F404: a new column or a new kind of documents has no statement: nothing is generated.
  it('says of each column and each kind of documents whether an audit compares it', () => {
    expect(complaintAbout(SCHEMA)).toBe('');
    for (const model of ['Account', 'ApiKey', 'Document']) {
      const added = SCHEMA.replace(`model ${model} {\n`, `model ${model} {\n  added Int\n`);
      expect(complaintAbout(added)).toContain(`${model}.added: is it audited`);
    }
    const kind = SCHEMA.replace('/// @kind(settings)', '/// @kind(another)\n/// @kind(settings)');
    expect(complaintAbout(kind)).toContain('another: is it audited');
    const table = 'model Another {\n  id String @id\n  @@map("another")\n}\n';
    expect(complaintAbout(`${SCHEMA}\n${table}`)).toContain('Another.id: is it audited');
  });
});

describe.each([
  ['SQLite', openSqlite],
  ['PostgreSQL', openPostgres],
] as const)('an audit on %s', (_name, open) => {
  let server: PostgresServer | undefined;
  let ledger: Ledger;
  let filled: Filled;
  beforeAll(async () => {
    if (open === openPostgres) server = await usePostgresServer();
    ledger = await open(server);
    filled = await fill(ledger.store);
    await ledger.unbind();
    expect((await ledger.store.audit()).differences).toEqual([]);
  });
  afterAll(async () => {
    await ledger.close();
    await server?.stop();
  });

  /** The differences while one row has another value. */
  async function during(table: Table, where: string, change: string) {
    await ledger.run(
      `CREATE TABLE IF NOT EXISTS kept_${table} AS SELECT * FROM ${table}; ` +
        `UPDATE ${table} SET ${change} WHERE ${where}`,
    );
    try {
      return (await ledger.store.audit()).differences;
    } finally {
      await ledger.run(`DELETE FROM ${table}; INSERT INTO ${table} SELECT * FROM kept_${table}`);
    }
  }

  function otherValue(table: Table, column: string, kind: Kind): string {
    const special = SPECIAL[`${table}.${column}`];
    if (special !== undefined) return special;
    switch (kind) {
      case 'text':
        return `coalesce(${column}, '') || 'x'`;
      case 'integer':
      case 'bigint':
      case 'real':
        return `coalesce(${column}, 0) + 1000`;
      case 'amount':
        return "'7.00000000000000'";
      case 'flag':
        return `NOT coalesce(${column}, FALSE)`;
      case 'bytes':
        return ledger.bytes('ab'.repeat(32));
      case 'time':
        return timeLiteral(ledger.place, new Date('2300-01-01T00:00:00.000Z'));
      case 'json':
        return `'["other"]'`;
    }
  }

  // F405: a value that decides about money or rights is changed with plain SQL: the audit names it,
  // whichever column it is in.
  it('names a changed value of each column that the schema says it compares', async () => {
    const { accountId, keyId, code } = filled;
    const rows: Partial<Record<Table, string>> = {
      account: `id = '${accountId}'`,
      api_key: `id = '${keyId}'`,
      ledger: `key_id = '${keyId}' AND kind = 'charge'`,
      document: `kind = '${PROMO_CODE}' AND id = '${code}'`,
      usage_hour: `key_id = '${keyId}'`,
      usage_day: `key_id = '${keyId}'`,
      // An index of changes of budgets refuses what is not JSON.
      trail: `key_id = '${keyId}' AND action = 'key.update'`,
    };
    const silent: string[] = [];
    for (const { table, columns } of Object.values(TABLES)) {
      // test/both/archive.test.ts and the contract of archives change those of archives.
      if (table === 'ledger_archive' || table === 'ledger_carry') continue;
      const statements: Readonly<Record<string, Statement>> = AUDITED_COLUMNS[table];
      for (const { name, kind } of Object.values(columns)) {
        const statement = statements[name];
        if (statement === undefined || 'exempt' in statement) continue;
        const change = `${name} = ${otherValue(table, name, kind)}`;
        const found = await during(table, rows[table] ?? '1 = 1', change);
        const named = found.filter(({ check }) => check === statement.check);
        const isLocated =
          table === 'account'
            ? named.some((difference) => difference.accountId?.startsWith(accountId))
            : table === 'api_key'
              ? named.some((difference) => difference.keyId?.startsWith(keyId))
              : named.length > 0;
        if (!isLocated) silent.push(`${table}.${name}: ${found.map((d) => d.check).join(' ')}`);
      }
    }
    expect(silent).toEqual([]);
    expect((await ledger.store.audit()).differences).toEqual([]);
  });

  // Whether the charge is sealed or not, the sums of budgets do not fit any more.
  it('names the budgets of which a part of a charge was changed', async () => {
    const { keyId } = filled;
    const rows = `key_id = '${keyId}' AND kind = 'charge'`;
    const found = await during('ledger', rows, `parts = replace(parts, '"0.', '"1.')`);
    const budgets = found.filter(({ check }) => check === 'budget');
    expect(budgets.map(({ expected }) => /used (-?\d+)/.exec(expected)?.[1])).toEqual([
      // The reserve, and the account, which passed on more than it was charged.
      String(3n * USD + 3n * settlement('').amount + 3n),
      String(-3n * USD),
    ]);
  });

  // F406: a setting is changed, added or removed in the database while the gateway serves, such as
  // prices at a tenth: the audit names it.
  it('names a setting that was changed, added or removed in the database', async () => {
    const { store } = ledger;
    const where = `kind = '${SETTINGS.kind}'`;
    const stated = { MODELS: 'a', PRICES: '{"factor":"1.2"}' };
    const texts = (differences: readonly AuditDifference[]) =>
      differences.map(({ check, entryId, expected, found }) => [check, entryId, expected, found]);
    const [last] = await store.listTrail({ limit: 1 });
    const entryId = `trail:${String(last?.seq)}`;
    const cheap = '{"factor":"0.1"}';
    const put = (data: object) => during('document', where, `data = '${JSON.stringify(data)}'`);
    expect(texts(await put({ ...stated, PRICES: cheap }))).toEqual([
      ['rights', entryId, `PRICES: ${stated.PRICES}`, `PRICES: ${cheap}`],
    ]);
    expect(texts(await put({ ...stated, COSTS: cheap }))).toEqual([
      ['rights', undefined, 'COSTS: not set', `COSTS: ${cheap}`],
    ]);
    const prices = ['rights', entryId, `PRICES: ${stated.PRICES}`, 'PRICES: not set'];
    expect(texts(await put({ MODELS: 'a' }))).toEqual([prices]);
    const gone = texts(await during('document', where, `id = 'another'`));
    expect(gone).toContainEqual(prices);
    expect(gone).toHaveLength(2);
    await expect(
      store.writeDocument({ ...SETTINGS, accountId: '', version: 2, data: stated }),
    ).rejects.toThrow('trail');
  });
});

/** Values that a column's kind does not allow for. */
const SPECIAL: Readonly<Record<string, string>> = {
  'account.state': "'suspended'",
  'api_key.state': "'suspended'",
  'ledger.reverses': 'id',
  'document.kind': "'written_event'",
  'member.state': "'ended'",
  'budget.scope': "'run'",
  'budget.period': "'day'",
  'budget.zone': "'Europe/Berlin'",
  'budget.action': "'notify'",
  'budget.counts': "'passed'",
  'document.data': `'{"accounts":["acct_other"]}'`,
};

/** A ledger with a row in each table that an audit compares, but those of archives. */
async function fill(store: BalanceStore): Promise<Filled> {
  const code = 'SPRING';
  const created = await store.create({
    creationId: 'c',
    account: { name: 'n', lowBalance: 3n },
    key: {
      name: 'k',
      limits: sampleLimits,
      expiresAt: null,
      models: ['claude-sonnet-4-5'],
      caps: { day: USD, total: 5n * USD },
    },
    credit: { amount: USD, source: 'paid' },
    by: BY,
  });
  if (created.outcome !== 'created' || created.key === undefined) throw new Error('not created');
  const [accountId, keyId] = [created.account.id, created.key.id];
  await store.rotateKey(keyId, { by: BY, graceMs: 3_600_000 });
  await store.updateKey(keyId, { limits: { burst: 9 } }, BY);
  const to = { accountId };
  const expiresAt = new Date('2200-01-01T00:00:00.000Z');
  await store.topUp({ topUpId: 't', to, amount: 5n, source: 'promotional', expiresAt, by: BY });
  const spender = await addSpender(store, accountId);
  const options = { by: BY };
  const ofAccount = { accountId, name: 'c', period: 'month' } as const;
  const reserve = await store.createBudget(
    { ...ofAccount, scope: 'reserve', amount: USD },
    options,
  );
  if (reserve.outcome !== 'created') throw new Error(reserve.outcome);
  const thenId = reserve.record.id;
  await store.createBudget({ ...ofAccount, scope: 'account', amount: 0n, thenId }, options);
  const pricing = { terms: {}, fees: [{ what: 'web_search_requests', units: 1, perUnit: 1n }] };
  for (let n = 0; n < 3; n += 1) {
    await store.settle(settlement(keyId, { pricing, cost: 3n, spender }), DEADLINE);
  }
  await store.rollUpUsage({ before: new Date('2200-01-01') });
  const [from, until] = [new Date('2026-01-01'), new Date('2026-02-01')];
  const month = '2026-01';
  await store.closeMonth({ month, from, until, zone: 'UTC', by: BY });
  const statement = { issuer: '', kind: 'statement', month, accountId, contents: '{}' } as const;
  await store.issueStatement({ ...statement, by: BY });
  const trail = (action: string, details: object) => ({ action, by: BY, details: { ...details } });
  await store.writeDocument({
    kind: PROMO_CODE,
    id: code,
    accountId: '',
    version: 0,
    data: { amount_usd: '1', accounts: [] },
    trail: trail('promo_code.create', { code }),
  });
  const set = (version: number, data: Readonly<Record<string, string>>, details: object) =>
    store.writeDocument({
      ...SETTINGS,
      accountId: '',
      version,
      data,
      trail: trail('settings.change', details),
    });
  await set(0, { MODELS: 'a' }, { MODELS: { before: null, after: 'a' } });
  const PRICES = '{"factor":"1.2"}';
  await set(1, { MODELS: 'a', PRICES }, { PRICES: { before: null, after: PRICES } });
  await store.sealEntries({ all: true });
  return { accountId, keyId, code };
}

/** A member of a group, and a budget of its own that is raised. */
async function addSpender(store: BalanceStore, accountId: string): Promise<Spender> {
  const options = { by: BY };
  const group = await store.createGroup({ accountId, name: 'g' }, options);
  if (group.outcome !== 'created') throw new Error(group.outcome);
  const { id: groupId, path: groups } = group.record;
  const member = await store.createMember({ accountId, name: 'm', groupId }, options);
  if (member.outcome !== 'created') throw new Error(member.outcome);
  const terms = { scope: 'member', period: 'month', withinGroup: groupId } as const;
  const budget = await store.createBudget({ accountId, name: 'b', amount: USD, ...terms }, options);
  if (budget.outcome !== 'created') throw new Error(budget.outcome);
  const until = new Date('2200-01-01T00:00:00.000Z');
  await store.raiseBudget({ budgetId: budget.record.id, amount: USD, until }, options);
  return { memberId: member.record.id, groups, tag: 't', run: 'r' };
}

async function openSqlite(): Promise<Ledger> {
  const dataDir = mkdtempSync(join(tmpdir(), 'balance-store-audited-'));
  const store = await openEmbeddedStore({ dataDir, pepper: PEPPER });
  const database = new DatabaseSync(join(dataDir, 'ledger.db'));
  const run = (statements: string) => Promise.resolve(database.exec(statements));
  return {
    store,
    place: { dataDir },
    bytes: (hex) => `x'${hex}'`,
    run,
    async unbind() {
      await run(
        'PRAGMA busy_timeout = 5000; PRAGMA foreign_keys = OFF; PRAGMA synchronous = OFF; ' +
          'PRAGMA ignore_check_constraints = ON',
      );
      const triggers = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'trigger'");
      for (const { name } of triggers.all()) await run(`DROP TRIGGER ${String(name)}`);
    },
    async close() {
      database.close();
      await store.close();
      rmSync(dataDir, { recursive: true });
    },
  };
}

async function openPostgres(server: PostgresServer | undefined): Promise<Ledger> {
  if (server === undefined) throw new Error('no server');
  const databaseUrl = await server.createDatabase();
  const store = await openPostgresStore({ connectionString: databaseUrl, pepper: PEPPER });
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  return {
    store,
    place: { databaseUrl },
    bytes: (hex) => `'\\x${hex}'::bytea`,
    async run(statements) {
      await client.query(statements);
    },
    async unbind() {
      const bound = await client.query<{ readonly at: string; readonly conname: string }>(
        'SELECT conrelid::regclass::text AS at, conname FROM pg_constraint ' +
          "WHERE contype IN ('f', 'c') AND connamespace = 'public'::regnamespace AND conrelid <> 0",
      );
      for (const { at, conname } of bound.rows) {
        await client.query(`ALTER TABLE ${at} DROP CONSTRAINT "${conname}"`);
      }
      await client.query('SET session_replication_role = replica');
    },
    async close() {
      await client.end();
      await store.close();
    },
  };
}
