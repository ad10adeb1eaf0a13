/** The packages of a copy of this repository get another npm scope, and nothing else changes. */

import { execFileSync, spawnSync } from 'node:child_process';
import { copyFileSync, lstatSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { parse } from 'yaml';

const ROOT = join(__dirname, '../../../..');
/** Put together here, because the script refuses a scope that the repository uses. */
const OTHER = ['@', 'an-owner.of-gateways'].join('');
const copy = mkdtempSync(join(tmpdir(), 'gateway-scope-'));
const paths = execFileSync(
  'git',
  ['ls-files', '-z', '--cached', '--others', '--exclude-standard'],
  { cwd: ROOT, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 },
)
  .split('\0')
  .filter((path) => lstatSync(join(ROOT, path), { throwIfNoEntry: false })?.isFile() === true);

const textsOf = (folder: string): ReadonlyMap<string, string> =>
  new Map(paths.map((path) => [path, readFileSync(join(folder, path), 'latin1')]));
const manifestsIn = (texts: ReadonlyMap<string, string>) =>
  [...texts]
    .filter(([path]) => /^(?:packages|apps)\/[^/]+\/package\.json$/.test(path))
    .map(([path, text]) => [path, JSON.parse(text) as Manifest] as const);

interface Manifest {
  readonly name: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
}

const before = textsOf(ROOT);
const [present] = manifestsIn(before)
  .find(([path]) => path === 'packages/translator/package.json')![1]
  .name.split('/') as [string];
let after: ReadonlyMap<string, string>;

function changeScope(...args: readonly string[]) {
  const script = join(copy, 'scripts/change-scope.mjs');
  return spawnSync(process.execPath, [script, ...args], { cwd: copy, encoding: 'utf8' });
}

beforeAll(() => {
  for (const folder of new Set(paths.map(dirname)))
    mkdirSync(join(copy, folder), { recursive: true });
  for (const path of paths) copyFileSync(join(ROOT, path), join(copy, path));
  execFileSync('git', ['init', '--quiet'], { cwd: copy });
  expect(changeScope(OTHER)).toMatchObject({ status: 0, stderr: '' });
  after = textsOf(copy);
});
afterAll(() => rmSync(copy, { recursive: true, force: true }));

it('no rest of the former scope is left, not even in a name that is made at run time', () => {
  // A host name, as in user@gateway.example, is none.
  const rest = new RegExp(`${present}(?!\\.)`);
  expect([...before].filter(([, text]) => rest.test(text)).length).toBeGreaterThan(300);
  expect([...after].filter(([, text]) => rest.test(text)).map(([path]) => path)).toEqual([]);
});

it('nothing changes but the scope', () => {
  const different = [...after].filter(
    ([path, text]) => text.replaceAll(OTHER, present) !== before.get(path),
  );
  expect(different.map(([path]) => path)).toEqual([]);
});

it.each([
  'x-gateway-',
  'gw_',
  'gateway_requests_total',
  'GATEWAY_KEY',
  'apps/gateway',
  'secret-in-an-address@gateway.example.com',
])('what names the role stays: %s', (word) => {
  const count = (texts: ReadonlyMap<string, string>) =>
    [...texts.values()].reduce((sum, text) => sum + text.split(word).length - 1, 0);
  expect(count(before)).toBeGreaterThan(0);
  expect(count(after)).toBe(count(before));
});

it('the lockfile has the packages by their new names, so that an installation accepts it', () => {
  const { importers } = parse(after.get('pnpm-lock.yaml')!) as {
    importers: Readonly<Record<string, Manifest>>;
  };
  const manifests = manifestsIn(after);
  expect(manifests.filter(([, { name }]) => name.startsWith(`${OTHER}/`)).length).toBeGreaterThan(
    5,
  );
  for (const [path, manifest] of manifests) {
    const importer = importers[path.replace('/package.json', '')]!;
    for (const kind of ['dependencies', 'devDependencies'] as const) {
      const named = (of: Manifest) => Object.keys(of[kind] ?? {}).sort();
      expect([path, named(importer)]).toEqual([path, named(manifest)]);
    }
  }
});

it.each([
  ['a scope without @', 'an-owner', 'usage'],
  ['a name instead of a scope', '@an-owner/translator', 'usage'],
  ['the present scope', OTHER, 'already'],
  ["another package's scope", '@types', 'is used already'],
])('%s is refused', (_case, scope, reason) => {
  expect(changeScope(scope)).toMatchObject({ status: 2, stderr: expect.stringContaining(reason) });
});

it('the way back leads to the same bytes', () => {
  expect(changeScope(present).status).toBe(0);
  const different = [...textsOf(copy)].filter(([path, text]) => text !== before.get(path));
  expect(different.map(([path]) => path)).toEqual([]);
});
