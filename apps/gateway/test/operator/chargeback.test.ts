/** The daily file of what each member, group and tag cost, and the export in FOCUS's columns. */

import { hash } from 'node:crypto';
import {
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import type { Spender } from '@gateway/balance-store';
import { settlement } from '@gateway/balance-store/testing';
import { parseUsd } from '@gateway/billing';
import { chargebackCsv, readChargeback } from '../../src/operator/exports/chargeback.js';
import { verifyChargebacks, writeChargeback } from '../../src/operator/exports/chargeback-files.js';
import { folderPlace } from '../../src/operator/exports/chargeback-folder.js';
import { startChargebackWriter } from '../../src/operator/chargeback-writer.js';
import { startTestGateway } from '../support/gateway.js';
import type { TestGateway } from '../support/gateway.js';
import { untilSteady } from '../support/steady-time.js';

const DAY_MS = 86_400_000;
const BY = { by: { name: 'tests' } } as const;
const folders: string[] = [];

let gateway: TestGateway;
let today: Date;

beforeAll(async () => {
  await untilSteady('day');
  today = new Date(Math.floor(Date.now() / DAY_MS) * DAY_MS);
  gateway = await startTestGateway();
  const { store } = gateway.running;
  const [key, other] = [await gateway.createKey({ name: 'shared' }), await gateway.createKey()];
  const { account_id: accountId } = await gateway.call('showKey', { key_id: key.id });
  const group = await store.createGroup(
    { accountId, name: 'Databases', metadata: { cost_center: '=17' } },
    BY,
  );
  if (group.outcome !== 'created') throw new Error(group.outcome);
  const member = await store.createMember(
    { accountId, name: 'Ada', externalId: 'a1', groupId: group.record.id, metadata: { desk: '4' } },
    BY,
  );
  if (member.outcome !== 'created') throw new Error(member.outcome);
  const ada = { memberId: member.record.id, groups: member.record.groups };
  const charges: readonly [string, Spender | undefined][] = [
    [key.id, ada],
    [key.id, { ...ada, tag: 'shop' }],
    [key.id, undefined],
    [other.id, undefined],
  ];
  for (const [keyId, spender] of charges) {
    await store.settle(settlement(keyId, { spender, cost: 5n }), { deadlineMs: 20_000 });
  }
});
afterAll(async () => {
  await gateway.stop();
  for (const folder of folders) rmSync(folder, { recursive: true });
});

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'chargeback-'));
  folders.push(folder);
  return folder;
}

const chargeback = (now: number) =>
  readChargeback(gateway.running.store, {
    day: today,
    accountId: undefined,
    provider: 'Example Ltd',
    now,
  });

const billedOf = (rows: readonly Readonly<Record<string, string | number>>[]) =>
  rows.reduce((sum, { BilledCost }) => sum + parseUsd(String(BilledCost)), 0n);

describe('the chargeback of a day', () => {
  it('has a row of each member, group and tag with names and metadata, and all of the charges', async () => {
    const { rows, charged } = await chargeback(today.getTime() + DAY_MS + 3_600_000);
    const sums = await gateway.running.store.readUsage({
      by: [],
      from: today,
      until: new Date(today.getTime() + DAY_MS),
    });
    const spent = sums.reduce((sum, { listPrice, writtenOff }) => sum + listPrice - writtenOff, 0n);
    expect([billedOf(rows), charged]).toEqual([spent, spent]);
    expect(
      rows.map((row) => [row['x_MemberName'], row['x_GroupName'], row['x_Tag'], row['x_Requests']]),
    ).toEqual(
      expect.arrayContaining([
        ['Ada', 'Databases', '', 1],
        ['Ada', 'Databases', 'shop', 1],
        ['', '', '', 1],
        ['', '', '', 1],
      ]),
    );
    expect(rows).toHaveLength(4);
    const row = rows.find((each) => each['x_Tag'] === 'shop');
    expect(row).toMatchObject({
      SubAccountName: 'shared',
      x_MemberExternalId: 'a1',
      x_InputTokens: 100,
      x_OutputTokens: 10,
      ChargePeriodStart: today.toISOString(),
      ConsumedQuantity: 110,
    });
    expect(JSON.parse(String(row?.['Tags']))).toMatchObject({
      member: 'Ada',
      group: 'Databases',
      tag: 'shop',
      'group.metadata.cost_center': '=17',
      'member.metadata.desk': '4',
    });
    expect(chargebackCsv({ rows }).split('\r\n')[0]).toMatch(/,Tags,x_Requests,/);
  });

  it('is refused until an hour after its end', async () => {
    const end = today.getTime() + DAY_MS + 3_600_000;
    await expect(chargeback(end - 1)).rejects.toThrow(/^day: is not final/);
    const day = today.toISOString().slice(0, 10);
    await expect(gateway.call('showChargeback', { day })).rejects.toThrow(/^day: is not final/);
    const before = new Date(today.getTime() - 2 * DAY_MS).toISOString().slice(0, 10);
    const past = await gateway.call('showChargeback', { day: before });
    expect([past.rows, past.charged_usd]).toEqual([[], '0']);
  });
});

it('the export of a month names who spent, where charges do, and adds up to them', async () => {
  const month = today.toISOString().slice(0, 7);
  const { rows } = await gateway.call('showFocus', { month });
  const { total } = await gateway.call('showBooks', { month });
  expect(billedOf(rows)).toBe(-parseUsd(total.charged_usd));
  const tags = rows.flatMap(({ Tags }) => (Tags === undefined ? [] : [JSON.parse(String(Tags))]));
  expect(tags).toHaveLength(2);
  expect(tags).toContainEqual(expect.objectContaining({ member: 'Ada', tag: 'shop' }));
  // Where charges name nobody, the classes of tokens have rows of their own, as before.
  expect(rows.map(({ ChargeDescription }) => ChargeDescription)).toEqual(
    expect.arrayContaining([
      'claude-test: input',
      'claude-test: output',
      'claude-test: all tokens',
    ]),
  );
});

