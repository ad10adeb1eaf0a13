/** The daily files of chargebacks in a bucket of an S3-compatible store. */

import { hash } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { readConfig } from '../../src/config/config.js';
import { startChargebackWriter } from '../../src/operator/chargeback-writer.js';
import { bucketPlace } from '../../src/operator/exports/chargeback-bucket.js';
import {
  lastDayIn,
  verifyChargebacks,
  writeChargeback,
} from '../../src/operator/exports/chargeback-files.js';
import { startTestGateway } from '../support/gateway.js';
import { S3_LOGIN, S3_REGION, startS3Server } from '../support/s3-server.js';
import type { S3Server } from '../support/s3-server.js';
import { until } from '../support/until.js';

const BUCKET = 'books-of-farthing';
const PREFIX = 'charge.back/2026';
const DAY_MS = 86_400_000;

let s3: S3Server;
beforeEach(async () => {
  s3 = await startS3Server([BUCKET]);
});
afterEach(() => s3.close());

const open = (more: object = {}) =>
  bucketPlace({
    bucket: BUCKET,
    prefix: PREFIX,
    endpoint: s3.url,
    region: S3_REGION,
    ...S3_LOGIN,
    ...more,
  });
const nameOf = (file: string) => `${BUCKET}/${PREFIX}/${file}`;
const textOf = (file: string) => s3.objects.get(nameOf(file))?.toString() ?? '';
const write = async (day: string, csv = `day\r\n${day}, größer\r\n`, more: object = {}) =>
  writeChargeback(await open(more), day, () => Promise.resolve({ csv, rows: 1, charged_usd: '1' }));

describe('a bucket of daily files', () => {
  it('gets each file once, with a line of the manifest that follows from the one before', async () => {
    const first = await write('2026-11-28');
    expect(first).toMatchObject({ outcome: 'written', previous: null });
    await write('2026-11-29');
    const lines = textOf('manifest.jsonl').trimEnd().split('\n');
    const [one, two] = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(one).toMatchObject({ sha256: hash('sha256', textOf('chargeback-2026-11-28.csv')) });
    expect(two).toMatchObject({ previous: hash('sha256', lines[0] ?? '') });
    expect([...s3.objects.keys()].toSorted()).toEqual(
      ['chargeback-2026-11-28.csv', 'chargeback-2026-11-29.csv', 'manifest.jsonl'].map(nameOf),
    );
    const puts = () => s3.answered.filter((each) => each.startsWith('PUT')).length;
    expect(puts()).toBe(4);
    // The names in the ledger have changed since.
    expect(await write('2026-11-28', 'other')).toEqual({ ...first, outcome: 'written_before' });
    expect(puts()).toBe(4);
    const place = await open();
    expect(await lastDayIn(place)).toBe('2026-11-29');
    expect(await verifyChargebacks(place)).toEqual({
      files: 2,
      head: hash('sha256', lines[1] ?? ''),
    });
  });

  it('is completed after a run that ended before it wrote its line, and nothing is replaced', async () => {
    const name = nameOf('chargeback-2026-11-28.csv');
    s3.objects.set(name, Buffer.from('earlier'));
    await expect(write('2026-11-28')).rejects.toThrow(/is not in the manifest/);
    expect(s3.objects.get(name)?.toString()).toBe('earlier');
    expect((await write('2026-11-28', 'earlier')).outcome).toBe('written');
  });

  it('is not sound after an object or the manifest was changed, and names it', async () => {
    for (const day of ['2026-11-27', '2026-11-28', '2026-11-29']) await write(day);
    const [name, manifest] = [nameOf('chargeback-2026-11-28.csv'), nameOf('manifest.jsonl')];
    const [csv, lines] = [s3.objects.get(name), s3.objects.get(manifest)];
    s3.objects.set(name, Buffer.from('changed'));
    const verified = async () => verifyChargebacks(await open());
    await expect(verified()).rejects.toThrow(/^s3:.*chargeback-2026-11-28.csv: was changed/);
    s3.objects.delete(name);
    await expect(verified()).rejects.toThrow(/11-28.csv: is in the manifest and does not exist/);
    s3.objects.set(name, csv ?? Buffer.from(''));
    const [first = '', , third = ''] = lines?.toString().split('\n') ?? [];
    s3.objects.set(manifest, Buffer.from(`${first}\n${third}\n`));
    await expect(write('2026-11-30')).rejects.toThrow(/line 2 does not follow its last/);
  });

  it('loses no line of the manifest to a gateway that writes at the same time', async () => {
    await write('2026-11-27');
    // The other gateway writes between the moments at which this one reads and writes.
    let isOther = false;
    s3.onRequest = async (method, name) => {
      if (method !== 'PUT' || !name.endsWith('manifest.jsonl') || isOther) return undefined;
      isOther = true;
      await write('2026-11-28');
      return undefined;
    };
    await expect(write('2026-11-29')).rejects.toThrow(/manifest.jsonl: another run has changed it/);
    expect((await write('2026-11-29')).outcome).toBe('written');
    const verified = await verifyChargebacks(await open());
    expect(verified.files).toBe(3);
  });

  it('gets the first line of the manifest from one of two gateways', async () => {
    const days = ['2026-11-28', '2026-11-28'];
    const results = await Promise.allSettled(days.map((day) => write(day)));
    expect(results.map(({ status }) => status)).toContain('fulfilled');
    expect((await verifyChargebacks(await open())).files).toBe(1);
  });

  it.each([
    ['a wrong secret', { secretAccessKey: 'another' }, /403 SignatureDoesNotMatch$/],
    ['an unknown key', { accessKeyId: 'AKIDOTHER' }, /403 InvalidAccessKeyId$/],
    ['another region', { region: 'eu-other-1' }, /403 AuthorizationHeaderMalformed$/],
    ['a bucket that does not exist', { bucket: 'another' }, /404 NoSuchBucket$/],
  ])('says what is wrong with %s, and no secret', async (_, more, message) => {
    const failure = await write('2026-11-28', undefined, more).catch((error: unknown) => error);
    expect(String(failure)).toMatch(message);
    expect(String(failure)).toMatch(/s3:\/\/[\w-]+\/charge.back\/2026: GET manifest.jsonl/);
    expect(String(failure)).not.toContain(S3_LOGIN.secretAccessKey);
    expect(s3.objects.size).toBe(0);
  });

  it('follows no redirect, and says that a store does not answer', async () => {
    const other = await startS3Server([BUCKET]);
    const reached: string[] = [];
    other.onRequest = (_, name) => {
      reached.push(name);
      return undefined;
    };
    s3.onRequest = (_, name) => ({ status: 307, headers: { location: `${other.url}/${name}` } });
    await expect(write('2026-11-28')).rejects.toThrow(/was answered by 307$/);
    expect(reached).toEqual([]);
    await other.close();
    await expect(write('2026-11-28', undefined, { endpoint: other.url })).rejects.toThrow(
      /GET manifest.jsonl got no answer from http:/,
    );
  });
});

