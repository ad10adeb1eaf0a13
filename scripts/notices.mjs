/**
 * `npm run notices`: writes the NOTICE of each package that is published with other people's code:
 * what its build contains, by the comments that esbuild leaves in it and the list that Vite writes,
 * and what is installed with the server and is in the image. `--check` compares instead. A licence
 * that is not in `LICENSES` needs a decision first.
 */

import { existsSync, readFileSync, readdirSync, realpathSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative, resolve } from 'node:path';
import { isCheck } from './generated-files.mjs';
import { productionGraph } from './production-graph.cjs';
import { packageDirs, root, step } from './setup.mjs';

/** They ask for no more than their text and the names of the authors. */
const LICENSES = [
  '0BSD',
  'Apache-2.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'ISC',
  'MIT',
  'MIT-0',
  'Unlicense',
];
/**
 * What is inside of files that packages have built themselves, so that it is not installed here. By
 * name: licence, and the line of its authors.
 *
 * @type {Record<string, { license: string, copyright: string }>}
 */
const INSIDE = JSON.parse(readFileSync(join(root, 'scripts/notices/inside.json'), 'utf8'));
/** The texts of their licences. @type {Record<string, string>} */
const TEXTS = { MIT: 'scripts/notices/MIT.txt', 'Apache-2.0': 'LICENSE' };
const PAGES = ['customer', 'console'].map((page) =>
  join(root, 'apps/dashboard/dist', page, 'licenses.txt'),
);
const LINE = '-'.repeat(100);

step(isCheck ? 'Comparing the notices of other software' : 'Writing the notices');
for (const dir of packageDirs()) {
  const manifest = readManifest(dir);
  const isServer = dir === join(root, 'apps/gateway');
  const built = isServer ? { ...bundledIn(dir), ...inPages() } : bundledIn(dir);
  const installed = isServer ? productionGraph(dir) : [];
  // The pages are published with the server.
  const hasNotice = Object.keys(built).length > 0 && dir !== join(root, 'apps/dashboard');
  compareOrWrite(join(dir, 'NOTICE'), hasNotice ? notice(manifest.name, built, installed) : '');
}

/**
 * `copyright`: the authors, if the text does not name them.
 *
 * @typedef {{ license: string, copyright?: string, text: string }} Part
 */

/** @param {string} name @param {Record<string, Part>} built */
function notice(name, built, installed) {
  const isInside = ({ manifest }) => manifest.name in built;
  const others = installed.filter((each) => !isInside(each));
  for (const { manifest } of others) admit(manifest.name, manifest.license);
  const beside = new Set(others.map(({ manifest }) => `${manifest.name} (${manifest.license})`));
  const lists = [
    {
      title: `Software of others in the files of ${name}, with its licences below:`,
      items: Object.entries(built).map(([part, { license }]) => `${part} (${license})`),
    },
    {
      title: 'Installed with it, and in its image, each with its licence in its folder:',
      items: [...beside],
    },
  ].filter(({ items }) => items.length > 0);
  /** @type {Map<string, string[]>} */
  const texts = new Map();
  for (const [part, { copyright, text }] of Object.entries(built)) {
    const authors = copyright === undefined ? part : `${part}\n${copyright.replace(/^/gm, '  ')}`;
    texts.set(text, [...(texts.get(text) ?? []), authors]);
  }
  return [
    'Written by `npm run notices`, not by hand.',
    ...lists.map(({ title, items }) => `${title}\n\n  ${items.join('\n  ')}`),
    ...[...texts].map(([text, parts]) => `${LINE}\n${parts.join('\n')}\n\n${text}`),
  ]
    .join('\n\n')
    .concat('\n');
}

