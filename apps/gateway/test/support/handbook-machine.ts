/**
 * A machine on which the commands of the handbook are typed: its folders are in a temporary one,
 * and `systemctl` and `sudo` are small programs that do what the handbook uses of them. The gateway
 * is the built one, started as the unit starts it.
 */

import { execFile } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../../../../scripts/free-port.cjs';
import { INHERITED } from './gateway-process.js';
import type { Block } from './handbook.js';

const ROOT = join(__dirname, '../../../..');
const UNIT = join(ROOT, 'deploy/systemd/farthing.service');
const UNITS = '/etc/systemd/system';
/** A minute in which nothing happens lasts a fifth of a second. */
const QUICK = `--import=${join(__dirname, 'quick-minutes.mjs')}`;

interface Typed {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

export type HandbookMachine = Awaited<ReturnType<typeof createMachine>>;

/** @param shellFunction - The definition of `farthing` in the handbook. */
export async function createMachine(folder: string, shellFunction: string) {
  const bin = join(folder, 'bin');
  const own = ['/var/lib', '/etc', '/opt'].flatMap((parent) => [
    `${parent}/farthing`,
    `${parent}/gateway`,
  ]);
  const places: readonly (readonly [string, string])[] = [
    ...[...own, UNITS, '/backups', '/archives'].map(
      (place) => [place, join(folder, place)] as const,
    ),
    ['/usr/bin/node', process.execPath],
    [' deploy/systemd/', ` ${join(ROOT, 'deploy/systemd/')}`],
    // Only root may give a file to another user, and rename one.
    [' -o farthing -g farthing', ''],
    ['usermod --login farthing gateway && groupmod --new-name farthing gateway', ''],
  ];
  for (const place of [
    '/var/lib/farthing',
    '/etc/farthing',
    UNITS,
    '/backups',
    '/archives',
    '/log',
    '/bin',
  ]) {
    mkdirSync(join(folder, place), { recursive: true });
  }
  copyFileSync(UNIT, join(folder, UNITS, 'farthing.service'));
  for (const version of ['/opt/farthing', '/opt/farthing-new']) {
    mkdirSync(join(folder, version), { recursive: true });
    symlinkSync(join(ROOT, 'apps/gateway/dist'), join(folder, version, 'dist'));
  }
  const here = (text: string): string =>
    places.reduce((changed, [place, other]) => changed.replaceAll(place, other), text);
  const [adminPort, port] = [String(await freePort()), String(await freePort())];
  const ports = { PORT: port, ADMIN_PORT: adminPort };
  let variables: Readonly<Record<string, string>> = {};

  function configure(more: Readonly<Record<string, string>>): void {
    variables = { ...variables, ...more };
    const lines = Object.entries(variables).map(([name, value]) => `${name}=${value}\n`);
    writeFileSync(join(folder, '/etc/farthing/farthing.env'), lines.join(''));
  }

  writeProgram(join(bin, 'sudo'), SUDO);
  writeProgram(join(bin, 'systemctl'), systemctlOf(folder, adminPort, places));
  configure(ports);
  return {
    folder,
    url: `http://127.0.0.1:${port}`,
    adminUrl: `http://127.0.0.1:${adminPort}`,
    envFile: join(folder, '/etc/farthing/farthing.env'),
    path: here,
    /** Writes variables into the file that `ENV_FILE` names, beside those that are there. */
    configure,
    log: () => readFileSync(join(folder, 'log/gateway.log'), 'utf8'),
    /**
     * Does what a block says. Words such as `key_…` and addresses are replaced first.
     *
     * @throws {Error} if a command fails
     */
    async follow(block: Pick<Block, 'kind' | 'code'>, words: Words = {}): Promise<string> {
      const typed = Object.entries(words).reduce(
        (text, [word, value]) => text.replaceAll(word, value),
        here(block.code),
      );
      if (typed.includes('…')) throw new Error(`what stands for … in ${typed}`);
      if (block.kind === 'variables') {
        configure(
          Object.fromEntries(typed.split('\n').map((line) => /^(\w+)=(.*)$/.exec(line)!.slice(1))),
        );
        return '';
      }
      const { code, out, err } = await type(`${here(shellFunction)}\nset -e\n${typed}`);
      if (code !== 0) throw new Error(`${typed}\nended with ${String(code)}:\n${out}${err}`);
      return out;
    },
    /** Types one line, which may fail. */
    type: (line: string) => type(`${here(shellFunction)}\n${here(line)}`),
  };

  function type(script: string): Promise<Typed> {
    const env = { PATH: `${bin}:${INHERITED.PATH ?? ''}` };
    return new Promise((resolve) => {
      execFile('sh', ['-c', script], { cwd: join(folder, 'log'), env }, (error, out, err) => {
        resolve({ code: error === null ? 0 : Number(error.code ?? 1), out, err });
      });
    });
  }
}

export type Words = Readonly<Record<string, string>>;

function writeProgram(file: string, text: string): void {
  writeFileSync(file, text, { mode: 0o755 });
}

/** Like sudo, gives the program no variable of the caller but those that are named. */
const SUDO = `#!/bin/sh
kept=
while :; do
  case "$1" in
    -u) shift 2 ;;
    --preserve-env=*) kept=$(echo "\${1#*=}" | tr , ' '); shift ;;
    *) break ;;
  esac
done
for name in $kept; do
  eval "value=\\\${$name-}"
  [ -z "$value" ] || set -- "$name=$value" "$@"
done
exec env -i "PATH=$PATH" "$@"
`;

/**
 * Runs `ExecStart` of an installed unit with its `Environment`, and sends the signals that systemd
 * sends. One unit runs at a time.
 */
function systemctlOf(
  folder: string,
  adminPort: string,
  places: readonly (readonly [string, string])[],
): string {
  const moved = places.map(([place, other]) => `-e 's|${place}|${other}|g'`).join(' ');
  const isReady =
    `fetch("http://127.0.0.1:${adminPort}/readyz")` +
    '.then((res) => process.exit(res.ok ? 0 : 1), () => process.exit(1))';
  const [log, pid] = [join(folder, 'log/gateway.log'), join(folder, 'pid')];
  return `#!/bin/sh
case "$*" in
  daemon-reload) exit ;;
  'enable --now '*) set -- start "$3" ;;
  'disable --now '*) set -- stop "$3" ;;
esac
unit=${join(folder, UNITS)}/$2.service
[ -e "$unit" ] || { echo "systemctl $*: there is no such unit" >&2; exit 1; }
value() { sed -n "s/^$1=//p" "$unit" | sed ${moved}; }
case "$1" in
  start)
    env -i "PATH=$PATH" "NODE_OPTIONS=${QUICK}" $(value Environment) $(value ExecStart) \\
      >>${log} 2>&1 &
    echo $! >${pid}
    until ${process.execPath} -e '${isReady}'; do
      kill -0 "$(cat ${pid})" || { cat ${log} >&2; exit 1; }
      sleep 0.1
    done ;;
  stop)
    [ -e ${pid} ] || exit 0
    kill "$(cat ${pid})"
    while kill -0 "$(cat ${pid})" 2>/dev/null; do sleep 0.1; done
    rm ${pid} ;;
  reload) kill -HUP "$(cat ${pid})" ;;
  *) echo "systemctl $1: not known here" >&2; exit 1 ;;
esac
`;
}
