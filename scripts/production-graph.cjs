/**
 * What is installed with a package of this repository: its dependencies, theirs, and so on. Found in
 * the installed manifests, as Node finds modules. CommonJS, so that scripts and Jest's tests can
 * both load it.
 */

const { existsSync, readFileSync, realpathSync } = require('node:fs');
const { dirname, join } = require('node:path');

/**
 * @typedef {object} Manifest
 * @property {string} name
 * @property {string} version
 * @property {string} [license]
 * @property {Record<string, string>} [scripts]
 * @property {Record<string, string>} [dependencies]
 * @property {Record<string, string>} [optionalDependencies]
 *
 * @typedef {{ dir: string, manifest: Manifest }} Installed
 */

/**
 * @param {string} dir - of a package of this repository
 * @returns {readonly Installed[]} by name, without packages of this repository
 */
exports.productionGraph = function productionGraph(dir) {
  /** @type {Map<string, Installed>} */
  const found = new Map();
  visit(realpathSync(dir));
  return [...found.values()]
    .filter((each) => each.dir.includes('node_modules'))
    .sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));

  /** @param {string} folder */
  function visit(folder) {
    if (found.has(folder)) return;
    const manifest = readManifest(folder);
    found.set(folder, { dir: folder, manifest });
    for (const name of Object.keys(manifest.dependencies ?? {})) visit(resolve(folder, name));
    for (const name of Object.keys(manifest.optionalDependencies ?? {})) {
      const optional = find(folder, name);
      if (optional !== undefined) visit(optional);
    }
  }
};

/** @param {string} folder @returns {Manifest} */
function readManifest(folder) {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
}

/** @param {string} from @param {string} name */
function resolve(from, name) {
  const folder = find(from, name);
  if (folder === undefined) throw new Error(`${from} needs ${name}, which is not installed`);
  return folder;
}

/** The folder of a package that another one can import. @param {string} from @param {string} name */
function find(from, name) {
  for (let folder = from; folder !== dirname(folder); folder = dirname(folder)) {
    const candidate = join(folder, 'node_modules', name);
    if (existsSync(join(candidate, 'package.json'))) return realpathSync(candidate);
  }
  return undefined;
}

/** @param {Installed} installed */
function keyOf({ manifest }) {
  return `${manifest.name} ${manifest.version}`;
}
