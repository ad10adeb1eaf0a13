/** A record of requests that an earlier version wrote is migrated with what it holds. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { openRequests } from '../src/embedded/requests-file.js';

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
    "DELETE FROM schema_migration WHERE name LIKE '20261130030000%'; DROP TABLE request_label; " +
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
