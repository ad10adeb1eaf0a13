/** Archives of a ledger in use: processes that are killed, full disks, moves and backups. */

import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import {
  backUpEmbeddedLedger,
  moveEmbeddedLedger,
  openEmbeddedStore,
} from '../../src/embedded/index.js';
import { verifyArchive } from '../../src/index.js';
import type { BalanceStore } from '../../src/index.js';
import { openPostgresStore } from '../../src/postgres/index.js';
import { sampleLimits, settlement } from '../../src/testing/index.js';
import { waitPastMidnight } from '../../src/testing/midnight.js';
import { usePostgresServer } from '../postgres-server.js';
import type { PostgresServer } from '../postgres-server.js';
import { earlier, hoursEarlier, rewriteLedger } from '../rewrite-ledger.js';
import type { LedgerPlace } from '../rewrite-ledger.js';

const PEPPER = 'pepper of the tests';
const BY = { name: 'tests' };
const DEADLINE = { deadlineMs: 20_000 };
const DAY_MS = 86_400_000;
const AGE_DAYS = 40;
const UNTIL = new Date((Math.floor(Date.now() / DAY_MS) - 10) * DAY_MS);
/** More than two steps of deletion, each of which deletes 2,000 charges. */
const CHARGES = 5_000;
/** For what does not depend on the steps. */
const FEW_CHARGES = 1_000;

interface Place {
  readonly kind: 'embedded' | 'postgres';
  readonly at: string;
  readonly store: BalanceStore;
  readonly ledger: LedgerPlace;
}

let server: PostgresServer;
const directories: string[] = [];
const open: BalanceStore[] = [];
beforeAll(async () => {
  server = await usePostgresServer();
});
afterEach(async () => {
  for (const store of open.splice(0)) await store.close();
});
afterAll(async () => {
  for (const directory of directories) rmSync(directory, { recursive: true, force: true });
  await server.stop();
});

function newDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'archive-'));
  directories.push(directory);
  return directory;
}

const places: Readonly<Record<Place['kind'], () => Promise<Place>>> = {
  async embedded() {
    const at = newDirectory();
    const store = await openEmbeddedStore({ dataDir: at, pepper: PEPPER });
    return {
      kind: 'embedded',
      at,
      store,
      ledger: { dataDir: at },
    };
  },
  async postgres() {
    const at = await server.createDatabase();
    const store = await openPostgresStore({ connectionString: at, pepper: PEPPER });
    return {
      kind: 'postgres',
      at,
      store,
      ledger: { databaseUrl: at },
    };
  },
};

/** Makes one ledger with charges that are forty days old and one charge of today. */
async function oldLedger(kind: Place['kind'], charges = FEW_CHARGES) {
  const place = await places[kind]();
  const { store, ledger } = place;
  open.push(store);
  await waitPastMidnight();
  const { record } = await store.createKey({ name: 'k', limits: sampleLimits, expiresAt: null });
  const topUp = { to: { keyId: record.id }, amount: 10n ** 16n, by: BY };
  await store.topUp({ ...topUp, topUpId: 'first' });
  const charge = () => store.settle(settlement(record.id), DEADLINE);
  const batches = charges / 500;
  for (let batch = 0; batch < batches; batch += 1) {
    await Promise.all(Array.from({ length: 500 }, charge));
  }
  await store.topUp({ ...topUp, topUpId: 'second' });
  await rewriteLedger(
    ledger,
    `UPDATE ledger SET created_at = ${earlier(ledger, AGE_DAYS * DAY_MS)}; ` +
      hoursEarlier(AGE_DAYS),
  );
  await charge();
  await store.sealEntries({ all: true });
  const before = await store.audit();
  expect(before).toMatchObject({ isSound: true, entries: charges + 3 });
  const figuresOf = ({
    charged,
    credited,
    balances,
    entries,
    archived,
    isSound,
  }: typeof before) => ({
    charged,
    credited,
    balances,
    isSound,
    entries: entries + archived,
  });
  return {
    ...place,
    charge,
    file: join(newDirectory(), 'archive.jsonl'),
    keyId: record.id,
    /** Expects that the ledger has lost nothing and counts nothing twice. */
    expectSame: async () => {
      const { head: anchor } = before;
      expect(figuresOf(await store.audit({ anchor }))).toEqual(figuresOf(before));
    },
  };
}

type OldLedger = Awaited<ReturnType<typeof oldLedger>>;

/** Runs `archiver.ts`. */
function archive(
  { kind, at, file }: OldLedger,
  { killAt = [], maxFileBytes }: { killAt?: readonly string[]; maxFileBytes?: number } = {},
): Promise<{
  readonly signal: string | null;
  readonly code: number | null;
  readonly text: string;
}> {
  const hooks = join(__dirname, '../run-typescript.mjs');
  const limit = maxFileBytes === undefined ? 'unlimited' : String(Math.floor(maxFileBytes / 512));
  const command = ['-c', `ulimit -f ${limit} && exec "$0" "$@"`, process.execPath];
  const args = ['--import', hooks, join(__dirname, '../archiver.ts')];
  const child = spawn('sh', [...command, ...args, kind, at, UNTIL.toISOString(), file, ...killAt], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (part: string) => {
      text += part;
    });
  }
  return new Promise((resolve) => {
    child.once('close', (code, signal) => {
      resolve({ code, signal, text });
    });
  });
}

