/**
 * The files of the web pages, as `apps/dashboard` builds them. They are read once at start, so no
 * path of a request reaches the file system.
 */

import { createHash } from 'node:crypto';
import { existsSync, readFileSync, readdirSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, extname, join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Logger } from 'pino';
import { ConfigError } from '../../config/config.js';

/** `customer`: for the holder of a key, on the port for clients. `console`: for operators. */
export type PageName = 'customer' | 'console';

/** A file may have a compressed copy in each of these codings, in the order of preference. */
export const CODINGS = ['br', 'gzip'] as const;
export type Coding = (typeof CODINGS)[number];

export interface PageFile {
  readonly contentType: string;
  readonly cacheControl: string;
  readonly etag: string;
  readonly bytes: Buffer;
  readonly compressed: Readonly<Partial<Record<Coding, Buffer>>>;
}

/** Files by their path below the page's address. The page itself has the empty path. */
export type PageFiles = ReadonlyMap<string, PageFile>;

const EXTENSIONS: Readonly<Record<Coding, string>> = { br: '.br', gzip: '.gz' };

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.txt': 'text/plain; charset=utf-8',
};

/** A name under this folder contains a hash of the file, so its content never changes. */
const IMMUTABLE = 'assets/';
const FOREVER = 'public, max-age=31536000, immutable';
/** A browser asks each time whether it still has the newest version. */
const REVALIDATE = 'no-cache';

const START = 'index.html';
/** A value of PAGES_DIR. */
const NO_PAGES = 'none';

/**
 * @param folder - The folder that contains all pages. `undefined`: that of this build; `none`: no
 * pages.
 * @returns `undefined` for `none`, or if this build has no pages, which is logged.
 * @throws {ConfigError} The given folder does not contain the page.
 */
export function loadPage(
  name: PageName,
  folder: string | undefined,
  log: Pick<Logger, 'info'>,
): PageFiles | undefined {
  const dir = findPage(name, folder);
  if (dir !== undefined) return readPage(dir);
  if (folder === undefined) {
    log.info({ page: name }, 'this page is not served: it is not built');
  } else if (folder !== NO_PAGES) {
    throw new ConfigError([`PAGES_DIR: has no ${name}/${START}`]);
  }
  return undefined;
}

/** @returns the folder of a page, if it has been built */
export function findPage(name: PageName, folder: string | undefined): string | undefined {
  if (folder === NO_PAGES) return undefined;
  const pages = folder ?? builtPages();
  const dir = pages === undefined ? undefined : join(pages, name);
  return dir !== undefined && existsSync(join(dir, START)) ? dir : undefined;
}

/** The build puts the pages beside the program. The sources have them from their package. */
function builtPages(): string | undefined {
  const beside = fileURLToPath(new URL('pages', import.meta.url));
  if (existsSync(beside)) return beside;
  try {
    const manifest = createRequire(import.meta.url).resolve('@gateway/dashboard/package.json');
    return join(dirname(manifest), 'dist');
  } catch {
    return undefined;
  }
}

function readPage(dir: string): PageFiles {
  const paths = readdirSync(dir, { recursive: true, encoding: 'utf8' })
    .filter((path) => statSync(join(dir, path)).isFile())
    .map((path) => path.split(sep).join('/'));
  const known = new Set(paths);
  const isCopy = (path: string): boolean =>
    Object.values(EXTENSIONS).some(
      (extension) => path.endsWith(extension) && known.has(path.slice(0, -extension.length)),
    );
  return new Map(
    paths
      .filter((path) => !isCopy(path))
      .map((path) => [path === START ? '' : path, readPageFile(dir, path, known)]),
  );
}

function readPageFile(dir: string, path: string, known: ReadonlySet<string>): PageFile {
  const bytes = readFileSync(join(dir, path));
  const copies = CODINGS.filter((coding) => known.has(path + EXTENSIONS[coding])).map(
    (coding) => [coding, readFileSync(join(dir, path + EXTENSIONS[coding]))] as const,
  );
  return {
    contentType: CONTENT_TYPES[extname(path)] ?? 'application/octet-stream',
    cacheControl: path.startsWith(IMMUTABLE) ? FOREVER : REVALIDATE,
    // Weak, because one tag stands for the file in every coding.
    etag: `W/"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`,
    bytes,
    compressed: Object.fromEntries(copies),
  };
}
