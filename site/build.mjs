/**
 * `npm run site`: builds the site of the documents into `site/dist`. Its pages are the documents of
 * this repository and the references of the libraries, written from their docstrings. It fails if a
 * link or an anchor leads nowhere, or if a page would load something from another host.
 *
 * `GITHUB_SERVER_URL` and `GITHUB_REPOSITORY` say where people read files that are no pages; GitHub
 * sets them. `SITE_BASE` is the path of the site on its host, such as `/farthing/`, by default `/`;
 * the site is then in `site/dist/farthing`.
 */

import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import {
  ensureBuiltOnce,
  ensureInstalled,
  files,
  node,
  pnpm,
  root,
  run,
  step,
} from '../scripts/setup.mjs';
import site from './pages.cjs';

const SITE = join(root, 'site');
const PAGES = join(SITE, 'pages');
const DIST = join(SITE, 'dist');
const BASE = process.env['SITE_BASE'] || '/';
/** Neither written for readers of the site nor by people: API reports have pages of their own. */
const NOT_A_PAGE = /^\.|^AGENTS\.md$|\/etc\/|CHANGELOG\.md$/;
const { GITHUB_SERVER_URL, GITHUB_REPOSITORY } = process.env;

ensureInstalled();
// The references need generated sources.
ensureBuiltOnce();
step('Installing the generator');
pnpm('--dir', SITE, 'install', '--frozen-lockfile', '--ignore-scripts');
rmSync(PAGES, { recursive: true, force: true });
rmSync(DIST, { recursive: true, force: true });

step('Writing the pages');
run(node, [join(SITE, 'references.mjs'), root, join(PAGES, 'reference')]);
writePages();
step('Building the site');
run(node, [bin('vitepress/bin/vitepress.js'), 'build', SITE]);
step('Following every link');
checkHosts();
checkLinks();

function writePages() {
  const tracked = git('ls-files', '*.md');
  const { pages, sidebar, images } = site.siteOf({
    documents: new Map(
      tracked.filter((path) => !NOT_A_PAGE.test(path)).map((path) => [path, read(path)]),
    ),
    references: new Map(
      tracked.flatMap((path) => {
        const [, entry] = /\/etc\/(.*)\.api\.md$/.exec(path) ?? [];
        return entry === undefined ? [] : [[path, `reference/${entry.replace('.', '/')}.md`]];
      }),
    ),
    has: (path) => existsSync(join(root, path)),
    address: GITHUB_REPOSITORY && `${GITHUB_SERVER_URL}/${GITHUB_REPOSITORY}/blob/main`,
  });
  for (const [path, text] of pages) write(path, text);
  write('sidebar.json', JSON.stringify(sidebar));
  for (const path of images) cpSync(join(root, path), join(PAGES, 'public', path));
}

/** Fails if a page would load something from another host. */
function checkHosts() {
  const loads =
    /<(?:script|img|iframe|source)[^>]* src="(?:https?:)?\/\/|<link[^>]* href="(?:https?:)?\/\/|url\(["']?(?:https?:)?\/\//;
  const strangers = files(DIST).filter(
    (path) => /\.(?:html|css)$/.test(path) && loads.test(readFileSync(path, 'utf8')),
  );
  if (strangers.length > 0) throw new Error(`load from another host: ${strangers.join(', ')}`);
}

/** Links to other hosts are not followed: they may be away. */
function checkLinks() {
  const others = '^https?://(?!(?:localhost|127.0.0.1):)';
  const options = ['--recurse', '--check-fragments', '--server-root', DIST, '--skip', others];
  const quiet = ['--verbosity', 'error'];
  run(node, [bin('linkinator/build/src/cli.js'), `.${BASE}`, ...options, ...quiet], { cwd: DIST });
}

function bin(path) {
  return join(SITE, 'node_modules', path);
}

function git(...args) {
  return execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim().split('\n');
}

function read(path) {
  return readFileSync(join(root, path), 'utf8');
}

function write(path, text) {
  mkdirSync(dirname(join(PAGES, path)), { recursive: true });
  writeFileSync(join(PAGES, path), text);
}