describe.each(['embedded', 'postgres'] as const)('archive of a ledger in use: %s', (kind) => {
  // F118: kill -9 at any point of an archive: nothing lost or counted twice; the same command
  // continues.
  it('is continued by the same command after a kill -9 at any point', async () => {
    const ledger = await oldLedger(kind, CHARGES);
    const { store, file, expectSame } = ledger;
    const points = [
      { killAt: ['audit'], hasFile: false, archives: 0 },
      { killAt: ['write', '1'], hasFile: false, archives: 0 },
      { killAt: ['verify'], hasFile: true, archives: 0 },
      { killAt: ['mark', '0'], hasFile: true, archives: 0 },
      { killAt: ['mark', '1'], hasFile: true, archives: 1 },
      { killAt: ['delete', '1'], hasFile: true, archives: 1 },
    ];
    let text: string | undefined;
    for (const { killAt, hasFile, archives } of points) {
      expect(await archive(ledger, { killAt })).toMatchObject({ signal: 'SIGKILL' });
      expect([killAt, existsSync(file)]).toEqual([killAt, hasFile]);
      expect(await store.listArchives()).toHaveLength(archives);
      await expectSame();
      // Once the file is complete, it is used and never written again.
      if (hasFile) text ??= readFileSync(file, 'utf8');
      if (hasFile) expect(readFileSync(file, 'utf8')).toBe(text);
    }
    // The last kill came after the first step of 2,000.
    const left = await store.listEntries({ kind: 'charge', until: UNTIL, limit: CHARGES });
    expect(left.entries).toHaveLength(CHARGES - 2_000);
    expect(await archive(ledger)).toMatchObject({ code: 0, text: 'deleted 3000\n' });
    expect(await archive(ledger)).toMatchObject({ code: 0, text: 'deleted 0\n' });
    await expectSame();
    const { file: summary, differences } = await store.compareArchive(file);
    expect(differences).toEqual([]);
    expect(summary).toMatchObject({ charges: CHARGES, accounts: 1 });
    expect((await store.listEntries({ kind: 'charge', limit: 10 })).entries).toHaveLength(1);
  });

  // F122
  it('charges go on while another process archives', async () => {
    const ledger = await oldLedger(kind, CHARGES);
    let isRunning = true;
    let charges = 1;
    const writer = (async () => {
      while (isRunning) {
        expect(await ledger.charge()).toMatchObject({ outcome: 'settled' });
        charges += 1;
      }
    })();
    const audits = (async () => {
      while (isRunning) expect((await ledger.store.audit()).differences).toEqual([]);
    })();
    expect(await archive(ledger)).toMatchObject({ code: 0 });
    isRunning = false;
    await Promise.all([writer, audits]);
    await ledger.store.sealEntries({ all: true });
    expect(await ledger.store.audit()).toMatchObject({
      differences: [],
      archived: CHARGES,
      entries: charges + 2,
    });
  });

  // F119: archive: full disk, refused write, file that exists: refused with the reason; nothing
  // deleted, nothing overwritten.
  it('a full disk leaves no file and changes nothing', async () => {
    const ledger = await oldLedger(kind);
    const { code, text } = await archive(ledger, { maxFileBytes: 128 * 1024 });
    expect(text).toMatch(/cannot be written \(EFBIG.*nothing was changed/);
    expect(code).toBe(1);
    expect([existsSync(ledger.file), existsSync(`${ledger.file}.unfinished`)]).toEqual([
      false,
      false,
    ]);
    expect(await ledger.store.listArchives()).toEqual([]);
    await ledger.expectSame();
  });

  // F121
  it('the file of another ledger is not used, and a ledger that is not sound is not archived', async () => {
    const [one, other] = [await oldLedger(kind), await oldLedger(kind)];
    expect(await archive(one)).toMatchObject({ code: 0 });
    const foreign = await archive({ ...other, file: one.file });
    expect(foreign.text).toMatch(/is not a file of this archive: it has .* nothing is overwritten/);
    expect(await other.store.listArchives()).toEqual([]);
    const { differences } = await other.store.compareArchive(one.file);
    expect(differences[0]?.expected).toMatch(/^block 1 with the hash [0-9a-f]{64}$/);
    expect(differences.map(({ expected }) => expected)).toContain('no such archive');
    await rewriteLedger(other.ledger, "UPDATE ledger SET model = 'another' WHERE seq = 5");
    expect((await archive(other)).text).toMatch(/the ledger is not sound: .*nothing was archived/);
    await one.expectSame();
  });
});

describe('an archived ledger', () => {
  it('keeps its archives in a backup and in a move to PostgreSQL', async () => {
    const ledger = await oldLedger('embedded');
    expect(await archive(ledger)).toMatchObject({ code: 0 });
    const audit = await ledger.store.audit();
    const archives = await ledger.store.listArchives();

    const dataDir = newDirectory();
    await backUpEmbeddedLedger({ dataDir: ledger.at, to: join(dataDir, 'ledger.db') });
    const copy = await openEmbeddedStore({ dataDir, pepper: PEPPER });
    open.push(copy);
    expect(await copy.audit()).toEqual(audit);
    expect((await copy.compareArchive(ledger.file)).differences).toEqual([]);

    await ledger.store.close();
    const connectionString = await server.createDatabase();
    await moveEmbeddedLedger({ dataDir: ledger.at, pepper: PEPPER, connectionString });
    const moved = await openPostgresStore({ connectionString, pepper: PEPPER });
    open.push(moved);
    expect(await moved.audit({ anchor: audit.head })).toEqual(audit);
    expect(await moved.listArchives()).toEqual(archives);
    expect((await moved.compareArchive(ledger.file)).differences).toEqual([]);
    expect(await verifyArchive(ledger.file)).toMatchObject({ charges: FEW_CHARGES });
  });
});