describe('a gateway with CHARGEBACK_S3', () => {
  const env = () => ({
    CHARGEBACK_S3: `s3://${BUCKET}/${PREFIX}`,
    CHARGEBACK_S3_ENDPOINT: `${s3.url}/`,
    CHARGEBACK_S3_REGION: S3_REGION,
    CHARGEBACK_S3_KEY_ID: S3_LOGIN.accessKeyId,
    CHARGEBACK_S3_SECRET: S3_LOGIN.secretAccessKey,
  });

  it('writes the last final day by itself, and continues the chain after a restart', async () => {
    const gateway = await startTestGateway({ env: env() });
    try {
      await until(() => s3.objects.has(nameOf('manifest.jsonl')));
      expect((await verifyChargebacks(await open())).files).toBe(1);
      const last = Date.parse((await lastDayIn(await open())) ?? '');
      // As an hour after the second next day, by a gateway that was restarted; the first try fails.
      const parts = {
        store: gateway.running.store,
        log: pino({ level: 'silent' }),
        places: [await open()],
        operator: undefined,
        now: () => last + 3 * DAY_MS + 3_600_000,
      };
      s3.onRequest = () => ({ status: 503, code: 'SlowDown' });
      const writer = startChargebackWriter(parts);
      await writer.look();
      expect(s3.objects.size).toBe(2);
      s3.onRequest = () => undefined;
      await writer.look();
      await writer.stop();
      expect((await verifyChargebacks(await open())).files).toBe(3);
      expect(await lastDayIn(await open())).toBe(
        new Date(last + 2 * DAY_MS).toISOString().slice(0, 10),
      );
    } finally {
      await gateway.stop();
    }
  });

  it.each([
    [{ CHARGEBACK_S3: 'https://bucket' }, /CHARGEBACK_S3: must be s3:\/\/bucket/],
    [{ CHARGEBACK_S3: 's3://bucket/a b' }, /CHARGEBACK_S3: must be s3:\/\/bucket/],
    [{ CHARGEBACK_S3: 's3://bucket/../other' }, /CHARGEBACK_S3: must be s3:\/\/bucket/],
    [{ CHARGEBACK_S3_ENDPOINT: 'http://store/path' }, /_ENDPOINT: must be a host and a port only/],
    [{ CHARGEBACK_S3_ENDPOINT: 'ftp://store' }, /CHARGEBACK_S3_ENDPOINT: must be an http/],
    [{ CHARGEBACK_S3_REGION: 'Frankfurt' }, /CHARGEBACK_S3_REGION: must be a region/],
    [{ CHARGEBACK_S3_SECRET: '' }, /CHARGEBACK_S3_SECRET: is needed when CHARGEBACK_S3 is set/],
    [{ CHARGEBACK_S3_KEY_ID: '' }, /CHARGEBACK_S3_KEY_ID: is needed when CHARGEBACK_S3 is set/],
    [{ CHARGEBACK_S3: '' }, /CHARGEBACK_S3: is needed when another CHARGEBACK_S3_… is set/],
  ])('refuses %j with the name of the variable', (wrong, message) => {
    expect(() => readConfig({ ...env(), ...wrong })).toThrow(message);
  });

  it('writes to AWS in the region where no endpoint is given', () => {
    const given = { ...env(), CHARGEBACK_S3_ENDPOINT: '', CHARGEBACK_S3: 's3://bucket' };
    expect(readConfig(given).books.chargebackBucket).toMatchObject({
      endpoint: `https://s3.${S3_REGION}.amazonaws.com`,
      bucket: 'bucket',
      prefix: '',
    });
  });
});
