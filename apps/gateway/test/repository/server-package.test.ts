/** The server's npm package: what is in it, and the commands that it brings. */

import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { version } from '../../package.json';

const ROOT = resolve(__dirname, '../../../..');
const DIR = join(ROOT, 'apps/gateway');

interface Manifest {
  readonly name: string;
  readonly private?: boolean;
  readonly bin?: Readonly<Record<string, string>>;
  readonly dependencies?: Readonly<Record<string, string>>;
}

const manifestOf = (dir: string) =>
  JSON.parse(readFileSync(join(dir, 'package.json'), 'utf8')) as Manifest;

describe('the package of the server', () => {
  const manifest = manifestOf(DIR);
  const [{ files }] = JSON.parse(
    execFileSync('npm', ['pack', '--dry-run', '--json'], {
      cwd: DIR,
      encoding: 'utf8',
      stdio: 'pipe',
    }),
  ) as [{ files: readonly { readonly path: string }[] }];
  const paths = files.map(({ path }) => path);

  // F464: what serves in a clone is missing in the package, such as the pages: the package has all
  // that is built, and depends on published packages only.
  it('has its commands, both pages, a licence and a README', () => {
    expect(manifest.private).toBeUndefined();
    expect(paths).toEqual(
      expect.arrayContaining([
        ...Object.values(manifest.bin!).map((path) => path.replace('./', '')),
        'dist/prepare-thread.js',
        'dist/pages/customer/index.html',
        'dist/pages/console/index.html',
        'LICENSE',
        'README.md',
      ]),
    );
    const scripts = paths.filter((path) => /^dist\/pages\/\w+\/assets\/.*\.js$/.test(path));
    expect(scripts.length).toBeGreaterThanOrEqual(2);
    const published = ['packages', 'apps']
      .flatMap((group) => readdirSync(join(ROOT, group)).map((name) => join(ROOT, group, name)))
      .map(manifestOf)
      .filter((each) => each.private !== true)
      .map(({ name }) => name);
    const own = Object.entries(manifest.dependencies!).filter(([, range]) =>
      range.startsWith('workspace:'),
    );
    expect(own.map(([, range]) => range)).toEqual(own.map(() => 'workspace:*'));
    expect(published).toEqual(expect.arrayContaining(own.map(([name]) => name)));
  });

  it('has nothing that is only read in a clone', () => {
    const others = paths.filter(
      (path) =>
        !/^(dist\/.*\.(m?js|html|css|svg|txt|br|gz)|[A-Z]+(\.md)?|package\.json)$/.test(path),
    );
    expect(others).toEqual([]);
  });
});

// F466: somebody builds a release again, in another folder: the bytes are the same, because no
// built file names the folder. `npm run check:reproducible` compares whole packages.
it('no built file names the folder in which it was built', () => {
  const dirs = [
    DIR,
    ...readdirSync(join(ROOT, 'packages')).map((name) => join(ROOT, 'packages', name)),
  ];
  const built = dirs.flatMap((dir) =>
    readdirSync(join(dir, 'dist'), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && !entry.name.endsWith('.map'))
      .map(({ parentPath, name }) => join(parentPath, name)),
  );
  expect(built.length).toBeGreaterThan(100);
  expect(built.filter((file) => readFileSync(file).includes(ROOT))).toEqual([]);
});

describe('the commands of the package', () => {
  const run = (command: string) =>
    spawnSync(process.execPath, [join(DIR, manifestOf(DIR).bin![command]!), '--version'], {
      encoding: 'utf8',
    });

  it('farthing runs the command line', () => {
    expect(run('farthing')).toMatchObject({ status: 0, stdout: `${version}\n`, stderr: '' });
  });

  // F467: a script uses the command's former name: it works for one release, and says what to type.
  it('gateway does the same, and says in one line that this name ends', () => {
    const { status, stdout, stderr } = run('gateway');
    expect({ status, stdout }).toEqual({ status: 0, stdout: `${version}\n` });
    expect(stderr).toBe(
      'gateway: this command is now called farthing; the name gateway ends with the next release\n',
    );
  });
});
