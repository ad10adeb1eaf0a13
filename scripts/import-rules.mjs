/** Rules for eslint about which file may import which. */

import { existsSync, readFileSync } from 'node:fs';
import { dirname, relative, resolve } from 'node:path';

/**
 * Makes an eslint configuration that restricts the imports of the sources below `root`, type
 * imports included.
 *
 * `layers` lists the folders from the bottom up, each with the other folders that its files may
 * import. A folder may name only folders on earlier lines, so the table cannot contain a cycle. A
 * folder that is not in the table belongs to the nearest one above it that is; `.` is only the
 * files of `root` itself. A file of `root` may have a line of its own: an entry that exports from
 * folders which import the files beside it.
 */
export function importLayers(root, layers) {
  const listed = new Set();
  for (const [folder, targets] of Object.entries(layers)) {
    for (const target of targets) {
      if (!listed.has(target)) throw new Error(`${folder} may not import ${target}: list it first`);
    }
    listed.add(folder);
  }
  return {
    files: [`${root}/**/*.{ts,tsx}`],
    plugins: { layers: { rules: { imports: layerRule(resolve(root), layers) } } },
    rules: { 'layers/imports': 'error' },
  };
}

function layerRule(root, layers) {
  const messages = {
    layer:
      '{{from}} may not import {{to}}. It may import: {{allowed}}. The table is in scripts/import-layers.mjs.',
    unlisted: 'The folder of this file is not in the table of layers in scripts/import-layers.mjs.',
  };
  return {
    meta: { type: 'problem', schema: [], messages },
    create({ filename, report }) {
      const from = layerOf(filename);
      const check = ({ source }) => {
        const target = source && resolveImport(filename, source.value);
        if (!target?.startsWith(`${root}/`)) return;
        const to = layerOf(target);
        if (from === undefined) report({ node: source, messageId: 'unlisted' });
        else if (to !== from && !layers[from].includes(to)) {
          const allowed = ['its own files', ...layers[from]].join(', ');
          report({ node: source, messageId: 'layer', data: { from, to: String(to), allowed } });
        }
      };
      return {
        ImportDeclaration: check,
        ImportExpression: check,
        ExportNamedDeclaration: check,
        ExportAllDeclaration: check,
      };
    },
  };

  function layerOf(file) {
    const name = relative(root, file);
    if (Object.hasOwn(layers, name)) return name;
    let folder = relative(root, dirname(file)) || '.';
    while (!Object.hasOwn(layers, folder) && folder !== '.') folder = dirname(folder);
    if (folder === '.' && dirname(file) !== root) return undefined;
    return Object.hasOwn(layers, folder) ? folder : undefined;
  }
}

/**
 * Reports an import that leads back to its own file, with the whole cycle. Type imports count,
 * because a reader has to follow them too, and so does `import()`. `import/no-cycle` and knip
 * ignore type imports.
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
    return {
      ImportDeclaration: check,
      ImportExpression: check,
      ExportNamedDeclaration: check,
      ExportAllDeclaration: check,
    };
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
      /^(?:import|export|\}) [^;']*'(\.[^']+)'|\bimport\('(\.[^']+)'\)/gm,
    );
    imports = [...specifiers].flatMap(
      ([, whole, atRun]) => resolveImport(file, whole ?? atRun) ?? [],
    );
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
