/** Which lines of a file `ledger recharge` books. There is no ledger: the calls are recorded. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from '@jest/globals';
import { rechargeFromFiles } from '../../src/cli/witness-commands.js';
import type { CallOperation } from '../../src/operator/operations/operations.js';

const folder = mkdtempSync(join(tmpdir(), 'gateway-recharge-'));
afterAll(() => {
  rmSync(folder, { recursive: true });
});

const usageOf = (request_id: string, key_id: string) => ({
  request_id,
  key_id,
  model: 'claude-x',
  usage: { input_tokens: 3, output_tokens: 1 },
});
const logLineOf = (request_id: string, key_id: string) => ({
  time: '2026-11-02T10:00:00.000Z',
  level: 'info',
  msg: 'request',
  status: 200,
  request_id,
  key_id,
  endpoint: 'messages',
  model: 'claude-x',
  streamed: false,
  input_tokens: 3,
  output_tokens: 1,
  charge_usd: '0.01',
  cache_read_input_tokens: 0,
  cache_creation_input_tokens: 0,
});

/** Recharges from these lines. @returns the result, and the requests that were booked */
async function recharge(lines: readonly object[], ...keys: readonly string[]) {
  const file = join(folder, 'witness.jsonl');
  writeFileSync(file, lines.map((line) => JSON.stringify(line)).join('\n'));
  const booked: string[] = [];
  const call = ((_name: string, { charges }: { readonly charges: { request_id: string }[] }) => {
    booked.push(...charges.map(({ request_id }) => request_id));
    return Promise.resolve({
      object: 'recharge',
      booked: charges.length,
      charged_usd: '0',
      already_charged: 0,
      refused: [],
    });
  }) as unknown as CallOperation;
  const result = await rechargeFromFiles([file], keys, call).catch((error: unknown) => error);
  return { result, booked };
}

it('books the lines of the log of the gateway without a confirmation', async () => {
  const { booked } = await recharge([logLineOf('req_1', 'key_1'), logLineOf('req_2', 'key_2')]);
  expect(booked).toEqual(['req_1', 'req_2']);
});

// F147
it('books nothing of a file with usage objects until its keys are confirmed, and names them', async () => {
  const lines = [
    logLineOf('req_1', 'key_1'),
    usageOf('req_2', 'key_2'),
    usageOf('req_3', 'key_3'),
    usageOf('req_4', 'key_2'),
  ];
  const { result, booked } = await recharge(lines);
  expect(booked).toEqual([]);
  expect(String(result)).toMatch(
    /would charge key_1 \(1 line\), key_2 \(2 lines\), key_3 \(1 line\): .*--key/,
  );
});

// F147
it('books only the lines of confirmed keys, and reports the others', async () => {
  const lines = [
    logLineOf('req_1', 'key_1'),
    usageOf('req_2', 'key_2'),
    usageOf('req_3', 'key_3'),
    usageOf('req_4', 'key_2'),
  ];
  const reason = 'key_id: is not one of those given with --key';
  expect(await recharge(lines, 'key_2')).toEqual({
    result: {
      booked: 2,
      charged_usd: '0',
      already_charged: 0,
      refused: [
        { request_id: 'req_1', reason },
        { request_id: 'req_3', reason },
      ],
    },
    booked: ['req_2', 'req_4'],
  });
  expect((await recharge(lines, 'key_9')).booked).toEqual([]);
});
