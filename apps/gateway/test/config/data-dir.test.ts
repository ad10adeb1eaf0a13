/** The secrets in the data directory. */

import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { findToken } from '../../src/config/admin-tokens.js';
import { ConfigError } from '../../src/config/config.js';
import { openDataDir } from '../../src/config/data-dir.js';

let path: string;
beforeEach(() => {
  path = mkdtempSync(join(tmpdir(), 'gateway-data-dir-'));
});
afterEach(() => {
  rmSync(path, { recursive: true });
});

it('a secret is made once, only its owner can read it, and nothing else is left behind', () => {
  const made = openDataDir(path).secret('admin-token');
  expect(made).toHaveLength(43);
  expect(openDataDir(path).secret('admin-token')).toBe(made);
  expect(readFileSync(join(path, 'admin-token'), 'utf8')).toBe(`${made}\n`);
  expect(statSync(join(path, 'admin-token')).mode & 0o077).toBe(0);
  expect(readdirSync(path)).toEqual(['admin-token']);
});

it.each(['', '\n', 'short'])('a secret of %j is refused, and its file is named', (text) => {
  for (const name of ['admin-token', 'key-pepper'] as const) {
    writeFileSync(join(path, name), text);
    const read = () => openDataDir(path).secret(name);
    expect(read).toThrow(ConfigError);
    expect(read).toThrow(`${join(path, name)}: must have at least 16 characters`);
    expect(readFileSync(join(path, name), 'utf8')).toBe(text);
  }
});

it('an empty token matches nothing, not even an empty one', () => {
  expect(findToken([{ name: 'admin', right: 'all', token: '' }], '')).toBeUndefined();
});

it('an empty file of the demo key counts as none', () => {
  writeFileSync(join(path, 'demo-key'), '');
  expect(openDataDir(path).readDemoKey()).toBeUndefined();
});
