/**
 * `npm run release:dry`: a rehearsal of a release. Like the release workflow, it raises the
 * versions if there are changesets, packs the packages and publishes them, but in a copy of this
 * repository and to a local registry. Then it installs them from there into an empty project and
 * uses them. It removes all of its files afterwards.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from './free-port.cjs';
import { publishedPackages, withScratch } from './packed.mjs';
import { PNPM, ensureInstalled, node, output, root, step } from './setup.mjs';

/**
 * Verdaccio, the registry, is not a dependency of this repository, because every installation would
 * then include its 311 packages. One of them depends on node-fetch by a tag, which mirrors of the
 * registry may not have.
 */
const VERDACCIO = { verdaccio: '6.10.4' };
const OVERRIDES =
  'overrides:\n  node-fetch: 2.7.0\nminimumReleaseAge: 1440\nstrictDepBuilds: false\n';
/** History, build output and private files, which are not copied. */
const NOT_COPIED = new Set(['.git', 'node_modules', 'dist', 'coverage', '.data', '.env']);
const ORIGIN = { GITHUB_SERVER_URL: 'https://git.example', GITHUB_REPOSITORY: 'owner/name' };

ensureInstalled();
await withScratch(async (scratch) => {
  const copy = join(scratch, 'copy');
  step('Raising the versions in a copy');
  copyTree(copy);
  pnpmIn({ cwd: copy }, 'install', '--frozen-lockfile', '--prefer-offline');
  // Without changesets the versions are already raised, and `changeset version` would fail.
  if (hasChangesets(copy)) pnpmIn({ cwd: copy }, 'run', 'release:version');
  const registry = await startRegistry(join(scratch, 'registry'));
  try {
    step('Publishing to a registry on this machine');
    publish(copy, registry, join(scratch, 'release'));
    const releases = publishedPackages(copy).map(({ name, manifest }) => [name, manifest.version]);
    for (const [name, version] of releases) report(registry, name, version);
    step('Installing from there, and using it');
    use(join(scratch, 'consumer'), registry, Object.fromEntries(releases));
  } finally {
    await registry.stop();
  }
});

/** Copies the working tree, so that a change can be tried before it is committed. */
function copyTree(copy) {
  const isSource = (path) => !NOT_COPIED.has(basename(path));
  cpSync(root, copy, { recursive: true, verbatimSymlinks: true, filter: isSource });
  // Changesets reads the history and tags the published versions.
  const git = (...args) =>
    output('git', ['-c', 'core.hooksPath=/dev/null', ...args], { cwd: copy });
  git('init', '-q', '-b', 'main');
  git('config', 'user.name', 'dry run');
  git('config', 'user.email', 'dry-run@git.example');
  git('add', '-A');
  git('commit', '-q', '-m', 'What would be released');
}

function hasChangesets(copy) {
  const names = readdirSync(join(copy, '.changeset'));
  return names.some((name) => name.endsWith('.md') && name !== 'README.md');
}

/**
 * Starts Verdaccio. It stores the published packages and fetches all others from npm's registry.
 */
async function startRegistry(dir) {
  step('Starting a registry');
  mkdirSync(dir);
  writeFileSync(join(dir, 'package.json'), JSON.stringify({ dependencies: VERDACCIO }));
  writeFileSync(join(dir, 'pnpm-workspace.yaml'), OVERRIDES);
  pnpmIn({ cwd: dir }, 'install', '--prefer-offline');
  const config = {
    storage: join(dir, 'storage'),
    auth: { htpasswd: { file: join(dir, 'htpasswd') } },
    uplinks: { configured: { url: output('npm', ['config', 'get', 'registry']).trim() } },
    packages: {
      '@gateway/*': { access: '$all', publish: '$authenticated' },
      '**': { access: '$all', proxy: 'configured' },
    },
    log: { type: 'stdout', level: 'error' },
  };
  writeFileSync(join(dir, 'config.yaml'), JSON.stringify(config));
  const listen = `127.0.0.1:${await freePort()}`;
  const program = join(dir, 'node_modules/verdaccio/bin/verdaccio');
  const args = [program, '--config', join(dir, 'config.yaml'), '--listen', listen];
  const verdaccio = spawn(node, args, { stdio: 'ignore' });
  const exited = once(verdaccio, 'exit');
  const stop = () => {
    verdaccio.kill();
    return exited;
  };
  process.on('exit', stop);
  const url = `http://${listen}/`;
  await answering(`${url}-/ping`);
  return { url, token: await addUser(url), stop };
}

async function answering(url) {
  for (let tries = 0; tries < 300; tries += 1) {
    const response = await fetch(url).catch(() => undefined);
    if (response?.ok) return;
    await sleep(100);
  }
  throw new Error('the registry did not start');
}

async function addUser(url) {
  const response = await fetch(`${url}-/user/org.couchdb.user:dry`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'dry', password: 'a password for nothing' }),
  });
  return (await response.json()).token;
}

/**
 * Does the same as the jobs `build` and `publish` of the workflow: packs without credentials, then
 * publishes only the packed files.
 */
function publish(copy, { url, token }, release) {
  // A provenance statement needs the identity of a workflow, and this is not run by one.
  const identity = { PNPM_CONFIG_PROVENANCE: 'false', ACTIONS_ID_TOKEN_REQUEST_URL: undefined };
  // Otherwise pnpm would check whether it must install again, because the versions have changed.
  const install = { PNPM_CONFIG_VERIFY_DEPS_BEFORE_RUN: 'false' };
  const env = { ...process.env, ...ORIGIN, ...identity, ...install };
  const pnpmHere = (...args) => pnpmIn({ cwd: copy, env }, ...args);
  const plan = join(release, 'publish-plan.json');
  const packed = join(release, 'packed');
  const npmrc = join(copy, '.npmrc');
  mkdirSync(release);
  writeFileSync(npmrc, `registry=${url}\n`);
  pnpmHere('exec', 'changeset', 'publish-plan', '--output', plan);
  pnpmHere('run', 'release:prepare');
  pnpmHere('exec', 'changeset', 'pack', '--from-publish-plan', plan, '--out-dir', packed);
  writeFileSync(npmrc, `registry=${url}\n${url.slice('http:'.length)}:_authToken=${token}\n`);
  pnpmHere('exec', 'changeset', 'publish', '--from-pack-dir', packed);
}

/**
 * Prints a published version. Checks that its manifest names the repository, which npm needs for
 * provenance.
 */
function report({ url }, name, version) {
  const asked = ['view', `${name}@${version}`, '--json', `--registry=${url}`];
  const { repository, dist } = JSON.parse(output('npm', asked));
  if (!repository?.url.includes(ORIGIN.GITHUB_REPOSITORY)) {
    throw new Error(`${name} does not name its repository`);
  }
  process.stdout.write(`  ${name}@${version} ${dist.integrity}\n`);
}

/**
 * Installs with npm, as most users do. Uses its own npm cache, because the registry's address is
 * temporary.
 */
function use(dir, { url }, dependencies) {
  mkdirSync(dir);
  writeFileSync(join(dir, 'package.json'), JSON.stringify({ type: 'module', dependencies }));
  writeFileSync(join(dir, '.npmrc'), `registry=${url}\ncache=${join(dir, 'cache')}\n`);
  output('npm', ['install', '--no-audit', '--no-fund'], { cwd: dir });
  cpSync(join(root, 'scripts/release-dry/example.mjs'), join(dir, 'example.mjs'));
  process.stdout.write(`  ${output(node, ['example.mjs'], { cwd: dir })}`);
}

function pnpmIn(options, ...args) {
  return output('npx', ['-y', PNPM, ...args], options);
}
