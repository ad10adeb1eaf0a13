/**
 * `npm run release:dry`: a rehearsal of a release. Like the release workflow, it raises the
 * versions if there are changesets, packs the packages and publishes them, but in a copy of this
 * repository and to registries on this machine. Then it deletes the copy, gets everything from
 * there as a stranger does, and asks lines of the specification. With `--whole`, which takes ten
 * minutes more, it does the same under another scope, as an owner must who cannot have this one,
 * and the chart and an image, which is put together without a container engine, go through a
 * registry likewise. It removes all of its files afterwards.
 */

import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { publishedPackages, withScratch } from './packed.mjs';
import { buildImage, rehearseContainers } from './release/containers.mjs';
import { copyTree } from './release/copy-tree.mjs';
import { fetchFromNpm } from './release/fetch-npm.mjs';
import { installRegistry, startRegistry } from './release/local-registry.mjs';
import { PNPM, ensureInstalled, node, output, step } from './setup.mjs';
import { followFirstPage } from './stranger.mjs';

const ORIGIN = { GITHUB_SERVER_URL: 'https://git.example', GITHUB_REPOSITORY: 'owner/name' };
const CHANGE_SCOPE = 'scripts/change-scope.mjs';
/** Of the other scope. `change-scope.mjs` refuses a scope that stands in a file. */
const OTHER_OWNER = 'other';
const isWhole = process.argv.includes('--whole');
/** The Node that a stranger has, which is not that of this process. */
const STRANGER = { ...process.env, PATH: `${dirname(node)}:${process.env.PATH}` };

ensureInstalled();
await withScratch(async (scratch) => {
  const registries = join(scratch, 'registry');
  installRegistry(registries);
  await rehearse(join(scratch, 'own-scope'), registries);
  if (isWhole) await rehearse(join(scratch, 'other-scope'), registries, `@${OTHER_OWNER}`);
});

/** @param {string} [scope] - in place of that of this repository */
async function rehearse(dir, registries, scope) {
  const copy = join(dir, 'copy');
  step(scope === undefined ? 'Raising the versions in a copy' : `The same under ${scope}`);
  copyTree(copy);
  commit(copy);
  if (scope !== undefined) output(node, [join(copy, CHANGE_SCOPE), scope], { cwd: copy });
  pnpmIn({ cwd: copy }, 'install', '--frozen-lockfile', '--prefer-offline');
  // Without changesets the versions are already raised, and `changeset version` would fail.
  if (hasChangesets(copy)) pnpmIn({ cwd: copy }, 'run', 'release:version');
  const releases = publishedPackages(copy);
  const libraries = releases.filter(({ entries }) => entries.length > 0);
  const [server] = releases.filter(({ entries }) => entries.length === 0);
  const registry = await startRegistry(
    registries,
    releases.map(({ name }) => name),
  );
  try {
    step('Publishing to a registry on this machine');
    publish(copy, registry, dir);
    for (const release of releases) report(registry, release);
    listParts(copy, server.name, join(dir, 'sbom.json'));
    const example = readFileSync(join(copy, 'scripts/release/example.mjs'), 'utf8');
    const containers =
      isWhole && scope === undefined ? buildImage(copy, join(dir, 'containers')) : undefined;
    rmSync(copy, { recursive: true });
    step('Installing the libraries from there, and using them');
    use(join(dir, 'consumer'), registry, libraries, example);
    step('Serving from there by npx, in an empty home, without the copy');
    const spec = `${server.name}@${server.manifest.version}`;
    const lines = await fetchFromNpm(spec, { registry: registry.url, env: STRANGER });
    process.stdout.write(`  npx ${spec}: ${lines} lines of the specification hold\n`);
    if (scope === undefined) {
      const typed = await followFirstPage({ registry: registry.url, env: STRANGER });
      process.stdout.write(`  the README's first page: ${typed} blocks do what it says\n`);
    }
    if (containers !== undefined) await rehearseContainers(containers);
  } finally {
    await registry.stop();
  }
}

/** Changesets reads the history and tags the published versions. */
function commit(copy) {
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
  writeFileSync(npmrc, `registry=${url}\n`);
  pnpmHere('exec', 'changeset', 'publish-plan', '--output', plan);
  const planned = output(node, ['scripts/release/planned-server.mjs', plan], { cwd: copy });
  if (!/^version=\d/.test(planned)) throw new Error('the plan does not publish the server');
  pnpmHere('run', 'release:prepare');
  pnpmHere('exec', 'changeset', 'pack', '--from-publish-plan', plan, '--out-dir', packed);
  writeFileSync(npmrc, `registry=${url}\n${url.slice('http:'.length)}:_authToken=${token}\n`);
  pnpmHere('exec', 'changeset', 'publish', '--from-pack-dir', packed);
  rmSync(npmrc);
}

/**
 * Prints a published version. Checks that its manifest names the repository, which npm needs for
 * provenance, and that it depends on exact versions of the others.
 */
function report({ url }, { name, manifest: { version } }) {
  const asked = ['view', `${name}@${version}`, '--json', `--registry=${url}`];
  const { repository, homepage, bugs, keywords, dependencies, dist } = JSON.parse(
    output('npm', asked),
  );
  if (!repository?.url.includes(ORIGIN.GITHUB_REPOSITORY)) {
    throw new Error(`${name} does not name its repository`);
  }
  if ([homepage, bugs?.url, keywords?.[0]].includes(undefined)) {
    throw new Error(`${name} has no homepage, no bugs or no keywords`);
  }
  const inexact = Object.entries(dependencies ?? {}).filter(([, range]) => !/^\d/.test(range));
  if (inexact.length > 0) throw new Error(`${name} depends on ${inexact.join(', ')}`);
  process.stdout.write(`  ${name}@${version} ${dist.integrity}\n`);
}

/** Writes the bill of materials as the workflow does, which then signs it. */
function listParts(copy, server, file) {
  const sbom = ['sbom', '--prod', '--sbom-type', 'application', '--sbom-format', 'cyclonedx'];
  pnpmIn({ cwd: copy }, '--filter', server, ...sbom, '--out', file);
  const { metadata, components } = JSON.parse(readFileSync(file, 'utf8'));
  if (metadata.component.name !== server || !components.some(({ name }) => name === 'express')) {
    throw new Error('the bill of materials is not that of the server');
  }
  process.stdout.write(`  bill of materials: ${components.length} packages\n`);
}

/**
 * Installs with npm, as most users do. Uses its own npm cache, because the registry's address is
 * temporary.
 */
function use(dir, { url }, libraries, example) {
  const dependencies = libraries.map(({ name, manifest }) => [name, manifest.version]);
  mkdirSync(dir);
  writeFileSync(
    join(dir, 'package.json'),
    JSON.stringify({ type: 'module', dependencies: Object.fromEntries(dependencies) }),
  );
  writeFileSync(join(dir, '.npmrc'), `registry=${url}\ncache=${join(dir, 'cache')}\n`);
  output('npm', ['install', '--no-audit', '--no-fund'], { cwd: dir });
  writeFileSync(join(dir, 'example.mjs'), example);
  process.stdout.write(`  ${output(node, ['example.mjs'], { cwd: dir })}`);
}

function pnpmIn(options, ...args) {
  return output('npx', ['-y', PNPM, ...args], options);
}
