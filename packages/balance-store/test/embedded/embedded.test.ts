/** The contract on the embedded ledger, who may open it, and what happens to its file. */

import { spawn } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { assertLocalFileSystem } from '../../src/embedded/files/file-system.js';
import {
  backUpEmbeddedLedger,
  openEmbeddedReader,
  openEmbeddedStore,
} from '../../src/embedded/index.js';
import { openReader } from '../../src/embedded/sqlite/connection.js';
import { digestsOf } from '../../src/embedded/sqlite/seals.js';
import type { WriteOperations } from '../../src/embedded/threads/operations.js';
import { createLedgerThread } from '../../src/embedded/threads/thread-client.js';
import {
  EmbeddedStoreLockedError,
  LedgerFileError,
  PepperMismatchError,
  SchemaMismatchError,
  SchemaTooNewError,
  SchemaTooOldError,
  StoreUnavailableError,
} from '../../src/index.js';
import type { BalanceStore } from '../../src/index.js';
import { balanceStoreContract, sampleLimits, settlement } from '../../src/testing/index.js';
import { expectAllOnce, spawnWriter } from '../writer-process.js';
import { rewriteLedger, timeLiteral } from '../rewrite-ledger.js';
import { runs } from '../../../../scripts/runs.cjs';

const PEPPER = 'pepper of the tests';
const DEADLINE = { deadlineMs: 20_000 };
const USD = 10n ** 14n;

const directories: string[] = [];
function newDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'balance-store-'));
  directories.push(directory);
  return directory;
}
afterAll(() => {
  for (const directory of directories) rmSync(directory, { recursive: true, force: true });
});

const fileOf = (dataDir: string): string => join(dataDir, 'ledger.db');
const open = (dataDir: string, options: { access?: 'guest'; migrate?: false } = {}) =>
  openEmbeddedStore({
    dataDir,
    pepper: PEPPER,
    readsIndex: process.env['TUNING'] !== 'none',
    ...options,
  });

/** Runs SQL as another program would. */
function runSql(dataDir: string, sql: string): void {
  const database = new DatabaseSync(fileOf(dataDir));
  try {
    database.exec(sql);
  } finally {
    database.close();
  }
}

async function newKey(store: BalanceStore, balance = USD): Promise<string> {
  const { record } = await store.createKey({ name: 'k', limits: sampleLimits, expiresAt: null });
  await store.topUp({
    topUpId: record.id,
    to: { keyId: record.id },
    amount: balance,
    by: { name: 'tests' },
  });
  return record.id;
}

async function settleMany(store: BalanceStore, keyId: string, count: number) {
  const charges = Array.from({ length: count }, () => settlement(keyId));
  await Promise.all(charges.map((charge) => store.settle(charge, DEADLINE)));
  return charges;
}

/** Makes the ledger of a process that was killed. Its charges are in the write-ahead log. */
async function killedLedger(dataDir: string): Promise<Map<string, bigint>> {
  const acknowledged = new Map<string, bigint>();
  const writer = spawnWriter(['embedded', dataDir, '20'], acknowledged);
  await writer.hasAcknowledged(200);
  await writer.kill();
  expect(statSync(`${fileOf(dataDir)}-wal`).size).toBeGreaterThan(0);
  return acknowledged;
}

balanceStoreContract({
  name: 'embedded',
  runner: { describe, it, beforeAll, afterAll },
  async open() {
    const dataDir = newDirectory();
    const store = await open(dataDir);
    return {
      store,
      async tamper(sql, triggers = 'enabled') {
        // Lets every write that the store has begun end first.
        await store.ping();
        if (triggers === 'disabled') {
          await rewriteLedger({ dataDir }, sql);
          return;
        }
        const database = new DatabaseSync(fileOf(dataDir));
        // The store may begin to write of its own accord.
        database.exec('PRAGMA busy_timeout = 5000');
        try {
          database.exec(sql);
        } finally {
          database.close();
        }
      },
      columnsOf(table) {
        const database = new DatabaseSync(fileOf(dataDir), { readOnly: true });
        try {
          const rows = database.prepare('SELECT name FROM pragma_table_info(?)').all(table);
          return Promise.resolve(rows.map(({ name }) => String(name)));
        } finally {
          database.close();
        }
      },
      pepper: PEPPER,
      openBeside: (peppers) => openEmbeddedStore({ dataDir, access: 'guest', ...peppers }),
      literal: {
        time: (time) => timeLiteral({ dataDir }, time),
        bytes: (bytes) => `x'${bytes.toString('hex')}'`,
      },
      digestsOf(accountId) {
        const reader = openReader(fileOf(dataDir));
        const last = reader.get<{ seq: number }>('SELECT seq FROM account WHERE id = ?', accountId);
        const digests = digestsOf(reader, accountId, 1, last?.seq ?? 0);
        reader.close();
        return Promise.resolve(digests);
      },
      close: () => store.close(),
    };
  },
});

