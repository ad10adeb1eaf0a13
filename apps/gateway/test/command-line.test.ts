/** What the command line prints: lists and their pages, single results, and refusals. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startTestGateway } from './support/gateway.js';
import type { TestGateway } from './support/gateway.js';
import { MAIN } from './support/gateway-process.js';

const ADMIN_TOKEN = 'admin-token-of-the-tests';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway({ env: { ADMIN_TOKEN } });
  for (const name of ['first', 'second']) await gateway.createKey({ name });
});
afterAll(() => gateway.stop());

/** Runs a command of the built command line, over the admin API. */
async function cli(...args: readonly string[]) {
  const child = spawn(process.execPath, [MAIN, ...args], {
    env: { PATH: process.env['PATH'], ADMIN_URL: gateway.adminUrl, ADMIN_TOKEN },
    stdio: 'pipe',
  });
  let out = '';
  let err = '';
  child.stdout.on('data', (bytes: Buffer) => (out += bytes.toString()));
  child.stderr.on('data', (bytes: Buffer) => (err += bytes.toString()));
  const [code] = (await once(child, 'close')) as [number];
  return { code, out, err };
}

/** The output of a command that succeeds. */
async function printed(...args: readonly string[]): Promise<string> {
  const { code, out, err } = await cli(...args);
  expect({ code, err }).toEqual({ code: 0, err: '' });
  return out;
}

describe('a list of the command line', () => {
  it('continues after a page with --after', async () => {
    for (const command of [['trail'], ['events'], ['ledger', 'list']]) {
      const page = [...command, '--limit', '1'];
      const first = await printed(...page);
      const [, cursor = ''] = /^More: --after (\S+)$/m.exec(first) ?? [];
      const second = await printed(...page, '--after', cursor);
      expect(second).toContain('│');
      expect(second).not.toBe(first);
    }
  });
});

it('gateway keys list names the account of each key', async () => {
  const { data } = await gateway.call('listKeys', {});
  const list = await printed('keys', 'list');
  for (const { id, account_id } of data) {
    expect(list).toMatch(new RegExp(`^│ ${id} +│ ${account_id} +│`, 'm'));
  }
});
