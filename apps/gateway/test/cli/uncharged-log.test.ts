/**
 * Reports of charges that a log has and the ledger lacks. There is no ledger: each test sets the
 * answer of `compareWitness`.
 */

import { rmSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from '@jest/globals';
import { findUncharged } from '../../src/cli/uncharged-log.js';
import type { CallOperation } from '../../src/operator/operations/operations.js';

const folder = mkdtempSync(join(tmpdir(), 'gateway-uncharged-'));
afterAll(() => {
  rmSync(folder, { recursive: true });
});

const LINE = {
  time: '2026-11-02T10:00:00.000Z',
  level: 'info',
  msg: 'request',
  request_id: 'req_1',
  endpoint: 'messages',
  key_id: 'key_1',
  model: 'claude-x',
  status: 200,
};
const CHARGED = {
  ...LINE,
  streamed: false,
  input_tokens: 3,
  output_tokens: 1,
  cache_read_input_tokens: 0,
  cache_creation_input_tokens: 0,
  charge_usd: '0.01',
};
const UNCONFIRMED = { ...LINE, loss: 'ledger_unavailable' };
/** Ends of archives before and after the request. */
const BEFORE = '2026-11-02T00:00:00.000Z';
const AFTER = '2026-11-03T00:00:00.000Z';

async function foundIn(line: object, found: string, archived_until: string | null) {
  const file = join(folder, 'gateway.log');
  writeFileSync(file, `${JSON.stringify(line)}\n`);
  const differences = [{ request_id: 'req_1', expected: 'input 3', found }];
  const call = (() =>
    Promise.resolve({
      object: 'witness_comparison',
      compared: 1,
      archived_until,
      differences,
    })) as unknown as CallOperation;
  const range = { from: new Date('2026-11-01'), until: new Date('2026-12-01') };
  return findUncharged(file, range, call);
}

it.each([
  ['a charge', 'no charge', CHARGED, null, 'not_in_ledger', 'input 3'],
  [
    'a charge after the archive',
    `no charge; those before ${BEFORE} are archived`,
    CHARGED,
    BEFORE,
    'not_in_ledger',
    'input 3',
  ],
  ['a charge', 'input 4', CHARGED, null, 'other_counts', 'input 3; the ledger has input 4'],
  ['an unconfirmed charge', 'no charge', UNCONFIRMED, null, 'not_charged', 'ledger_unavailable'],
] as const)(
  '%s for which the ledger has "%s" is reported',
  async (_what, found, line, until, cause, detail) => {
    expect(await foundIn(line, found, until)).toMatchObject([{ cause, detail, key_id: 'key_1' }]);
  },
);

it('a charge that may be archived is not reported, nor is an unconfirmed charge that the ledger has', async () => {
  expect(await foundIn(CHARGED, `no charge; those before ${AFTER} are archived`, AFTER)).toEqual(
    [],
  );
  expect(await foundIn(UNCONFIRMED, 'input 3', null)).toEqual([]);
});
