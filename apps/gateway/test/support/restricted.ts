/**
 * Runs the built gateway as it runs in production: without rights, on a file system that it cannot
 * write, and under the unit's filter of system calls. Needs root on Linux, and for the filter
 * `systemd-analyze` and a Python with libseccomp's module, which `npm test` finds (TEST_SECCOMP).
 */

import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { projectNode } from '../../../../scripts/node-programs.cjs';

const ROOT = join(__dirname, '../../../..');
const UNIT = join(ROOT, 'deploy/systemd/farthing.service');
const PYTHON = process.env['TEST_SECCOMP'] ?? '';
/** The lowest from which a process without rights cannot go back to the 5 of long work. */
const NICENESS = '6';
/** As in the image. Nobody on the machine has it, so it owns nothing but what it is given. */
const USER = 1000;

export const RESTRICTIONS = ['unit', 'image', 'nice'] as const;
type Restriction = (typeof RESTRICTIONS)[number];

/** Why this machine cannot restrict a process so; `undefined` if it can. */
export function missingFor(restriction: Restriction): string | undefined {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return 'needs root on Linux';
  if (restriction === 'unit' && PYTHON === '') {
    return 'needs a Python with seccomp, and systemd-analyze (TEST_SECCOMP)';
  }
  return undefined;
}

interface RestrictedPlace {
  /** The only folder that it may write. */
  readonly dataDir: string;
  /** The command line that runs the gateway with these arguments. */
  readonly command: (...args: readonly string[]) => readonly string[];
}

/** @param folder - Empty. Gets the data directory, and a view of this repository. */
export function restrict(restriction: Restriction, folder: string): RestrictedPlace {
  const [dataDir, repository] = [join(folder, 'data'), join(folder, 'repository')];
  chmodSync(folder, 0o755);
  for (const each of [dataDir, repository]) mkdirSync(each);
  giveAway(dataDir);
  const node = join(repository, relative(ROOT, projectNode ?? process.execPath));
  const main = join(repository, 'apps/gateway/dist/main.js');
  const mounted = ['unshare', '--mount', 'sh', '-c', MOUNTS, 'sh', ROOT, repository, dataDir];
  const run = {
    image: [node],
    unit: [...filtered(repository), node],
    nice: ['nice', '-n', NICENESS, node],
  }[restriction];
  return {
    dataDir,
    command: (...args) => [...mounted, ...WITHOUT_RIGHTS, ...run, main, ...args],
  };
}

/** Lets the restricted gateway write a file or folder. */
export function giveAway(path: string): void {
  chownSync(path, USER, USER);
}

const WITHOUT_RIGHTS = [
  'setpriv',
  `--reuid=${String(USER)}`,
  `--regid=${String(USER)}`,
  '--clear-groups',
  '--bounding-set=-all',
  '--inh-caps=-all',
  '--no-new-privs',
];

/** The repository may be in a folder that others cannot enter, so it is shown in another one. */
const MOUNTS =
  'mount --bind "$1" "$2" && mount -o remount,bind,ro "$2" && mount --bind "$3" "$3" && ' +
  'mount -o remount,bind,ro / && shift 3 && exec "$@"';

function filtered(repository: string): readonly string[] {
  const script = join(repository, 'apps/gateway/test/support/filtered-exec.py');
  const isUnpacked = PYTHON.startsWith(ROOT);
  return [
    isUnpacked ? join(repository, relative(ROOT, PYTHON)) : PYTHON,
    script,
    JSON.stringify(filterOf(readFileSync(UNIT, 'utf8'))),
  ];
}

/** The filter of a unit whose first `SystemCallFilter` lists what is allowed. */
function filterOf(unit: string) {
  const values = (name: string): readonly string[] =>
    [...unit.matchAll(new RegExp(`^${name}=(.*)$`, 'gm'))].map(([, value]) => value!);
  const allowed = new Set(callsOf('@default'));
  for (const list of values('SystemCallFilter')) {
    const isRefused = list.startsWith('~');
    for (const name of list.replace('~', '').split(' ').flatMap(callsOf)) {
      if (isRefused) allowed.delete(name);
      else allowed.add(name);
    }
  }
  const [errno] = values('SystemCallErrorNumber');
  const families = values('RestrictAddressFamilies').flatMap((value) => value.split(' '));
  return { allowed: [...allowed], errno, families };
}

/** @param name - A system call, or a group of them such as `@resources`. */
function callsOf(name: string): readonly string[] {
  if (!name.startsWith('@')) return [name];
  const program = join(dirname(PYTHON), 'systemd-analyze');
  const listed = execFileSync(program, ['syscall-filter', name], { encoding: 'utf8' });
  const members = listed
    .split('\n')
    .slice(1)
    .map((line) => line.trim());
  return members.filter((line) => line !== '' && !line.startsWith('#')).flatMap(callsOf);
}
