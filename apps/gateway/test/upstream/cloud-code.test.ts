/** Which of the built files a gateway loads: no library of a cloud unless a home needs it. */

import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { INHERITED, MAIN } from '../support/gateway-process.js';

const LIBRARIES = /^\/\/ .*node_modules\/(?:\.pnpm\/)?(@aws-sdk|@smithy|google-auth-library)/gm;
const MARK = 'loaded: ';
const HOOK = `
import { registerHooks } from 'node:module';
import { writeSync } from 'node:fs';
registerHooks({
  load(url, context, next) {
    if (url.startsWith('file:')) writeSync(2, '${MARK}' + url + '\\n');
    return next(url, context);
  },
});
`;

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'gateway-code-'));
  writeFileSync(join(folder, 'hook.mjs'), HOOK);
});
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

/** The libraries in the files that are loaded to ask a home whether its credential is accepted. */
async function librariesFor(entry: object): Promise<readonly string[]> {
  const file = join(folder, 'upstreams.json');
  const account = { name: 'home', url: 'http://127.0.0.1:1', ...entry };
  writeFileSync(file, JSON.stringify({ accounts: [account] }));
  const args = ['--import', pathToFileURL(join(folder, 'hook.mjs')).href, MAIN, 'check-config'];
  const env = { ...INHERITED, UPSTREAMS: file, DATA_DIR: folder, AWS_CONFIG_FILE: '/dev/null' };
  const { stderr } = await promisify(execFile)(process.execPath, args, { env }).catch(
    (error: unknown) => error as { readonly stderr: string },
  );
  const files = stderr.split('\n').filter((line) => line.startsWith(MARK));
  expect(files.length).toBeGreaterThan(5);
  const found = files.flatMap((line) => {
    const code = readFileSync(fileURLToPath(line.slice(MARK.length)), 'utf8');
    return [...code.matchAll(LIBRARIES)].map(([, name = '']) => name);
  });
  return [...new Set(found)].sort();
}

it('no library of a cloud is loaded for a home with a key', async () => {
  expect(await librariesFor({ api_key: 'key' })).toEqual([]);
});

it('only the library of its cloud is loaded for a home with an identity', async () => {
  const aws = { kind: 'aws', region: 'eu-central-1', service: 'aws-external-anthropic' };
  expect(await librariesFor({ credential: aws })).toEqual(['@aws-sdk', '@smithy']);
  const google = { kind: 'google', file: join(folder, 'absent') };
  expect(await librariesFor({ credential: google })).toEqual(['google-auth-library']);
  const entra = { kind: 'entra', tenant: 't', client_id: 'c', token_file: join(folder, 'absent') };
  expect(await librariesFor({ credential: entra })).toEqual([]);
});
