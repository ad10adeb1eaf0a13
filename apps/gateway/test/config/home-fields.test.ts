/** The members of an entry of `UPSTREAMS` that describe a home: each problem names its place. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { readConfig } from '../../src/config/config.js';
import { readFiles } from '../../src/config/settings.js';
import { readUpstreams } from '../../src/config/upstreams-file.js';

let folder: string;
let file: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'home-fields-'));
  file = join(folder, 'upstreams.json');
});
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

const SECRET = 'secret-of-the-test';

const NO_KEY = { api_key: undefined };
const AWS = { kind: 'aws', region: 'eu-central-1', service: 'bedrock' };
const ENTRA = { kind: 'entra', tenant: 't', client_id: 'c', client_secret_file: '/s' };
const INVOKE = { api: 'invoke', models: { 'claude-opus-5': 'eu.anthropic.claude-opus-5' } };

function write(home: object): void {
  const accounts = [{ name: 'home', api_key: SECRET, ...home }];
  writeFileSync(file, JSON.stringify({ accounts }));
}

it.each([
  ['an unknown header of the credential', { auth: 'basic' }, 'auth: '],
  ['a header in capitals', { headers: { 'X-Home': 'a' } }, 'headers.X-Home: must be the name of'],
  ['a header over two lines', { headers: { 'x-home': 'a\nb: c' } }, 'headers.x-home: must be 1 to'],
  ['an empty header', { headers: { 'x-home': '' } }, 'headers.x-home: must be 1 to'],
  ['the length of the body', { headers: { 'content-length': '1' } }, 'headers.content-length: is'],
  ['betas', { headers: { 'anthropic-beta': 'a' } }, 'headers.anthropic-beta: is written by the'],
  ['the credential again', { headers: { 'x-api-key': SECRET } }, 'headers.x-api-key: is written'],
  [
    'the bearer token again',
    { auth: 'bearer', headers: { authorization: `Bearer ${SECRET}` } },
    'headers.authorization: is written by the gateway itself, so it cannot be set',
  ],
  ['no models', { models: {} }, 'models: must name a model, or be left out'],
  ['a name with a space', { models: { 'claude-opus-5': 'a b' } }, 'models.claude-opus-5: must be'],
  ['a name that is no text', { models: { 'claude-opus-5': 5 } }, 'models.claude-opus-5: must be a'],
  [
    'one name for two models',
    { models: { 'claude-opus-5': 'mine', 'claude-haiku-4-5': 'mine' } },
    'models.claude-haiku-4-5: has the same name at the home as claude-opus-5',
  ],
  ['a version with a space', { version: '2023 06' }, 'version: must be a version such as'],
  ['the version elsewhere', { version_in: 'query' }, 'version_in: '],
  ['an unknown lack', { lacks: ['messages'] }, 'lacks.0: '],
  ['an unknown API', { api: 'converse' }, 'api: '],
  ['an unknown credential', { ...NO_KEY, credential: { kind: 'ldap' } }, 'credential'],
  ['two ways to send a credential', { ...NO_KEY, credential: AWS, auth: 'bearer' }, 'auth: cannot'],
  [
    'a signature’s own header',
    { ...NO_KEY, credential: AWS, headers: { 'x-amz-date': '1' } },
    'headers.x-amz-date: is',
  ],
  ['no region', { ...NO_KEY, credential: { ...AWS, region: undefined } }, 'credential.region: '],
  [
    'a service of AWS that serves no models',
    { ...NO_KEY, credential: { ...AWS, service: 's3' } },
    'credential.service: ',
  ],
  [
    'an identity of another cloud',
    { ...NO_KEY, ...INVOKE, credential: { kind: 'google' } },
    'credential.kind: must be "aws"',
  ],
  [
    'a key that InvokeModel does not take',
    { ...INVOKE },
    'auth: must be "bearer" with api "invoke"',
  ],
  ['InvokeModel without names', { api: 'invoke', auth: 'bearer' }, 'models: must name the home'],
  [
    'InvokeModel with a place of the version',
    { ...INVOKE, auth: 'bearer', version_in: 'header' },
    'version_in: cannot',
  ],
  [
    'Vertex without a project',
    { ...INVOKE, auth: 'bearer', api: 'vertex', url: 'https://x.googleapis.com/v1' },
    'url: must end with /projects/',
  ],
  [
    'an application without its id',
    { ...NO_KEY, credential: { ...ENTRA, client_id: undefined } },
    'credential.client_id: is needed with client_secret_file',
  ],
  [
    'two proofs of an application',
    { ...NO_KEY, credential: { ...ENTRA, token_file: '/t' } },
    'credential.token_file: cannot be set beside client_secret_file',
  ],
  [
    'a tenant for the machine’s identity',
    { ...NO_KEY, credential: { kind: 'entra', tenant: 't' } },
    'credential.tenant: is used only with',
  ],
  [
    'a secret itself',
    { ...NO_KEY, credential: { ...ENTRA, client_secret: SECRET } },
    'credential: ',
  ],
  ['a key over two lines', { api_key: `${SECRET}\nx` }, 'api_key: must be printable ASCII'],
])('UPSTREAMS with %s is refused, naming the place and no secret', (_what, home, problem) => {
  write(home);
  expect(() => readUpstreams(file)).toThrow(`UPSTREAMS: accounts.0.${problem}`);
  expect(() => readUpstreams(file)).toThrow(
    expect.objectContaining({ message: expect.not.stringContaining(SECRET) }),
  );
});

it('a key beside a credential is refused', () => {
  write({ credential: AWS });
  expect(() => readUpstreams(file)).toThrow(
    'UPSTREAMS: accounts.0: must have exactly one of api_key, api_key_file, credential',
  );
});

it('a file with a key that no header can carry is refused, naming the place and no secret', () => {
  const keyFile = join(folder, 'key');
  writeFileSync(keyFile, `${SECRET}\nand more`);
  write({ api_key: undefined, api_key_file: keyFile });
  expect(() => readUpstreams(file)).toThrow(
    /^(?!.*secret-of)[^]*accounts\.0\.api_key_file: must be printable ASCII/,
  );
});

it('a home may name only models that have a price', () => {
  const read = () => readFiles(readConfig({ UPSTREAMS: file }));
  write({ models: { 'claude-opus-5': 'mine', 'claude-opus-0': 'other' } });
  expect(read).toThrow(
    'UPSTREAMS: accounts.0.models.claude-opus-0: is not the id of a model that PRICES offers',
  );
  write({ models: { 'claude-opus-5': 'mine' } });
  expect(read().upstream).toMatchObject({ accounts: [{ models: { 'claude-opus-5': 'mine' } }] });
});

it('every member of a home is read', () => {
  const home = {
    auth: 'bearer',
    headers: { 'anthropic-workspace-id': 'wrkspc_1' },
    models: { 'claude-opus-5': 'anthropic.claude-opus-5' },
    version: '2023-06-01',
    version_in: 'body',
    lacks: ['models', 'count_tokens'],
  };
  write(home);
  const { version_in: versionIn, ...others } = home;
  expect(readUpstreams(file).accounts).toMatchObject([{ name: 'home', versionIn, ...others }]);
});

it.each([
  ['aws', { ...AWS, profile: 'gateway' }],
  ['google', { kind: 'google', file: '/run/secrets/google' }],
  ['entra', ENTRA],
])('a credential of %s is read, in place of a key', (_kind, credential) => {
  write({ ...NO_KEY, credential });
  const [read] = readUpstreams(file).accounts;
  expect(read).toMatchObject({ apiKey: undefined, credential });
});
