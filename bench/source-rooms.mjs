/**
 * The room of a built function: the folder of its source file, as the file's source map names it.
 */

import { existsSync, readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { fileURLToPath } from 'node:url';

/** Built files by address, each with its map. A file without a map has none. */
const maps = new Map();

/** @returns for example `gateway exchange/relay`; undefined for code without a source map */
export function roomOf({ url, lineNumber, columnNumber }) {
  const source = sourceOf(url, lineNumber, columnNumber);
  const found = /(?:apps|packages)\/([\w-]+)\/src\/(.*)$|^(?:\.\.\/)+src\/(.*)$/.exec(source ?? '');
  if (found === null) return undefined;
  const name = found[1] ?? /(?:apps|packages)\/([\w-]+)\/dist\//.exec(url)?.[1] ?? '';
  const folders = (found[2] ?? found[3]).split('/').slice(0, -1);
  return `${name} ${folders.slice(0, 2).join('/')}`.trimEnd();
}

function sourceOf(url, line, column) {
  if (!/\/(?:apps|packages)\/[\w-]+\/dist\//.test(url)) return undefined;
  if (!maps.has(url)) {
    const file = `${url.startsWith('file:') ? fileURLToPath(url) : url}.map`;
    maps.set(url, existsSync(file) ? new SourceMap(JSON.parse(readFileSync(file, 'utf8'))) : null);
  }
  return maps.get(url)?.findEntry(line, column)?.originalSource;
}
