/** A record of requests that an earlier version wrote is migrated with what it holds. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { openRequests } from '../../src/embedded/files/requests-file.js';
import {
  addToSums,
  listRequests,
  recordRequests,
  sumRequests,
} from '../../src/embedded/sqlite/requests.js';
import { createRequestRecord } from '../../src/ledger/store/requests.js';
import { StoreUnavailableError } from '../../src/index.js';
import type { RequestTables } from '../../src/ledger/requests/request-tables.js';
import type { StoredBatch } from '../../src/ledger/requests/batch.js';
import { requestRecord } from '../../src/testing/samples.js';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'requests-'));
});
afterEach(() => {
  rmSync(dir, { recursive: true });
});

it('sums the hours of each day, to the last digit', () => {
  const file = join(dir, 'requests.db');
  const earlier = openRequests(file, { checkpoints: true });
  earlier.exec(
    "DELETE FROM schema_migration WHERE name >= '20261128130000'; DROP TABLE request_label; " +
      'DROP TABLE request_write; DROP TABLE request_unsummed; DROP INDEX request_block_times_idx; ' +
      'ALTER TABLE request_block DROP COLUMN first_at; ' +
      'CREATE INDEX request_block_ended_idx ON request_block (ended_at); ' +
      'INSERT INTO request_sum VALUES ' +
      "(60, 240, 1, 3, 2, 30, 5, 2, 10, 20, 1, 2, '123456789012.99999999999999'), " +
      "(60, 263, 1, 1, 1, 10, 5, 1, 1, 2, 0, 0, '0.00000000000002'), " +
      "(60, 264, 1, 1, 1, 10, 5, 1, 1, 2, 0, 0, '0.00000000000000'), " +
      "(5, 2880, 1, 9, 9, 9, 9, 9, 9, 9, 9, 9, '9.00000000000000')",
  );
  earlier.close();
  const migrated = openRequests(file, { checkpoints: true });
  const days = migrated.all(
    'SELECT period, requests, kept, input_tokens, charge FROM request_sum WHERE minutes = 1440',
  );
  migrated.close();
  expect(days).toEqual([
    { period: 10, requests: 4, kept: 3, input_tokens: 11, charge: '123456789013.00000000000001' },
    { period: 11, requests: 1, kept: 1, input_tokens: 1, charge: '0.00000000000000' },
  ]);
});

const START = Date.UTC(2026, 10, 1, 10);
const at = (minute: number) => {
  const id = `req_of_minute_${String(minute)}`;
  return requestRecord({ id, endedAt: START + minute * 60_000, upstreamRequestId: id });
};

/** The record in a file, without a thread. `isAway`: writes arrive, but no answer comes. */
function openRecord(file: string) {
  const connection = openRequests(file, { checkpoints: true });
  const state = { isAway: false };
  const write = (batch: StoredBatch): Promise<void> => {
    recordRequests(connection, batch);
    return state.isAway
      ? Promise.reject(new StoreUnavailableError('no answer'))
      : Promise.resolve();
  };
  const tables: Pick<RequestTables, 'record' | 'list' | 'addToSums' | 'sums'> = {
    record: write,
    addToSums: () => Promise.resolve(addToSums(connection)),
    sums: (query) => Promise.resolve(sumRequests(connection, query)),
    list: (query) => listRequests(connection, query),
  };
  return { connection, state, record: createRequestRecord(tables as RequestTables) };
}

// F416
it('lists blocks of earlier versions, which do not say when their first request ended', async () => {
  const { connection, record } = openRecord(join(dir, 'requests.db'));
  await record.recordRequests({ kept: [0, 20, 40, 59].map(at), counted: [] });
  await record.recordRequests({ kept: [58, 60, 70].map(at), counted: [] });
  connection.exec('UPDATE request_block SET first_at = NULL');
  const minutesIn = async (from: number, until: number) => {
    const range = { from: new Date(at(from).endedAt), until: new Date(at(until).endedAt) };
    const { requests } = await record.listRequests({ ...range, limit: 9 });
    return requests.map(({ endedAt }) => (endedAt - START) / 60_000);
  };
  expect(await minutesIn(15, 30)).toEqual([20]);
  expect(await minutesIn(0, 59)).toEqual([58, 40, 20, 0]);
  expect(await minutesIn(59, 61)).toEqual([60, 59]);
  connection.close();
});

// F417
it('keeps the sums of requests whose write had no answer, once', async () => {
  const { connection, state, record } = openRecord(join(dir, 'requests.db'));
  const batch = { id: 'one', kept: [at(1), at(2)], counted: [] };
  state.isAway = true;
  await expect(record.recordRequests(batch)).rejects.toThrow(StoreUnavailableError);
  state.isAway = false;
  await record.recordRequests(batch);
  await record.closeRequests();
  const sums = connection.all('SELECT requests, kept FROM request_sum WHERE minutes = 1440');
  expect(sums).toEqual([{ requests: 2, kept: 2 }]);
  expect((await record.listRequests({ limit: 9 })).requests).toEqual([at(2), at(1)]);
  connection.close();
});
