/** Rules for eslint about which file may import which. */

import { existsSync, readFileSync } from 'node:fs';
import { dirname, posix, relative, resolve } from 'node:path';

/**
 * Makes eslint configurations that restrict the imports of the sources below `root`.
 *
 * `layers` lists the folders from the bottom up, each with the other folders that its files may
 * import. A folder may name only folders on earlier lines, so the table cannot contain a cycle.
 * Files in a folder that is not in the table may import only each other. No file may import an npm
 * package.
 */
export function importLayers(root, layers) {
  const listed = new Set();
  const restrictions = [restriction(`${root}/**/*.ts`, '.', [])];
  for (const [folder, targets] of Object.entries(layers)) {
    for (const target of targets) {
      if (!listed.has(target)) throw new Error(`${folder} may not import ${target}: list it first`);
    }
    listed.add(folder);
    restrictions.push(restriction(posix.join(root, folder, '*.ts'), folder, targets));
  }
  return restrictions;
}

function restriction(files, folder, targets) {
  const allowed = [folder, ...targets].map((target) => {
    const path = posix.relative(folder, target) || '.';
    return `${path.startsWith('.') ? path : `./${path}`}/[^/]+$`;
  });
  const message = `Files here may import: ${['their own folder', ...targets].join(', ')}. The table is in eslint.config.mjs.`;
  const regex = `^(?!${allowed.join('|').replaceAll('.', '\\.')})`;
  return {
    files: [files],
    rules: { 'no-restricted-imports': ['error', { patterns: [{ regex, message }] }] },
  };
}

/**
 * Reports an import that leads back to its own file, with the whole cycle. Type imports count,
 * because a reader has to follow them too. `import/no-cycle` and knip ignore type imports.
 */
export const noImportCycle = {
  meta: { type: 'problem', schema: [], messages: { cycle: 'Import cycle: {{files}}.' } },
  create({ filename, report }) {
    const check = ({ source }) => {
      const start = source && resolveImport(filename, source.value);
      const cycle = start && pathBetween(start, filename, new Set());
      if (!cycle) return;
      const files = [filename, ...cycle].map((file) => relative(dirname(filename), file));
      report({ node: source, messageId: 'cycle', data: { files: files.join(' → ') } });
    };
    return { ImportDeclaration: check, ExportNamedDeclaration: check, ExportAllDeclaration: check };
  },
};

/** @returns the files from `from` to `to`, each imported by the one before it, if there are any */
function pathBetween(from, to, visited) {
  if (from === to) return [to];
  if (visited.has(from)) return undefined;
  visited.add(from);
  for (const next of importsOf(from)) {
    const rest = pathBetween(next, to, visited);
    if (rest) return [from, ...rest];
  }
  return undefined;
}

/**
 * The imports of each file that was read. Later changes of these files have no effect while eslint
 * keeps running, as it does in an editor.
 */
const known = new Map();

function importsOf(file) {
  let imports = known.get(file);
  if (imports === undefined) {
    const specifiers = readFileSync(file, 'utf8').matchAll(
      /^(?:import|export|\}) [^;']*'(\.[^']+)'/gm,
    );
    imports = [...specifiers].flatMap(([, specifier]) => resolveImport(file, specifier) ?? []);
    known.set(file, imports);
  }
  return imports;
}

/** @returns the source file that a relative import stands for */
function resolveImport(file, specifier) {
  if (!specifier.startsWith('.')) return undefined;
  if (!specifier.endsWith('.js')) return undefined;
  const stem = resolve(dirname(file), specifier.slice(0, -'.js'.length));
  return [`${stem}.ts`, `${stem}.tsx`].find(existsSync);
}
