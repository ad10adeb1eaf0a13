/**
 * The first step of every command of this repository: installs dependencies and builds packages.
 * Both are done only if something changed since the last time. Needs only Node 20.12 and npm.
 */

import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { NODE_VERSION, projectNode } from './node-programs.cjs';
import { reasonOfBuild } from './reason-of-build.mjs';

export const root = fileURLToPath(new URL('..', import.meta.url));
/** The Node version that the project runs on, from its own dependencies if they have one. */
export const node = projectNode ?? process.execPath;

/** The arguments of `node` that run Jest. */
export const JEST = [
  // Jest runs tests as CommonJS. With this they can load ES modules, such as commander.
  '--experimental-vm-modules',
  '--disable-warning=ExperimentalWarning',
  join(root, 'node_modules/jest/bin/jest.js'),
  '--ci',
];

const CACHE = join(root, 'node_modules/.cache');
export const COMPILE_CACHE = join(CACHE, 'compiled');
// Without it, swc unpacks its native part into the user's home.
process.env.SWC_NATIVE_BINDING_CACHE ??= join(CACHE, 'swc');

export const PNPM = 'pnpm@12.21.0';
const INSTALL_STAMP = join(root, 'node_modules', '.installed');
const BUILD_STAMP = join(root, 'node_modules', '.built');

/**
 * Prints a heading, so that people see the step that is running. It is not part of the output,
 * which may go into a file.
 */
export function step(text) {
  process.stderr.write(`\n▸ ${text}\n`);
}

/** Runs a command and shows its output. Exits this process if the command fails. */
export function run(command, args, options = {}) {
  const result = spawnSync(command, args, { cwd: root, stdio: 'inherit', ...options });
  if (result.status === 0) return;
  process.stderr.write(`\n${[command, ...args].join(' ')} failed\n`);
  process.exit(result.status ?? 1);
}

/** Runs a command. @returns its output @throws an error that contains the output, if it fails */
export function output(command, args, options = {}) {
  const result = spawnSync(...started(command, args), {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
    ...options,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  if (result.status === 0) return result.stdout;
  throw new Error(`${[command, ...args].join(' ')} failed\n${result.stdout}${result.stderr}`);
}

/**
 * On Windows, npm's commands are batch files, which Node does not start. The programs that they run
 * are beside Node.
 *
 * @param {string} command
 * @param {string[]} args
 * @returns {[string, string[]]} the command that starts it, and its arguments
 */
function started(command, args) {
  if (process.platform !== 'win32' || !['npm', 'npx'].includes(command)) return [command, args];
  const program = join(dirname(process.execPath), `node_modules/npm/bin/${command}-cli.js`);
  return [process.execPath, [program, ...args]];
}

/**
 * Runs pnpm. Its output is shown only if it fails, because most of it warns about the Node that
 * starts pnpm, and the project runs on another Node. Exits this process if pnpm fails.
 */
export function pnpm(...args) {
  try {
    output('npx', ['-y', PNPM, ...args]);
  } catch (error) {
    fail(error instanceof Error ? error.message : String(error));
  }
}

/**
 * The stamp is written only after every native tool has been started once: pnpm leaves an optional
 * package out, without an error, if it seems not to fit this machine.
 */
export function ensureInstalled() {
  const [major] = NODE_VERSION.split('.');
  if (node === process.execPath && !process.version.startsWith(`v${major}.`)) {
    fail(
      `No package has Node for ${process.platform}-${process.arch}: start this with Node ${major}`,
    );
  }
  const files = ['pnpm-lock.yaml', 'pnpm-workspace.yaml', 'scripts/native-tools.mjs'];
  const machine = `${process.platform} ${process.arch}`;
  const wanted = `${machine} ${digest(files.map((name) => join(root, name)))}`;
  if (existsSync(node) && readStamp(INSTALL_STAMP) === wanted) return;
  step('Installing dependencies (once, about a minute)');
  pnpm('install', '--frozen-lockfile');
  if (toolProblems() !== '') {
    // pnpm takes what an earlier run has installed for complete.
    step('Installing them again, because a tool does not start');
    for (const dir of [root, ...packageDirs()]) {
      rmSync(join(dir, 'node_modules'), { recursive: true, force: true });
    }
    pnpm('install', '--frozen-lockfile');
    const problems = toolProblems();
    if (problems !== '') fail(`These tools of the project do not start here:\n${problems}`);
  }
  writeFileSync(INSTALL_STAMP, wanted);
}

/** @returns which native tools do not start, and why, a line each. */
function toolProblems() {
  const { status, error, stdout, stderr } = spawnSync(
    node,
    [join(root, 'scripts/native-tools.mjs'), join(root, 'node_modules')],
    { encoding: 'utf8' },
  );
  if (status === 0) return '';
  return stdout || stderr || `node: ${error?.message ?? 'does not start'}`;
}

/** Builds what was never built, for tests that read sources and generated files only. */
export function ensureBuiltOnce() {
  if (!packageDirs().every(isBuilt)) ensureBuilt();
}

export function ensureBuilt() {
  const wanted = digest(sources());
  if (readStamp(BUILD_STAMP) === wanted && packageDirs().every(isBuilt)) return;
  step('Building the packages (once, half a minute)');
  try {
    output('npx', ['-y', PNPM, 'run', 'build'], {
      // Otherwise, tools of the build keep their compiled code in the folder for temporary files.
      env: { ...process.env, NODE_COMPILE_CACHE: COMPILE_CACHE },
    });
  } catch (error) {
    // The next run looks at the installation again.
    rmSync(INSTALL_STAMP, { force: true });
    fail(`${error.message}\n${reasonOfBuild(error.message)}`);
  }
  writeFileSync(BUILD_STAMP, wanted);
}

function fail(message) {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}

export function packageDirs(from = root) {
  return ['packages', 'apps'].flatMap((group) =>
    readdirSync(join(from, group)).map((name) => join(from, group, name)),
  );
}

function isBuilt(dir) {
  return existsSync(join(dir, 'dist'));
}

function sources() {
  const configs = [
    'package.json',
    'tsup.config.ts',
    'vite.config.ts',
    'tsconfig.json',
    'prisma.config.ts',
  ];
  return [
    join(root, 'pnpm-lock.yaml'),
    join(root, 'tsconfig.base.json'),
    ...packageDirs().flatMap((dir) => [
      ...configs.map((name) => join(dir, name)).filter(existsSync),
      ...files(join(dir, 'src')),
      ...files(join(dir, 'prisma')),
      ...files(join(dir, 'public')),
    ]),
  ];
}

/** All files below a folder, except generated ones. */
export function files(dir) {
  if (!existsSync(dir)) return [];
  return readdirSync(dir, { recursive: true })
    .map((name) => join(dir, name))
    .filter((path) => !path.includes('generated') && statSync(path).isFile())
    .sort();
}

function digest(paths) {
  const hash = createHash('sha256');
  for (const path of paths) hash.update(relative(root, path)).update(readFileSync(path));
  return hash.digest('hex');
}

function readStamp(path) {
  return existsSync(path) ? readFileSync(path, 'utf8') : '';
}