/** What the build of a package contains. @returns {Record<string, Part>} */
function bundledIn(dir) {
  const dist = join(dir, 'dist');
  const files = readdirSync(dist, { recursive: true, encoding: 'utf8' });
  const modules = new Set(
    files
      .filter((file) => /\.[cm]?js$/.test(file))
      .map((file) => readFileSync(join(dist, file), 'utf8'))
      .flatMap((text) => [...text.matchAll(/^\s*\/\/ (\.\.\/.*node_modules\/.*)$/gm)])
      .map(([, path]) => resolve(dir, path)),
  );
  const parts = [...modules].flatMap((path) => [partOf(path), ...insideOf(path)]);
  return Object.fromEntries(parts.sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** What Vite found in the pages. @returns {Record<string, Part>} */
function inPages() {
  const found = PAGES.flatMap((file) => [
    ...readFileSync(file, 'utf8').matchAll(/^## (\S+) - /gm),
  ]).map(([, name]) => name);
  if (!found.includes('preact')) throw new Error('the list of what is in the pages lacks Preact');
  const dashboard = createRequire(join(root, 'apps/dashboard/package.json'));
  return Object.fromEntries(
    [...new Set(found)].sort().map((name) => partOf(resolvePackage(dashboard, name))),
  );
}

function resolvePackage(require, name) {
  // A package that another one of the pages needs is beside that one.
  const beside = ['preact', '@preact/signals'].map((each) => realpathSync(require.resolve(each)));
  const found = [require, ...beside.map(createRequire)].flatMap((from) =>
    (from.resolve.paths(name) ?? [])
      .map((folder) => join(folder, name, 'package.json'))
      .filter(existsSync),
  );
  if (found[0] === undefined) throw new Error(`${name} is in the pages, and not installed`);
  return found[0];
}

/** @param {string} path - of a module @returns {[string, Part]} */
function partOf(path) {
  let dir = dirname(path);
  while (!existsSync(join(dir, 'package.json')) || readManifest(dir).name === undefined) {
    dir = dirname(dir);
  }
  const { name, license, author } = readManifest(dir);
  admit(name, license);
  const file = readdirSync(dir).find((each) => /^licen[cs]e/i.test(each));
  if (file === undefined) return withoutFile(name, { license, copyright: author?.name });
  const text = readFileSync(join(dir, file), 'utf8').replaceAll('\r', '').trim();
  return [name, { license, text }];
}

/**
 * Of a package that names its licence and authors, without the licence's text.
 *
 * @returns {[string, Part]}
 */
function withoutFile(name, { license, copyright }) {
  const text = TEXTS[license];
  if (text === undefined || copyright === undefined) {
    throw new Error(`${name} has no file with its licence`);
  }
  return [name, { license, copyright, text: readFileSync(join(root, text), 'utf8').trim() }];
}

/**
 * What a module contains that its package has bundled itself: by its source map, and by licences in
 * its comments.
 *
 * @returns {[string, Part][]}
 */
function insideOf(path) {
  const map = `${path}.map`;
  const sources = existsSync(map) ? JSON.parse(readFileSync(map, 'utf8')).sources : [];
  const ofMap = sources.map((source) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(source)?.[1]);
  const comments = readFileSync(path, 'utf8').matchAll(/^ *((?:@[\w-]+\/)?[\w.-]+)\/\S+\.m?js:$/gm);
  const names = [...ofMap, ...[...comments].map(([, name]) => name)].filter(Boolean);
  return [...new Set(names)].map((name) => {
    const known = INSIDE[name];
    if (known === undefined) {
      throw new Error(
        `${relative(root, path)} contains ${name}: add it to scripts/notices/inside.json`,
      );
    }
    admit(name, known.license);
    const text = readFileSync(join(root, TEXTS[known.license] ?? ''), 'utf8');
    return [name, { ...known, text: text.trim() }];
  });
}

function admit(name, license) {
  if (LICENSES.includes(license)) return;
  throw new Error(`${name}: decide whether its licence may be published with this: ${license}`);
}

function readManifest(dir) {
  return JSON.parse(readFileSync(join(dir, 'package.json'), 'utf8'));
}

function compareOrWrite(file, text) {
  const present = existsSync(file) ? readFileSync(file, 'utf8') : '';
  if (present === text) return;
  if (!isCheck) return writeFileSync(file, text);
  process.stderr.write(`${relative(root, file)} is stale: run npm run notices and commit\n`);
  process.exitCode = 1;
}