describe('embedded: owner and guests', () => {
  // F27: second gateway on the embedded ledger: refused 20 of 20 times, the first unaffected.
  it('refuses a second owner without harm to the first', async () => {
    const dataDir = newDirectory();
    const store = await open(dataDir);
    for (let attempt = 0; attempt < 20; attempt += 1) {
      await expect(open(dataDir)).rejects.toThrow(EmbeddedStoreLockedError);
    }
    await store.ping();
    await store.close();
    await (await open(dataDir)).close();
  });

  // F27
  it('refuses one of two owners that start at once', async () => {
    const dataDir = newDirectory();
    const results = await Promise.allSettled([open(dataDir), open(dataDir)]);
    expect(results.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    for (const result of results) if (result.status === 'fulfilled') await result.value.close();
  });

  // F27
  it('refuses an owner while another process is the owner, until that process is killed', async () => {
    const dataDir = newDirectory();
    const writer = spawnWriter(['embedded', dataDir, '1'], new Map());
    await writer.hasAcknowledged(1);
    await expect(open(dataDir)).rejects.toThrow(EmbeddedStoreLockedError);
    await writer.kill();
    await (await open(dataDir)).close();
  });

  it('opens for a guest if the lock file lacks its table, because the first start was killed', async () => {
    const dataDir = newDirectory();
    await (await open(dataDir)).close();
    new DatabaseSync(join(dataDir, 'ledger.lock')).exec('DROP TABLE generation');
    const guest = await open(dataDir, { access: 'guest' });
    expect((await guest.audit()).isSound).toBe(true);
    await guest.close();
  });

  // F93: commands beside the gateway that owns the embedded ledger: use the same ledger; nothing
  // lost, nothing doubled.
  it('guests in another process and the owner see and charge the same ledger', async () => {
    const dataDir = newDirectory();
    const acknowledged = new Map<string, bigint>();
    const writer = spawnWriter(['embedded', dataDir, '20'], acknowledged);
    await writer.hasAcknowledged(100);
    const guests = [
      await open(dataDir, { access: 'guest' }),
      await open(dataDir, { access: 'guest' }),
    ];
    const [first, second] = guests as [BalanceStore, BalanceStore];
    const keyId = await newKey(first);
    expect((await second.readStanding(keyId)).standing).toBe('active');
    for (let round = 0; round < 20; round += 1) {
      for (const guest of guests) {
        for (const { requestId, amount } of await settleMany(guest, keyId, 3)) {
          acknowledged.set(requestId, amount);
        }
      }
    }
    await second.suspendKey(keyId);
    expect((await first.readStanding(keyId)).standing).toBe('suspended');
    await writer.hasAcknowledged(2_000);
    await writer.kill();
    for (const guest of guests) await guest.close();
    const store = await open(dataDir);
    await expectAllOnce(store, acknowledged);
    await store.close();
  });

  // F93
  it('a reader sees each charge as soon as it is acknowledged', async () => {
    const dataDir = newDirectory();
    const store = await open(dataDir);
    const keyId = await newKey(store);
    const { credential } = await store.createKey({
      name: 'k',
      limits: sampleLimits,
      expiresAt: null,
    });
    const reader = openEmbeddedReader({ dataDir, pepper: PEPPER });
    expect(await reader.findKeyByCredential(credential)).toMatchObject({ name: 'k' });
    for (let round = 0; round < 200; round += 1) {
      const settled = await store.settle(settlement(keyId), DEADLINE);
      expect(await reader.readStanding(keyId)).toMatchObject({
        balance: 'balance' in settled && settled.balance,
      });
    }
    reader.close();
    await store.close();
    await expect(reader.readStanding(keyId)).rejects.toThrow(StoreUnavailableError);
  });
});

describe('embedded: durability', () => {
  // F4
  // F133: kill -9 or a full disk during a roll-up; a sum of a day was changed: nothing is counted
  // twice or lost; the audit names the day, account and key.
  it('loses and doubles nothing when its process is killed repeatedly', async () => {
    const dataDir = newDirectory();
    const acknowledged = new Map<string, bigint>();
    const charges = runs(__filename, 'charges before a kill');
    for (let kill = 1; kill <= 5; kill += 1) {
      const writer = spawnWriter(['embedded', dataDir, '100'], acknowledged);
      await writer.hasAcknowledged(charges);
      await writer.kill();
    }
    const store = await open(dataDir);
    await expectAllOnce(store, acknowledged);
    await store.close();
  });

  // F133
  // F26: storage fails: only stored charges are acknowledged; 503, reason in the log. A limit on
  // the size of a file simulates the full disk. power.test.ts has a disk whose writes and flushes
  // fail with EIO.
  it('acknowledges nothing that a full disk did not store, and recovers', async () => {
    const dataDir = newDirectory();
    const acknowledged = new Map<string, bigint>();
    const first = spawnWriter(['embedded', dataDir, '10'], acknowledged);
    await first.hasAcknowledged(10);
    await first.kill();
    const writer = spawnWriter(['embedded', dataDir, '100'], acknowledged, {
      maxFileBytes: 2_000_000,
    });
    await writer.hasStalled();
    await writer.kill();
    const store = await open(dataDir);
    await expectAllOnce(store, acknowledged);
    expect((await store.settle(settlement(await newKey(store)), DEADLINE)).outcome).toBe('settled');
    await store.close();
  });

  it('a thread that could not start is started again by the next call', async () => {
    const dataDir = newDirectory();
    const file = join(dataDir, 'later', 'ledger.db');
    const thread = createLedgerThread<WriteOperations>({ file, role: 'write', checkpoints: true });
    for (let attempt = 0; attempt < 2; attempt += 1) {
      await expect(thread.call('ping', [], undefined)).rejects.toThrow(StoreUnavailableError);
    }
    mkdirSync(join(dataDir, 'later'));
    await thread.call('ping', [], undefined);
    await thread.stop();
    await expect(thread.call('ping', [], undefined)).rejects.toThrow('the store is closed');
  });

  // F92: the embedded ledger's file: replaced or deleted while it is open: charges wait, the error
  // says so; they continue when the file is back.
  it.each([
    ['moved away', () => undefined],
    [
      'replaced',
      (file: string) => {
        writeFileSync(file, 'another file');
      },
    ],
  ])('refuses to charge into a file that was %s while it was open', async (_how, putOther) => {
    const dataDir = newDirectory();
    const store = await open(dataDir);
    const keyId = await newKey(store);
    renameSync(fileOf(dataDir), join(dataDir, 'elsewhere.db'));
    putOther(fileOf(dataDir));
    await expect(store.settle(settlement(keyId), { deadlineMs: 300 })).rejects.toThrow(
      StoreUnavailableError,
    );
    await expect(store.ping()).rejects.toThrow('was replaced or deleted');
    renameSync(join(dataDir, 'elsewhere.db'), fileOf(dataDir));
    expect((await store.settle(settlement(keyId), DEADLINE)).outcome).toBe('settled');
    await store.close();
  });
});

describe('embedded: a charge that cannot be sent or recorded', () => {
  // F312: one charge of a batch cannot be copied to the writing thread, or the balance of its
  // account is damaged in the file: it is quarantined, and the charges of others are settled.
  it('is quarantined alone if it cannot be copied', async () => {
    const store = await open(newDirectory());
    const keyId = await newKey(store);
    const odd = { ...settlement(keyId), format: () => 'a function' };
    const charges = [settlement(keyId), odd, settlement(keyId)];
    const outcomes = await Promise.all(charges.map((charge) => store.settle(charge, DEADLINE)));
    expect(outcomes.map(({ outcome }) => outcome)).toEqual(['settled', 'quarantined', 'settled']);
    expect(outcomes[1]).toMatchObject({ reason: expect.stringContaining('could not be cloned') });
    const until = new Date(Date.now() + 1_000);
    const [quarantined] = await store.listQuarantined({ from: new Date(0), until, limit: 2 });
    expect(quarantined?.requestId).toBe(odd.requestId);
    expect(store.charging().fault).toBeUndefined();
    await store.close();
  });

  // F312
  it('is quarantined alone if the balance of its account is damaged', async () => {
    const dataDir = newDirectory();
    const store = await open(dataDir);
    const [sound, damaged] = [await newKey(store), await newKey(store)];
    const accountId = (await store.getKey(damaged))?.accountId ?? '';
    runSql(dataDir, `UPDATE account SET balance = '1x.00000000000000' WHERE id = '${accountId}'`);
    const charges = [sound, damaged, sound].map((keyId) => settlement(keyId));
    const outcomes = await Promise.all(charges.map((charge) => store.settle(charge, DEADLINE)));
    expect(outcomes.map(({ outcome }) => outcome)).toEqual(['settled', 'quarantined', 'settled']);
    await store.close();
  });

  it('leaves no call behind in the thread', async () => {
    const dataDir = newDirectory();
    await (await open(dataDir)).close();
    const thread = createLedgerThread<WriteOperations>({
      file: fileOf(dataDir),
      role: 'write',
      checkpoints: true,
    });
    const odd = { ...settlement('key'), format: () => 'a function' };
    await expect(thread.call('settleBatch', [[odd]], undefined)).rejects.toMatchObject({
      name: 'DataCloneError',
    });
    expect(thread.isIdle()).toBe(true);
    await thread.stop();
  });
});

describe('embedded: the file', () => {
  // F86
  it('is recovered when its process was killed', async () => {
    const dataDir = newDirectory();
    const acknowledged = await killedLedger(dataDir);
    const store = await open(dataDir);
    await expectAllOnce(store, acknowledged);
    await store.close();
  });

  // F87: the embedded ledger's file: backup copied over it while the old log exists: refused until
  // the log is moved away; the backup is not changed.
  it('is not mixed with the log of another file: a backup in its place is not changed', async () => {
    const dataDir = newDirectory();
    const store = await open(dataDir);
    await settleMany(store, await newKey(store), 10);
    const backup = join(newDirectory(), 'backup.db');
    await backUpEmbeddedLedger({ dataDir, to: backup });
    await store.close();
    await killedLedger(dataDir);

    copyFileSync(backup, fileOf(dataDir));
    for (let attempt = 0; attempt < 2; attempt += 1) {
      for (const access of [undefined, 'guest'] as const) {
        await expect(open(dataDir, access === undefined ? {} : { access })).rejects.toThrow(
          /is not the file that .*-wal belongs to/,
        );
      }
    }
    expect(readFileSync(fileOf(dataDir))).toEqual(readFileSync(backup));
    for (const suffix of ['-wal', '-shm']) rmSync(`${fileOf(dataDir)}${suffix}`);
    const restored = await open(dataDir);
    expect(await restored.audit()).toMatchObject({ isSound: true, entries: 11 });
    await restored.close();
  });

  // F88: the embedded ledger's file: emptied or deleted while its log exists: refused; no new
  // ledger is created.
  it('that is empty or missing while its log still exists is refused, and no new one is created', async () => {
    const dataDir = newDirectory();
    await killedLedger(dataDir);
    truncateSync(fileOf(dataDir), 0);
    await expect(open(dataDir)).rejects.toThrow(LedgerFileError);
    rmSync(fileOf(dataDir));
    await expect(open(dataDir)).rejects.toThrow(LedgerFileError);
    expect(existsSync(fileOf(dataDir))).toBe(false);
  });

  // F89: the embedded ledger's file: another program's file, truncated, or damaged: refused, or
  // detected by the audit.
  it('of another program, of no known format, or truncated is refused, and the directory is free again', async () => {
    const dataDir = newDirectory();
    runSql(dataDir, 'CREATE TABLE recipe (name TEXT)');
    await expect(open(dataDir)).rejects.toThrow('is a database of another program');
    writeFileSync(fileOf(dataDir), 'Dear diary, today I have learnt about databases.\n'.repeat(99));
    await expect(open(dataDir)).rejects.toThrow(LedgerFileError);
    await expect(open(dataDir)).rejects.toThrow(/is not a ledger, or it is damaged/);
    rmSync(fileOf(dataDir));

    const store = await open(dataDir);
    await settleMany(store, await newKey(store), 500);
    await store.close();
    truncateSync(fileOf(dataDir), Math.floor(statSync(fileOf(dataDir)).size / 2));
    await expect(open(dataDir)).rejects.toThrow(/restore it from a backup/);
    rmSync(fileOf(dataDir));
    await (await open(dataDir)).close();
  });

  // F89
  it('that is damaged inside does not pass an audit', async () => {
    const dataDir = newDirectory();
    const store = await open(dataDir);
    await settleMany(store, await newKey(store), 2_000);
    await store.close();
    const bytes = readFileSync(fileOf(dataDir));
    for (let offset = 60 * 4096; offset < bytes.length; offset += 7 * 4096)
      bytes.fill(0xa5, offset, offset + 4096);
    writeFileSync(fileOf(dataDir), bytes);
    const damaged = await open(dataDir);
    const audit = await damaged.audit().catch((error: unknown) => error);
    expect(audit instanceof StoreUnavailableError || !(audit as { isSound: boolean }).isSound).toBe(
      true,
    );
    await damaged.close();
  });

  // F90: the embedded ledger's file: file that the gateway may not write: refused with the reason.
  it('that this user may not write is refused with the reason', async () => {
    const dataDir = newDirectory();
    await (await open(dataDir)).close();
    // File permissions do not restrict root, so a user without any rights makes the attempt.
    if (process.getuid?.() === 0) chownSync(dataDir, 0, 0);
    chmodSync(dataDir, 0o555);
    for (const name of ['ledger.db', 'ledger.lock']) chmodSync(join(dataDir, name), 0o444);
    const { code, stderr } = await runOpener(dataDir);
    chmodSync(dataDir, 0o755);
    expect(stderr).toMatch(/LedgerFileError: .*cannot be opened for writing \(.*read-only/s);
    expect(code).not.toBe(0);
  });

  // F91: the embedded ledger's file: network file system: refused: file locks fail there. No
  // network file system was mounted: the test uses the type numbers that Linux reports for them.
  it.each([
    [0x6969, 'NFS'],
    [0xff534d42 | 0, 'CIFS'],
    [0xfe534d42, 'SMB'],
  ])('on a network file system (%i) is refused', (type, name) => {
    expect(() => {
      assertLocalFileSystem('/data', () => type);
    }).toThrow(`/data is on ${name}, a network file system`);
    expect(() => {
      assertLocalFileSystem('/data', () => 0xef53);
    }).not.toThrow();
  });
});

describe('embedded: schema', () => {
  // F95: older, newer or changed schema: migrated only by `serve` and `migrate`; a failed one
  // changes nothing.
  it('migrates an empty file only if it may; otherwise it says that a migration is missing', async () => {
    const dataDir = newDirectory();
    const openAsCommand = () => open(dataDir, { migrate: false, access: 'guest' });
    await expect(openAsCommand()).rejects.toThrow(
      new SchemaTooOldError(`there is no ledger in ${dataDir}`),
    );
    expect(readdirSync(dataDir)).toEqual([]);
    writeFileSync(fileOf(dataDir), '');
    await expect(openAsCommand()).rejects.toThrow(SchemaTooOldError);
    await (await open(dataDir)).close();
    await (await openAsCommand()).close();
  });

  // F95
  it('of a newer version, or changed, is refused', async () => {
    const dataDir = newDirectory();
    await (await open(dataDir)).close();
    runSql(dataDir, "INSERT INTO schema_migration VALUES ('29990101000000_later', 'x', 0)");
    await expect(open(dataDir)).rejects.toThrow(SchemaTooNewError);
    await expect(open(dataDir, { access: 'guest', migrate: false })).rejects.toThrow(
      SchemaTooNewError,
    );
    runSql(
      dataDir,
      "DELETE FROM schema_migration WHERE name LIKE '2999%'; UPDATE schema_migration SET checksum = 'x'",
    );
    await expect(open(dataDir)).rejects.toThrow(SchemaMismatchError);
  });

  // F95
  it('stays as it was when a migration fails', async () => {
    const dataDir = newDirectory();
    // A ledger without a history, in which one of the tables exists already.
    runSql(dataDir, 'PRAGMA application_id = 1279607879; CREATE TABLE ledger_seal (id INTEGER)');
    await expect(open(dataDir)).rejects.toThrow('ledger_seal already exists');
    const database = new DatabaseSync(fileOf(dataDir));
    const tables = database.prepare('SELECT name FROM sqlite_schema').all();
    database.close();
    expect(tables.map(({ name }) => name)).toEqual(['ledger_seal']);
  });

  it('refuses another pepper', async () => {
    const dataDir = newDirectory();
    const store = await open(dataDir);
    await newKey(store);
    await store.close();
    await expect(openEmbeddedStore({ dataDir, pepper: 'another' })).rejects.toThrow(
      PepperMismatchError,
    );
  });
});

describe('embedded: backups', () => {
  // F94: backup of the embedded ledger during charges, then a restore: sound and whole; an anchor
  // shows that a restore lost charges.
  it('made during charges are complete, pass an audit and open without other files; the anchor shows that a restore lost charges', async () => {
    const dataDir = newDirectory();
    const store = await open(dataDir);
    const keyId = await newKey(store, 1_000n * USD);
    await settleMany(store, keyId, 5_000);
    const atOnce = 50;
    let isRunning = true;
    let settled = 5_000;
    const writer = (async () => {
      while (isRunning) settled += (await settleMany(store, keyId, atOnce)).length;
    })();
    const before = settled;
    const backup = join(newDirectory(), 'backup.db');
    const progress: number[] = [];
    await backUpEmbeddedLedger({ dataDir, to: backup, onProgress: (done) => progress.push(done) });
    // Charges that the ledger had committed may not have been acknowledged yet.
    const after = settled + atOnce;
    isRunning = false;
    await writer;
    expect(progress.at(-1)).toBe(1);
    await expect(backUpEmbeddedLedger({ dataDir, to: backup })).rejects.toThrow('exists');
    await settleMany(store, keyId, 1);
    const anchor = await store.sealEntries({ all: true });
    await store.close();

    const restoredDir = newDirectory();
    copyFileSync(backup, fileOf(restoredDir));
    const restored = await open(restoredDir);
    const audit = await restored.audit();
    expect(audit).toMatchObject({ isSound: true, gap: 0n });
    expect(audit.entries - 1).toBeGreaterThanOrEqual(before);
    expect(audit.entries - 1).toBeLessThanOrEqual(after);
    expect((await restored.audit({ anchor })).differences).toMatchObject([
      { check: 'block', found: 'none' },
    ]);
    await restored.close();
  });

  it('are refused if there is no ledger to back up', async () => {
    const dataDir = newDirectory();
    await expect(backUpEmbeddedLedger({ dataDir, to: join(dataDir, 'b') })).rejects.toThrow(
      LedgerFileError,
    );
  });
});

/** Opens the ledger in a process of a user without rights. */
function runOpener(dataDir: string): Promise<{ code: number | null; stderr: string }> {
  const hooks = join(__dirname, '../run-typescript.mjs');
  const program = join(__dirname, '../writer.ts');
  const nobody = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
  const opener = spawn(process.execPath, ['--import', hooks, program, 'embedded', dataDir, '1'], {
    stdio: ['ignore', 'ignore', 'pipe'],
    ...nobody,
  });
  let stderr = '';
  opener.stderr.on('data', (bytes: Buffer) => {
    stderr += bytes.toString();
  });
  return new Promise((resolve) => {
    opener.once('close', (code) => {
      resolve({ code, stderr });
    });
  });
}