describe('a folder of daily files', () => {
  const fileOf = (day: string, csv = `day\r\n${day}\r\n`) => ({
    csv,
    rows: 1,
    charged_usd: '1',
  });
  const write = (folder: string, day: string, csv?: string) =>
    writeChargeback(folderPlace(folder), day, () => Promise.resolve(fileOf(day, csv)));
  const textOf = (folder: string, file: string) => readFileSync(join(folder, file), 'utf8');

  it('gets each file once, with a line of the manifest that follows from the one before', async () => {
    const folder = newFolder();
    const first = await write(folder, '2026-11-28');
    expect(first.outcome).toBe('written');
    await write(folder, '2026-11-29');
    const lines = textOf(folder, 'manifest.jsonl').trimEnd().split('\n');
    const [one, two] = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(one).toMatchObject({
      day: '2026-11-28',
      file: 'chargeback-2026-11-28.csv',
      sha256: hash('sha256', textOf(folder, 'chargeback-2026-11-28.csv')),
      previous: null,
    });
    expect(two).toMatchObject({ previous: hash('sha256', lines[0] ?? '') });
    expect(readdirSync(folder).toSorted()).toEqual([
      'chargeback-2026-11-28.csv',
      'chargeback-2026-11-29.csv',
      'manifest.jsonl',
    ]);
    const before = statSync(join(folder, 'chargeback-2026-11-28.csv')).mtimeMs;
    // The names in the ledger have changed since.
    const again = await write(folder, '2026-11-28', 'other');
    expect(again).toEqual({ ...first, outcome: 'written_before' });
    expect(statSync(join(folder, 'chargeback-2026-11-28.csv')).mtimeMs).toBe(before);
    expect(await verifyChargebacks(folderPlace(folder))).toEqual({
      files: 2,
      head: hash('sha256', lines[1] ?? ''),
    });
  });

  it('is not sound after a file or a line was changed, and names it', async () => {
    const folder = newFolder();
    for (const day of ['2026-11-27', '2026-11-28', '2026-11-29']) await write(folder, day);
    const path = join(folder, 'chargeback-2026-11-28.csv');
    const text = readFileSync(path);
    writeFileSync(path, 'changed');
    await expect(verifyChargebacks(folderPlace(folder))).rejects.toThrow(
      /^into: chargeback-2026-11-28.csv: was/,
    );
    await expect(write(folder, '2026-11-28')).rejects.toThrow(/was changed after it was written/);
    writeFileSync(path, text);
    unlinkSync(join(folder, 'chargeback-2026-11-27.csv'));
    await expect(verifyChargebacks(folderPlace(folder))).rejects.toThrow(
      /11-27.csv: .* does not exist/,
    );
    const manifest = textOf(folder, 'manifest.jsonl');
    const [first = '', , third = ''] = manifest.split('\n');
    writeFileSync(join(folder, 'manifest.jsonl'), `${first}\n${third}\n`);
    await expect(write(folder, '2026-11-30')).rejects.toThrow(/line 2 does not follow its last/);
    writeFileSync(join(folder, 'manifest.jsonl'), manifest.slice(0, -5));
    await expect(write(folder, '2026-11-30')).rejects.toThrow(/last line is not whole/);
  });

  it('is completed after a run that ended before it wrote its line, and nothing is replaced', async () => {
    const folder = newFolder();
    writeFileSync(join(folder, 'chargeback-2026-11-28.csv'), 'earlier');
    await expect(write(folder, '2026-11-28')).rejects.toThrow(/is not in the manifest/);
    expect(textOf(folder, 'chargeback-2026-11-28.csv')).toBe('earlier');
    expect((await write(folder, '2026-11-28', 'earlier')).outcome).toBe('written');
  });

  it('gets each file once of several runs at the same time', async () => {
    const folder = newFolder();
    const days = ['2026-11-27', '2026-11-28', '2026-11-29'];
    const written = await Promise.all([...days, ...days].map((day) => write(folder, day)));
    expect(written.filter(({ outcome }) => outcome === 'written')).toHaveLength(3);
    expect(await verifyChargebacks(folderPlace(folder))).toMatchObject({ files: 3 });
  });
});

it('is written by itself for each final day, also for days on which the gateway did not run', async () => {
  const folder = newFolder();
  const log = pino({ level: 'silent' });
  const parts = {
    store: gateway.running.store,
    log,
    places: [folderPlace(folder)],
    operator: undefined,
  };
  let now = today.getTime() + DAY_MS + 3_600_000 - 1;
  const writer = startChargebackWriter({ ...parts, now: () => now });
  const files = () => readdirSync(folder).filter((file) => file.endsWith('.csv'));
  const nameOf = (days: number) =>
    `chargeback-${new Date(today.getTime() + days * DAY_MS).toISOString().slice(0, 10)}.csv`;
  await writer.look();
  expect(files()).toEqual([nameOf(-1)]);
  now += 1;
  await writer.look();
  expect(files()).toEqual([nameOf(-1), nameOf(0)]);
  expect(readFileSync(join(folder, nameOf(0)), 'utf8')).toContain('Ada');
  now += 3 * DAY_MS;
  await writer.look();
  expect(files()).toEqual([-1, 0, 1, 2, 3].map(nameOf));
  await writer.stop();
  expect(await verifyChargebacks(folderPlace(folder))).toMatchObject({ files: 5 });
});
